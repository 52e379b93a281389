/* kernel.cl - the device side: one work-item a cell of a grid of the batch. */
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

/* One step. bits[g] is set to 4 if a new cell of grid g is unstable. */
__kernel void do_step(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *bits,
                      int slot, int dim, int batch)
{
    LOCAL int any;
    int x = get_global_id(0);
    int y = get_global_id(1);
    int g = get_global_id(2);
    size_t id = ((size_t)g * dim + y) * dim + x;

    /* The range is rounded up to whole work-groups: what lies beyond only collects. */
    cell v = 0;
    if (y > 0 && y < dim - 1 && x > 0 && x < dim - 1) {
        v = after(in + id, dim);
        out[id] = v;
    }
    collect(v > 3, 4, &any, bits + (size_t)slot * batch + g);
}
