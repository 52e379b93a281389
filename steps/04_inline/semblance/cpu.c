/* cpu.c - the search, the values of (A, B, C) shared among threads. */
#include <stdlib.h>

#include "host.h"

int search(const su_gather *g, const query *q, best *found, run_times *t)
{
    double start = seconds();

    trace *traces = prepare(g, q);
    size_t parts = (size_t)q->np[0] * q->np[1] * q->np[2];
    point *part = allocate(parts, sizeof *part, "the best of each (A, B, C)");

    double ready = seconds();

#pragma omp parallel for collapse(3) schedule(dynamic)
    for (int ia = 0; ia < q->np[0]; ia++)
        for (int ib = 0; ib < q->np[1]; ib++)
            for (int ic = 0; ic < q->np[2]; ic++)
                part[part_of(q, ia, ib, ic)] =
                    search_abc(ia, ib, ic, traces, g->samples, q, window_of(q));

    pick_best(q, part, q->np[2], found);

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(traces);
    free(part);
    return 0;
}
