/* check.c - see check.h.
 *
 * For some of the traces that are to be filled, a live trace nearby is filled, too,
 * without itself, and compared with its samples. If all traces of the missing one's
 * shot are missing, the live trace is filled without those of its shot; the same holds
 * for its receiver and its offset. From the live traces around
 * the missing one, check_choose() takes the one whose aperture then has most nearly as
 * many traces as that of the missing one.
 *
 * The noise of a sample cannot be predicted: it counts as an error. Samples of 0 would
 * have an SNR of 0 dB, whatever the noise is. So traces with less are worse than no
 * traces. Where traces have little noise, the nearest trace of the aperture, shifted
 * and scaled, shows it: it is a lower bound on what the traces permit.
 *
 * The work is bounded by a part of the job's: of each trace, only the consecutive
 * samples are filled that have the largest energy.
 *
 * With passes=2, the neighbours' own predictions, which the second pass subtracts, have
 * used the trace: that is not repeated without it.
 */
#include "check.h"
#include "mute.h"
#include "processes.h"

#include <math.h>
#include <stdlib.h>

static const double WORK = 0.02; /* of the job: output samples that are checked */
/* Visits of samples, about 5 ms: so many are checked also if the job is shorter. */
static const double VISITS_MIN = 5e6;
/* Live traces: at least so many, if the work permits, at most so many; and output
 * samples of each that suffice. */
enum { TRACES_MIN = 4, TRACES_MAX = 48, SAMPLES_MIN = 8, SAMPLES = 64 };
enum { NEAREST = 24 };          /* live traces that are compared with an output trace */
static const double SAME = 0.5; /* m: closer shots or receivers are one */
/* Any number: a job that is repeated draws the same traces. */
static const uint64_t SEED = 58;
/* Samples by which a neighbour is shifted at most. */
enum { SHIFT_MAX = 12 };
/* A warning is given if the SNR is below SNR_MIN, or so much below that of a neighbour,
 * but not if it is above SNR_GOOD (dB). */
static const double SNR_MIN = 0.5, NEAREST_BETTER = 1, SNR_GOOD = 6;

double check_snr(double energy, double error)
{
    return 10 * log10(energy / error);
}

double check_sample(const request *r, const su_gather *g, const float *data, int k)
{
    double x = series_at(&r->t0, k) * 1e6 / g->dt;
    int i = (int)fmin(fmax(x, 0), g->ns - 1), next = i < g->ns - 1 ? i + 1 : i;
    return data[i] + (x - i) * ((double)data[next] - data[i]);
}

/* Stores whether two traces have the same shot, receiver, and half-offset. */
static void compare_places(position a, position b, bool same[3])
{
    same[0] = fabs((a.m - a.h) - (b.m - b.h)) <= SAME;
    same[1] = fabs((a.m + a.h) - (b.m + b.h)) <= SAME;
    same[2] = fabs(a.h - b.h) <= SAME;
}

static position place_of(const check_job *job, int number)
{
    return request_place(job->r, &job->line->g.trace[number].header);
}

/* Returns whether the back-end has the samples that the pass searches in. */
static bool is_usable(const check_job *job, int number)
{
    return number >= job->low && number <= job->high && job->usable[number];
}

int check_select(const check_job *job, const tested_trace *c, int *indices)
{
    int n = survey_select(job->line, job->r, c->at.m, c->at.h, indices), kept = 0;
    for (int k = 0; k < n; k++) {
        bool left_out = indices[k] == c->number || !is_usable(job, indices[k]), same[3];
        compare_places(place_of(job, indices[k]), c->at, same);
        for (int i = 0; i < 3; i++) left_out |= c->with[i] && same[i];
        if (!left_out) indices[kept++] = indices[k];
    }
    return kept;
}

/* Stores in c->with what is missing around an output trace: whether its aperture, of n
 * traces, has none of its shot, none of its receiver, and none of its offset. */
static void find_missing(const check_job *job, position output, const int *indices,
                         int n, bool with[3])
{
    bool same[3];
    for (int i = 0; i < 3; i++) with[i] = true;
    for (int k = 0; k < n; k++) {
        compare_places(place_of(job, indices[k]), output, same);
        for (int i = 0; i < 3; i++) with[i] &= !same[i];
    }
}

typedef struct {
    double distance;
    const trace_place *place;
} neighbour;

/* Stores the live traces that are nearest to a position, in units of the aperture, the
 * nearest first. Returns their number. */
static int find_nearest(const check_job *job, position at, neighbour near[NEAREST])
{
    double scale[2];
    int count = 0;
    for (int i = 0; i < 2; i++) {
        double reach = job->r->aperture[i];
        scale[i] = isfinite(reach) && reach > 0 ? 1 / reach : 1;
    }
    for (int i = 0; i < job->line->live; i++) {
        const trace_place *p = &job->line->places[i];
        if (!is_usable(job, p->number)) continue;
        double distance = hypot((p->m - at.m) * scale[0], (p->h - at.h) * scale[1]);
        int k = count < NEAREST ? count++ : NEAREST - 1;
        if (k == NEAREST - 1 && count == NEAREST && near[k].place &&
            !(distance < near[k].distance))
            continue;
        for (; k > 0 && distance < near[k - 1].distance; k--) near[k] = near[k - 1];
        near[k] = (neighbour){distance, p};
    }
    return count;
}

/* Makes *c the live trace that resembles an output trace most. Returns false if there
 * is none. */
