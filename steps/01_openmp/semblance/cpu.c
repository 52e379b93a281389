/* cpu.c - the search: every point is scored, the largest semblance wins. */
#include <stdlib.h>

#include "semblance.h"
#include "body.h"

int search(const su_gather *g, const query *q, best *found, run_times *t)
{
    double start = seconds();

    size_t parts = (size_t)q->np[0] * q->np[1];
    point *part = allocate(parts, sizeof *part, "the best of each (A, B)");

    double ready = seconds();

#pragma omp parallel for schedule(dynamic)
    for (int ia = 0; ia < q->np[0]; ia++)
        search_a(ia, g->trace, q, &part[(size_t)ia * q->np[1]]);

    pick_best(q, part, 1, found);

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(part);
    return 0;
}
