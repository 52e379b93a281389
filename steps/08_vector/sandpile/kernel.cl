/* kernel.cl - the device side: one work-item a cell of a grid of the batch, or LANES
 * words of RUN rows once 32 of them fit in three.
 *
 * The host builds this when it knows the shape and the device, with -D DIM, WIDTH,
 * LANES and RUN. */
#include "body.h"

/* Sets a bit of *bits if a work-item has found what it stands for. Most find it set: an
 * atomic is for those that do not. Nobody waits for anybody. */
FN void tell(int found, cell bit, volatile GLOBAL cell *bits)
{
    if (found && !(*bits & bit)) atomic_or(bits, bit);
}

/* One step. In bits[g] 4 is set if a new cell of grid g is unstable, and 8 if it does
 * not fit in three bits. */
__kernel void do_step(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *bits,
                      int slot, int batch)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    int g = get_global_id(2);
    size_t id = ((size_t)g * DIM + y) * DIM + x;

    /* The range is rounded up to whole work-groups: what lies beyond does nothing. */
    if (y > 0 && y < DIM - 1 && x > 0 && x < DIM - 1) {
        cell v = after(in + id, DIM);
        out[id] = v;
        tell(v > 3, 4, bits + (size_t)slot * batch + g);
        tell(v > 7, 8, bits + (size_t)slot * batch + g);
    }
}

/* Step n of grids in bits. */
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
        tell(any_bit(fours), 4, bits + (size_t)slot * batch + g);
    }
}
