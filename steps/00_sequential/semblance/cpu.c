/* cpu.c - the search: every point is scored, the largest semblance wins. */
#include <stdlib.h>

#include "semblance.h"
#include "body.h"

int search(const su_gather *g, const query *q, best *found, run_times *t)
{
    double start = seconds();

    aperture ap = {0};
    for (size_t i = 0; i < g->ntraces; i++) vector_push(ap, &g->trace[i]);

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
                        float s = semblance_2d(&ap, q, a, b, c, d, e, &stack);
                        point here = {a, b, c, d, e, stack, s};
                        if (s > top.semblance) top = here;
                    }
                }
            }

            found->panel[(size_t)ia * q->np[1] + ib] = top.semblance;
            if (top.semblance > found->at.semblance) found->at = top;
        }
    }

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(ap.at);
    return 0;
}
