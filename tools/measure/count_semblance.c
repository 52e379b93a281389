/* count_semblance.c - counts the work of a query: executes the loops of a search
 * without the search. tools/measure/ceilings.py converts the counts to operations and
 * bytes.
 *
 *     semblance-count QUERY   prints points= visits= used= samples= traces=
 *
 * A visit is the computation for one trace and one point (A, B, C, D, E). It is used if
 * its window lies inside the trace; samples are those of the windows used. A point ends
 * at the second trace that is not used, so the counts depend on the traces, too. For a
 * section, the first search is counted, and traces= is the number of output traces. The
 * count uses double: at the edge of a trace a float search may decide otherwise.
 */
#include <math.h>
#include <stdlib.h>

#include "arguments.h"
#include "survey.h"

/* Value i of parameter k. */
static double value(const request *r, int k, int i)
{
    const ranges *at = &r->row[0];
    return at->p0[k] + i / at->np[k] * (at->p1[k] - at->p0[k]);
}

int main(int argc, char **argv)
{
    run_name = "semblance-count";
    request r = request_parse(argc, argv, "counts the work of a search");
    su_gather g = survey_gather(&r, NULL);
    request_fit(&r, &g); /* ends by fail() if the search would */
    query q = query_at(&r, &g, r.m0.first, r.h0.first, r.t0.first);
    double idt = 1e6 / g.dt;
    int n = (int)g.ntraces, tau = q.tau;

    double *dm = allocate((size_t)n, sizeof *dm, "the midpoints");
    double *dh = allocate((size_t)n, sizeof *dh, "the half-offsets");
    for (int i = 0; i < n; i++) {
        const su_header *h = &g.trace[i].header;
        double s = h->scalco == 0 ? 1 : h->scalco > 0 ? h->scalco : -1.0 / h->scalco;
        dm[i] = s * ((double)h->gy + h->sy) / 2 - q.m0;
        dh[i] = s * ((double)h->gy - h->sy) / 2 - q.h0;
    }

    long visits = 0, used = 0;
#pragma omp parallel for collapse(3) schedule(dynamic) reduction(+ : visits, used)
    for (int ia = 0; ia < q.np[A]; ia++)
        for (int ib = 0; ib < q.np[B]; ib++)
            for (int ic = 0; ic < q.np[C]; ic++)
                for (int id = 0; id < q.np[D]; id++)
                    for (int ie = 0; ie < q.np[E]; ie++) {
                        double a = value(&r, A, ia), b = value(&r, B, ib);
                        double c = value(&r, C, ic), d = value(&r, D, id);
                        double e = value(&r, E, ie);
                        int skipped = 0;
                        for (int i = 0; i < n && skipped < 2; i++) {
                            double t = r.t0.first + a * dm[i] + b * dh[i];
                            double t2 = t * t + c * dh[i] * dh[i] + d * dm[i] * dm[i] +
                                        e * dh[i] * dm[i];
                            double x = t2 < 0 ? -1 : sqrt(t2) * idt;
                            int inside = x >= tau && x < q.ns - tau - 1;
                            visits++;
                            used += inside;
                            skipped += !inside;
                        }
                    }

    double points = 1;
    for (int k = 0; k < 5; k++) points *= q.np[k];
    printf("points=%.0f\nvisits=%ld\nused=%ld\nsamples=%ld\ntraces=%d\n", points,
           visits, used, used * (2 * tau + 1), r.m0.count * r.h0.count);
    free(dm);
    free(dh);
    su_free(&g);
    return 0;
}
