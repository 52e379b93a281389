/* choose.c - choose=1: selects options by live traces that are left out.
 *
 * Some live traces of the apertures are drawn. They count as dead, are filled with each
 * choice of the options, and compared with their samples. The
 * noise of the samples adds the same energy to the error of every choice, so the choice
 * with the largest signal-to-noise ratio (SNR) is the one whose traces are closest to
 * the signal.
 *
 * First, all combinations of the factors and weights below are tried in one pass, then
 * the best of them without refine=, without average=, and in two passes. Options that
 * the command sets do not change.
 *
 * The filled traces are STACK.trial, which is removed at the end.
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

/* Traces that are left out: at most so many, and one of so many candidates. */
enum { LEFT_OUT = 48, ONE_OF = 8 };
/* Any number: a job that is repeated draws the same traces. */
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
    int *number;  /* [count]: in the file */
    position *at; /* [count] */
} left_out;

/* Draws live traces of r's apertures. */
static left_out draw(request *r)
{
    survey line = survey_read(r);
    criterion_aperture(r, &line);
    int *number = allocate(line.g.ntraces, sizeof *number, "an aperture"), found = 0;
    bool *used = section_used(&line, r);
    for (size_t i = 0; i < line.g.ntraces; i++)
        if (used[i]) number[found++] = (int)i;
    left_out some = {.count = (int)fmin(LEFT_OUT, found / ONE_OF), .number = number};
    if (some.count == 0)
        fail("choose=1: %d live traces in the apertures: expected at least %d", found,
             ONE_OF);
    some.at = allocate((size_t)some.count, sizeof *some.at, "the positions");
    for (int i = 0; i < some.count; i++) {
        uint64_t left = (uint64_t)(found - i);
        int j = i + (int)(splitmix64(SEED, (uint64_t)i + 1) % left), drawn = number[j];
        number[j] = number[i];
        number[i] = drawn;
        some.at[i] = request_place(r, &line.g.trace[drawn].header);
    }
    free(used);
    survey_free(&line);
    return some;
}

/* Returns the SNR of the filled traces in dB, compared with the samples of the input.
 */
static double compare(const request *r, const char *stack, const left_out *some)
{
    su_gather g = section_read(r->in, r->order);
    su_gather filled = section_read(stack, SU_DETECT);
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

static void print_choice(const request *r, const char *what, const choice *c)
{
    request_note(
        r, "%s aperture=%.6g,%.6g tau=%.6g weight=%s refine=%d average=%.6g passes=%d",
        what, c->aperture[0], c->aperture[1], c->tau, weight_name[c->weight], c->refine,
        isnan(c->average) ? c->tau : c->average, c->passes);
}

/* Makes the traces that are left out dead, and the output traces of r. */
static void leave_out(request *r, const left_out *some)
{
    size_t count = (size_t)some->count, dead = (size_t)r->dead_count;
    int *number = allocate(dead + count, sizeof *number, "the dead traces");
    if (dead) memcpy(number, r->dead, dead * sizeof *number);
    memcpy(number + dead, some->number, count * sizeof *number);
    r->dead = number;
    r->dead_count += some->count;
    position *at = allocate(count, sizeof *at, "the positions");
    memcpy(at, some->at, count * sizeof *at);
    request_set_positions(r, at, some->count);
}

/* Fills the traces that are left out with the options *c into the file `stack`. Prints
 * and returns the SNR. The period and the dip that the first pass finds out are stored
 * in *r, a window that is not set in *c. */
static double try_choice(request *r, choice *c, const char *stack, const left_out *some)
{
    request trial = *r;
    apply(&trial, c);
    leave_out(&trial, some);
    trial.stack = stack;
    trial.coherence = trial.parameters = trial.ranges_out = NULL;
    trial.choose = false;
    trial.trial = trial.silent = true;
    section(&trial);
    r->row = trial.row; /* was allocated anew */
    r->rows = trial.rows;
    r->period = trial.period;
    r->dip = trial.dip;
    c->tau = trial.tau;
    free(trial.positions);
    free(trial.dead);
    proc_wait();
    double snr = run_rank ? 0 : compare(r, stack, some);
    proc_broadcast(&snr, sizeof snr);
    section_remove(stack);
    char what[32];
    snprintf(what, sizeof what, "%.2f dB:", snr);
    print_choice(r, what, c);
    return snr;
}

/* Tries *next, which becomes *best if its SNR is larger. */
static void improve(request *r, choice *next, const char *stack, const left_out *some,
                    choice *best, double *largest)
{
    double snr = try_choice(r, next, stack, some);
    if (!(snr > *largest)) return;
    *largest = snr;
    *best = *next;
}

void choose_options(request *r)
{
    bool vary_aperture = !isfinite(r->aperture[0]), vary_window = isnan(r->tau);
    left_out some = draw(r);
    char *stack = section_file(r->stack, ".trial");
    section_name(stack);
    section_remove(stack);
    request_note(r,
                 "choose=1: %d live traces are left out; SNR of their filled traces "
                 "relative to their samples, noise included:",
                 some.count);
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
                improve(r, &next, stack, &some, &best, &largest);
                if (isnan(tau)) tau = next.tau; /* the default, of the first choice */
            }
    const bool set[] = {r->refine_set, !isnan(r->average), r->passes_set};
    for (int change = 0; change < 3; change++) {
        if (set[change]) continue;
        next = best;
        if (change == 0) next.refine = false;
        if (change == 1) next.average = 0;
        if (change == 2) next.passes = 2;
        improve(r, &next, stack, &some, &best, &largest);
    }
    print_choice(r, "chosen:", &best);
    apply(r, &best);
    free(stack);
    free(some.at);
    free(some.number);
}
