/* cpu.c - the drivers in C: rows of a plane shared among threads, the points of a row
 * among the lanes of a vector. */
#include <string.h>

#include "fletcher.h"
#include "field.h"
#define LANES 1 /* the compiler makes lanes of a loop */
#include "portable.h"
#undef FN /* what a row calls has vectors as wide as the row's */
#define FN static inline __attribute__((always_inline))
#include "body.h"

/* The tree's flags stop at vectors of 8, for step 00's sake. A row is compiled twice,
 * and the processor chooses when the program starts. */
#if defined(__x86_64__) && !defined(NARROW)
#define WIDE __attribute__((target_clones("avx512f", "default")))
#else
#define WIDE
#endif

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
    medium = input_medium + V2PX * field_size(g);
    size_t n = field_size(g), plane = (size_t)g->plane;
    pp = zero_field(n, "p of before");
    pc = zero_field(n, "p of now");
    qp = zero_field(n, "q of before");
    qc = zero_field(n, "q of now");
    derivatives = field_allocate(DERIVATIVES * plane, "a plane's derivatives");
    memset(derivatives, 0, DERIVATIVES * plane * sizeof *derivatives);
    return ((STORED_FIELDS - V2PX + 4) * n + DERIVATIVES * plane) * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g->source_z * (size_t)g->plane + (size_t)g->source_offset;
    pc[i] += f;
    qc[i] += f;
}

/* Points of a row in whole vectors. Those beyond its end lie in the halo or between
 * rows, where nothing moves: the medium has no velocity, and they stay 0. */
static int points_of_row(void)
{
    int points = g->sx - 2 * HALO, whole = (points + LINE - 1) / LINE * LINE;
    return whole <= g->pitch ? whole : points;
}

/* Derivatives of `count` points of a row, of which i is the first, and point k of its
 * plane. */
WIDE void derive_row(const grid *grid_pointer, const float *f, float *out, size_t i,
                     size_t k, int count)
{
    const grid local_grid = *grid_pointer;
#pragma omp simd
    for (int x = 0; x < count; x++)
        derive_point(&local_grid, f, out, (size_t)local_grid.plane, i + (size_t)x,
                     k + (size_t)x, 1);
}

/* One step of them. */
WIDE void update_row(const grid *grid_pointer, const float *m, const float *p,
                     const float *q, float *restrict next_p, float *restrict next_q,
                     const float *planes, size_t i, size_t k, int count)
{
    const grid local_grid = *grid_pointer;
#pragma omp simd
    for (int x = 0; x < count; x++)
        update_point(&local_grid, m, p, q, next_p, next_q, planes,
                     (size_t)local_grid.plane, i + (size_t)x, k + (size_t)x, 1);
}

/* Derivatives of plane z, rows shared among threads. */
static void derive(int z)
{
    size_t n = (size_t)g->plane;
#pragma omp for
    for (int y = HALO; y < g->sy - HALO; y++) {
        size_t k = row_start(g, y, 0) + HALO, i = (size_t)z * n + k;
        derive_row(g, pc, derivatives, i, k, points_of_row());
        derive_row(g, qc, derivatives + QX * n, i, k, points_of_row());
    }
}

/* One step of plane z, rows shared among threads. */
static void update(int z)
{
    size_t n = (size_t)g->plane;
#pragma omp for
    for (int y = HALO; y < g->sy - HALO; y++) {
        size_t k = row_start(g, y, 0) + HALO, i = (size_t)z * n + k;
        update_row(g, medium, pc, qc, pp, qp, derivatives, i, k, points_of_row());
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
