/* semblance_calls.c - many searches with one state give the same results as single
 * ones.
 *
 * Replaces common/semblance/main.c. One state, with a gather whose rows are longer than
 * its traces, searches several output traces: at other positions, with other or fewer
 * traces of the gather, fewer values of a parameter, with and without a panel. The
 * samples of an output trace differ in t0 and in their ranges. Each search is repeated
 * with a state of its own, with a gather of these traces alone: the results must have
 * the same bytes. Each sample is also repeated alone; it may then be searched by
 * another method, and its semblance must be equal but for rounding.
 */
#include "arguments.h"
#include "survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the traces indices[0] .. of g as a gather; a row of samples has `pitch`
 * floats, with NaN after the first ns. */
static su_gather gather_of(const su_gather *g, const int *indices, int count, int pitch)
{
    su_gather some = *g;
    some.ntraces = (size_t)count;
    some.pitch = pitch;
    some.trace = allocate((size_t)count, sizeof *some.trace, "traces");
    some.samples = allocate((size_t)count * (size_t)pitch, sizeof(float), "samples");
    for (int i = 0; i < count; i++) {
        some.trace[i] = g->trace[indices[i]];
        some.trace[i].data = some.samples + (size_t)i * (size_t)pitch;
        memcpy(some.trace[i].data, g->trace[indices[i]].data,
               (size_t)g->ns * sizeof(float));
    }
    return some;
}

/* The differences between queries: every `every`-th trace from `first` on. */
typedef struct {
    const char *about;
    int first, every;
    double m0, h0, t0; /* added to the query's */
    int fewer[5];      /* subtracted from the number of values */
    bool panel;
} call;

static const call calls[] = {
    {"all traces", 0, 1, 0, 0, 0, {0}, true},
    {"every other trace, another point", 0, 2, 30, -20, 0.01, {0}, true},
    {"the last three quarters", 3, 1, -30, 0, -0.01, {0, 1, 0, 1, 0}, true},
    {"no panel", 0, 1, 0, 0, 0, {0}, false},
    {"fewer values of all", 1, 2, 0, 10, 0, {2, 1, 2, 1, 1}, true},
    {"fewer, no panel", 1, 3, 0, 10, 0.02, {1, 0, 1, 0, 1}, false},
    {"all traces again", 0, 1, 0, 0, 0, {0}, true},
};

enum { SAMPLES = 3 };

/* How a search is repeated: each sample alone, with a panel, or without one, so that
 * tuples may be skipped; and all samples together, with panels. */
enum { ALONE, PRUNED, TOGETHER, REPEATS };

/* Returns sample k of an output trace: later, with one value of A and of E less in odd
 * samples, and with wider ranges of D and E. */
static query sample(const query *q, int k)
{
    query at = *q;
    at.t0 += 0.013f * (float)k;
    if (k % 2 && at.np[A] > 1) at.np[A]--;
    if (k % 2 && at.np[E] > 1) at.np[E]--;
    for (int p = D; p <= E; p++) {
        float added = (at.p1[p] - at.p0[p]) * (float)k;
        at.p0[p] -= added;
        at.p1[p] += added;
    }
    return at;
}

/* Returns true if two results of a sample have the same bytes, with their panels if the
 * first has one. */
static bool same_bytes(const search_result *a, const search_result *b, size_t bytes)
{
    return !memcmp(&a->best, &b->best, sizeof a->best) &&
           (!a->panel || !memcmp(a->panel, b->panel, bytes));
}

/* Returns true if the semblances of two results differ by rounding only. The points are
 * not compared: a step may use another method for a single sample, and may then find
 * another one of several nearly equal points. */
static bool nearly_equal(const search_result *a, const search_result *b, size_t cells)
{
    static const float TOLERANCE = 1e-5f;
    bool equal = fabsf(a->best.semblance - b->best.semblance) <= TOLERANCE;
    for (size_t i = 0; a->panel && b->panel && i < cells; i++)
        equal = equal && isnan(a->panel[i]) == isnan(b->panel[i]) &&
                !(fabsf(a->panel[i] - b->panel[i]) > TOLERANCE);
    return equal;
}

