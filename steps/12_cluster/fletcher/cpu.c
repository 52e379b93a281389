/* cpu.c - the loop over the grid in C: tiles of a few rows, through some planes, shared
 * among threads, the points of a row among the lanes of a vector. */
#include <omp.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
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
float *pp, *pc, *qp, *qc; /* p and q, of before and of now */

/* Rows of a tile, which are never so few that deriving them costs most. */
enum { MIN_TILE_ROWS = 8 };
static int tile_rows;

/* What was derived of one plane of a tile, and each thread has such planes. Their rows
 * are those of the tile and HALO more to either side; of what was derived along y the
 * first row serves all, one after the other. */
static float *derivatives;
#pragma omp threadprivate(derivatives)

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

/* So many rows that what a tile needs at one plane fills a core's own cache (L2) and
 * waits there for the tile's next plane: nine planes of p and of q and what is derived,
 * which have HALO rows more to either side, and the rest, which passes. Not so many
 * that a thread gets no tile, or that some get more than others. */
static int rows_per_tile(int threads)
{
    const int fields_with_halo = 2 * (2 * HALO + 1) + DERIVATIVES / 2,
              fields_without_halo = STORED_FIELDS - V2PX + 2;
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE); /* bytes, or 0: it is not known */
    if (cache <= 0) cache = 1 << 20;
    long cache_rows = cache / ((long)sizeof(float) * g->pitch); /* rows */
    int max_rows = (int)(cache_rows - fields_with_halo * 2 * HALO) /
                   (fields_with_halo + fields_without_halo);
    if (max_rows < MIN_TILE_ROWS) max_rows = MIN_TILE_ROWS;

    int rows = g->sy - 2 * HALO, tiles = (rows + max_rows - 1) / max_rows;
    tiles = (tiles + threads - 1) / threads * threads;
    return (rows + tiles - 1) / tiles;
}

/* Floats of a plane of a tile. */
static size_t tile_plane_size(void)
{
    return (size_t)(tile_rows + 2 * HALO) * (size_t)g->pitch;
}

/* The calling thread's planes, unless it has them. */
static size_t allocate_own_planes(void)
{
    size_t n = DERIVATIVES * tile_plane_size();
    if (!derivatives)
        derivatives = memset(field_allocate(n, "a plane's derivatives"), 0,
                             n * sizeof *derivatives);
    return n;
}

size_t host_begin(const grid *input_grid, const float *input_medium)
{
    g = input_grid;
    medium = input_medium + V2PX * field_size(g);
    size_t n = field_size(g), total = (STORED_FIELDS - V2PX + 4) * n;
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads++;
    tile_rows = rows_per_tile(threads);
    pp = zero_field(n, "p of before");
    pc = zero_field(n, "p of now");
    qp = zero_field(n, "q of before");
    qc = zero_field(n, "q of now");
#pragma omp parallel reduction(+ : total)
    total += allocate_own_planes();
    return total * sizeof(float);
}

void host_source(float f)
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

/* Derivatives along y of `count` points of a row, of which i is the first, and point k
 * of planes of n floats. */
WIDE void derive_row_y(const grid *grid_pointer, const float *restrict f,
                       float *restrict out, size_t n, size_t i, size_t k, int count)
{
    const grid local_grid = *grid_pointer;
#pragma omp simd
    for (int x = 0; x < count; x++)
        derive_y(&local_grid, f, out, n, i + (size_t)x, k + (size_t)x, 1);
}

/* The same along z. */
WIDE void derive_row_z(const grid *grid_pointer, const float *restrict f,
                       float *restrict out, size_t n, size_t i, size_t k, int count)
{
    const grid local_grid = *grid_pointer;
#pragma omp simd
    for (int x = 0; x < count; x++)
        derive_z(&local_grid, f, out, n, i + (size_t)x, k + (size_t)x, 1);
}

/* One step of these points. */
WIDE void update_row(const grid *grid_pointer, const float *m, const float *p,
                     const float *q, float *restrict next_p, float *restrict next_q,
                     const float *planes, size_t n, size_t i, size_t k, size_t ky,
                     int count)
{
    const grid local_grid = *grid_pointer;
#pragma omp simd
    for (int x = 0; x < count; x++)
        update_point(&local_grid, m, p, q, next_p, next_q, planes, n,
                     (size_t)local_grid.pitch, i + (size_t)x, k + (size_t)x,
                     ky + (size_t)x, 1);
}

/* Derivatives along z of plane z in the tile from row first to row end - 1, and HALO
 * rows further, since they are derived along y. */
static void derive(int z, int first, int end)
{
    size_t n = tile_plane_size();
    for (int y = first - HALO; y < end + HALO; y++) {
        size_t k = row_start(g, y - first + HALO, 0) + HALO,
               i = row_start(g, y, z) + HALO;
        derive_row_z(g, pc, derivatives, n, i, k, points_of_row());
        derive_row_z(g, qc, derivatives + QY * n, n, i, k, points_of_row());
    }
}

/* One step of plane z in the tile from row first to row end - 1. What is derived along
 * y of a row is still in the nearest cache (L1) when its points are updated. */
static void update(int z, int first, int end)
{
    size_t n = tile_plane_size(), ky = (size_t)g->lead + HALO;
    for (int y = first; y < end; y++) {
        size_t k = row_start(g, y - first + HALO, 0) + HALO,
               i = row_start(g, y, z) + HALO;
        derive_row_y(g, pc, derivatives, n, i, ky, points_of_row());
        derive_row_y(g, qc, derivatives + QY * n, n, i, ky, points_of_row());
        update_row(g, medium, pc, qc, pp, qp, derivatives, n, i, k, ky,
                   points_of_row());
    }
}

void host_planes(int first, int end, void (*poll)(void))
{
    /* A thread waits for no other: what two tiles need, both derive. */
#pragma omp parallel
    {
        allocate_own_planes(); /* threads may come that were not there before */
#pragma omp for schedule(dynamic)
        for (int y = HALO; y < g->sy - HALO; y += tile_rows) {
            int tile_end = y + tile_rows < g->sy - HALO ? y + tile_rows : g->sy - HALO;
            for (int z = first; z < end; z++) {
                derive(z, y, tile_end);
                update(z, y, tile_end);
                if (poll && omp_get_thread_num() == 0) poll();
            }
        }
    }
}

void host_swap(void)
{
    float *swap = pp;
    pp = pc;
    pc = swap;
    swap = qp;
    qp = qc;
    qc = swap;
}

void host_end(void)
{
    field_free(pp);
    field_free(pc);
    field_free(qp);
    field_free(qc);
#pragma omp parallel
    field_free(derivatives);
}
