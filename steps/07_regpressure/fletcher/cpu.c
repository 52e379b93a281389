/* cpu.c - the drivers in C: tiles of a few rows, through all planes, shared among
 * threads, the points of a row among the lanes of a vector. */
#include <string.h>
#include <unistd.h>

#include "fletcher.h"
#include "field.h"
#include "body.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q, of before and of now */

/* Rows of a tile, which are never so few that deriving them costs most. */
enum { LEAST = 4 };
static int tile;

/* First derivatives of now, along x and z, in one plane of a tile, and each thread has
 * such a plane. Its rows are those of the tile and HALO more to either side. */
static float *px, *pz, *qx, *qz;
#pragma omp threadprivate(px, pz, qx, qz)

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

/* So many rows that what a tile needs at one plane fills half of a core's own cache
 * (L2) and waits there for the tile's next plane: nine planes of p and of q and the
 * plane of derivatives, which have HALO rows more to either side, and the rest, which
 * passes. Not so many that a thread gets no tile, or that some get more than others. */
static int rows_of_tile(int threads)
{
    const int wide = 2 * (2 * HALO + 1) + 4, narrow = MEDIUM + 2;
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE); /* bytes, or 0: it is not known */
    if (cache <= 0) cache = 1 << 20;
    long held = cache / 2 / ((long)sizeof(float) * g->pitch); /* rows */
    int fit = (int)(held - wide * 2 * HALO) / (wide + narrow);
    if (fit < LEAST) fit = LEAST;

    int rows = g->sy - 2 * HALO, tiles = (rows + fit - 1) / fit;
    tiles = (tiles + threads - 1) / threads * threads;
    return (rows + tiles - 1) / tiles;
}

/* The calling thread's planes, unless it has them. */
static size_t own_planes(void)
{
    size_t n = (size_t)(tile + 2 * HALO) * (size_t)g->pitch;
    if (!px) {
        px = memset(field_make(n, "p along x"), 0, n * sizeof *px);
        pz = memset(field_make(n, "p along z"), 0, n * sizeof *pz);
        qx = memset(field_make(n, "q along x"), 0, n * sizeof *qx);
        qz = memset(field_make(n, "q along z"), 0, n * sizeof *qz);
    }
    return 4 * n;
}

size_t Initialize(const grid *the_grid, const float *the_medium)
{
    g = the_grid;
    medium = the_medium;
    size_t n = field_size(g), all = (MEDIUM + 4) * n;
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads++;
    tile = rows_of_tile(threads);
    pp = floats(n, "p of before");
    pc = floats(n, "p of now");
    qp = floats(n, "q of before");
    qc = floats(n, "q of now");
#pragma omp parallel reduction(+ : all)
    all += own_planes();
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
        size_t row = row_of(g, y, z);
        size_t in_tile = row_of(g, y - first + HALO, 0);
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
        size_t row = row_of(g, y, z);
        size_t in_tile = row_of(g, y - first + HALO, 0);
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
#pragma omp parallel
    {
        own_planes(); /* threads may come that were not there before */
#pragma omp for schedule(dynamic)
        for (int y = HALO; y < g->sy - HALO; y += tile) {
            int end = y + tile < g->sy - HALO ? y + tile : g->sy - HALO;
            for (int z = HALO; z < g->sz - HALO; z++) {
                derive(z, y, end);
                update(z, y, end);
            }
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
#pragma omp parallel
    {
        field_free(px);
        field_free(pz);
        field_free(qx);
        field_free(qz);
    }
}
