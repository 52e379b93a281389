/* kernel.cl - device code: a group computes several steps of a band in bit planes
 * (layout and bands: body.h).
 *
 * The host builds it when shape and device are known, and defines DIM, WIDTH, LANES,
 * ROWS and TILE with -D, and LOCAL as __global if a band does not fit in local memory.
 */
#include "body.h"

/* Computes steps n .. n + steps - 1, from one buffer into another. A group loads a band
 * of ROWS rows and its ghost rows into its workspace, computes all steps there, and
 * stores its own rows. flags[slot + s] becomes nonzero if a cell is unstable after step
 * s: all work-items that find one store the same value. */
__kernel void do_steps(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *flags,
                       int n, int slot, int steps, LOCAL cell *workspace,
                       int workspace_stride)
{
    int x = get_local_id(0), threads_x = get_local_size(0);
    int y = get_local_id(1), threads_y = get_local_size(1);
    int first = get_group_id(1) * ROWS + 1;
    band b = band_at(DIM, first, min(first + ROWS, DIM - 1), steps);
    int pitch = row_pitch(WIDTH);
    workspace += (size_t)workspace_stride * get_group_id(1);

    for (int r = b.first_stored + y; r < b.end_stored; r += threads_y)
        for (int w = x * LANES; w < pitch; w += threads_x * LANES)
            bitvec_at(LOCAL, workspace + (r - b.first_stored) * pitch + w) =
                bitvec_at(GLOBAL const, in + (size_t)r * pitch + w);

    /* A tile of TILE rows computes all steps before the next tile begins. Each step is
     * shifted up by one row against the previous one (time skewing). */
    for (int tile = b.first_stored + 1; tile < b.end_stored + steps; tile += TILE)
        for (int s = 0; s < steps; s++) {
            /* Each work-item computes consecutive rows. */
            int first_valid = max(tile - s, band_first_valid(b, s));
            int end_valid = min(tile - s + TILE, band_end_valid(b, DIM, s));
            int rows_each = (end_valid - first_valid + threads_y - 1) / threads_y;
            int first_row = first_valid + y * rows_each;
            int my_rows = min(rows_each, end_valid - first_row);
            int found = 0;
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            for (int w = x * LANES; w < WIDTH && my_rows > 0; w += threads_x * LANES) {
                LOCAL cell *c = workspace + (first_row - b.first_stored) * pitch + w;
                bitvec inside = bitvec_at(GLOBAL const, in + w);
                found |= bitvec_any(step_column(c, w, WIDTH, n + s, my_rows, inside));
            }
            if (found) flags[slot + s] = 1;
        }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

    for (int r = b.first + y; r < b.end; r += threads_y)
        for (int w = x * LANES; w < pitch; w += threads_x * LANES)
            bitvec_at(GLOBAL, out + (size_t)r * pitch + w) =
                bitvec_at(LOCAL, workspace + (r - b.first_stored) * pitch + w);
}
