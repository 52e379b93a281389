/* cpu.c - the search: the values of (A, B, C) are distributed among threads. */
#include <stdlib.h>

#include "host.h"

struct search_state {
    const su_gather *g;
    trace *traces; /* of the current search */
    point *part;   /* the best point of each (A, B, C) */
};

search_state *search_begin(const su_gather *g, const query *q, run_times *t)
{
    double start = seconds();

    search_state *s = allocate(1, sizeof *s, "the state of the search");
    s->g = g;
    s->traces = allocate(q->ntraces, sizeof *s->traces, "the traces");
    s->part = allocate(part_count(q), sizeof *s->part, "the best of each (A, B, C)");

    t->init += seconds() - start;
    return s;
}

/* Searches one sample of the output trace. */
static void search_sample(search_state *s, const query *q, search_result *result)
{
#pragma omp parallel
    {
        float *t2_abc =
            allocate_untouched(q->ntraces, sizeof *t2_abc, "the t2_abc of a thread");

#pragma omp for collapse(3) schedule(dynamic)
        for (int ia = 0; ia < q->np[A]; ia++)
            for (int ib = 0; ib < q->np[B]; ib++)
                for (int ic = 0; ic < q->np[C]; ic++)
                    s->part[part_index(q, ia, ib, ic)] =
                        search_abc(ia, ib, ic, s->traces, s->g->samples, q,
                                   window_length(q), t2_abc, 1);

        free(t2_abc);
    }

    pick_best(q, s->part, q->np[C], result);
}

void search(search_state *s, const query *q, int samples, const int *indices,
            search_result *result, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);

    double ready = seconds();

    for (int k = 0; k < samples; k++) search_sample(s, &q[k], &result[k]);

    double end = seconds();
    t->init += ready - start;
    t->run += end - ready;
    t->kernel += end - ready;
}

void search_end(search_state *s)
{
    free(s->part);
    free(s->traces);
    free(s);
}
