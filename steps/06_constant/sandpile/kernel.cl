/* kernel.cl - the device side: one work-item a cell of a grid of the batch, or
 * four of them once they fit in a word.
 *
 * The host builds this when it knows the shape, with -D DIM, WORDS and LAST. */
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

/* One step. In bits[g] 4 is set if a new cell of grid g is unstable, and 256 if it does
 * not fit in a byte. */
__kernel void do_step(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *bits,
                      int slot, int batch)
{
    LOCAL int any;
    int x = get_global_id(0);
    int y = get_global_id(1);
    int g = get_global_id(2);
    size_t id = ((size_t)g * DIM + y) * DIM + x;

    /* The range is rounded up to whole work-groups: what lies beyond only collects. */
    cell v = 0;
    if (y > 0 && y < DIM - 1 && x > 0 && x < DIM - 1) {
        v = after(in + id, DIM);
        out[id] = v;
    }
    collect(v > 3, 4, &any, bits + (size_t)slot * batch + g);
    collect(v > 255, 256, &any, bits + (size_t)slot * batch + g);
}

/* The same for four cells a word and work-item, each a byte. */
__kernel void do_step4(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *bits,
                       int slot, int batch)
{
    LOCAL int any;
    int x = get_global_id(0);
    int y = get_global_id(1) + 1;
    int g = get_global_id(2);
    int pitch = WORDS + 2;
    size_t id = ((size_t)g * DIM + y) * pitch + x + 1;

    cell v = 0;
    if (x < WORDS && y < DIM - 1) {
        v = after4(in[id], in[id - 1], in[id + 1], in[id - pitch], in[id + pitch]);
        v &= x == WORDS - 1 ? LAST : 0xffffffff;
        out[id] = v;
    }
    collect((v & 0xfcfcfcfc) != 0, 4, &any, bits + (size_t)slot * batch + g);
}
