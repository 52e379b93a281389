/* host.h - what the host prepares, whatever the back-end. */
#include "semblance.h"
#include "body.h"

/* The traces as the search sees them, in double until rounded once; to be freed. */
static trace *prepare(const su_gather *g, const query *q)
{
    trace *traces = (trace *)allocate(g->ntraces, sizeof *traces, "the traces");
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        double scale = su_scale(h->scalco);
        double midpoint = scale * ((double)h->gy + h->sy) / 2;
        double half_offset = scale * ((double)h->gy - h->sy) / 2;
        traces[i].dm = (float)((midpoint - q->m0) * q->idt);
        traces[i].dh = (float)((half_offset - q->h0) * q->idt);
    }
    return traces;
}
