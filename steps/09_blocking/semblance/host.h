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

/* Completes the traces for one sample, with the values that depend on its ranges: the
 * extremes of D dm^2 + E dh dm, which is linear in D and in E, are at corners of (D,
 * E). */
static void prepare_sample(const query *q, trace *traces)
{
    for (int i = 0; i < q->ntraces; i++) {
        double dm = traces[i].dm, dh = traces[i].dh;
        double d0 = value(q, D, 0) * dm * dm, d1 = value(q, D, q->np[D] - 1) * dm * dm;
        double e0 = value(q, E, 0) * dh * dm, e1 = value(q, E, q->np[E] - 1) * dh * dm;
        traces[i].de_min = (float)(fmin(d0, d1) + fmin(e0, e1));
        traces[i].de_max = (float)(fmax(d0, d1) + fmax(e0, e1));
    }
}

/* Limit for the workspaces on a device: 256 MiB hold more than run at a time. */
#ifndef WORKSPACE_BYTES
#define WORKSPACE_BYTES (256 << 20)
#endif

/* Reduces a range of work-items, by whole groups (but to no less than one group), to
 * max_items and until their workspaces of floats_each floats fit into WORKSPACE_BYTES;
 * returns the bytes needed. */
static inline size_t fit_workspaces(size_t global[3], const size_t local[3],
                                    size_t floats_each, size_t max_items)
{
    size_t workspaces = WORKSPACE_BYTES / sizeof(float) / floats_each;
    if (workspaces > max_items) workspaces = max_items;
    for (int i = 0; i < 3; i++) {
        size_t slab = global[0] * global[1] * global[2] / global[i] * local[i];
        size_t slabs = workspaces / slab;
        if (slabs == 0) slabs = 1;
        if (slabs * local[i] < global[i]) global[i] = slabs * local[i];
    }
    return global[0] * global[1] * global[2] * floats_each * sizeof(float);
}
