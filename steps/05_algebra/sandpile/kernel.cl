/* kernel.cl - the device side: one work-item a cell of a grid of the batch, or
 * four of them once they fit in a word. */
#include "body.h"

/* Ors v of all work-items of a group that are in the same grid, and that into *bits:
 * one atomic for a group and grid. A barrier is crossed by all work-items, those beyond
 * the range too. */
FN void collect(cell v, LOCAL cell *room, GLOBAL cell *bits, int wanted)
{
    int items = get_local_size(0) * get_local_size(1);
    int item = get_local_id(0) + get_local_size(0) * get_local_id(1);
    LOCAL cell *mine = room + items * get_local_id(2);

    mine[item] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0 && wanted) {
        for (int n = 1; n < items; n++) v |= mine[n];
        atomic_or(bits, v);
    }
}

/* One step. bits[g] collects all new cells of grid g, or-ed. room holds a cell for each
 * work-item of the group. */
__kernel void do_step(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *bits,
                      int slot, int dim, int batch, LOCAL cell *room)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    int g = get_global_id(2);
    size_t id = ((size_t)g * dim + y) * dim + x;

    /* The range is rounded up to whole work-groups: what lies beyond only collects. */
    cell v = 0;
    if (y > 0 && y < dim - 1 && x > 0 && x < dim - 1 && g < batch) {
        v = after(in + id, dim);
        out[id] = v;
    }
    collect(v, room, bits + (size_t)slot * batch + g, g < batch);
}

/* The same for four cells a word and work-item, each a byte. */
__kernel void do_step4(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *bits,
                       int slot, int dim, int batch, LOCAL cell *room)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    int g = get_global_id(2);
    int words = (dim + 3) / 4;
    size_t id = ((size_t)g * dim + y) * words + x;

    cell v = 0;
    if (y > 0 && y < dim - 1 && x < words && g < batch) {
        cell left = x > 0 ? in[id - 1] : 0;
        cell right = x < words - 1 ? in[id + 1] : 0;
        v = after4(in[id], left, right, in[id - words], in[id + words]);
        v &= within(x, dim);
        out[id] = v;
    }
    v |= v >> 16;
    v = (v | v >> 8) & 255;
    collect(v, room, bits + (size_t)slot * batch + g, g < batch);
}
