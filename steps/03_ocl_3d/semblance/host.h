/* host.h - what the host prepares, whatever the back-end. */
#include "semblance.h"
#include "body.h"

/* The traces as the search sees them; to be freed. */
static trace *prepare(const su_gather *g, const query *q)
{
    (void)q;
    trace *traces = (trace *)allocate(g->ntraces, sizeof *traces, "the traces");
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        traces[i].scalco = h->scalco;
        traces[i].sy = h->sy;
        traces[i].gy = h->gy;
    }
    return traces;
}
