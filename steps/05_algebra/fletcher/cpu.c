/* cpu.c - the C back-end: the threads share the planes, and the compiler vectorizes the
 * loop over the points of a row. The update of a point is update_point() in body.h. */
#include <string.h>

#include "fletcher.h"
#include "field.h"
#include "body.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q: previous and current step */
static float *px, *pz, *qx, *qz; /* dp/dx, dp/dz, dq/dx, dq/dz, current step */

/* Returns a field of zeros. Each thread clears the planes that it will update: on a
 * machine with several sockets, a page is placed in the memory of the thread that
 * writes to it first (first touch). */
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
    size_t n = field_size(g);
    medium = input_medium + V2PX * n;
    pp = zero_field(n, "p of the previous step");
    pc = zero_field(n, "p of the current step");
    qp = zero_field(n, "q of the previous step");
    qc = zero_field(n, "q of the current step");
    px = zero_field(n, "dp/dx");
    pz = zero_field(n, "dp/dz");
    qx = zero_field(n, "dq/dx");
    qz = zero_field(n, "dq/dz");
    return (STORED_FIELDS - V2PX + 8) * n * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g->source_z * (size_t)g->plane + (size_t)g->source_offset;
    pc[i] += f;
    qc[i] += f;
}

double Propagate(void)
{
    double start = seconds();

#pragma omp parallel for
    for (int z = HALO; z < g->sz - HALO; z++)
        for (int y = HALO; y < g->sy - HALO; y++) {
            size_t row = row_start(g, y, z);
#pragma omp simd
            for (int x = HALO; x < g->sx - HALO; x++) {
                derive_x(g, pc, qc, px, qx, row + (size_t)x);
                derive_z(g, pc, qc, pz, qz, row + (size_t)x);
            }
        }

#pragma omp parallel for
    for (int z = HALO; z < g->sz - HALO; z++)
        for (int y = HALO; y < g->sy - HALO; y++) {
            size_t row = row_start(g, y, z);
#pragma omp simd
            for (int x = HALO; x < g->sx - HALO; x++)
                update_point(g, medium, pc, qc, pp, qp, px, pz, qx, qz,
                             row + (size_t)x);
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
    field_free(pz);
    field_free(qx);
    field_free(qz);
}
