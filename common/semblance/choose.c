/* choose.c - choose=1: selects options by live traces that are left out.
 *
 * Some live traces of the apertures are drawn. In a copy of the input they are dead;
 * they are filled with each choice of the options, and compared with their samples. The
 * noise of the samples adds the same energy to the error of every choice, so the choice
 * with the largest signal-to-noise ratio (SNR) is the one whose traces are closest to
 * the signal.
 *
 * First, all combinations of the factors and weights below are tried in one pass, then
 * the best of them without refine=, without average=, and in two passes. Options that
 * the command sets do not change.
 *
 * The copy is STACK.choose, its filled traces STACK.trial; both are removed at the end.
 *
 * Left out: leaving out whole shots, which is closer to a missing shot, but makes gaps
 * that are larger than those to be filled.
 */
#include "choose.h"
#include "check.h"
#include "criterion.h"
#include "processes.h"
#include "section.h"
#include "survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Traces that are left out: at most so many, and one of so many candidates. */
enum { LEFT_OUT = 48, ONE_OF = 8 };
static const uint64_t SEED = 36;
/* Factors of the default aperture in midpoint and half-offset, and of the window. */
static const double reach[][2] = {{1, 1}, {1, 0.6}, {1, 1.6}, {1.8, 1}, {1.8, 0.6}};
static const double window[] = {1, 0.6};
static const char *const weight_name[] = {"semblance", "none"};

enum {
    REACHES = sizeof reach / sizeof *reach,
    WINDOWS = sizeof window / sizeof *window,
    WEIGHTS = sizeof weight_name / sizeof *weight_name
};

/* The traces that are left out. */
typedef struct {
    int count;
    int *number;     /* [count]: in the file */
    position *place; /* [count] */
    char *in, *stack;
} left_out;

/* Draws live traces of r's apertures. */
static left_out draw(request *r)
{
    survey line = survey_read(r);
    criterion_aperture(r, &line);
    size_t n = line.g.ntraces;
    int *candidate = allocate(n, sizeof *candidate, "an aperture"), candidates = 0;
    position *place = allocate(n, sizeof *place, "the positions");
    bool *used = section_used(&line, r);
    for (int i = 0; i < line.live; i++) {
        const trace_place *p = &line.places[i];
        place[p->number] = (position){p->m, p->h};
    }
    for (size_t i = 0; i < n; i++)
        if (used[i]) candidate[candidates++] = (int)i;
    left_out some = {.count = (int)fmin(LEFT_OUT, candidates / ONE_OF)};
    if (some.count == 0)
        fail("choose=1: %d live traces in the apertures: expected at least %d",
             candidates, ONE_OF);
    some.number = candidate;
    some.place = allocate((size_t)some.count, sizeof *some.place, "the positions");
    for (int i = 0; i < some.count; i++) {
        uint64_t left = (uint64_t)(candidates - i);
        int j = i + (int)(splitmix64(SEED, (uint64_t)i + 1) % left);
        int drawn = candidate[j];
        candidate[j] = candidate[i];
        candidate[i] = drawn;
        some.place[i] = place[drawn];
    }
    free(used);
    free(place);
    survey_free(&line);
    some.in = section_file(r->stack, ".choose");
    some.stack = section_file(r->stack, ".trial");
    return some;
}

/* Writes the input, in which the traces that are left out are dead. */
static void write_input(const request *r, const left_out *some)
{
    su_gather g = section_read(r->in, r->order);
    char why[SU_REASON_SIZE];
    for (int i = 0; i < some->count; i++)
        g.trace[some->number[i]].header.trid = SU_DEAD;
    if (su_write(some->in, g.big_endian ? SU_BIG : SU_LITTLE, &g, why) != 0)
        fail("%s: %s", some->in, why);
    su_free(&g);
}

/* Returns the SNR of the filled traces in dB, compared with the samples of the input.
 */
static double compare(const request *r, const left_out *some)
{
    su_gather g = section_read(r->in, r->order);
    su_gather filled = section_read(some->stack, SU_DETECT);
    double energy = 0, error = 0;
    for (int i = 0; i < some->count; i++) {
        const su_trace *t = &g.trace[some->number[i]];
        int first = section_first(r, &g, t);
        for (int k = 0; k < r->t0.count; k++) {
            double sample = t->data[first + k];
            double difference = sample - filled.trace[i].data[k];
            energy += sample * sample;
            error += difference * difference;
        }
    }
    su_free(&filled);
    su_free(&g);
    return check_snr(energy, error);
}

