/* main.c - the front end of every step and back-end: arguments, and one search or a
 * section of them.
 */
#include "crew.h"
#include "section.h"
#include "survey.h"

#include <math.h>
#include <stdlib.h>

static const char about[] =
    "search the moveout (A, B, C, D, E) that a reflection follows around (m0, h0, "
    "t0);\n"
    "with stack= or coherence=, fill whole traces by such searches.\n"
    "Called with the paper's 20 words (M0 H0 T0 TAU, P0 P1 N of A to E, FILE), after "
    "which key=value may follow, or with key=value alone.";

/* A crew of one. */
__attribute__((weak)) void crew_search(search_state *s, const query *q, const int *near,
                                       best *found, run_times *t)
{
    search(s, q, near, found, t);
}

static void one_point(request *r)
{
    if (r->out) npy_writable("out", r->out);
    if (r->panel) npy_writable("panel", r->panel);

    double start = seconds();
    survey line = survey_read(r);
    double m0 = r->m0.first, h0 = r->h0.first;
    int *near = allocate(line.g.ntraces, sizeof *near, "the numbers of the traces");
    int n = survey_near(&line, r, m0, h0, near), low = near[0];
    if (!n) fail("aperture: no trace is that near to m0=%g h0=%g", m0, h0);
    su_gather g = crew_samples(r->in, &line.g, low, near[n - 1]);
    for (int i = 0; i < n; i++) near[i] -= low;
    query q = query_at(r, &g, m0, h0, r->t0.first);
    q.ntraces = n;
    size_t cells = (size_t)q.np[0] * (size_t)q.np[1];
    best found = {.at.semblance = NAN};
    if (r->panel) found.panel = allocate(cells, sizeof(float), "the (A, B) panel");
    double reading = seconds() - start;

    run_times t = {0};
    search_state *s = search_begin(&g, &q, &t);
    crew_search(s, &q, near, &found, &t);
    search_end(s);

    /* A mean of squares cannot exceed the square's mean by more than rounding. */
    if (!(found.at.semblance >= 0 && found.at.semblance <= 1.001f))
        fail("semblance %g: expected 0 to 1 (are the samples too large for float?)",
             found.at.semblance);

    if (r->out) npy_write(r->out, &(npy){NPY_F4, 1, {7}, &found.at});
    if (r->panel)
        npy_write(r->panel,
                  &(npy){NPY_F4, 2, {(size_t)q.np[0], (size_t)q.np[1]}, found.panel});

    printf("A=%.9g\nB=%.9g\nC=%.9g\nD=%.9g\nE=%.9g\n", found.at.a, found.at.b,
           found.at.c, found.at.d, found.at.e);
    printf("Stack=%.9g\nSemblance=%.9g\n", found.at.stack, found.at.semblance);
    printf("Time_init=%.9g\nTime_run=%.9g\nTime_kernel=%.9g\n", reading + t.init, t.run,
           t.kernel);
    if (fflush(stdout)) fail("standard output: cannot be written");
    free(found.panel);
    free(near);
    survey_free(&line);
}

int main(int argc, char **argv)
{
    run_name = "semblance";
    request r = request_parse(argc, argv, about);
    if (is_section(&r))
        section(&r);
    else
        one_point(&r);
    free(r.row);
    return 0;
}
