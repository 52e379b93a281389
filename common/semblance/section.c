/* section.c - one search for each output trace.
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

#include "section.h"
#include "check.h"
#include "choose.h"
#include "criterion.h"
#include "fill.h"
#include "headers.h"
#include "processes.h"
#include "refine.h"
#include "journal.h"
#include "mute.h"
#include "survey.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const request *r;
    const pass *pass;
    survey line;
    int traces;       /* number of output traces */
    int max_aperture; /* largest number of traces in an aperture */
    /* The first and the last trace of the gather in any aperture. */
    int first_trace, last_trace;
    bool *used; /* [ntraces]: traces in any aperture */
} job;

static double output_m(const job *s, int i)
{
    return request_position(s->r, i).m;
}

static double output_h(const job *s, int i)
{
    return request_position(s->r, i).h;
}

/* Selects the aperture of output trace i, as survey_select() does. */
static int select_aperture(const job *s, int i, int *indices)
{
    int n = survey_select(&s->line, s->r, output_m(s, i), output_h(s, i), indices);
    if (!s->pass->own) return n;
    int kept = 0;
    for (int k = 0; k < n; k++)
        if (indices[k] != s->pass->own[i]) indices[kept++] = indices[k];
    return kept;
}

/* Computes max_aperture, first_trace, last_trace and used, and reports output traces
 * whose aperture has fewer than 2 traces. */
static void measure_apertures(job *s)
{
    int *indices = allocate(s->line.g.ntraces, sizeof *indices, "an aperture");
    int sparse = 0;
    s->used = allocate(s->line.g.ntraces, sizeof *s->used, "the traces");
    memset(s->used, 0, s->line.g.ntraces * sizeof *s->used);
    s->first_trace = INT_MAX;
    for (int i = 0; i < s->traces; i++) {
        int n = select_aperture(s, i, indices);
        if (n < 2) {
            sparse++;
            continue;
        }
        for (int k = 0; k < n; k++) s->used[indices[k]] = true;
        if (n > s->max_aperture) s->max_aperture = n;
        if (indices[0] < s->first_trace) s->first_trace = indices[0];
        if (indices[n - 1] > s->last_trace) s->last_trace = indices[n - 1];
    }
    if (sparse && !run_rank && !s->r->silent)
        fprintf(stderr,
                "%s: %d of %d output traces have less than 2 traces in their aperture: "
                "dead (trid 2), all zero\n",
                run_name, sparse, s->traces);
    free(indices);
}

/* Returns a hash of everything that the result depends on: the options, what follows
 * from them, and all traces in any aperture. */
