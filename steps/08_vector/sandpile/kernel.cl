/* kernel.cl - device code: a work-item computes LANES words in each of RUN rows in bit
 * planes (layout: body.h).
 *
 * The host builds it when shape and device are known, and defines DIM, WIDTH, LANES and
 * RUN with -D.
 */
#include "body.h"

/* Computes step n. flags[slot] becomes nonzero if a cell is unstable. All work-items
 * that find one store the same value, so there is no atomic operation and no barrier.
 */
__kernel void do_step(GLOBAL cell *planes, GLOBAL cell *flags, int n, int slot)
{
    int w = get_global_id(0) * LANES;
    int y = get_global_id(1) * RUN + 1;
    int rows = min(DIM - 1 - y, RUN);

    if (w < WIDTH && rows > 0) {
        GLOBAL cell *c = planes + (size_t)y * row_pitch(WIDTH) + w;
        bitvec inside = bitvec_at(GLOBAL, planes + w);
        if (bitvec_any(step_column(c, w, WIDTH, n, rows, inside))) flags[slot] = 1;
    }
}
