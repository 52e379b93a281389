/* host.h - what the host knows, whatever the back-end. */
#include "fluid.h"
#include "body.h"
#include "strip.h"

static inline void refuse_gauss_seidel(const setup *s)
{
    if (s->gauss_seidel)
        fail("solver=gs: in the order of the index nothing is parallel");
}

/* Cells of a field, with ghosts. */
static inline size_t cells_of(grid g)
{
    return 2 * (size_t)half_of(g);
}

/* A field's halves brought together: to[k][j][i]. */
static inline void join(grid g, const float *halves, float *to)
{
    for (int k = 0; k <= g.nz + 1; k++)
        for (int j = 0; j <= g.ny + 1; j++)
            for (int i = 0; i <= g.nx + 1; i++) *to++ = halves[at(g, i, j, k)];
}
