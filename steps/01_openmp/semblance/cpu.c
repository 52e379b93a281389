/* cpu.c - the search: computes the semblance of every point and keeps the largest. */
#include <stdlib.h>

#include "semblance.h"
#include "body.h"

struct search_state {
    const su_gather *g;
    point *part; /* [np[A]][np[B]]: the best point of each (A, B) */
};

search_state *search_begin(const su_gather *g, const query *q, run_times *t)
{
    double start = seconds();

    search_state *s = allocate(1, sizeof *s, "the state of the search");
    size_t parts = (size_t)q->np[A] * q->np[B];
    s->g = g;
    s->part = allocate(parts, sizeof *s->part, "the best of each (A, B)");

    t->init += seconds() - start;
    return s;
}

/* Searches one sample of the output trace. */
static void search_sample(search_state *s, const query *q, const int *indices,
                          search_result *result)
{
#pragma omp parallel for schedule(dynamic)
    for (int ia = 0; ia < q->np[A]; ia++)
        search_a(ia, s->g->trace, indices, q, &s->part[(size_t)ia * q->np[B]]);

    pick_best(q, s->part, 1, result);
}

void search(search_state *s, const query *q, int samples, const int *indices,
            search_result *result, run_times *t)
{
    double start = seconds();

    for (int k = 0; k < samples; k++) search_sample(s, &q[k], indices, &result[k]);

    double end = seconds();
    t->run += end - start;
    t->kernel += end - start;
}

void search_end(search_state *s)
{
    free(s->part);
    free(s);
}
