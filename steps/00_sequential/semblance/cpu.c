/* cpu.c - the search: every point is scored, the largest semblance wins. */
#include <stdlib.h>

#include "semblance.h"
#include "body.h"

struct search_state {
    const su_gather *g;
    aperture ap; /* the traces of a search */
};

search_state *search_begin(const su_gather *g, const query *q, run_times *t)
{
    (void)q, (void)t;
    search_state *s = allocate(1, sizeof *s, "the state of the search");
    *s = (search_state){.g = g};
    return s;
}

void search(search_state *s, const query *q, const int *near, best *found, run_times *t)
{
    double start = seconds();

    s->ap.len = 0;
    for (int i = 0; i < q->ntraces; i++) vector_push(s->ap, &s->g->trace[near[i]]);

    double ready = seconds();

    found->at.semblance = -1;

    for (int ia = 0; ia < q->np[0]; ia++) {
        float a = value(q, 0, ia);
        for (int ib = 0; ib < q->np[1]; ib++) {
            float b = value(q, 1, ib);
            point top = {0, 0, 0, 0, 0, 0, -1};

            for (int ic = 0; ic < q->np[2]; ic++) {
                float c = value(q, 2, ic);
                for (int id = 0; id < q->np[3]; id++) {
                    float d = value(q, 3, id);
                    for (int ie = 0; ie < q->np[4]; ie++) {
                        float e = value(q, 4, ie);
                        float stack;
                        float score = semblance_2d(&s->ap, q, a, b, c, d, e, &stack);
                        point here = {a, b, c, d, e, stack, score};
                        if (score > top.semblance) top = here;
                    }
                }
            }

            if (found->panel) found->panel[(size_t)ia * q->np[1] + ib] = top.semblance;
            if (top.semblance > found->at.semblance) found->at = top;
        }
    }

    double end = seconds();
    t->init += ready - start;
    t->run += end - ready;
    t->kernel += end - ready;
}

void search_end(search_state *s)
{
    free(s->ap.at);
    free(s);
}
