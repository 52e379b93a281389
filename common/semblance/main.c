/* main.c - the front end of all steps and back-ends: executes one search, or a section.
 */
#include "arguments.h"
#include "choose.h"
#include "dead.h"
#include "processes.h"
#include "section.h"
#include "survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "search the traveltime parameters A to E of a reflection around (m0, h0, t0);\n"
    "with stack= or coherence=, compute whole traces by such searches.\n"
    "Values are one number, or FIRST:LAST:COUNT: evenly spaced, FIRST and LAST "
    "included.\n"
    "Arguments are the paper's 20 (M0 H0 T0 TAU, P0 P1 N of A to E, FILE), which "
    "key=value may follow, or key=value alone.\n"
    "There and in files of ranges, P0 P1 N are N values from P0 on; P1 is not one of "
    "them.";

/* The default for a job of one process. */
__attribute__((weak)) void proc_search(search_state *s, const query *q,
                                       const int *indices, search_result *result,
                                       run_times *t)
{
    search(s, q, 1, indices, result, t);
}

static void one_point(request *r)
{
    if (r->out) result_check("out", r->out);
    if (r->panel) result_check("panel", r->panel);

    double start = seconds();
    survey line = survey_read(r);
    double m0 = r->m0.first, h0 = r->h0.first;
    int *indices =
        allocate(line.g.ntraces, sizeof *indices, "the numbers of the traces");
    int n = survey_select(&line, r, m0, h0, indices), low = indices[0];
    if (!n)
        fail("aperture: no trace within it (m0=%g h0=%g): expected at least one", m0,
             h0);
    su_gather g = proc_read_samples(r->in, &line.g, low, indices[n - 1]);
    for (int i = 0; i < n; i++) indices[i] -= low;
    bool *used = allocate(g.ntraces, sizeof *used, "the traces");
    memset(used, 0, g.ntraces * sizeof *used);
    for (int i = 0; i < n; i++) used[indices[i]] = true;
    int scale = survey_scale(&g, used);
    free(used);
    survey_rescale(&g, scale);
    query q = query_at(r, &g, m0, h0, r->t0.first);
    q.ntraces = n;
    size_t cells = (size_t)q.np[A] * (size_t)q.np[B];
    search_result result = {.best.semblance = NAN};
    if (r->panel) result.panel = allocate(cells, sizeof(float), "the (A, B) panel");
    double reading = seconds() - start;

    run_times t = {0};
    search_state *s = search_begin(&g, &q, &t);
    proc_search(s, &q, indices, &result, &t);
    search_end(s);

    survey_check_input(r, &line);
    if (!(result.best.semblance >= 0 && result.best.semblance <= MAX_SEMBLANCE))
        fail("internal error: semblance %g: expected 0 to 1", result.best.semblance);
    result.best.stack = ldexpf(result.best.stack, -scale);

    if (r->out) npy_write(r->out, &(npy){NPY_F4, 1, {7}, &result.best});
    if (r->panel)
        npy_write(r->panel,
                  &(npy){NPY_F4, 2, {(size_t)q.np[A], (size_t)q.np[B]}, result.panel});

    printf("A=%.9g\nB=%.9g\nC=%.9g\nD=%.9g\nE=%.9g\n", result.best.a, result.best.b,
           result.best.c, result.best.d, result.best.e);
    printf("Stack=%.9g\nSemblance=%.9g\n", result.best.stack, result.best.semblance);
    printf("Time_init=%.9g\nTime_run=%.9g\nTime_kernel=%.9g\n", reading + t.init, t.run,
           t.kernel);
    if (fflush(stdout)) fail("standard output: cannot be written");
    free(result.panel);
    free(indices);
    survey_free(&line);
}

static void whole_traces(request *r)
{
    const char *stack = r->stack;
    char *filled = r->fill ? section_file(stack, ".filled") : NULL;
    if (r->fill) dead_begin(r, filled);
    if (r->choose) choose_options(r);
    section(r);
    if (r->fill) dead_end(r, stack);
    if (fflush(stdout)) fail("standard output: cannot be written");
    free(filled);
}

int main(int argc, char **argv)
{
    run_name = "semblance";
    request r = request_parse(argc, argv, about);
    if (is_section(&r))
        whole_traces(&r);
    else
        one_point(&r);
    request_free(&r);
    return 0;
}
