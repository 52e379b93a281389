/* kernel.cl - the device side: a work-item takes CELLS cells of a row of a grid of the
 * batch, and a group a band of a grid once 32 cells fit in three words.
 *
 * The host builds this when it knows the shape and the device, with -D DIM, WIDTH,
 * LANES, STEPS, ROWS, TILE and CELLS, and -D LOCAL=__global where no band fits in
 * local memory. */
#include "body.h"

/* Sets a bit of *bits if any work-item of the group has found what it stands for: one
 * atomic a group at most. Whoever has found it writes the same to *any. All work-items
 * come here, those beyond the range too: they meet at barriers. */
FN void collect(int found, cell bit, __local int *any, GLOBAL cell *bits)
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
    __local int any;
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

/* Steps n .. n + steps - 1 of grids in bits, from one buffer into another: a group
 * takes a band of ROWS rows into room, steps it there, and stores what is its own. */
__kernel void do_steps_bits(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *bits,
                            int slot, int batch, int n, int steps, LOCAL cell *room,
                            int apart)
{
    int x = get_local_id(0), across = get_local_size(0);
    int y = get_local_id(1), down = get_local_size(1);
    int g = get_global_id(2);
    int first = get_group_id(1) * ROWS + 1;
    band b = band_at(DIM, first, first + ROWS < DIM - 1 ? first + ROWS : DIM - 1);
    int pitch = pitch_of(WIDTH);
    GLOBAL const cell *from = in + (size_t)g * DIM * pitch;
    GLOBAL cell *to = out + (size_t)g * DIM * pitch;
    room += (size_t)apart * (get_group_id(1) + get_num_groups(1) * g);

    for (int r = b.top + y; r < b.end; r += down)
        for (int w = x * LANES; w < pitch; w += across * LANES)
            words_at(LOCAL, room + (r - b.top) * pitch + w) =
                words_at(GLOBAL const, from + (size_t)r * pitch + w);

    /* Of TILE rows that follow each other all steps are made before any of the next,
     * each a row above the one before. */
    for (int tile = b.top + 1; tile < b.end + steps; tile += TILE)
        for (int s = 0; s < steps; s++) {
            /* Of these rows each work-item has some that follow each other. */
            int begin = max(tile - s, first_of(b, s));
            int end = min(tile - s + TILE, after_of(b, DIM, s));
            int share = (end - begin + down - 1) / down;
            int mine = begin + y * share;
            int rows = mine + share < end ? share : end - mine;
            int found = 0;
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            for (int w = x * LANES; w < WIDTH; w += across * LANES) {
                LOCAL cell *c = room + (mine - b.top) * pitch + w;
                words keep = words_at(GLOBAL const, from + w);
                if (rows > 0) found |= any_bit(walk(c, w, WIDTH, n + s, rows, keep));
            }
            /* Whoever has found one writes the same. */
            if (found) bits[(size_t)(slot + s) * batch + g] = 4;
        }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

    for (int r = b.first + y; r < b.after; r += down)
        for (int w = x * LANES; w < pitch; w += across * LANES)
            words_at(GLOBAL, to + (size_t)r * pitch + w) =
                words_at(LOCAL, room + (r - b.top) * pitch + w);
}
