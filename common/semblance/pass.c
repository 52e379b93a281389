/* pass.c - one search for each output trace.
 *
 * The output traces are all combinations of the midpoints m0= and the half-offsets h0=;
 * half-offsets vary fastest; or those of positions=. A search uses the traces of an
 * aperture, which lie within aperture= of the output trace in midpoint and in
 * half-offset. The ranges of A .. E may change from sample to sample. Results go to the
 * files of journal.h, trace by trace.
 *
 * Left out: using the result of the neighbouring sample.
 */
#define _POSIX_C_SOURCE 200809L

#include "pass.h"
#include "check.h"
#include "coarse.h"
#include "criterion.h"
#include "headers.h"
#include "journal.h"
#include "mute.h"
#include "processes.h"
#include "refine.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The search of one output trace and its results. */
typedef struct {
    query *q, *run;           /* [ns], with window=moveout tau more on each side */
    search_result *result;    /* [ns] */
    float *stack, *coherence; /* [ns] */
    float *parameters;        /* [ns][PARAMETERS] */
    int *indices;             /* of the traces of an aperture */
    aperture around;
} trace_buffers;

/* A pass while it is executed. */
typedef struct {
    const pass *pass;
    request *r;
    survey line;
    su_header *header; /* [traces] */
    int traces;        /* number of output traces */
    int max_aperture;  /* largest number of traces in an aperture; 0: no searches */
    /* The first and the last trace of the gather in any aperture. */
    int first_trace, last_trace;
    bool *used;     /* [ntraces]: traces in any aperture */
    su_gather part; /* the traces first_trace to last_trace */
    float *offset;  /* their means, which were subtracted; or NULL */
    int scale;      /* the samples were multiplied by 2^scale */
    journal files;
    int *pending, pending_count; /* output traces that are not complete */
    double dead, dead_before;    /* output traces of this run, and of earlier ones */
    check_job checked;
    tested_trace *check; /* [checks]: live traces that are filled, too */
    int checks;
    bool *usable; /* the traces in apertures with a prediction, or NULL */
    search_state *state;
    trace_buffers b;
    run_times time;
    double check_time; /* seconds */
    fill_sums sums;
    check_sums compared;
} work;

/* Selects the aperture of output trace i, as survey_select() does. */
static int select_aperture(const work *s, int i, int *indices)
{
    position at = request_position(s->r, i);
    int n = survey_select(&s->line, s->r, at.m, at.h, indices);
    if (!s->pass->own) return n;
    int kept = 0;
    for (int k = 0; k < n; k++)
        if (indices[k] != s->pass->own[i]) indices[kept++] = indices[k];
    return kept;
}

/* Computes max_aperture, first_trace, last_trace and used, and reports output traces
 * whose aperture has fewer than 2 traces. */
static void measure_apertures(work *s)
{
    int *indices = allocate(s->line.g.ntraces, sizeof *indices, "an aperture");
    int sparse = 0;
    interval filled = {INFINITY, -INFINITY};
    s->used = allocate(s->line.g.ntraces, sizeof *s->used, "the traces");
    memset(s->used, 0, s->line.g.ntraces * sizeof *s->used);
    s->first_trace = INT_MAX;
    for (int i = 0; i < s->traces; i++) {
        int n = select_aperture(s, i, indices);
        if (n < 2) {
            sparse++;
            continue;
        }
        double h = request_position(s->r, i).h;
        filled.low = fmin(filled.low, h);
        filled.high = fmax(filled.high, h);
        for (int k = 0; k < n; k++) s->used[indices[k]] = true;
        if (n > s->max_aperture) s->max_aperture = n;
        if (indices[0] < s->first_trace) s->first_trace = indices[0];
        if (indices[n - 1] > s->last_trace) s->last_trace = indices[n - 1];
    }
    if (s->r->velocities && s->pass->number == 1) s->r->filled = filled;
    if (sparse)
        request_note(
            s->r,
            "%d of %d output traces have less than 2 traces in their aperture: "
            "dead (trid 2), all zero",
            sparse, s->traces);
    free(indices);
}

/* Returns a hash of everything that the result depends on: the options, what follows
 * from them, and all traces in any aperture. */
