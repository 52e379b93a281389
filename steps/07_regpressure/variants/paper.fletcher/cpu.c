/* cpu.c - the C back-end: all threads work on the same plane and share its rows, and
 * the compiler vectorizes the loop over the points of a row. The computation is in
 * body.h. */
#include <string.h>

#include "fletcher.h"
#include "field.h"
#include "body.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q: previous and current step */
static float *px, *py, *qx, *qy; /* dp/dx, dp/dy, dq/dx, dq/dy: rings of planes */

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

static float *zero_planes(size_t n, const char *name)
{
    return memset(field_allocate(n, name), 0, n * sizeof(float));
}

size_t Initialize(const grid *input_grid, const float *input_medium)
{
    g = input_grid;
    medium = input_medium;
    size_t n = field_size(g), ring_size = RING * (size_t)g->plane;
    pp = zero_field(n, "p of the previous step");
    pc = zero_field(n, "p of the current step");
    qp = zero_field(n, "q of the previous step");
    qc = zero_field(n, "q of the current step");
    px = zero_planes(ring_size, "dp/dx");
    py = zero_planes(ring_size, "dp/dy");
    qx = zero_planes(ring_size, "dq/dx");
    qy = zero_planes(ring_size, "dq/dy");
    return ((MEDIUM_FIELDS + 4) * n + 4 * ring_size) * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g->source_z * (size_t)g->plane + (size_t)g->source_offset;
    pc[i] += f;
    qc[i] += f;
}

/* Computes the first derivatives of plane z. The threads share the rows. */
static void derive(int z)
{
#pragma omp for
    for (int y = HALO; y < g->sy - HALO; y++) {
        size_t row = row_start(g, y, 0), plane_size = (size_t)g->plane;
#pragma omp simd
        for (int x = HALO; x < g->sx - HALO; x++) {
            size_t j = row + (size_t)x;
            derive_x(g, pc, qc, px, qx, plane_size, z, j, j);
            derive_y(g, pc, qc, py, qy, plane_size, z, j, j);
        }
    }
}

/* Updates plane z. The threads share the rows. */
static void update(int z)
{
#pragma omp for
    for (int y = HALO; y < g->sy - HALO; y++) {
        size_t row = row_start(g, y, 0), plane_size = (size_t)g->plane;
#pragma omp simd
        for (int x = HALO; x < g->sx - HALO; x++) {
            size_t j = row + (size_t)x;
            update_point(g, medium, pc, qc, pp, qp, px, py, qx, qy, plane_size, z, j,
                         j);
        }
    }
}

double Propagate(void)
{
    double start = seconds();

    /* A plane is updated after the derivatives of the HALO planes after it, while those
     * of the planes around it are in the cache. Each loop over y ends with a barrier.
     */
#pragma omp parallel
    {
        for (int z = 0; z < 2 * HALO; z++) derive(z);

        for (int z = HALO; z < g->sz - HALO; z++) {
            derive(z + HALO);
            update(z);
        }
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
    field_free(px);
    field_free(py);
    field_free(qx);
    field_free(qy);
}
