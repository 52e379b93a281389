/* host.h - what the host prepares, whatever the back-end. */
#include "semblance.h"
#include "body.h"

/* Of how many parts, each with a best point of its own, a search is. */
static size_t part_count(const query *q)
{
    return (size_t)q->np[A] * q->np[B];
}

/* The traces of a search as it sees them. */
static void prepare(const su_gather *g, const query *q, const int *indices,
                    trace *traces)
{
    for (int i = 0; i < q->ntraces; i++) {
        const su_header *h = &g->trace[indices[i]].header;
        traces[i].scalco = h->scalco;
        traces[i].sy = h->sy;
        traces[i].gy = h->gy;
        traces[i].row = indices[i];
    }
}
