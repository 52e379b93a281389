/* host.h - preparation on the host, the same for all back-ends. */
#include "semblance.h"
#include "body.h"

/* Number of parts of a search; each gives a best point of its own. */
static size_t part_count(const query *q)
{
    return (size_t)q->np[A] * q->np[B] * q->np[C];
}

/* Extracts what the search needs of its traces. */
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