static void wait_for_all(void)
{
    double barrier = 0;
    proc_sum(&barrier, 1);
}

static void remove_results(const left_out *some)
{
    static const char *const suffix[] = {"", ".first", ".live", ".residual"};
    wait_for_all();
    for (size_t i = 0; i < sizeof suffix / sizeof *suffix && !run_rank; i++) {
        char *path = section_file(some->stack, suffix[i]);
        unlink(path);
        free(path);
    }
    wait_for_all();
}

/* The options that are chosen. */
typedef struct {
    double aperture[2], tau;
    double average; /* NaN: like tau */
    weight_choice weight;
    bool refine;
    int passes;
} choice;

static void apply(request *r, const choice *c)
{
    memcpy(r->aperture, c->aperture, sizeof r->aperture);
    r->tau = c->tau;
    r->average = c->average;
    r->weight = c->weight;
    r->refine = c->refine;
    r->passes = c->passes;
}

static void print_choice(const char *what, const choice *c)
{
    if (!run_rank)
        fprintf(stderr,
                "%s: %s aperture=%.6g,%.6g tau=%.6g weight=%s refine=%d average=%.6g "
                "passes=%d\n",
                run_name, what, c->aperture[0], c->aperture[1], c->tau,
                weight_name[c->weight], c->refine,
                isnan(c->average) ? c->tau : c->average, c->passes);
}

/* Fills the traces that are left out with the options *c. Prints and returns the SNR.
 * The period and the dip that the first pass finds out are stored in *r, a window that
 * is not set in *c. */
static double try_choice(request *r, choice *c, const left_out *some)
{
    request trial = *r;
    apply(&trial, c);
    size_t count = (size_t)some->count, size = count * sizeof *some->place;
    trial.positions = allocate(count, sizeof *some->place, "the positions");
    memcpy(trial.positions, some->place, size);
    trial.position_count = some->count;
    trial.m0 = (series){some->place[0].m, 0, 1};
    trial.h0 = (series){some->place[0].h, 0, 1};
    trial.in = some->in;
    trial.stack = some->stack;
    trial.coherence = trial.parameters = trial.ranges_out = NULL;
    trial.choose = false;
    trial.trial = trial.silent = true;
    section_passes(&trial);
    r->row = trial.row; /* was allocated anew */
    r->rows = trial.rows;
    r->period = trial.period;
    r->dip = trial.dip;
    c->tau = trial.tau;
    free(trial.positions);
    wait_for_all();
    double snr = run_rank ? 0 : compare(r, some);
    proc_broadcast(&snr, sizeof snr);
    remove_results(some);
    char what[32];
    snprintf(what, sizeof what, "%.2f dB:", snr);
    print_choice(what, c);
    return snr;
}

void choose_options(request *r)
{
    bool vary_aperture = !isfinite(r->aperture[0]), vary_window = isnan(r->tau);
    left_out some = draw(r);
    remove_results(&some);
    if (!run_rank) {
        write_input(r, &some);
        fprintf(stderr,
                "%s: choose=1: %d live traces are left out; SNR of their filled traces "
                "relative to their samples, noise included:\n",
                run_name, some.count);
    }
    wait_for_all();
    choice best = {.passes = 1}, next;
    double largest = -INFINITY, tau = r->tau;
    for (int i = 0; i < (vary_aperture ? REACHES : 1); i++)
        for (int j = 0; j < (vary_window ? WINDOWS : 1); j++)
            for (int k = 0; k < (r->weight_set ? 1 : WEIGHTS); k++) {
                next = (choice){
                    {r->aperture[0] * reach[i][0], r->aperture[1] * reach[i][1]},
                    tau * window[j],
                    r->average,
                    r->weight_set ? r->weight : (weight_choice)k,
                    r->refine,
                    r->passes};
                double snr = try_choice(r, &next, &some);
                if (isnan(tau)) tau = next.tau; /* the default, of the first choice */
                if (!(snr > largest)) continue;
                largest = snr;
                best = next;
            }
    for (int change = 0; change < 3; change++) {
        bool set[] = {r->refine_set, !isnan(r->average), r->passes_set};
        if (set[change]) continue;
        next = best;
        if (change == 0) next.refine = false;
        if (change == 1) next.average = 0;
        if (change == 2) next.passes = 2;
        double snr = try_choice(r, &next, &some);
        if (!(snr > largest)) continue;
        largest = snr;
        best = next;
    }
    print_choice("chosen:", &best);
    apply(r, &best);
    if (!run_rank) unlink(some.in);
    free(some.in);
    free(some.stack);
    free(some.place);
    free(some.number);
}
