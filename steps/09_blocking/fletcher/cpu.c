/* cpu.c - the C back-end: a thread takes a tile of a few rows through all planes (2.5-D
 * blocking), and the compiler vectorizes the loop over the points of a row. The
 * computation is in body.h. */
#include <string.h>

#include "fletcher.h"
#include "field.h"
#include "run.h"
#define LANES 1 /* the compiler vectorizes the loops itself */
#include "portable.h"
#undef FN /* a callee needs the vector width of its caller */
#define FN static inline __attribute__((always_inline))
#include "body.h"

/* The compiler options of this tree allow AVX2 (8 floats) only, so that all steps share
 * them. These functions are compiled for AVX-512 as well, and the program chooses a
 * version when it starts. */
#if defined(__x86_64__) && !defined(NARROW)
#define WIDE __attribute__((target_clones("avx512f", "default")))
#else
#define WIDE
#endif

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q: previous and current step */

/* The rows of a tile. With fewer than 8 rows, the derivatives of the 2 HALO extra rows
 * would cost more than those of the tile itself. */
enum { MIN_TILE_ROWS = 8 };
static int tile_rows;

/* The derivatives of one plane of a tile; each thread has its own. Derivatives along z
 * have HALO rows more than the tile on either side, since they are differentiated along
 * y. Derivatives along y are needed in one row at a time, so row 0 is used for all of
 * them.
 *
 *                    PY, PYY, QY, QYY         PZ, PZZ, QZ, QZZ
 *     row 0          the row being updated    tile row -HALO
 *     ..             unused                   ..
 *     row HALO                                tile row 0
 *     ..                                      ..
 *     last row                                last tile row + HALO
 */
static float *derivatives;
#pragma omp threadprivate(derivatives)

/* Returns a field of zeros. No thread owns planes here, so the threads clear planes in
 * equal parts: on a machine with several sockets, the pages are spread over the
 * memories of all of them (first touch). */
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

/* Chooses the rows of a tile such that its working set at one plane fits into the L2
 * cache of a core and is still there at the next plane. The working set per row is nine
 * planes of p and q and half of the derivatives, which have 2 HALO rows more than the
 * tile, and the other fields, which do not. The number of tiles is then rounded up to a
 * multiple of the number of threads, so that all threads get the same number of tiles.
 */
static int rows_per_tile(int threads)
{
    const int fields_with_halo = 2 * (2 * HALO + 1) + DERIVATIVES / 2,
              fields_without_halo = STORED_FIELDS - V2PX + 2;
    /* The rows that fit into the cache. */
    long cache_rows = machine_l2_cache() / ((long)sizeof(float) * g->pitch);
    int max_rows = (int)(cache_rows - fields_with_halo * 2 * HALO) /
                   (fields_with_halo + fields_without_halo);
    if (max_rows < MIN_TILE_ROWS) max_rows = MIN_TILE_ROWS;

    int rows = g->sy - 2 * HALO, tiles = (rows + max_rows - 1) / max_rows;
    tiles = (tiles + threads - 1) / threads * threads;
    return (rows + tiles - 1) / tiles;
}

/* Floats of one plane of a tile. */
static size_t tile_plane_size(void)
{
    return (size_t)(tile_rows + 2 * HALO) * (size_t)g->pitch;
}

/* Allocates the derivatives of the calling thread, if it has none yet. Returns their
 * number of floats. */
static size_t allocate_own_planes(void)
{
    size_t n = DERIVATIVES * tile_plane_size();
    if (!derivatives)
        derivatives = memset(field_allocate(n, "the derivatives of a plane"), 0,
                             n * sizeof *derivatives);
    return n;
}

size_t Initialize(const grid *input_grid, const float *input_medium)
{
    g = input_grid;
    medium = input_medium + V2PX * field_size(g);
    size_t n = field_size(g), total = (STORED_FIELDS - V2PX + 4) * n;
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads++;
    tile_rows = rows_per_tile(threads);
    pp = zero_field(n, "p of the previous step");
    pc = zero_field(n, "p of the current step");
    qp = zero_field(n, "q of the previous step");
    qc = zero_field(n, "q of the current step");
#pragma omp parallel reduction(+ : total)
    total += allocate_own_planes();
    return total * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g->source_z * (size_t)g->plane + (size_t)g->source_offset;
    pc[i] += f;
    qc[i] += f;
}

/* The number of points to compute in a row, rounded up to whole vectors if these end
 * within the row. Points beyond the end of the grid are in the halo or in the padding:
 * the medium has no velocity there, so they stay 0. */
static int points_of_row(void)
{
    int points = g->sx - 2 * HALO, whole = (points + LINE - 1) / LINE * LINE;
    return g->lead + HALO + whole <= g->pitch ? whole : points;
}

/* Computes the derivatives along y of `count` points of a row; the first is point i of
 * the field and point k of planes of n floats. */
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

/* Updates `count` points of a row. */
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

/* Computes the derivatives along z of plane z, in rows first .. end - 1 of the tile and
 * in HALO rows more on either side, since they are differentiated along y. */
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

/* Updates plane z in rows first .. end - 1. The derivatives along y of a row are still
 * in the L1 cache when its points are updated. */
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

double Propagate(void)
{
    double start = seconds();

    /* There is no barrier: two neighbouring tiles both compute the derivatives that
     * both need. */
#pragma omp parallel
    {
        allocate_own_planes(); /* the number of threads may have grown */
#pragma omp for schedule(dynamic)
        for (int y = HALO; y < g->sy - HALO; y += tile_rows) {
            int end = y + tile_rows < g->sy - HALO ? y + tile_rows : g->sy - HALO;
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
        field_free(derivatives);
        derivatives = NULL; /* for another grid */
    }
}
