/* kernel.cl - device code: a work-item computes CELLS cells of a row, or, once every
 * cell fits in three bits, LANES words in each of RUN rows in bit planes (layout:
 * body.h).
 *
 * The host builds it when shape and device are known, and defines DIM, WIDTH, LANES,
 * RUN and CELLS with -D.
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

/* Computes one step. flags[g] gets bit 4 if a new cell of grid g is unstable, and bit 8
 * if it does not fit in three bits. */
__kernel void do_step(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *flags,
                      int slot, int batch)
{
    LOCAL int any;
    int x = get_global_id(0) * CELLS + 1;
    int y = get_global_id(1) + 1;
    int g = get_global_id(2);
    size_t id = ((size_t)g * DIM + y) * DIM + x;
    int cells = y < DIM - 1 ? min(DIM - 1 - x, CELLS) : 0;

    /* The range is rounded up to a multiple of the group size; work-items outside the
     * grid only take part in the reduction. */
    cell v = 0;
    for (int i = 0; i < cells; i++) v |= out[id + i] = next_grains(in + id + i, DIM);
    set_flag_if_any(v > 3, 4, &any, flags + (size_t)slot * batch + g);
    set_flag_if_any(v > 7, 8, &any, flags + (size_t)slot * batch + g);
}

/* Computes step n in bit planes. All work-items that find an unstable cell store the
 * same value, so there is no atomic operation and no barrier. */
__kernel void do_step_planes(GLOBAL cell *grids, int n, GLOBAL cell *flags, int slot,
                             int batch)
{
    int w = get_global_id(0) * LANES;
    int y = get_global_id(1) * RUN + 1;
    int g = get_global_id(2);
    int rows = DIM - 1 - y < RUN ? DIM - 1 - y : RUN;
    GLOBAL cell *grid = grids + (size_t)g * DIM * row_pitch(WIDTH) + w;

    if (w < WIDTH && rows > 0) {
        bitvec inside = bitvec_at(GLOBAL, grid);
        bitvec fours =
            step_column(grid + y * row_pitch(WIDTH), w, WIDTH, n, rows, inside);
        if (bitvec_any(fours)) flags[(size_t)slot * batch + g] = 4;
    }
}
