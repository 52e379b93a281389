/* kernel.cl - the device side: a work-item takes CELLS cells of a row of a grid of the
 * batch, or LANES words of RUN rows once 32 of them fit in three.
 *
 * The host builds this when it knows the shape and the device, with -D DIM, WIDTH,
 * LANES, RUN and CELLS. */
#include "body.h"

/* Sets a bit of *bits if any work-item of the group has found what it stands for: one
 * atomic a group at most. Whoever has found it writes the same to *any. All work-items
 * come here, those beyond the range too: they meet at barriers. */
FN void collect(int found, cell bit, LOCAL int *any, GLOBAL cell *bits)
{
    int first = get_local_id(0) == 0 && get_local_id(1) == 0;

    if (first) *any = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (found) *any = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (first && *any) atomic_or(bits, bit);
}

/* One step. In bits[g] 4 is set if a new cell of grid g is unstable, and 8 if it does
 * not fit in three bits. */
__kernel void do_step(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *bits,
                      int slot, int batch)
{
    LOCAL int any;
    int x = get_global_id(0) * CELLS + 1;
    int y = get_global_id(1) + 1;
    int g = get_global_id(2);
    size_t id = ((size_t)g * DIM + y) * DIM + x;
    int cells = y < DIM - 1 ? min(DIM - 1 - x, CELLS) : 0;

    /* The range is rounded up to whole work-groups: what lies beyond only collects. */
    cell v = 0;
    for (int i = 0; i < cells; i++) v |= out[id + i] = after(in + id + i, DIM);
    collect(v > 3, 4, &any, bits + (size_t)slot * batch + g);
    collect(v > 7, 8, &any, bits + (size_t)slot * batch + g);
}

/* Step n of grids in bits. Whoever finds an unstable cell writes the same: nobody waits
 * for anybody. */
__kernel void do_step_bits(GLOBAL cell *grids, int n, GLOBAL cell *bits, int slot,
                           int batch)
{
    int w = get_global_id(0) * LANES;
    int y = get_global_id(1) * RUN + 1;
    int g = get_global_id(2);
    int rows = DIM - 1 - y < RUN ? DIM - 1 - y : RUN;
    GLOBAL cell *grid = grids + (size_t)g * DIM * pitch_of(WIDTH) + w;

    if (w < WIDTH && rows > 0) {
        words keep = words_at(GLOBAL, grid);
        words fours = walk(grid + y * pitch_of(WIDTH), w, WIDTH, n, rows, keep);
        if (any_bit(fours)) bits[(size_t)slot * batch + g] = 4;
    }
}