static uint64_t job_hash(const work *s)
{
    uint64_t hash = request_hash(s->r);
    hash = digest_update(hash, &s->pass->number, sizeof s->pass->number);
    hash = digest_update(hash, s->header, (size_t)s->traces * sizeof *s->header);
    for (int i = s->first_trace; i <= s->last_trace; i++) {
        const su_trace *t = &s->line.g.trace[i];
        if (!su_is_data(&t->header)) continue;
        hash = digest_update(hash, &t->header, sizeof t->header);
        hash = digest_update(hash, t->data, (size_t)s->line.g.ns * sizeof(float));
    }
    return hash;
}

/* ---- the searches ------------------------------------------------------------------
 */

/* Shows the progress of a pass on a terminal, on one line, which was last shown when
 * *shown seconds had elapsed. */
static void show_progress(const journal *j, int done, double points, double elapsed,
                          double *shown)
{
    if (run_rank || !isatty(STDERR_FILENO) ||
        (done < (int)j->traces && elapsed - *shown < 0.5))
        return;
    *shown = elapsed;
    double rate = elapsed > 0 ? points / elapsed : 0;
    double left =
        ((double)(j->traces - j->done_before) * j->ns - points) / (rate + 1e-9);
    fprintf(stderr, "\r%s: %d of %zu traces, %.3g points/s, %.0f s left \033[K%s",
            run_name, done, j->traces, rate, left, done == (int)j->traces ? "\n" : "");
}

static void check_semblance(const point *p, position at, double t)
{
    if (!(p->semblance >= 0 && p->semblance <= MAX_SEMBLANCE))
        fail("internal error: m0=%g h0=%g t0=%g: semblance %g: expected 0 to 1", at.m,
             at.h, t, p->semblance);
}

/* The default of a step that has only window=parallel. */
__attribute__((weak)) trace_search *search_moveout = NULL;

/* Sets the queries q[-margin .. ns + margin - 1] of an output trace. Those outside of
 * the trace have the ranges of its nearest sample. */
static void set_queries(const request *r, const su_gather *g, position at, int n,
                        int margin, query *q)
{
    int ns = r->t0.count;
    for (int k = -margin; k < ns + margin; k++) {
        int nearest = k < 0 ? 0 : k < ns ? k : ns - 1;
        double inside = series_at(&r->t0, nearest), dt = g->dt * 1e-6;
        double t0 = inside + (k - nearest) * dt;
        if (k != nearest && fabs(t0) < dt / 2) t0 = 0; /* not -1e-18 */
        q[k] = query_at(r, g, at.m, at.h, inside);
        q[k].t0 = (float)t0;
        q[k].ntraces = n;
    }
}

/* Searches the samples q[0 .. ns - 1] with window=moveout: runs of samples that have
 * the same numbers of values, which those in their windows get, too. run is [ns + 2
 * margin]. */
static void search_runs(search_state *state, const query *q, int ns, int margin,
                        const int *indices, query *run, search_result *result,
                        run_times *t)
{
    for (int first = 0, end; first < ns; first = end) {
        const int *np = q[first].np;
        for (end = first + 1; end < ns && !memcmp(q[end].np, np, sizeof q->np);) end++;
        int samples = end - first, count = samples + 2 * margin;
        memcpy(run, q + first - margin, (size_t)count * sizeof *q);
        for (int k = 0; k < count; k++) memcpy(run[k].np, np, sizeof q->np);
        search_moveout(state, run + margin, samples, indices, result + first, t);
    }
}

/* Returns the number of samples before and after an output trace whose arrivals are in
 * its windows. */
static int margin_of(const request *r, const su_gather *g)
{
    return r->window == WINDOW_MOVEOUT ? tau_samples(r, g) : 0;
}

/* Output times of a trace: samples of them, from number `first` on. */
typedef struct {
    int first, samples;
} span;

