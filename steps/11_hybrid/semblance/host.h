/* host.h - preparation on the host, the same for all back-ends. */
#include "semblance.h"
#include "body.h"
#include "bound.h"

/* Number of parts of a search; each gives a best point of its own. */
static inline size_t part_count(const query *q)
{
    return (size_t)q->np[A] * q->np[B] * q->np[C];
}

/* Number of cells of the panel, that is of (A, B). */
static inline size_t cell_count(const query *q)
{
    return (size_t)q->np[A] * q->np[B];
}

/* Extracts what the search needs of its traces, in double until the last rounding. */
static inline void prepare(const su_gather *g, const query *q, const int *indices,
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
static inline void prepare_sample(const query *q, trace *traces)
{
    for (int i = 0; i < q->ntraces; i++) {
        double dm = traces[i].dm, dh = traces[i].dh;
        double d0 = value(q, D, 0) * dm * dm, d1 = value(q, D, q->np[D] - 1) * dm * dm;
        double e0 = value(q, E, 0) * dh * dm, e1 = value(q, E, q->np[E] - 1) * dh * dm;
        traces[i].de_min = (float)(fmin(d0, d1) + fmin(e0, e1));
        traces[i].de_max = (float)(fmax(d0, d1) + fmax(e0, e1));
    }
}

/* Compares for qsort: higher bounds first. A large incumbent early prunes more. */
static inline int by_bound(const void *a, const void *b)
{
    const cell_bound *x = (const cell_bound *)a, *y = (const cell_bound *)b;
    if (x->bound != y->bound) return x->bound < y->bound ? 1 : -1;
    return x->cell - y->cell;
}

/* Limit for the workspaces on a device: 256 MiB hold more than run at a time. */
#ifndef WORKSPACE_BYTES
#define WORKSPACE_BYTES (256 << 20)
#endif

/* Reduces a range of work-items, by whole groups (but to no less than one group), to
 * max_items and until their workspaces of floats_each floats fit into WORKSPACE_BYTES;
 * returns the bytes needed. */
static inline size_t fit_workspaces(size_t *global, size_t local, size_t floats_each,
                                    size_t max_items)
{
    size_t workspaces = WORKSPACE_BYTES / sizeof(float) / floats_each;
    size_t groups = (workspaces < max_items ? workspaces : max_items) / local;
    if (groups == 0) groups = 1;
    if (groups * local < *global) *global = groups * local;
    return *global * floats_each * sizeof(float);
}