static uint64_t job_hash(const job *s, const su_header *header)
{
    const request *r = s->r;
    double values[] = {s->pass->number, r->m0.first,    r->m0.step,  r->m0.count,
                       r->h0.first,     r->h0.step,     r->h0.count, r->t0.first,
                       r->t0.step,      r->t0.count,    r->tau,      r->average,
                       r->aperture[0],  r->aperture[1], r->refine,   r->weight,
                       r->stretch};
    uint64_t hash = digest_update(r->options, values, sizeof values);
    hash = digest_update(hash, r->row, (size_t)r->rows * sizeof *r->row);
    hash = digest_update(hash, r->positions,
                         (size_t)r->position_count * sizeof *r->positions);
    hash = digest_update(hash, r->mute, (size_t)r->mutes * sizeof *r->mute);
    if (r->stretch > 0) /* else the velocities have no effect but the rows */
        hash = digest_update(hash, r->velocity,
                             (size_t)r->velocities * sizeof *r->velocity);
    hash = digest_update(hash, header, (size_t)s->traces * sizeof *header);
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

/* The search of one output trace and its results. */
typedef struct {
    query *q, *run;           /* [ns], with window=moveout tau more on each side */
    search_result *result;    /* [ns] */
    float *stack, *coherence; /* [ns] */
    float *parameters;        /* [ns][PARAMETERS] */
} trace_buffers;

static void check_semblance(const point *p, double m, double h, double t)
{
    if (!(p->semblance >= 0 && p->semblance <= MAX_SEMBLANCE))
        fail("internal error: m0=%g h0=%g t0=%g: semblance %g: expected 0 to 1", m, h,
             t, p->semblance);
}

/* The default of a step that has only window=parallel. */
__attribute__((weak)) trace_search *search_moveout = NULL;

/* Sets the queries q[-margin .. ns + margin - 1] of an output trace. Those outside of
 * the trace have the ranges of its nearest sample. */
static void set_queries(const request *r, const su_gather *g, double m, double h, int n,
                        int margin, query *q)
{
    int ns = r->t0.count;
    for (int k = -margin; k < ns + margin; k++) {
        int nearest = k < 0 ? 0 : k < ns ? k : ns - 1;
        double inside = series_at(&r->t0, nearest), dt = g->dt * 1e-6;
        double t0 = inside + (k - nearest) * dt;
        if (k != nearest && fabs(t0) < dt / 2) t0 = 0; /* not -1e-18 */
        q[k] = query_at(r, g, m, h, inside);
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

/* Searches these times of the output trace at (m, h) in n traces of the gather. */
static void search_trace(const request *r, search_state *state, const su_gather *gather,
                         double m, double h, const int *indices, int n, span times,
                         const trace_buffers *b, run_times *t)
{
    int margin = margin_of(r, gather), first = times.first, ns = times.samples;
    if (ns == 0) return;
    query *q = b->q + margin;
    set_queries(r, gather, m, h, n, margin, q);
    search_result *result = b->result + first;
    for (int k = 0; k < ns; k++) result[k] = (search_result){.best.semblance = NAN};
    if (r->window == WINDOW_MOVEOUT)
        search_runs(state, q + first, ns, margin, indices, b->run, result, t);
    else
        search(state, q + first, ns, indices, result, t);
    for (int k = first; k < first + ns; k++) {
        const point *best = &b->result[k].best;
        check_semblance(best, m, h, series_at(&r->t0, k));
        b->stack[k] = best->stack;
        b->coherence[k] = best->semblance;
        memcpy(b->parameters + PARAMETERS * k, &best->a, PARAMETERS * sizeof(float));
    }
}

/* Curves are steep if |A| exceeds this part of dip=: the range of A may be too small if
 * much of the energy is filled along such curves. */
static const double AT_BOUND = 0.9, STEEP_MAX = 0.12;

/* Fills these times of the output trace at (m, h) from n traces of the gather, and adds
 * to *sums what has been found. The other times are 0. */
static void fill_times(const request *r, search_state *state, const su_gather *gather,
                       double m, double h, const int *indices, int n, span times,
                       aperture *around, const trace_buffers *b, run_times *t,
                       fill_sums *sums)
{
    size_t ns = (size_t)r->t0.count;
    memset(b->stack, 0, ns * sizeof(float));
    memset(b->coherence, 0, ns * sizeof(float));
    memset(b->parameters, 0, ns * PARAMETERS * sizeof(float));
    if (n < 2) return;
    search_trace(r, state, gather, m, h, indices, n, times, b, t);
    aperture_set(around, r, gather, m, h, indices, n);
    refine_trace(r, around, b->q + margin_of(r, gather), b->coherence, b->parameters);
    fill_trace(r, around, b->coherence, b->parameters, b->stack, sums);
    sums->samples += times.samples;
    for (int k = times.first; k < times.first + times.samples; k++) {
        double energy = (double)b->stack[k] * b->stack[k];
        sums->energy += energy;
        if (fabs(b->parameters[PARAMETERS * k + A]) > AT_BOUND * r->dip)
            sums->steep += energy;
    }
}

/* Returns the number of samples that the search of one output sample visits, on
 * average, from some of the output traces. */
static double mean_visits(const job *s, const su_gather *part, int *indices)
{
    enum { TRACES = 8, TIMES = 8 };
    const request *r = s->r;
    int window = r->window == WINDOW_MOVEOUT ? 1 : 2 * tau_samples(r, part) + 1;
    double visits = 0;
    for (int i = 0; i < TRACES; i++) {
        int trace = (int)((double)i / TRACES * s->traces);
        double n = select_aperture(s, trace, indices);
        for (int k = 0; k < TIMES; k++) {
            int sample = (int)((double)k / TIMES * r->t0.count);
            query q = query_at(r, part, output_m(s, trace), output_h(s, trace),
                               series_at(&r->t0, sample));
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
            r->aperture[1], r->window == WINDOW_MOVEOUT ? "" : ", or window=moveout");
}

/* Returns for each trace of the survey whether it has a prediction. */
static bool *predicted_traces(const pass *p, size_t traces)
{
    bool *found = allocate(traces, sizeof *found, "the predicted traces");
    memset(found, 0, traces * sizeof *found);
    for (int i = 0; i < p->predicted_count; i++) found[p->predicted[i]] = true;
    return found;
}

/* Returns the prediction of trace `number` in the file of p->live, whose contents are
 * *live; NULL if the input is no residual. */
static const float *prediction_of(const pass *p, const su_gather *live, int number)
{
    for (int i = 0; i < p->predicted_count; i++)
        if (p->predicted[i] == number) return live->trace[i].data;
    return NULL;
}

/* Prints the means over the filled samples, and a warning if much of their energy has
 * the largest or the smallest A. */
static void report(const request *r, const fill_sums *sums)
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

/* Stores the samples of trace `number` at the output times; to those of a residual, the
 * prediction is added. The gather was multiplied by 2^scale. */
static void output_samples(const job *s, const su_gather *part, const float *prediction,
                           int scale, int number, double *sample)
{
    for (int k = 0; k < s->r->t0.count; k++) {
        sample[k] = check_sample(s->r, part, s->line.g.trace[number].data, k);
        if (prediction) sample[k] += ldexp(prediction[k], scale);
    }
}

/* Fills the live trace c without itself, and compares it. *live has the predictions
 * that were subtracted from the traces, if p->live is set. */
static void check_one(const job *s, const check_job *of, const check_trace *c,
                      const su_gather *live, int scale, search_state *state,
                      aperture *around, const trace_buffers *b, int *indices,
                      check_sums *sums)
{
    const request *r = s->r;
    int ns = r->t0.count, n = check_select(of, c, indices);
    int nearest = check_nearest(of, c, indices, n);
    for (int k = 0; k < n; k++) indices[k] -= s->first_trace;
    fill_sums unused = {0};
    run_times time = {0};
    fill_times(r, state, of->part, c->at.m, c->at.h, indices, n,
               (span){c->first, c->samples}, around, b, &time, &unused);
    double *own = allocate(3 * (size_t)ns, sizeof *own, "the check");
    double *other = own + ns, *filled = other + ns;
    const float *prediction = prediction_of(s->pass, live, c->number);
    output_samples(s, of->part, prediction, scale, c->number, own);
    output_samples(s, of->part, prediction_of(s->pass, live, nearest), scale, nearest,
                   other);
    for (int k = 0; k < ns; k++)
        filled[k] = b->stack[k] + (prediction ? ldexp(prediction[k], scale) : 0);
    check_compare(c, ns, own, filled, other, sums);
    free(own);
}

void section(request *r)
{
    if (r->fill) {
        section_dead(r);
        return;
    }
    if (r->choose) choose_options(r);
    section_passes(r);
}

void section_pass(request *r, const pass *p)
{
    double start = seconds();
    if (r->window == WINDOW_MOVEOUT && !search_moveout)
        fail("window=moveout: not in this step or back-end: expected window=parallel");
    job s = {.r = r, .pass = p, .line = survey_read(r)};
    s.traces = request_traces(r);
    su_header *header = headers_make(r, &s.line);
    if (r->velocities) criterion_aperture(r, &s.line);
    measure_apertures(&s);

    journal j = {.file = {{"stack", r->stack, -1},
                          {"coherence", r->coherence, -1},
                          {"parameters", r->parameters, -1}},
                 .live = survey_kind(&s.line),
                 .traces = (size_t)s.traces,
                 .ns = r->t0.count,
                 .parameters = PARAMETERS};
    for (int f = 0; f < JOURNAL_FILES; f++)
        if (j.file[f].path && !r->trial) name_result(j.file[f].key, j.file[f].path);
    if (r->ranges_out && !run_rank) result_check("ranges_out", r->ranges_out);
    /* The back-end gets only the traces that are in some aperture. */
    su_gather part = s.line.g;
    if (s.max_aperture)
        part = proc_read_samples(r->in, &s.line.g, s.first_trace, s.last_trace);
    if (s.max_aperture && !run_rank && !r->silent)
        survey_report(r, &part, s.first_trace);
    /* Ranks share the samples: none changes them before the report. */
    float *offset =
        s.max_aperture ? survey_offset(r, &part, s.used + s.first_trace) : NULL;
    survey_subtract(&part, offset);
    if (s.max_aperture) mute_input(r, &part, &s.line, s.first_trace);
    /* All passes use the ranges of the first one, which has none if no trace is in an
     * aperture. */
    if (r->velocities && s.max_aperture && (p->number == 1 || !(r->row[0].np[A] > 0)))
        criterion_ranges(r, &part, &s.line, s.first_trace);
    uint64_t hash = job_hash(&s, header);
    int scale = s.max_aperture ? survey_scale(&part, s.used + s.first_trace) : 0;
    proc_require_same("the job", &hash, sizeof hash);
    journal_open(&j, header, hash);
    if (j.done_before && !run_rank)
        fprintf(stderr, "%s: %zu of %d traces are complete already\n", run_name,
                j.done_before, s.traces);

    int margin = margin_of(r, &part);
    size_t queries = (size_t)(j.ns + 2 * margin);
    trace_buffers buffers = {
        .q = allocate(queries, sizeof(query), "the samples of a trace"),
        .run = allocate(queries, sizeof(query), "the samples of a trace"),
        .result = allocate((size_t)j.ns, sizeof(search_result), "a trace"),
        .stack = allocate((size_t)j.ns, sizeof(float), "a trace"),
        .coherence = allocate((size_t)j.ns, sizeof(float), "a trace"),
        .parameters = allocate((size_t)j.ns, PARAMETERS * sizeof(float), "a trace")};
    const float *row_pointers[JOURNAL_FILES] = {buffers.stack, buffers.coherence,
                                                buffers.parameters};
    su_gather base = {0}, live = {0};
    if (p->base) base = section_read(p->base, SU_DETECT);
    int *indices = allocate(s.line.g.ntraces, sizeof *indices, "an aperture");
    int *pending =
        allocate(j.traces - j.done_before, sizeof *pending, "traces to be filled");
    int pending_count = 0;
    aperture around = aperture_new(s.max_aperture);
    double dead = 0, dead_before = 0;
    static fill_sums filled; /* of the first pass */
    if (p->number == 1) filled = (fill_sums){0};
    fill_sums later = {0}, *sums = p->number == 1 ? &filled : &later;
    for (int i = 0; i < s.traces; i++) {
        if (!j.state[i]) pending[pending_count++] = i;
        dead_before += j.state[i] == SU_DEAD;
    }

    /* The hash and the report are those of the samples as they are in the file. */
    survey_rescale(&part, scale);
    int checks = 0;
    check_trace *check = NULL;
    bool *usable = p->live ? predicted_traces(p, s.line.g.ntraces) : NULL;
    for (size_t i = 0; i < s.line.g.ntraces && usable; i++) usable[i] &= s.used[i];
    check_job of = {.r = r,
                    .line = &s.line,
                    .output = pending,
                    .outputs = pending_count,
                    .low = s.first_trace,
                    .high = s.last_trace,
                    .aperture = s.max_aperture,
                    .part = &part,
                    .usable = usable ? usable : s.used};
    if (s.max_aperture && pending_count) {
        of.visits = mean_visits(&s, &part, indices);
        report_work(r, of.visits, pending_count);
        if (p->last && r->check) check = check_choose(&of, &checks);
        if (checks && p->live) live = section_read(p->live, SU_DETECT);
    }

    search_state *state = NULL;
    run_times t = {.init = seconds() - start};
    if (s.max_aperture && pending_count) {
        query largest = query_largest(r, &part);
        largest.ntraces = s.max_aperture;
        state = search_begin(&part, &largest, &t);
    }

    /* Each process takes the next trace when it has finished one. */
    double transfers = t.run; /* of the input to a device, in search_begin() */
    double begin = seconds(), shown = -INFINITY;
    double check_time = 0;
    check_sums compared = {0};
    for (int next; (next = proc_next_item()) < pending_count + checks;) {
        if (next >= pending_count) {
            double check_begin = seconds();
            check_one(&s, &of, &check[next - pending_count], &live, scale, state,
                      &around, &buffers, indices, &compared);
            check_time += seconds() - check_begin;
            continue;
        }
        int i = pending[next];
        if (next)
            show_progress(&j, (int)j.done_before + next, (double)next * j.ns,
                          seconds() - begin, &shown);
        double m = output_m(&s, i), h = output_h(&s, i);
        int n = select_aperture(&s, i, indices), mute = mute_output(r, &part, h);
        for (int k = 0; k < n; k++) indices[k] -= s.first_trace;
        fill_times(r, state, &part, m, h, indices, n, (span){mute, j.ns - mute},
                   &around, &buffers, &t, sums);
        double constant = 0;
        for (int k = 0; k < n && offset; k++)
            constant += (double)offset[indices[k]] / n;
        for (int k = 0; k < j.ns && scale != 0; k++)
            buffers.stack[k] = ldexpf(buffers.stack[k], -scale);
        for (int k = mute; k < j.ns && n >= 2 && offset; k++)
            buffers.stack[k] += (float)constant;
        for (int k = 0; k < j.ns && p->base; k++)
            buffers.stack[k] += base.trace[i].data[k];
        survey_check_input(r, &s.line);
        journal_write(&j, (size_t)i, n < 2 ? SU_DEAD : SU_LIVE, row_pointers);
        dead += n < 2;
    }
    show_progress(&j, s.traces, (double)pending_count * j.ns, seconds() - begin,
                  &shown);
    journal_close(&j);

    double sum[] = {sums->samples, dead, compared.energy, compared.error,
                    compared.nearest};
    proc_sum(sum, sizeof sum / sizeof *sum);
    static run_times total; /* of all passes */
    static double searched; /* seconds in transfers and search(), of all passes */
    searched += t.run;
    /* Until the last process has finished, without the check. */
    t.run = transfers + seconds() - begin - check_time;
    if (state) search_end(state); /* not timed: drivers take up to 65 ms */
    total.init += t.init, total.run += t.run, total.kernel += t.kernel;
    if (p->last) {
        double of_first[] = {filled.samples, filled.semblance, filled.weight,
                             filled.energy, filled.steep};
        proc_sum(of_first, sizeof of_first / sizeof *of_first);
        filled = (fill_sums){of_first[0], of_first[1], of_first[2], of_first[3],
                             of_first[4]};
        printf("Traces=%d\nThere=%zu\nDead=%.0f\nPoints=%.0f\n", s.traces,
               j.done_before, dead_before + sum[1], sum[0]);
        printf("Time_init=%.9g\nTime_run=%.9g\nTime_search=%.9g\nTime_kernel=%.9g\n",
               total.init, total.run, searched, total.kernel);
        if (!run_rank) report(r, &filled);
        compared = (check_sums){sum[2], sum[3], sum[4]};
        if (checks && !run_rank) check_report(check, checks, &compared);
        if (fflush(stdout)) fail("standard output: cannot be written");
    }
    if (checks && p->live) su_free(&live);
    free(check);
    free(usable);
    free(s.used);
    free(offset);
    aperture_free(&around);
    free(pending);
    free(indices);
    free(buffers.parameters);
    free(buffers.coherence);
    free(buffers.stack);
    free(buffers.result);
    free(buffers.run);
    free(buffers.q);
    free(header);
    if (p->base) su_free(&base);
    survey_free(&s.line);
}
