/* host.h - what the host prepares, whatever the back-end. */
#include "semblance.h"
#include "body.h"

/* Of how many parts, each with a best point of its own, a search is. */
static size_t parts_of(const query *q)
{
    return (size_t)q->np[0] * q->np[1] * q->np[2];
}

/* The traces of a search as it sees them. */
static void prepare(const su_gather *g, const query *q, const int *near, trace *traces)
{
    for (int i = 0; i < q->ntraces; i++) {
        const su_header *h = &g->trace[near[i]].header;
        traces[i].scalco = h->scalco;
        traces[i].sy = h->sy;
        traces[i].gy = h->gy;
        traces[i].row = near[i];
    }
}
