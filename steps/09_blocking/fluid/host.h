/* host.h - host functions that all back-ends of this step use. */
#include "fluid.h"
#include "body.h"

static inline void reject_gauss_seidel(const setup *s)
{
    if (s->gauss_seidel)
        fail("solver=gs: no parallel version (lexicographic order): expected rb");
}

/* Number of floats in a field, with ghost cells. */
static inline size_t field_size(grid g)
{
    return 2 * (size_t)half_size(g);
}

/* Converts a field that is split by colour to dst[k][j][i]. */
static inline void merge_colours(grid g, const float *split_field, float *dst)
{
    for (int k = 0; k <= g.nz + 1; k++)
        for (int j = 0; j <= g.ny + 1; j++)
            for (int i = 0; i <= g.nx + 1; i++)
                *dst++ = split_field[cell_index(g, i, j, k)];
}

/* Returns the number of planes that one thread updates in a sweep, on a device that
 * runs `at_once` threads at a time. A thread with more planes loads less per plane, but
 * then there are fewer threads. On an H200, boxes of 84^3 and 168^3 cells were fastest
 * with about a quarter of at_once. A CPU runs few threads and takes MAX_PLANES. */
enum { MAX_PLANES = 16 };
static inline int planes_per_thread(grid g, size_t at_once)
{
    size_t planes = 4 * (size_t)row_items(g) * g.ny * g.nz / at_once;
    return planes < 1 ? 1 : planes < MAX_PLANES ? (int)planes : MAX_PLANES;
}
