/* kernel.cl - device code: one work-item per cell of each grid of the batch, or, once
 * all cells fit in a byte, one work-item per word of four cells.
 */
#include "body.h"

/* Sets bit `flag` of *flags if the condition holds for any work-item of the group, with
 * at most one atomic operation per group. All work-items for which it holds write the
 * same value to *any. All work-items must call it, including those outside the range,
 * because it contains barriers. */
FN void set_flag_if_any(int condition, cell flag, LOCAL int *any, GLOBAL cell *flags)
{
    int first = get_local_id(0) == 0 && get_local_id(1) == 0;

    if (first) *any = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (condition) *any = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (first && *any) atomic_or(flags, flag);
}

/* Computes one step. flags[g] gets bit 4 if a new cell of grid g is unstable, and bit
 * 256 if it does not fit in a byte. */
__kernel void do_step(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *flags,
                      int slot, int dim, int batch)
{
    LOCAL int any;
    int x = get_global_id(0);
    int y = get_global_id(1);
    int g = get_global_id(2);
    size_t id = ((size_t)g * dim + y) * dim + x;

    /* The range is rounded up to a multiple of the group size; work-items outside the
     * grid only take part in the reduction. */
    cell v = 0;
    if (y > 0 && y < dim - 1 && x > 0 && x < dim - 1) {
        v = next_grains(in + id, dim);
        out[id] = v;
    }
    set_flag_if_any(v > 3, 4, &any, flags + (size_t)slot * batch + g);
    set_flag_if_any(v > 255, 256, &any, flags + (size_t)slot * batch + g);
}

/* Computes one step for four cells per work-item, one byte each. */
__kernel void do_step4(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *flags,
                       int slot, int dim, int batch)
{
    LOCAL int any;
    int x = get_global_id(0);
    int y = get_global_id(1);
    int g = get_global_id(2);
    int words = (dim + 3) / 4;
    size_t id = ((size_t)g * dim + y) * words + x;

    cell v = 0;
    if (y > 0 && y < dim - 1 && x < words) {
        cell left = x > 0 ? in[id - 1] : 0;
        cell right = x < words - 1 ? in[id + 1] : 0;
        v = next_grains4(in[id], left, right, in[id - words], in[id + words]);
        v &= inside_mask(x, dim);
        out[id] = v;
    }
    set_flag_if_any((v & 0xfcfcfcfc) != 0, 4, &any, flags + (size_t)slot * batch + g);
}