int main(int argc, char **argv)
{
    run_name = "semblance-calls";
    request r = request_parse(argc, argv, "many searches with one state");
    su_gather g = survey_gather(&r, NULL);
    request_fit(&r, &g);
    query q = query_largest(&r, &g);
    int *indices = allocate(g.ntraces, sizeof *indices, "numbers");
    int *row = allocate(g.ntraces, sizeof *row, "numbers");
    for (int i = 0; i < q.ntraces; i++) indices[i] = row[i] = i;
    size_t cells = (size_t)q.np[A] * (size_t)q.np[B], bytes = cells * sizeof(float);
    float *panel = allocate(SAMPLES * cells, sizeof *panel, "panels");
    float *alone = allocate(SAMPLES * cells, sizeof *alone, "panels");

    q.pitch = g.ns + 60;
    su_gather wide = gather_of(&g, indices, q.ntraces, q.pitch);
    run_times t = {0};
    search_state *s = search_begin(&wide, &q, &t);

    int failed = 0, count = sizeof calls / sizeof *calls;
    point first = {.semblance = NAN};
    for (int c = 0; c < count; c++) {
        const call *now = &calls[c];
        query asked = q;
        asked.m0 += (float)now->m0;
        asked.h0 += (float)now->h0;
        asked.t0 += (float)now->t0;
        for (int k = 0; k < 5; k++)
            asked.np[k] = q.np[k] > now->fewer[k] ? q.np[k] - now->fewer[k] : 1;
        asked.ntraces = 0;
        for (int i = now->first; i < q.ntraces; i += now->every)
            indices[asked.ntraces++] = i;

        memset(panel, 0xff, SAMPLES * bytes);
        query trace[SAMPLES];
        search_result result[SAMPLES];
        for (int k = 0; k < SAMPLES; k++) {
            trace[k] = sample(&asked, k);
            result[k] =
                (search_result){.best.semblance = NAN,
                                .panel = now->panel ? panel + (size_t)k * cells : NULL};
        }
        search(s, trace, SAMPLES, indices, result, &t);

        su_gather few = gather_of(&g, indices, asked.ntraces, g.ns);
        asked.pitch = g.ns;
        run_times its = {0};
        search_state *own = search_begin(&few, &asked, &its);
        bool same = true;
        search_result expected[SAMPLES];
        for (int k = 0; k < SAMPLES; k++) trace[k].pitch = g.ns;
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            bool together = repeat == TOGETHER;
            memset(alone, 0xff, SAMPLES * bytes);
            for (int k = 0; k < SAMPLES; k++) {
                float *own_panel = alone + (size_t)k * cells;
                expected[k] =
                    (search_result){.best.semblance = NAN,
                                    .panel = repeat == PRUNED ? NULL : own_panel};
                if (!together) search(own, &trace[k], 1, row, &expected[k], &its);
            }
            if (together) search(own, trace, SAMPLES, row, expected, &its);
            for (int k = 0; k < SAMPLES; k++) {
                bool equal = together ? same_bytes(&result[k], &expected[k], bytes)
                                      : nearly_equal(&result[k], &expected[k], cells);
                if (!equal)
                    printf("%s, sample %d%s: semblance %.9g, alone %.9g\n", now->about,
                           k,
                           together           ? " of all"
                           : repeat == PRUNED ? ", no panel"
                                              : "",
                           result[k].best.semblance, expected[k].best.semblance);
                same = same && equal;
            }
        }
        search_end(own);
        free(few.trace);
        free(few.samples);

        if (c == 0) first = result[0].best;
        if (c + 1 == count && memcmp(&result[0].best, &first, sizeof first) != 0) {
            printf("%s: not the same result\n", now->about);
            same = false;
        }
        failed += !same;
    }
    bool timed = t.init >= 0 && t.run > 0 && t.kernel > 0;
    if (!timed) printf("times: init %g, run %g, kernel %g\n", t.init, t.run, t.kernel);
    failed += !timed;

    search_end(s);
    free(wide.trace);
    free(wide.samples);
    free(panel);
    free(alone);
    free(row);
    free(indices);
    su_free(&g);
    request_free(&r);
    printf("%d passed, %d failed\n", count + 1 - failed, failed);
    return failed != 0;
}
