/* cpu.c - the drivers in C: tiles of a few rows, through all planes, shared among
 * threads, the points of a row among the lanes of a vector. */
#include <stdlib.h>
#include <string.h>

#include "fletcher.h"
#include "body.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q, of before and of now */

/* Rows of a tile: few, so that nine planes of p and of q fit into a core's own cache
 * (L2) and wait there for the tile's next plane; fewer, if threads would get none. */
enum { TILE = 16 };
static int tile;

/* First derivatives of now, along x and z, in one plane of a tile, and each thread has
 * such a plane. Its rows are those of the tile and HALO more to either side. */
static float *px, *pz, *qx, *qz;
#pragma omp threadprivate(px, pz, qx, qz)

static float *floats(size_t n, const char *name)
{
    return memset(allocate(n, sizeof(float), name), 0, n * sizeof(float));
}

size_t Initialize(const grid *the_grid, const float *the_medium)
{
    g = the_grid;
    medium = the_medium;
    size_t n = field_size(g), all = (MEDIUM + 4) * n;
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads++;
    tile = (g->sy - 2 * HALO + threads - 1) / threads;
    if (tile > TILE) tile = TILE;
    pp = floats(n, "p of before");
    pc = floats(n, "p of now");
    qp = floats(n, "q of before");
    qc = floats(n, "q of now");
#pragma omp parallel reduction(+ : all)
    {
        size_t plane = (size_t)(tile + 2 * HALO) * (size_t)g->pitch;
        px = floats(plane, "p along x");
        pz = floats(plane, "p along z");
        qx = floats(plane, "q along x");
        qz = floats(plane, "q along z");
        all += 4 * plane;
    }
    return all * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g->source_z * (size_t)g->plane + (size_t)g->source;
    pc[i] += f;
    qc[i] += f;
}

/* First derivatives of plane z in the tile from row first to row end - 1, and HALO rows
 * further, since they are derived along y. */
static void derive(int z, int first, int end)
{
    for (int y = first - HALO; y < end + HALO; y++) {
        size_t row = (size_t)z * (size_t)g->plane + (size_t)y * (size_t)g->pitch;
        size_t in_tile = (size_t)(y - first + HALO) * (size_t)g->pitch;
#pragma omp simd
        for (int x = HALO; x < g->sx - HALO; x++) {
            first_x(g, pc, qc, px, qx, row + (size_t)x, in_tile + (size_t)x);
            first_z(g, pc, qc, pz, qz, row + (size_t)x, in_tile + (size_t)x);
        }
    }
}

/* One step of plane z in the tile from row first to row end - 1. */
static void update(int z, int first, int end)
{
    for (int y = first; y < end; y++) {
        size_t row = (size_t)z * (size_t)g->plane + (size_t)y * (size_t)g->pitch;
        size_t in_tile = (size_t)(y - first + HALO) * (size_t)g->pitch;
#pragma omp simd
        for (int x = HALO; x < g->sx - HALO; x++)
            sample(g, medium, pc, qc, pp, qp, px, pz, qx, qz, row + (size_t)x,
                   in_tile + (size_t)x);
    }
}

double Propagate(void)
{
    double start = seconds();

    /* A thread waits for no other: what two tiles need, both derive. */
#pragma omp parallel for schedule(dynamic)
    for (int y = HALO; y < g->sy - HALO; y += tile) {
        int end = y + tile < g->sy - HALO ? y + tile : g->sy - HALO;
        for (int z = HALO; z < g->sz - HALO; z++) {
            derive(z, y, end);
            update(z, y, end);
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
    free(pp);
    free(pc);
    free(qp);
    free(qc);
#pragma omp parallel
    {
        free(px);
        free(pz);
        free(qx);
        free(qz);
    }
}
