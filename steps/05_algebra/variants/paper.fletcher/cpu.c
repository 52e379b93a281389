/* cpu.c - the drivers in C: planes shared among threads, the points of a row among the
 * lanes of a vector. */
#include <string.h>

#include "fletcher.h"
#include "field.h"
#include "body.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q, of before and of now */
static float *px, *py, *qx, *qy; /* first derivatives of now, along x and y */

/* A field of zeros, each plane cleared by the thread that will compute it: where a
 * machine has several sockets, memory is in that of the thread that wrote to it first.
 */
static float *floats(size_t n, const char *name)
{
    float *made = field_make(n, name);
#pragma omp parallel for
    for (int z = HALO; z < g->sz - HALO; z++) {
        size_t from = z == HALO ? 0 : (size_t)z * (size_t)g->plane;
        size_t end = z == g->sz - HALO - 1 ? n : (size_t)(z + 1) * (size_t)g->plane;
        memset(made + from, 0, (end - from) * sizeof *made);
    }
    return made;
}

size_t Initialize(const grid *the_grid, const float *the_medium)
{
    g = the_grid;
    medium = the_medium;
    size_t n = field_size(g);
    pp = floats(n, "p of before");
    pc = floats(n, "p of now");
    qp = floats(n, "q of before");
    qc = floats(n, "q of now");
    px = floats(n, "p along x");
    py = floats(n, "p along y");
    qx = floats(n, "q along x");
    qy = floats(n, "q along y");
    return (MEDIUM + 8) * n * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g->source_z * (size_t)g->plane + (size_t)g->source;
    pc[i] += f;
    qc[i] += f;
}

double Propagate(void)
{
    double start = seconds();

#pragma omp parallel for
    for (int z = HALO; z < g->sz - HALO; z++)
        for (int y = HALO; y < g->sy - HALO; y++) {
            size_t row = row_of(g, y, z);
#pragma omp simd
            for (int x = HALO; x < g->sx - HALO; x++) {
                first_x(g, pc, qc, px, qx, row + (size_t)x);
                first_y(g, pc, qc, py, qy, row + (size_t)x);
            }
        }

#pragma omp parallel for
    for (int z = HALO; z < g->sz - HALO; z++)
        for (int y = HALO; y < g->sy - HALO; y++) {
            size_t row = row_of(g, y, z);
#pragma omp simd
            for (int x = HALO; x < g->sx - HALO; x++)
                sample(g, medium, pc, qc, pp, qp, px, py, qx, qy, row + (size_t)x);
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
