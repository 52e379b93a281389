/* cpu.c - the drivers in C: tiles of a few rows, through all planes, shared among
 * threads, the points of a row among the lanes of a vector. */
#include <stdlib.h>
#include <string.h>

#include "fletcher.h"
#include "body.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q, of before and of now */

/* Rows of a tile: few, so that the nine planes of all that a tile needs around a point
 * fit into a core's own cache (L2). */
enum { TILE = 4 };

/* First derivatives of now, along x and y, in the planes of a tile: a ring, and each
 * thread has one. Their rows are those of the tile and HALO more to either side. */
static float *px, *py, *qx, *qy;
static size_t ring; /* floats of a plane of the ring */
#pragma omp threadprivate(px, py, qx, qy)

static float *floats(size_t n, const char *name)
{
    return memset(allocate(n, sizeof(float), name), 0, n * sizeof(float));
}

size_t Initialize(const grid *the_grid, const float *the_medium)
{
    g = the_grid;
    medium = the_medium;
    size_t n = field_size(g), rings = 0;
    ring = (TILE + 2 * HALO) * (size_t)g->pitch;
    pp = floats(n, "p of before");
    pc = floats(n, "p of now");
    qp = floats(n, "q of before");
    qc = floats(n, "q of now");
#pragma omp parallel reduction(+ : rings)
    {
        px = floats(RING * ring, "p along x");
        py = floats(RING * ring, "p along y");
        qx = floats(RING * ring, "q along x");
        qy = floats(RING * ring, "q along y");
        rings += 4 * RING * ring;
    }
    return ((MEDIUM + 4) * n + rings) * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g->source_z * (size_t)g->plane + (size_t)g->source;
    pc[i] += f;
    qc[i] += f;
}

/* First derivatives of plane z in the tile from row first to row end - 1. Those along x
 * are needed HALO rows further, since they are derived along y. */
static void derive(int z, int first, int end)
{
    for (int y = first - HALO; y < end + HALO; y++) {
        size_t row = (size_t)y * (size_t)g->pitch;
        size_t in_tile = (size_t)(y - first + HALO) * (size_t)g->pitch;
#pragma omp simd
        for (int x = HALO; x < g->sx - HALO; x++)
            first_x(g, pc, qc, px, qx, ring, z, row + (size_t)x, in_tile + (size_t)x);
    }
    for (int y = first; y < end; y++) {
        size_t row = (size_t)y * (size_t)g->pitch;
        size_t in_tile = (size_t)(y - first + HALO) * (size_t)g->pitch;
#pragma omp simd
        for (int x = HALO; x < g->sx - HALO; x++)
            first_y(g, pc, qc, py, qy, ring, z, row + (size_t)x, in_tile + (size_t)x);
    }
}

/* One step of plane z in the tile from row first to row end - 1. */
static void update(int z, int first, int end)
{
    for (int y = first; y < end; y++) {
        size_t row = (size_t)y * (size_t)g->pitch;
        size_t in_tile = (size_t)(y - first + HALO) * (size_t)g->pitch;
#pragma omp simd
        for (int x = HALO; x < g->sx - HALO; x++)
            sample(g, medium, pc, qc, pp, qp, px, py, qx, qy, ring, z, row + (size_t)x,
                   in_tile + (size_t)x);
    }
}

double Propagate(void)
{
    double start = seconds();

    /* A plane is updated when the derivatives of the HALO planes after it are there,
     * and while those of the planes around it are still in the cache. A thread waits
     * for no other: what two tiles need, both derive. */
#pragma omp parallel for schedule(dynamic)
    for (int y = HALO; y < g->sy - HALO; y += TILE) {
        int end = y + TILE < g->sy - HALO ? y + TILE : g->sy - HALO;

        for (int z = 0; z < 2 * HALO; z++) derive(z, y, end);

        for (int z = HALO; z < g->sz - HALO; z++) {
            derive(z + HALO, y, end);
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
        free(py);
        free(qx);
        free(qy);
    }
}
