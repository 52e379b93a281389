/* host.h - what the host prepares, whatever the back-end. */
#include "semblance.h"
#include "body.h"

/* Of how many parts, each with a best point of its own, a search is. */
static size_t parts_of(const query *q)
{
    return (size_t)q->np[0] * q->np[1] * q->np[2];
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

/* Bytes for the rooms of work-items: enough for more than a GPU runs at a time. */
#ifndef ROOM_BYTES
#define ROOM_BYTES (256 << 20)
#endif

/* Shortens a range of work-items, by whole groups (but for a single one), to `most` of
 * them and until their rooms, of so many floats, fit into ROOM_BYTES; returns the bytes
 * that they take. */
static inline size_t fit_rooms(size_t global[3], const size_t local[3], size_t floats,
                               size_t most)
{
    size_t rooms = ROOM_BYTES / sizeof(float) / floats;
    if (rooms > most) rooms = most;
    for (int i = 0; i < 3; i++) {
        size_t layer = global[0] * global[1] * global[2] / global[i] * local[i];
        size_t layers = rooms / layer;
        if (layers == 0) layers = 1;
        if (layers * local[i] < global[i]) global[i] = layers * local[i];
    }
    return global[0] * global[1] * global[2] * floats * sizeof(float);
}
