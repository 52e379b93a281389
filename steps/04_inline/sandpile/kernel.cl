/* kernel.cl - device code: one work-item per cell, in a range of columns and rows. */
#include "body.h"

/* Sets *flag to 1 if the condition holds for any work-item of the group, with at most
 * one atomic operation per group. All work-items for which it holds write the same
 * value to *any. All work-items must call it, including those outside the grid, because
 * it contains barriers. */
FN void set_flag_if_any(int condition, LOCAL int *any, GLOBAL cell *flag)
{
    int first = get_local_id(0) == 0 && get_local_id(1) == 0;

    if (first) *any = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (condition) *any = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (first && *any) atomic_or(flag, 1);
}

/* Computes one step. flags[slot] becomes 1 if a new cell is unstable. */
__kernel void do_step(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *flags,
                      int slot, int dim)
{
    LOCAL int any;
    int x = get_global_id(0);
    int y = get_global_id(1);
    int id = y * dim + x;

    /* The range is rounded up to a multiple of the group size; work-items outside the
     * grid only take part in the reduction. */
    cell v = 0;
    if (y > 0 && y < dim - 1 && x > 0 && x < dim - 1) {
        v = next_grains(in + id, dim);
        out[id] = v;
    }
    set_flag_if_any(v > 3, &any, flags + slot);
}
