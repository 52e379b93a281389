/* host.h - preparation on the host, the same for all back-ends. */
#include "semblance.h"
#include "body.h"

/* Number of parts of a search; each gives a best point of its own. */
static size_t part_count(const query *q)
{
    return (size_t)q->np[A] * q->np[B] * q->np[C];
}

/* Extracts what the search needs of its traces, in double until the last rounding. */
static void prepare(const su_gather *g, const query *q, const int *indices,
                    trace *traces)
{
    for (int i = 0; i < q->ntraces; i++) {
        const su_header *h = &g->trace[indices[i]].header;
        double scale = su_scale(h->scalco);
        double midpoint = scale * ((double)h->gy + h->sy) / 2;
        double half_offset = scale * ((double)h->gy - h->sy) / 2;
        traces[i].dm = (float)((midpoint - q->m0) * q->idt);
        traces[i].dh = (float)((half_offset - q->h0) * q->idt);
        traces[i].row = indices[i];
    }
}

/* Limit for the t2_abc rows on a device: 256 MiB hold more rows than work-items run at
 * a time. */
#ifndef T2_ABC_BYTES
#define T2_ABC_BYTES (256 << 20)
#endif

/* Reduces a range of work-items, by whole groups, until their t2_abc rows fit into
 * T2_ABC_BYTES (but to no less than one group); returns the bytes needed.
 *
 * The rows of a work-group are interleaved, so that work-items with neighbouring
 * numbers access neighbouring floats. With n work-items per group:
 *
 *   t2_abc:  group 0                                             group 1
 *           +---------------------+---------------------+-----+----------------
 *           | trace 0             | trace 1             | ... | trace 0     ...
 *           | item 0 1 .. n - 1   | item 0 1 .. n - 1   |     | item 0 1 ..
 *           +---------------------+---------------------+-----+----------------
 *   trace i of a work-item: t2_abc[group n ntraces + i n + item], so stride = n */
static inline size_t fit_t2_rows(size_t global[3], const size_t local[3],
                                 size_t ntraces)
{
    for (int i = 0; i < 3; i++) {
        size_t slab = global[0] * global[1] * global[2] / global[i] * local[i];
        size_t slabs = T2_ABC_BYTES / sizeof(float) / ntraces / slab;
        if (slabs == 0) slabs = 1;
        if (slabs * local[i] < global[i]) global[i] = slabs * local[i];
    }
    return global[0] * global[1] * global[2] * ntraces * sizeof(float);
}

/* Halves the longest side of a work-group until it has at most `items` work-items. */
static inline void fit_group(size_t local[3], size_t items)
{
    while (local[0] * local[1] * local[2] > items) {
        size_t *longest = local;
        for (int i = 1; i < 3; i++)
            if (local[i] > *longest) longest = &local[i];
        if (*longest == 1) fail("local memory does not hold one window");
        *longest = (*longest + 1) / 2;
    }
}
