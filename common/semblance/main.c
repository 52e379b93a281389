/* main.c - the front end of every step and back-end: arguments, traces, one search, the
 * answer.
 */
#include "arguments.h"

#include <math.h>
#include <stdlib.h>

static const char about[] =
    "search the moveout (A, B, C, D, E) that a reflection follows around (m0, h0, t0)\n"
    "Called with the paper's 20 words (M0 H0 T0 TAU, P0 P1 N of A to E, FILE), after "
    "which key=value may follow, or with key=value alone.";

int main(int argc, char **argv)
{
    run_name = "semblance";
    const char *out = NULL, *panel = NULL;
    arg extra[] = {
        {"out", ARG_TEXT, &out, 0, 0, ".npy of A, B, C, D, E, stack, semblance", 0},
        {"panel", ARG_TEXT, &panel, 0, 0, ".npy of the largest semblance of (A, B)", 0},
        {0},
    };
    request r = request_parse(argc, argv, extra, about);
    if (out) npy_writable("out", out);
    if (panel) npy_writable("panel", panel);

    double start = seconds();
    su_gather g = request_gather(&r);
    query q = query_of(&r, &g);
    q.pitch = g.ns;
    int *near = allocate(g.ntraces, sizeof *near, "the numbers of the traces");
    for (int i = 0; i < q.ntraces; i++) near[i] = i;
    size_t cells = (size_t)q.np[0] * (size_t)q.np[1];
    best found = {.at.semblance = NAN};
    if (panel) found.panel = allocate(cells, sizeof(float), "the (A, B) panel");
    double reading = seconds() - start;

    run_times t = {0};
    search_state *s = search_begin(&g, &q, &t);
    search(s, &q, near, &found, &t);
    search_end(s);

    /* A mean of squares cannot exceed the square's mean by more than rounding. */
    if (!(found.at.semblance >= 0 && found.at.semblance <= 1.001f))
        fail("semblance %g: expected 0 to 1 (are the samples too large for float?)",
             found.at.semblance);

    if (out) npy_write(out, &(npy){NPY_F4, 1, {7}, &found.at});
    if (panel)
        npy_write(panel,
                  &(npy){NPY_F4, 2, {(size_t)q.np[0], (size_t)q.np[1]}, found.panel});

    printf("A=%.9g\nB=%.9g\nC=%.9g\nD=%.9g\nE=%.9g\n", found.at.a, found.at.b,
           found.at.c, found.at.d, found.at.e);
    printf("Stack=%.9g\nSemblance=%.9g\n", found.at.stack, found.at.semblance);
    printf("Time_init=%.9g\nTime_run=%.9g\nTime_kernel=%.9g\n", reading + t.init, t.run,
           t.kernel);
    if (fflush(stdout)) fail("standard output: cannot be written");
    free(found.panel);
    free(near);
    su_free(&g);
    return 0;
}
