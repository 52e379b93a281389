/* host.h - functions that the host code of all devices shares. */
#include "tall.h"
#include "body.h"

/* Steps between two polls of the flags. */
enum { POLL_STEPS = 16 };

/* Returns the number of steps from step n to the next poll. */
static inline int steps_until_poll(const run_plan *plan, int n)
{
    int left = plan->max_iterations - n;
    return left < POLL_STEPS ? left : POLL_STEPS;
}

/* Returns how many of `steps` steps the pile needed: those up to the first one that
 * left it stable, whose flag is 0. Later steps have not changed it. */
static inline int steps_to_stable(const cell *flags, int steps, bool *stable)
{
    for (int s = 0; s < steps; s++) {
        *stable = !flags[s];
        if (*stable) return s + 1;
    }
    return steps;
}

static inline grid_shape make_shape(int dim)
{
    grid_shape s = {dim, (dim + 1) / 4, 0xffffffff};
    int cells_in_last = dim - 2 - 4 * (s.words - 1);
    if (cells_in_last < 4) s.last_mask = (1u << 8 * cells_in_last) - 1;
    return s;
}

/* Bytes per row of a packed grid. Host and device are little-endian: byte x of a row is
 * byte x % 4 of its word x / 4. */
static inline size_t row_pitch(int dim)
{
    return (make_shape(dim).words + 2) * sizeof(cell);
}

/* Fills the words that a step computes with the sentinel value. */
static inline void fill_sentinel(int dim, cell8 *packed)
{
    size_t pitch = row_pitch(dim);
    for (int y = 1; y < dim - 1; y++) memset(packed + y * pitch + 4, 0xff, pitch - 8);
}
