/* host.h - what the host prepares, whatever the back-end. */
#include "semblance.h"
#include "body.h"

/* Of how many parts, each with a best point of its own, a search is. */
static size_t part_count(const query *q)
{
    return (size_t)q->np[A] * q->np[B] * q->np[C];
}

/* The traces of a search as it sees them, in double until rounded once. */
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

/* Bytes for rows of base on a device: enough for more work-items than run at a time. */
#ifndef T2_ABC_BYTES
#define T2_ABC_BYTES (256 << 20)
#endif

/* Shortens a range of work-items, by whole groups, until their rows of base fit into
 * BASE_BYTES (but for a single group); returns the bytes that they take. */
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
