/* cpu.c - the drivers in C: rows of a plane shared among threads, the points of a row
 * among the lanes of a vector. */
#include <string.h>

#include "fletcher.h"
#include "field.h"
#include "body.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q, of before and of now */
static float *derivatives;       /* what was derived of one plane of now */

/* A field of zeros, its planes dealt out among the threads. None has planes of its own
 * here, so that on several sockets the field is spread over all of them. */
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
    size_t n = field_size(g), plane = (size_t)g->plane;
    pp = zero_field(n, "p of before");
    pc = zero_field(n, "p of now");
    qp = zero_field(n, "q of before");
    qc = zero_field(n, "q of now");
    derivatives = field_allocate(DERIVATIVES * plane, "a plane's derivatives");
    memset(derivatives, 0, DERIVATIVES * plane * sizeof *derivatives);
    return ((MEDIUM_FIELDS + 4) * n + DERIVATIVES * plane) * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g->source_z * (size_t)g->plane + (size_t)g->source_offset;
    pc[i] += f;
    qc[i] += f;
}

/* Derivatives of plane z, rows shared among threads. */
static void derive(int z)
{
    size_t n = (size_t)g->plane;
#pragma omp for
    for (int y = HALO; y < g->sy - HALO; y++) {
        size_t row_in_plane = row_start(g, y, 0), row = (size_t)z * n + row_in_plane;
#pragma omp simd
        for (int x = HALO; x < g->sx - HALO; x++) {
            derive_point(g, pc, derivatives, n, row + (size_t)x,
                         row_in_plane + (size_t)x);
            derive_point(g, qc, derivatives + QX * n, n, row + (size_t)x,
                         row_in_plane + (size_t)x);
        }
    }
}

/* One step of plane z, rows shared among threads. */
static void update(int z)
{
    size_t n = (size_t)g->plane;
#pragma omp for
    for (int y = HALO; y < g->sy - HALO; y++) {
        size_t row_in_plane = row_start(g, y, 0), row = (size_t)z * n + row_in_plane;
#pragma omp simd
        for (int x = HALO; x < g->sx - HALO; x++)
            update_point(g, medium, pc, qc, pp, qp, derivatives, n, row + (size_t)x,
                         row_in_plane + (size_t)x);
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
    field_free(derivatives);
}
