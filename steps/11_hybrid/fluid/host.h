/* host.h - host functions that all back-ends of this step use. */
#include <math.h>

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

#define PI 3.14159265358979323846

/* Tables of a dct_plan. odd_factor: n without its factors 2. */
static inline int odd_factor(int n)
{
    while (n % 2 == 0) n /= 2;
    return n;
}

static inline void fill_dct_factors(int n, float *dst)
{
    for (int size = n; size > odd_factor(n); size /= 2)
        for (int i = 0; i < size / 2; i++)
            dst[n - size + i] = (float)(2 * cos(PI * (2 * i + 1) / (2 * size)));
}

static inline void fill_odd_matrix(int odd, float *dst)
{
    for (int k = 0; k < odd; k++)
        for (int i = 0; i < odd / 2; i++)
            *dst++ = (float)cos(PI * ((2 * i + 1) * k % (4 * odd)) / (2 * odd));
}

/* For each cosine mode: the eigenvalue 2 - 2 cos(pi k / n) = 4 sin^2(pi k / (2 n)), and
 * the scale factor of the inverse transform. */
static inline void fill_modes(int n, float *eigenvalue, float *scale)
{
    for (int k = 0; k < n; k++) {
        double sine = sin(PI / 2 * k / n);
        eigenvalue[k] = (float)(4 * sine * sine);
        scale[k] = (float)((k ? 2.0 : 1.0) / n);
    }
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
