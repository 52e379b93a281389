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

/* Returns the planes through which one thread takes its columns in a sweep, on a device
 * that runs `at_once` threads at a time. More planes need fewer loads, fewer planes
 * give more threads: a quarter of at_once was best for boxes of 84^3 and 168^3 cells on
 * an H200. A CPU, which runs few, takes MAX_PLANES. */
enum { MAX_PLANES = 16 };
static inline int planes_per_thread(grid g, size_t at_once)
{
    size_t planes = 4 * (size_t)row_items(g) * g.ny * g.nz / at_once;
    return planes < 1 ? 1 : planes < MAX_PLANES ? (int)planes : MAX_PLANES;
}
