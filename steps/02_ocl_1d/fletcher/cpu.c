/* cpu.c - the drivers in C: planes shared among threads, the points of a row among the
 * lanes of a vector. */
#include <string.h>

#include "fletcher.h"
#include "field.h"
#include "body.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q, of before and of now */

/* A field of zeros, each plane cleared by the thread that will compute it: where a
 * machine has several sockets, memory is in that of the thread that wrote to it first.
 */
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
    medium = input_medium;
    size_t n = field_size(g);
    pp = zero_field(n, "p of before");
    pc = zero_field(n, "p of now");
    qp = zero_field(n, "q of before");
    qc = zero_field(n, "q of now");
    return (MEDIUM_FIELDS + 4) * n * sizeof(float);
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
            for (int x = HALO; x < g->sx - HALO; x++)
                update_point(g, medium, pc, qc, pp, qp, row + (size_t)x);
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
}