/* Searches these times of the output trace at a place in n traces of the gather. */
static void search_trace(work *s, position at, int n, span times, run_times *t)
{
    const request *r = s->r;
    const trace_buffers *b = &s->b;
    int margin = margin_of(r, &s->part), first = times.first, ns = times.samples;
    if (ns == 0) return;
    query *q = b->q + margin;
    set_queries(r, &s->part, at, n, margin, q);
    search_result *result = b->result + first;
    for (int k = 0; k < ns; k++) result[k] = (search_result){.best.semblance = NAN};
    if (r->window == WINDOW_MOVEOUT)
        search_runs(s->state, q + first, ns, margin, b->indices, b->run, result, t);
    else if (r->search == SEARCH_COARSE)
        search_coarse(s->state, q + first, ns, b->indices, result, t);
    else
        search(s->state, q + first, ns, b->indices, result, t);
    for (int k = first; k < first + ns; k++) {
        const point *best = &b->result[k].best;
        check_semblance(best, at, series_at(&r->t0, k));
        b->stack[k] = best->stack;
        b->coherence[k] = best->semblance;
        memcpy(b->parameters + PARAMETERS * k, &best->a, PARAMETERS * sizeof(float));
    }
}

/* Curves are steep if |A| exceeds this part of dip=: the range of A may be too small if
 * much of the energy is filled along such curves. */
static const double AT_BOUND = 0.9, STEEP_MAX = 0.12;

/* Fills these times of the output trace at a place from the n traces b.indices of the
 * part, and adds to *sums what has been found. The other times are 0. */
static void fill_times(work *s, position at, int n, span times, run_times *t,
                       fill_sums *sums)
{
    const request *r = s->r;
    trace_buffers *b = &s->b;
    size_t ns = (size_t)r->t0.count;
    memset(b->stack, 0, ns * sizeof(float));
    memset(b->coherence, 0, ns * sizeof(float));
    memset(b->parameters, 0, ns * PARAMETERS * sizeof(float));
    if (n < 2) return;
    search_trace(s, at, n, times, t);
    aperture_set(&b->around, r, &s->part, at.m, at.h, b->indices, n);
    refine_trace(r, &b->around, b->q + margin_of(r, &s->part), b->coherence,
                 b->parameters);
    fill_trace(r, &b->around, b->coherence, b->parameters, b->stack, sums);
    sums->samples += times.samples;
    for (int k = times.first; k < times.first + times.samples; k++) {
        double energy = (double)b->stack[k] * b->stack[k];
        sums->energy += energy;
        if (fabs(b->parameters[PARAMETERS * k + A]) > AT_BOUND * r->dip)
            sums->steep += energy;
    }
}

/* Fills output trace i and writes it. */
static void fill_output(work *s, int i)
{
    const request *r = s->r;
    trace_buffers *b = &s->b;
    position at = request_position(r, i);
    int ns = r->t0.count, n = select_aperture(s, i, b->indices);
    int mute = mute_output(r, &s->part, at.h);
    for (int k = 0; k < n; k++) b->indices[k] -= s->first_trace;
    fill_times(s, at, n, (span){mute, ns - mute}, &s->time, &s->sums);
    double constant = 0;
    for (int k = 0; k < n && s->offset; k++)
        constant += (double)s->offset[b->indices[k]] / n;
    for (int k = 0; k < ns && s->scale != 0; k++)
        b->stack[k] = ldexpf(b->stack[k], -s->scale);
    for (int k = mute; k < ns && n >= 2 && s->offset; k++)
        b->stack[k] += (float)constant;
    for (int k = 0; k < ns && s->pass->base; k++)
        b->stack[k] += s->pass->base->trace[i].data[k];
    survey_check_input(r, &s->line);
    const float *rows[JOURNAL_FILES] = {b->stack, b->coherence, b->parameters};
    journal_write(&s->files, (size_t)i, n < 2 ? SU_DEAD : SU_LIVE, rows);
    s->dead += n < 2;
}

/* ---- the check ---------------------------------------------------------------------
 */

/* Returns the number of samples that the search of one output sample visits, on
 * average, from some of the output traces. */
