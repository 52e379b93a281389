/* kernel.cl - device code: a work-item computes CELLS cells of a row, or, once every
 * cell fits in three bits, a group computes several steps of a band in bit planes
 * (layout and bands: body.h).
 *
 * The host builds it when shape and device are known, and defines DIM, SIDE, WIDTH,
 * MIRROR, LANES, STEPS, ROWS, TILE and CELLS with -D, and LOCAL as __global if a band
 * does not fit in local memory.
 */
#include "body.h"

/* Sets bit `flag` of *flags if the condition holds for any work-item of the group, with
 * at most one atomic operation per group. All work-items for which it holds write the
 * same value to *any. All work-items must call it, including those outside the range,
 * because it contains barriers. */
FN void set_flag_if_any(int condition, cell flag, __local int *any, GLOBAL cell *flags)
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
    __local int any;
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

/* Computes steps n .. n + steps - 1 in bit planes, from one buffer into another. A
 * group loads a band of ROWS rows and its ghost rows into its workspace, computes all
 * steps there, and stores its own rows. */
__kernel void do_steps_planes(GLOBAL const cell *in, GLOBAL cell *out,
                              GLOBAL cell *flags, int slot, int batch, int n, int steps,
                              LOCAL cell *workspace, int workspace_stride)
{
    int x = get_local_id(0), threads_x = get_local_size(0);
    int y = get_local_id(1), threads_y = get_local_size(1);
    int g = get_global_id(2);
    int first = get_group_id(1) * ROWS + 1;
    band b = band_at(SIDE, first, first + ROWS < SIDE - 1 ? first + ROWS : SIDE - 1);
    int pitch = row_pitch(WIDTH);
    GLOBAL const cell *in_grid = in + (size_t)g * SIDE * pitch;
    GLOBAL cell *out_grid = out + (size_t)g * SIDE * pitch;
    workspace += (size_t)workspace_stride * (get_group_id(1) + get_num_groups(1) * g);

    for (int r = b.first_stored + y; r < b.end_stored; r += threads_y)
        for (int w = x * LANES; w < pitch; w += threads_x * LANES)
            bitvec_at(LOCAL, workspace + (r - b.first_stored) * pitch + w) =
                bitvec_at(GLOBAL const, in_grid + (size_t)r * pitch + w);

    /* A tile of TILE rows computes all steps before the next tile begins. Each step is
     * shifted up by one row against the previous one (time skewing). */
    for (int tile = b.first_stored + 1; tile < b.end_stored + steps; tile += TILE)
        for (int s = 0; s < steps; s++) {
            /* Each work-item computes consecutive rows. */
            int first_valid = max(tile - s, band_first_valid(b, s));
            int end_valid = min(tile - s + TILE, band_end_valid(b, SIDE, s));
            int rows_each = (end_valid - first_valid + threads_y - 1) / threads_y;
            int first_row = first_valid + y * rows_each;
            int my_rows =
                first_row + rows_each < end_valid ? rows_each : end_valid - first_row;
            int found = 0;
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            for (int w = x * LANES; w < WIDTH; w += threads_x * LANES) {
                LOCAL cell *c = workspace + (first_row - b.first_stored) * pitch + w;
                bitvec inside = bitvec_at(GLOBAL const, in_grid + w);
                bitvec last_column = bitvec_at(GLOBAL const, in_grid + WIDTH + w);
                if (my_rows > 0)
                    found |= bitvec_any(step_column(c, w, WIDTH, n + s, my_rows, inside,
                                                    last_column, MIRROR,
                                                    SIDE - 2 - first_row));
            }
            /* All work-items that find one store the same value. */
            if (found) flags[(size_t)(slot + s) * batch + g] = 4;
        }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

    for (int r = b.first + y; r < b.end; r += threads_y)
        for (int w = x * LANES; w < pitch; w += threads_x * LANES)
            bitvec_at(GLOBAL, out_grid + (size_t)r * pitch + w) =
                bitvec_at(LOCAL, workspace + (r - b.first_stored) * pitch + w);
}