static bool choose_trace(const check_job *job, position output, int *indices,
                         tested_trace *c)
{
    const request *r = job->r;
    neighbour near[NEAREST] = {0};
    int n = survey_select(job->line, r, output.m, output.h, indices), least = -1;
    find_missing(job, output, indices, n, c->with);
    bool fixed = r->by_offset && r->rows && r->row[0].h0 < r->row[r->rows - 1].h0;
    for (int i = 0, count = find_nearest(job, output, near); i < count; i++) {
        const trace_place *p = near[i].place;
        tested_trace other = *c;
        other.number = p->number;
        other.at = (position){p->m, p->h};
        if (fixed && (p->h < r->row[0].h0 || p->h > r->row[r->rows - 1].h0)) continue;
        int found = check_select(job, &other, indices);
        if (found < 2 || found > job->aperture) continue;
        if (least >= 0 && abs(found - n) >= least) continue;
        least = abs(found - n);
        *c = other;
    }
    return least >= 0;
}

/* Sets the times that are compared: at most `samples` consecutive ones, after the mute,
 * in which the trace has the largest energy. */
static void set_times(const check_job *job, int samples, tested_trace *c)
{
    const request *r = job->r;
    const su_gather *g = job->part;
    const float *data = g->trace[c->number - job->low].data;
    int mute = mute_output(r, g, c->at.h), ns = r->t0.count - mute;
    c->samples = samples < ns ? samples : ns;
    c->first = mute;
    double sum = 0, largest = 0, mean = 0;
    for (int k = 0; k < r->t0.count; k++)
        mean += check_sample(r, g, data, k) / r->t0.count;
    for (int k = 0; k < ns; k++) {
        double in = check_sample(r, g, data, mute + k) - mean;
        sum += in * in;
        if (k >= c->samples) {
            double out = check_sample(r, g, data, mute + k - c->samples) - mean;
            sum -= out * out;
        }
        if (k + 1 < c->samples || !(sum > largest)) continue;
        largest = sum;
        c->first = mute + k + 1 - c->samples;
    }
}

tested_trace *check_choose(const check_job *job, int *count)
{
    const request *r = job->r;
    double samples = fmax(WORK * job->outputs * r->t0.count, VISITS_MIN / job->visits);
    double traces = fmin(fmax(samples / SAMPLES, TRACES_MIN), TRACES_MAX);
    traces = floor(fmin(fmin(traces, samples / SAMPLES_MIN), job->line->live));
    *count = 0;
    if (traces < 1) return NULL;
    tested_trace *chosen = allocate((size_t)traces, sizeof *chosen, "the check");
    int *indices = allocate(job->line->g.ntraces, sizeof *indices, "an aperture");
    samples = fmin(samples / traces, r->t0.count);
    for (int i = 0; i < (int)traces; i++) {
        /* One output trace from each of so many equal parts of the list. */
        double part = job->outputs / traces,
               random = (double)splitmix64(SEED, (uint64_t)i + 1);
        int k = (int)((i + ldexp(random, -64)) * part);
        position output =
            request_position(r, job->output[k < job->outputs ? k : job->outputs - 1]);
        tested_trace *c = &chosen[*count];
        if (!choose_trace(job, output, indices, c)) continue;
        bool again = false;
        for (int j = 0; j < *count; j++) again |= chosen[j].number == c->number;
        set_times(job, (int)samples, c);
        if (!again && c->samples > 0) ++*count;
    }
    free(indices);
    return chosen;
}

int check_nearest(const check_job *job, const tested_trace *c, const int *indices,
                  int n)
{
    int nearest = c->number;
    double least = INFINITY;
    for (int k = 0; k < n; k++) {
        position p = place_of(job, indices[k]);
        double distance = hypot(p.m - c->at.m, p.h - c->at.h);
        if (!(distance < least)) continue;
        least = distance;
        nearest = indices[k];
    }
    return nearest;
}

void check_compare(const tested_trace *c, int ns, const double *own,
                   const double *filled, const double *nearest, check_sums *sums)
{
    double mean = 0, energy = 0, explained = 0;
    for (int k = 0; k < ns; k++) mean += own[k] / ns;
    int end = c->first + c->samples;
    for (int k = c->first; k < end; k++) {
        energy += (own[k] - mean) * (own[k] - mean);
        sums->error += (own[k] - filled[k]) * (own[k] - filled[k]);
    }
    for (int shift = -SHIFT_MAX; shift <= SHIFT_MAX; shift++) {
        double product = 0, square = 0;
        for (int k = c->first; k < end; k++) {
            int other = k + shift;
            if (other < 0 || other >= ns) continue;
            product += (own[k] - mean) * nearest[other];
            square += nearest[other] * nearest[other];
        }
        if (product > 0) explained = fmax(explained, product * product / square);
    }
    sums->energy += energy;
    sums->nearest += energy - explained;
}

void check_report(const tested_trace *check, int checks, const check_sums *sums)
{
    if (!(sums->energy > 0)) return;
    double snr = check_snr(sums->energy, sums->error);
    double nearest = check_snr(sums->energy, sums->nearest);
    int shots = 0;
    for (int i = 0; i < checks; i++) shots += check[i].with[0];
    printf("Check_traces=%d\nCheck_shots=%d\nCheck_nearest=%.2f\nCheck_SNR=%.2f\n",
           checks, shots, nearest, snr);
    double expected = fmax(SNR_MIN, fmin(nearest - NEAREST_BETTER, SNR_GOOD));
    if (!(snr < expected)) return;
    fprintf(
        stderr,
        "%s: WARNING: %d live trace%s left out and filled with an SNR of %.1f dB "
        "(check=1): expected at least %.1f dB%s\n",
        run_name, checks, checks == 1 ? " was" : "s were", snr, expected,
        expected > SNR_MIN
            ? ", because a shifted neighbour of each has more: positions, velocities "
              "or options do not fit the traces"
            : ": the traces are mostly noise, or positions, velocities or options "
              "do not fit them");
}