static double mean_visits(const work *s)
{
    enum { TRACES = 8, TIMES = 8 };
    const request *r = s->r;
    int window = r->window == WINDOW_MOVEOUT ? 1 : 2 * tau_samples(r, &s->part) + 1;
    double visits = 0;
    for (int i = 0; i < TRACES; i++) {
        int trace = (int)((double)i / TRACES * s->traces);
        position at = request_position(r, trace);
        double n = select_aperture(s, trace, s->b.indices);
        for (int k = 0; k < TIMES; k++) {
            int sample = (int)((double)k / TIMES * r->t0.count);
            query q = query_at(r, &s->part, at.m, at.h, series_at(&r->t0, sample));
            if (r->search == SEARCH_COARSE) q = coarse_largest(&q);
            double points = 1;
            for (int j = 0; j < PARAMETERS; j++) points *= q.np[j];
            visits += points * n * window;
        }
    }
    return fmax(visits / (TRACES * TIMES), 1);
}

/* Says how large a large search is, before it begins. */
static void report_work(const request *r, double visits, int traces)
{
    static const double LARGE = 2e11;
    double total = visits * traces * r->t0.count;
    if (!(total > LARGE) || run_rank || r->trial) return;
    fprintf(stderr,
            "%s: %d traces of %d times, %.2g visits of samples each: %.2g visits, of "
            "which one core makes about 1e9 per second: to reduce them, set a smaller "
            "aperture= (%g,%g), dip= or range of velocity=%s\n",
            run_name, traces, r->t0.count, visits, total, r->aperture[0],
            r->aperture[1],
            r->window == WINDOW_MOVEOUT || r->search == SEARCH_COARSE ? ""
            : search_moveout ? ", or window=moveout or search=coarse"
                             : ", or search=coarse");
}

/* Returns for each trace of the survey whether it is in an aperture and has a
 * prediction. */
static bool *predicted_traces(const work *s)
{
    size_t traces = s->line.g.ntraces;
    bool *found = allocate(traces, sizeof *found, "the predicted traces");
    memset(found, 0, traces * sizeof *found);
    for (int i = 0; i < s->pass->predicted_count; i++) {
        int number = s->pass->predicted[i];
        found[number] = s->used[number];
    }
    return found;
}

/* Estimates the work, and chooses the live traces that are filled, too. */
static void begin_check(work *s)
{
    if (s->pass->predicted) s->usable = predicted_traces(s);
    s->checked = (check_job){.r = s->r,
                             .line = &s->line,
                             .output = s->pending,
                             .outputs = s->pending_count,
                             .low = s->first_trace,
                             .high = s->last_trace,
                             .aperture = s->max_aperture,
                             .part = &s->part,
                             .usable = s->usable ? s->usable : s->used,
                             .visits = mean_visits(s)};
    report_work(s->r, s->checked.visits, s->pending_count);
    if (s->pass->last && s->r->check) s->check = check_choose(&s->checked, &s->checks);
}

/* Returns the prediction that was subtracted from trace `number`; NULL if there is
 * none. */
static const float *prediction_of(const pass *p, int number)
{
    for (int i = 0; i < p->predicted_count; i++)
        if (p->predicted[i] == number) return p->predictions->trace[i].data;
    return NULL;
}

/* Stores the samples of trace `number` at the output times, with its prediction. */
static void output_samples(const work *s, int number, double *sample)
{
    const float *prediction = prediction_of(s->pass, number);
    for (int k = 0; k < s->r->t0.count; k++) {
        sample[k] = check_sample(s->r, &s->part, s->line.g.trace[number].data, k);
        if (prediction) sample[k] += ldexp(prediction[k], s->scale);
    }
}

/* Fills the live trace c without itself, and compares it. */
static void check_one(work *s, const tested_trace *c)
{
    double begin = seconds();
    int ns = s->r->t0.count, n = check_select(&s->checked, c, s->b.indices);
    int nearest = check_nearest(&s->checked, c, s->b.indices, n);
    for (int k = 0; k < n; k++) s->b.indices[k] -= s->first_trace;
    fill_sums unused = {0};
    run_times time = {0};
    fill_times(s, c->at, n, (span){c->first, c->samples}, &time, &unused);
    double *own = allocate(3 * (size_t)ns, sizeof *own, "the check");
    double *other = own + ns, *filled = other + ns;
    const float *prediction = prediction_of(s->pass, c->number);
    output_samples(s, c->number, own);
    output_samples(s, nearest, other);
    for (int k = 0; k < ns; k++)
        filled[k] = s->b.stack[k] + (prediction ? ldexp(prediction[k], s->scale) : 0);
    check_compare(c, ns, own, filled, other, &s->compared);
    free(own);
    s->check_time += seconds() - begin;
}

