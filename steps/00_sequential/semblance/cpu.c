/* cpu.c - the search: computes the semblance of every point and keeps the largest. */
#include <stdlib.h>

#include "semblance.h"
#include "body.h"

struct search_state {
    const su_gather *g;
    aperture ap; /* the traces of the current search */
};

search_state *search_begin(const su_gather *g, const query *q, run_times *t)
{
    (void)q, (void)t;
    search_state *s = allocate(1, sizeof *s, "the state of the search");
    *s = (search_state){.g = g};
    return s;
}

/* Searches one sample of the output trace. */
static void search_sample(const aperture *ap, const query *q, search_result *result)
{
    result->best.semblance = -1;

    for (int ia = 0; ia < q->np[A]; ia++) {
        float a = value(q, A, ia);
        for (int ib = 0; ib < q->np[B]; ib++) {
            float b = value(q, B, ib);
            point best = {0, 0, 0, 0, 0, 0, -1};

            for (int ic = 0; ic < q->np[C]; ic++) {
                float c = value(q, C, ic);
                for (int id = 0; id < q->np[D]; id++) {
                    float d = value(q, D, id);
                    for (int ie = 0; ie < q->np[E]; ie++) {
                        float e = value(q, E, ie);
                        float stack;
                        float score = semblance_2d(ap, q, a, b, c, d, e, &stack);
                        point candidate = {a, b, c, d, e, stack, score};
                        if (score > best.semblance) best = candidate;
                    }
                }
            }

            if (result->panel)
                result->panel[(size_t)ia * q->np[B] + ib] = best.semblance;
            if (best.semblance > result->best.semblance) result->best = best;
        }
    }
}

void search(search_state *s, const query *q, int samples, const int *indices,
            search_result *result, run_times *t)
{
    double start = seconds();

    s->ap.len = 0;
    for (int i = 0; i < q->ntraces; i++) vector_push(s->ap, &s->g->trace[indices[i]]);

    double ready = seconds();

    for (int k = 0; k < samples; k++) search_sample(&s->ap, &q[k], &result[k]);

    double end = seconds();
    t->init += ready - start;
    t->run += end - ready;
    t->kernel += end - ready;
}

void search_end(search_state *s)
{
    free(s->ap.items);
    free(s);
}

#include "moveout.h"
