/* host.h - what the host prepares, whatever the back-end. */
#include "semblance.h"
#include "body.h"
#include "bound.h"

/* Of how many parts, each with a best point of its own, a search is. */
static size_t parts_of(const query *q)
{
    return (size_t)q->np[0] * q->np[1] * q->np[2];
}

/* Cells of the panel. */
static size_t cells_of(const query *q)
{
    return (size_t)q->np[0] * q->np[1];
}

/* The traces of a search as it sees them, in double until rounded once. */
static void prepare(const su_gather *g, const query *q, const int *near, trace *traces)
{
    for (int i = 0; i < q->ntraces; i++) {
        const su_header *h = &g->trace[near[i]].header;
        double scale = su_scale(h->scalco);
        double midpoint = scale * ((double)h->gy + h->sy) / 2;
        double half_offset = scale * ((double)h->gy - h->sy) / 2;
        traces[i].dm = (float)((midpoint - q->m0) * q->idt);
        traces[i].dh = (float)((half_offset - q->h0) * q->idt);
        traces[i].row = near[i];

        /* Linear in D and in E: least and most are at corners of their block. */
        double dm = traces[i].dm, dh = traces[i].dh;
        double d0 = value(q, 3, 0) * dm * dm, d1 = value(q, 3, q->np[3] - 1) * dm * dm;
        double e0 = value(q, 4, 0) * dh * dm, e1 = value(q, 4, q->np[4] - 1) * dh * dm;
        traces[i].least = (float)(fmin(d0, d1) + fmin(e0, e1));
        traces[i].most = (float)(fmax(d0, d1) + fmax(e0, e1));
    }
}

/* The higher bound first: the more is found there, the less is left to search. */
static int higher(const void *a, const void *b)
{
    const ranked *x = (const ranked *)a, *y = (const ranked *)b;
    if (x->bound != y->bound) return x->bound < y->bound ? 1 : -1;
    return x->cell - y->cell;
}

/* Bytes for the rooms of work-items: enough for more than a GPU runs at a time. */
#ifndef ROOM_BYTES
#define ROOM_BYTES (256 << 20)
#endif

/* Shortens a range of work-items, by whole groups (but for a single one), to `most` of
 * them and until their rooms, of so many floats, fit into ROOM_BYTES; returns the bytes
 * that they take. */
static inline size_t fit_rooms(size_t *global, size_t local, size_t floats, size_t most)
{
    size_t rooms = ROOM_BYTES / sizeof(float) / floats;
    size_t groups = (rooms < most ? rooms : most) / local;
    if (groups == 0) groups = 1;
    if (groups * local < *global) *global = groups * local;
    return *global * floats * sizeof(float);
}