/* ---- the pass ----------------------------------------------------------------------
 */

/* Reads the traces that are in some aperture: the back-end gets only these. */
static void read_part(work *s)
{
    request *r = s->r;
    s->part = s->line.g;
    if (s->max_aperture) {
        s->part = proc_read_samples(r->in, &s->line.g, s->first_trace, s->last_trace);
        if (!run_rank && !r->silent) survey_report(r, &s->part, s->first_trace);
        /* Ranks share the samples: none changes them before the report. */
        s->offset = survey_offset(r, &s->part, s->used + s->first_trace);
    }
    survey_subtract(&s->part, s->offset);
    if (!s->max_aperture) return;
    mute_input(r, &s->part, &s->line, s->first_trace);
    /* All passes use the ranges of the first one, which has none if no trace is in an
     * aperture. */
    if (r->velocities && (s->pass->number == 1 || !(r->row[0].np[A] > 0)))
        criterion_ranges(r, &s->part, &s->line, s->first_trace);
    s->scale = survey_scale(&s->part, s->used + s->first_trace);
}

/* Reads the survey and opens the files for the results. */
static void begin_files(work *s)
{
    request *r = s->r;
    if (r->window == WINDOW_MOVEOUT && !search_moveout)
        fail("window=moveout: not in this step or back-end: expected window=parallel");
    s->line = survey_read(r);
    s->traces = request_traces(r);
    s->header = headers_make(r, &s->line);
    if (r->velocities) criterion_aperture(r, &s->line);
    measure_apertures(s);

    journal *j = &s->files;
    *j = (journal){.file = {{"stack", r->stack, -1},
                            {"coherence", r->coherence, -1},
                            {"parameters", r->parameters, -1}},
                   .live = survey_kind(&s->line),
                   .traces = (size_t)s->traces,
                   .ns = r->t0.count,
                   .parameters = PARAMETERS};
    for (int f = 0; f < JOURNAL_FILES; f++)
        if (j->file[f].path && !r->trial) name_result(j->file[f].key, j->file[f].path);
    if (r->ranges_out && !run_rank) result_check("ranges_out", r->ranges_out);
    read_part(s);
    uint64_t hash = job_hash(s);
    proc_require_same("the job", &hash, sizeof hash);
    journal_open(j, s->header, hash);
    if (j->done_before && !run_rank)
        fprintf(stderr, "%s: %zu of %d traces are complete already\n", run_name,
                j->done_before, s->traces);
    /* The hash and the report are those of the samples as they are in the file. */
    survey_rescale(&s->part, s->scale);
}

/* Lists the traces to be filled, and begins the searches. */
static void begin_searches(work *s, double start)
{
    size_t ns = (size_t)s->files.ns, left = s->files.traces - s->files.done_before;
    size_t queries = ns + 2 * (size_t)margin_of(s->r, &s->part);
    s->b = (trace_buffers){
        .q = allocate(queries, sizeof(query), "the samples of a trace"),
        .run = allocate(queries, sizeof(query), "the samples of a trace"),
        .result = allocate(ns, sizeof(search_result), "a trace"),
        .stack = allocate(ns, sizeof(float), "a trace"),
        .coherence = allocate(ns, sizeof(float), "a trace"),
        .parameters = allocate(ns, PARAMETERS * sizeof(float), "a trace"),
        .indices = allocate(s->line.g.ntraces, sizeof(int), "an aperture"),
        .around = aperture_new(s->max_aperture)};
    s->pending = allocate(left, sizeof *s->pending, "traces to be filled");
    for (int i = 0; i < s->traces; i++) {
        if (!s->files.state[i]) s->pending[s->pending_count++] = i;
        s->dead_before += s->files.state[i] == SU_DEAD;
    }
    bool searches = s->max_aperture && s->pending_count;
    if (searches) begin_check(s);
    s->time.init = seconds() - start;
    if (!searches) return;
    query largest = query_largest(s->r, &s->part);
    largest.ntraces = s->max_aperture;
    if (s->r->search == SEARCH_COARSE) largest = coarse_largest(&largest);
    s->state = search_begin(&s->part, &largest, &s->time);
}

