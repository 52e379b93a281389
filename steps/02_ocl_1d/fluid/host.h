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
    return (size_t)plane_stride(g) * (size_t)(g.nz + 2);
}

/* Number of work-items for one colour. */
static inline size_t total_items(grid g)
{
    return (size_t)row_items(g) * (size_t)g.ny * (size_t)g.nz;
}
