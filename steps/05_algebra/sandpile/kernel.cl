/* kernel.cl - device code: one work-item per word of four cells. */
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

/* Computes one step of four cells. flags[slot] becomes 1 if a new cell is unstable. */
__kernel void do_step(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *flags,
                      int slot, int dim)
{
    LOCAL int any;
    int x = get_global_id(0);
    int y = get_global_id(1);
    int words = words_per_row(dim);
    int id = y * words + x;

    /* The range is rounded up to a multiple of the group size; work-items outside the
     * grid only take part in the reduction. */
    cell v = 0;
    if (y > 0 && y < dim - 1 && x < words) {
        cell left = x > 0 ? in[id - 1] : 0;
        cell right = x < words - 1 ? in[id + 1] : 0;
        v = next_grains4(in[id], left, right, in[id - words], in[id + words]);
        v &= inside_mask(x, dim);
        out[id] = v;
    }
    set_flag_if_any((v & 0xfcfcfcfc) != 0, &any, flags + slot);
}