/* Fills the pending traces, and those of the check after them. Each process takes the
 * next trace when it has finished one. */
static void fill_traces(work *s, pass_totals *total)
{
    const journal *j = &s->files;
    double transfers = s->time.run; /* of the input to a device, in search_begin() */
    double begin = seconds(), shown = -INFINITY;
    for (int next; (next = proc_next_item()) < s->pending_count + s->checks;) {
        if (next >= s->pending_count) {
            check_one(s, &s->check[next - s->pending_count]);
            continue;
        }
        if (next)
            show_progress(j, (int)j->done_before + next, (double)next * j->ns,
                          seconds() - begin, &shown);
        fill_output(s, s->pending[next]);
    }
    show_progress(j, s->traces, (double)s->pending_count * j->ns, seconds() - begin,
                  &shown);
    journal_close(&s->files);
    double sum[] = {s->sums.samples,    s->sums.semblance, s->sums.weight,
                    s->sums.energy,     s->sums.steep,     s->dead,
                    s->compared.energy, s->compared.error, s->compared.nearest};
    proc_sum(sum, sizeof sum / sizeof *sum);
    s->sums = (fill_sums){sum[0], sum[1], sum[2], sum[3], sum[4]};
    s->dead = sum[5];
    s->compared = (check_sums){sum[6], sum[7], sum[8]};
    total->searched += s->time.run;
    /* Until the last process has finished, without the check. */
    s->time.run = transfers + seconds() - begin - s->check_time;
    if (s->state) search_end(s->state); /* not timed: drivers take up to 65 ms */
    total->time.init += s->time.init;
    total->time.run += s->time.run;
    total->time.kernel += s->time.kernel;
    if (s->pass->number == 1) total->filled = s->sums;
}

/* Prints the means over the filled samples, and a warning if much of their energy has
 * the largest or the smallest A. */
static void report_filled(const request *r, const fill_sums *sums)
{
    if (!(sums->samples > 0)) return;
    printf("Mean_semblance=%.3f\nMean_weight=%.3f\n", sums->semblance / sums->samples,
           sums->weight / sums->samples);
    if (!r->velocities) return;
    double share = sums->energy > 0 ? sums->steep / sums->energy : 0;
    printf("Dip_steep=%.3f\n", share);
    if (share > STEEP_MAX)
        fprintf(stderr,
                "%s: WARNING: dip=%.3g: %.0f %% of the filled energy has the largest "
                "dip that is searched: expected at most %.0f %%: steeper events are "
                "lost: try dip=%.2g\n",
                run_name, r->dip, 100 * share, 100 * STEEP_MAX, 2 * r->dip);
}

/* Prints the summary of a job. */
static void report(const work *s, const pass_totals *total)
{
    printf("Traces=%d\nThere=%zu\nDead=%.0f\nPoints=%.0f\n", s->traces,
           s->files.done_before, s->dead_before + s->dead, s->sums.samples);
    printf("Time_init=%.9g\nTime_run=%.9g\nTime_search=%.9g\nTime_kernel=%.9g\n",
           total->time.init, total->time.run, total->searched, total->time.kernel);
    if (!run_rank) report_filled(s->r, &total->filled);
    if (s->checks && !run_rank) check_report(s->check, s->checks, &s->compared);
}

void pass_execute(request *r, const pass *p, pass_totals *total)
{
    double start = seconds();
    work s = {.r = r, .pass = p};
    begin_files(&s);
    begin_searches(&s, start);
    fill_traces(&s, total);
    if (p->last) report(&s, total);
    free(s.check);
    free(s.usable);
    free(s.used);
    free(s.offset);
    free(s.pending);
    aperture_free(&s.b.around);
    free(s.b.indices);
    free(s.b.parameters);
    free(s.b.coherence);
    free(s.b.stack);
    free(s.b.result);
    free(s.b.run);
    free(s.b.q);
    free(s.header);
    survey_free(&s.line);
}
