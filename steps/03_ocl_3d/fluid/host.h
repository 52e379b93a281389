/* host.h - what the host knows, whatever the back-end. */
#include "fluid.h"
#include "body.h"

static inline void reject_gauss_seidel(const setup *s)
{
    if (s->gauss_seidel)
        fail("solver=gs: in the order of the index nothing is parallel");
}

/* Cells of a field, with ghosts. */
static inline size_t field_size(grid g)
{
    return (size_t)plane_stride(g) * (size_t)(g.nz + 2);
}

/* Work-items of one colour. */
static inline size_t total_items(grid g)
{
    return (size_t)row_items(g) * (size_t)g.ny * (size_t)g.nz;
}
