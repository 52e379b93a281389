/* cpu.c - the drivers in C: rows of a plane shared among threads, the points of a row
 * among the lanes of a vector. */
#include <string.h>

#include "fletcher.h"
#include "field.h"
#include "body.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q, of before and of now */
static float *derived;           /* what was derived of one plane of now */

/* A field of zeros, its planes dealt out among the threads. None has planes of its own
 * here, so that on several sockets the field is spread over all of them. */
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
    size_t n = field_size(g), plane = (size_t)g->plane;
    pp = floats(n, "p of before");
    pc = floats(n, "p of now");
    qp = floats(n, "q of before");
    qc = floats(n, "q of now");
    derived = field_make(DERIVED * plane, "a plane's derivatives");
    memset(derived, 0, DERIVED * plane * sizeof *derived);
    return ((MEDIUM + 4) * n + DERIVED * plane) * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g->source_z * (size_t)g->plane + (size_t)g->source;
    pc[i] += f;
    qc[i] += f;
}

/* Derivatives of plane z, rows shared among threads. */
static void derive(int z)
{
    size_t n = (size_t)g->plane;
#pragma omp for
    for (int y = HALO; y < g->sy - HALO; y++) {
        size_t in_plane = row_of(g, y, 0), row = (size_t)z * n + in_plane;
#pragma omp simd
        for (int x = HALO; x < g->sx - HALO; x++) {
            derive_point(g, pc, derived, n, row + (size_t)x, in_plane + (size_t)x);
            derive_point(g, qc, derived + QX * n, n, row + (size_t)x,
                         in_plane + (size_t)x);
        }
    }
}

/* One step of plane z, rows shared among threads. */
static void update(int z)
{
    size_t n = (size_t)g->plane;
#pragma omp for
    for (int y = HALO; y < g->sy - HALO; y++) {
        size_t in_plane = row_of(g, y, 0), row = (size_t)z * n + in_plane;
#pragma omp simd
        for (int x = HALO; x < g->sx - HALO; x++)
            sample(g, medium, pc, qc, pp, qp, derived, n, row + (size_t)x,
                   in_plane + (size_t)x);
    }
}

double Propagate(void)
{
    double start = seconds();

    /* A plane is updated while its derivatives are still in the cache, and the next
     * one's take their place. Threads wait for each other at the end of every loop over
     * y. */
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
    field_free(derived);
}
