/* cpu.c - the host side: one item, computed by the calling thread. */
#include "sides.h"
#include "nodes.h"
#include "window.h"

/* The functions of a search are compiled for each small window: loops of constant
 * length are unrolled, and num stays in registers. */
#define FOR_WINDOW __attribute__((flatten)) static

FOR_WINDOW float bound_of(const search_input *in, int ia, int ib)
{
    WINDOW_CALL(window_length(in->q), return bound, ia, ib, 0, in->q->np[C], in->traces,
                in->samples, in->q);
}

FOR_WINDOW int needs(const search_input *in, cell_bound entry, int ic, float incumbent)
{
    WINDOW_CALL(window_length(in->q), return is_needed, entry, ic, in->prune, incumbent,
                in->traces, in->samples, in->q);
}

FOR_WINDOW point search_abc(const search_input *in, int ia, int ib, int ic)
{
    WINDOW_CALL(window_length(in->q), return search_nodes, ia, ib, ic, in->traces,
                in->samples, in->q);
}

FOR_WINDOW void search_one_block(const search_input *in, int block, int n)
{
    WINDOW_CALL(window_length(in->q), search_part, block, n, in->traces, in->samples,
                in->q, &in->host, in->part);
}

void host_bound(const search_input *in, int cell)
{
    int nb = in->q->np[B];
    in->order[cell] = (cell_bound){bound_of(in, cell / nb, cell % nb), cell};
}

void host_nodes(const search_input *in, int n, float incumbent)
{
    const query *q = in->q;
    cell_bound entry = in->order[n / q->np[C]];
    int ia = entry.cell / q->np[B], ib = entry.cell % q->np[B], ic = n % q->np[C];
    in->part[n] = needs(in, entry, ic, incumbent) ? search_abc(in, ia, ib, ic)
                                                  : first_point(q, ia, ib, ic);
}

void host_blocks(const search_input *in, int n)
{
    for (int block = 0; block < in->host.blocks; block++)
        search_one_block(in, block, n);
}
