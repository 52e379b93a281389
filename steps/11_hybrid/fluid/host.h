/* host.h - what the host knows, whatever the back-end. */
#include <math.h>

#include "fluid.h"
#include "body.h"
#include "strip.h"

static inline void reject_gauss_seidel(const setup *s)
{
    if (s->gauss_seidel)
        fail("solver=gs: in the order of the index nothing is parallel");
}

/* Cells of a field, with ghosts. */
static inline size_t field_size(grid g)
{
    return 2 * (size_t)half_size(g);
}

/* A field's halves brought together: to[k][j][i]. */
static inline void merge_colours(grid g, const float *split_field, float *table)
{
    for (int k = 0; k <= g.nz + 1; k++)
        for (int j = 0; j <= g.ny + 1; j++)
            for (int i = 0; i <= g.nx + 1; i++)
                *table++ = split_field[cell_index(g, i, j, k)];
}

#define PI 3.14159265358979323846

/* The factors of cosines of n numbers, and those that are summed up as they stand. */
static inline int odd_factor(int n)
{
    while (n % 2 == 0) n /= 2;
    return n;
}

static inline void fill_dct_factors(int n, float *table)
{
    for (int size = n; size > odd_factor(n); size /= 2)
        for (int i = 0; i < size / 2; i++)
            table[n - size + i] = (float)(2 * cos(PI * (2 * i + 1) / (2 * size)));
}

static inline void fill_odd_matrix(int odd, float *table)
{
    for (int k = 0; k < odd; k++)
        for (int i = 0; i < odd / 2; i++)
            *table++ = (float)cos(PI * ((2 * i + 1) * k % (4 * odd)) / (2 * odd));
}

/* How stiff a wave is: 2 - 2 cos(pi k / n); and by what it is multiplied on the way
 * back.
 */
static inline void fill_modes(int n, float *eigenvalue, float *scale)
{
    for (int k = 0; k < n; k++) {
        double sine = sin(PI / 2 * k / n);
        eigenvalue[k] = (float)(4 * sine * sine);
        scale[k] = (float)((k ? 2.0 : 1.0) / n);
    }
}
