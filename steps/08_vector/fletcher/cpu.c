/* cpu.c - the C back-end: all threads work on the same plane and share its rows, in
 * vectors of LANES points. The computation is in body.h. */
#include <string.h>

#include "fletcher.h"
#include "field.h"
#include "body.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q: previous and current step */
static float *derivatives;       /* derivatives of one plane */

/* Returns a field of zeros. No thread owns planes here, so the threads clear planes in
 * equal parts: on a machine with several sockets, the pages are spread over the
 * memories of all of them (first touch). */
static float *zero_field(size_t n, const char *name)
{
    float *field = field_allocate(n, name);
#pragma omp parallel for
    for (int z = HALO; z < g->sz - HALO; z++) {
        size_t from = z == HALO ? 0 : (size_t)z * (size_t)g->plane;
        size_t end = z == g->sz - HALO - 1 ? n : (size_t)(z + 1) * (size_t)g->plane;
        memset(field + from, 0, (end - from) * sizeof *field);
    }
    return field;
}

size_t Initialize(const grid *input_grid, const float *input_medium)
{
    g = input_grid;
    medium = input_medium + V2PX * field_size(g);
    size_t n = field_size(g), plane = (size_t)g->plane;
    pp = zero_field(n, "p of the previous step");
    pc = zero_field(n, "p of the current step");
    qp = zero_field(n, "q of the previous step");
    qc = zero_field(n, "q of the current step");
    derivatives = field_allocate(DERIVATIVES * plane, "the derivatives of a plane");
    memset(derivatives, 0, DERIVATIVES * plane * sizeof *derivatives);
    return ((STORED_FIELDS - V2PX + 4) * n + DERIVATIVES * plane) * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g->source_z * (size_t)g->plane + (size_t)g->source_offset;
    pc[i] += f;
    qc[i] += f;
}

/* Computes the derivatives of plane z. The threads share the rows. */
static void derive(int z)
{
    size_t n = (size_t)g->plane;
#pragma omp for
    for (int y = HALO; y < g->sy - HALO; y++) {
        size_t row_in_plane = row_start(g, y, 0), row = (size_t)z * n + row_in_plane;
        for (int x = HALO; x < g->sx - HALO; x += LANES) {
            derive_point(g, pc, derivatives, n, row + (size_t)x,
                         row_in_plane + (size_t)x);
            derive_point(g, qc, derivatives + QX * n, n, row + (size_t)x,
                         row_in_plane + (size_t)x);
        }
    }
}

/* Updates plane z. The threads share the rows. */
static void update(int z)
{
    size_t n = (size_t)g->plane;
#pragma omp for
    for (int y = HALO; y < g->sy - HALO; y++) {
        size_t row_in_plane = row_start(g, y, 0), row = (size_t)z * n + row_in_plane;
        for (int x = HALO; x < g->sx - HALO; x += LANES)
            update_point(g, medium, pc, qc, pp, qp, derivatives, n, row + (size_t)x,
                         row_in_plane + (size_t)x);
    }
}

double Propagate(void)
{
    double start = seconds();

    /* A plane is updated while its derivatives are in the cache, and the derivatives of
     * the next plane replace them. Each loop over y ends with a barrier. */
#pragma omp parallel
    for (int z = HALO; z < g->sz - HALO; z++) {
        derive(z);
        update(z);
    }

    return seconds() - start;
}

void UpdatePointers(float *p, float *q)
{
    float *swap = pp;
    pp = pc;
    pc = swap;
    swap = qp;
    qp = qc;
    qc = swap;
    if (p) memcpy(p, pc, field_size(g) * sizeof *p);
    if (q) memcpy(q, qc, field_size(g) * sizeof *q);
}

void Finalize(void)
{
    field_free(pp);
    field_free(pc);
    field_free(qp);
    field_free(qc);
    field_free(derivatives);
}
