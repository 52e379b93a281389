/* criterion.c - see criterion.h.
 *
 * Reflections with velocities between vmin and vmax and dips of at most `dip` seconds
 * per metre of midpoint lie within known ranges of A to E. Two neighbouring values of a
 * parameter differ by at most an eighth of a period at the edge of the aperture:
 * between them, the traces on a curve stay in phase although the errors of all
 * parameters add.
 *
 * With z = 4 / v^2, an event has t^2 = tn^2 + z h^2, where tn is its time at offset 0.
 * In the operator, relative to half-offset h0 and time t0, this is
 *
 *     B = z h0 / t0,   C = z - B^2.
 *
 * B is searched from the largest to the smallest velocity, and C only if its range
 * shifts the edge of the aperture by more than the step. A is searched from -dip to
 * dip. D, the curvature of a reflector or the moveout of a diffraction along the
 * midpoint, has constant bounds. E is 0. Fewer free parameters fit less noise.
 *
 * n values of a range are the centres of n equal parts of it, so that no point of the
 * range is farther than half a step from a value.
 *
 * Left out: searching B and C as one parameter, which they are for one velocity.
 */
#include "criterion.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Part of a period by which neighbouring curves may differ, and the half width of the
 * window in periods. Tuned with the noisy survey of make survey: 1/4 fills it 1.6 dB
 * worse than 1/8, and 0.9 periods 0.7 dB worse than 0.6. */
static const double STEP = 0.125, TAU = 0.6;
/* The default of dip= in units of 1 / vmin: the time dip of a reflector that dips by
 * angle a is 2 sin a / v, and a = 20 degrees. */
static const double DIP = 0.68;
/* D in s^2/m^2: from a syncline that focuses to a diffraction at 1800 m/s. */
static const double D_MIN = -4e-7, D_MAX = 1.2e-6;
/* Upper bound on z h0^2 / t0^2: at 1 the event would begin at time 0. */
static const double MOVEOUT_MAX = 0.95;
static const double ROW_INTERVAL = 0.05; /* s between rows of the table */
/* Half-offsets of the table, and those that passes=2 adds. */
enum { OFFSETS_MAX = 100, OFFSETS_AROUND = 10 };
static const double PERIOD_MAX = 0.25; /* s: the longest possible period */
/* A period that is set may differ by this factor from the measured one. */
static const double PERIOD_RATIO = 2;
enum { PERIOD_TRACES = 200 }; /* traces that the period is measured on */
/* The default aperture: in midpoint, a part of the distance between shots or between
 * receivers, whichever is larger; in half-offset, distances between receivers. A
 * missing shot needs traces of both neighbours, whose midpoints are half a distance
 * away. A wider aperture contains more traces, but only one of two events that cross:
 * with 1, two passes fill the clean survey 3 dB worse, and the third 1 dB better. */
static const double GAPS = 0.6, RECEIVER_GAPS = 5;
/* Upper bounds on these distances, in metres: the work grows with the fourth power of
 * the aperture. In midpoint, the bound is for the part of the distance between
 * receivers; in half-offset, at least one distance between receivers remains. */
static const double REACH_MAX[] = {60, 250};

/* ---- velocities --------------------------------------------------------------------
 */

/* Returns the smallest or the largest velocity at time tn, which counts at offset 0. */
static double velocity_at(const request *r, double tn, bool largest)
{
    int i = 0;
    while (i < r->velocities && r->velocity[i].t0 < tn) i++;
    const velocity_row *after = &r->velocity[i < r->velocities ? i : i - 1];
    const velocity_row *before = &r->velocity[i > 0 ? i - 1 : 0];
    double part =
        after->t0 > before->t0 ? (tn - before->t0) / (after->t0 - before->t0) : 0;
    part = fmin(fmax(part, 0), 1);
    double a = largest ? before->high : before->low;
    return a + part * ((largest ? after->high : after->low) - a);
}

double moveout_at(const request *r, double h, double t, bool largest)
{
    enum { ITERATIONS = 20 };
    double limit = h != 0 ? MOVEOUT_MAX * t * t / (h * h) : INFINITY;
    double tn = t, z = 0;
    for (int i = 0; i < ITERATIONS; i++) {
        double v = velocity_at(r, tn, largest);
        z = fmin(4 / (v * v), limit);
        tn = sqrt(t * t - z * h * h);
    }
    return z;
}

/* ---- ranges ------------------------------------------------------------------------
 */

/* Makes [low, high] a range of values whose neighbours shift the edge of the aperture
 * by at most `step` if the whole range shifts it by `shift`. */
static void set_range(ranges *row, int k, double low, double high, double shift,
                      double step)
{
    double n = fmax(ceil(shift / step - 1e-9), 1), first = (high - low) / (2 * n);
    row->p0[k] = low + first;
    row->p1[k] = high + first;
    row->np[k] = fmin(n, INT_MAX); /* a search of so many is refused */
}

/* The time after the square t^2 has grown by c x^2. */
static double shifted(double t, double c, double x)
{
    return sqrt(fmax(t * t + c * x * x, 0));
}

static ranges ranges_of(const request *r, double h, double t0, double dt)
{
    double t = fmax(t0, dt), step = STEP * r->period;
    double dm = r->aperture[0], dh = r->aperture[1];
    double z0 = moveout_at(r, h, t, true), z1 = moveout_at(r, h, t, false);
    double b0 = z0 * h / t, b1 = z1 * h / t;
    double middle = (z0 + z1) / 2, b = middle * h / t, c = middle - b * b;
    double half = (z1 - z0) / 2;
    ranges row = {.t0 = t0, .h0 = h};
    set_range(&row, A, -r->dip, r->dip, 2 * r->dip * dm, step);
    set_range(&row, B, fmin(b0, b1), fmax(b0, b1), fabs(b1 - b0) * dh, step);
    set_range(&row, C, c - half, c + half,
              shifted(t, c + half, dh) - shifted(t, c - half, dh), step);
    set_range(&row, D, D_MIN, D_MAX, shifted(t, D_MAX, dm) - shifted(t, D_MIN, dm),
              step);
    row.np[E] = 1;
    return row;
}

/* Returns entry i of a table of n values that are evenly spaced, from end to end. */
static double entry(interval of, int i, int n)
{
    return i < n - 1 ? of.low + i * (of.high - of.low) / (n - 1) : of.high;
}

static void make_table(request *r, double dt)
{
    interval t = series_ends(&r->t0), h = request_offsets(r);
    int times = (int)ceil((t.high - t.low) / ROW_INTERVAL) + 1;
    int offsets = r->positions ? OFFSETS_MAX : r->h0.count;
    if (h.low == h.high) offsets = 1;
    if (r->passes > 1) { /* for the live traces of the apertures, too */
        h.low -= r->aperture[1];
        h.high += r->aperture[1];
        offsets += OFFSETS_AROUND;
    }
    if (offsets > OFFSETS_MAX) offsets = OFFSETS_MAX;
    free(r->row);
    r->rows = 0;
    r->row = allocate((size_t)times * (size_t)offsets, sizeof *r->row, "the ranges");
    for (int j = 0; j < offsets; j++) {
        double h0 = entry(h, j, offsets);
        for (int k = 0; k < times; k++)
            r->row[r->rows++] = ranges_of(r, h0, entry(t, k, times), dt);
    }
    r->by_offset = true;
}

static void write_table(const request *r)
{
    FILE *f = result_open(r->ranges_out);
    if (!f)
        fail("ranges_out=%s: cannot be written: %s", r->ranges_out, strerror(errno));
    fprintf(f,
            "# Ranges of A to E for ranges=, with tau=%.17g aperture=%.17g,%.17g "
            "refine=%d average=%.17g\n"
            "# t0 (s), h0 (m), then P0 P1 N of A, B (s/m), C, D and E (s^2/m^2)\n",
            r->tau, r->aperture[0], r->aperture[1], r->refine, r->average);
    for (int i = 0; i < r->rows; i++) {
        const ranges *row = &r->row[i];
        fprintf(f, "%.17g %.17g", row->t0, row->h0);
        for (int k = 0; k < PARAMETERS; k++)
            fprintf(f, "  %.17g %.17g %.0f", row->p0[k], row->p1[k], row->np[k]);
        fprintf(f, "\n");
    }
    bool written = !ferror(f);
    if (result_close(f) != 0 || !written)
        fail("ranges_out=%s: cannot be written: %s", r->ranges_out, strerror(errno));
}

/* ---- the period --------------------------------------------------------------------
 */

/* Returns the nearest other trace of a place in midpoint and half-offset, of those from
 * number low to high; of equally near ones the first in the file. The place itself if
 * there is none. */
static int nearest_other(const survey *s, const trace_place *of, int low, int high)
{
    double least = INFINITY;
    int number = of->number;
    for (int i = 0; i < s->live; i++) {
        const trace_place *p = &s->places[i];
        if (p == of || p->number < low || p->number > high) continue;
        double dm = p->m - of->m, dh = p->h - of->h, distance = dm * dm + dh * dh;
        if (distance > least || (distance == least && p->number > number)) continue;
        least = distance;
        number = p->number;
    }
    return number;
}

static double mean(const float *x, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += x[k];
    return sum / n;
}

/* Adds the correlation of two traces without their means, divided by the roots of their
 * energies, to sum[-delays .. delays]. */
static void add_correlation(const su_gather *g, const float *x, const float *y,
                            int delays, double *sum)
{
    double energy_x = 0, energy_y = 0, mean_x = mean(x, g->ns), mean_y = mean(y, g->ns);
    for (int k = 0; k < g->ns; k++) {
        energy_x += (x[k] - mean_x) * (x[k] - mean_x);
        energy_y += (y[k] - mean_y) * (y[k] - mean_y);
    }
    double scale = sqrt(energy_x) * sqrt(energy_y);
    for (int d = -delays; d <= delays && scale > 0; d++) {
        double product = 0;
        for (int k = d < 0 ? -d : 0; k < g->ns && k + d < g->ns; k++)
            product += (x[k] - mean_x) * (y[k + d] - mean_y);
        sum[d] += product / scale;
    }
}

/* Returns the period of the events in seconds: the distance between the two minima
 * around the maximum of the correlation of neighbouring traces. Noise that differs
 * between them does not contribute. */
static double measure_period(const request *r, const su_gather *g, const survey *s,
                             int first)
{
    double dt = g->dt * 1e-6;
    int delays = (int)fmin(PERIOD_MAX / 2 / dt, (g->ns - 1) / 2);
    if (delays < 1) return 2 * dt;
    size_t size = 2 * (size_t)delays + 1;
    double *block = allocate(size, sizeof *block, "a correlation");
    double *sum = block + delays;
    memset(block, 0, size * sizeof *block);
    int last = first + (int)g->ntraces - 1;
    int inside = 0, seen = 0;
    for (int i = 0; i < s->live; i++)
        inside += s->places[i].number >= first && s->places[i].number <= last;
    int every = 1 + (inside - 1) / PERIOD_TRACES;
    for (int i = 0; i < s->live; i++) {
        const trace_place *p = &s->places[i];
        if (p->number < first || p->number > last || seen++ % every) continue;
        int other = nearest_other(s, p, first, last);
        add_correlation(g, g->trace[p->number - first].data,
                        g->trace[other - first].data, delays, sum);
    }
    int peak = 0, left, right;
    for (int d = -delays; d <= delays; d++)
        if (sum[d] > sum[peak]) peak = d;
    left = right = peak;
    for (int d = peak; d >= -delays; d--)
        if (sum[d] < sum[left]) left = d;
    for (int d = peak; d <= delays; d++)
        if (sum[d] < sum[right]) right = d;
    free(block);
    bool at_bound = right > left && (left == -delays || right == delays);
    if (at_bound && isnan(r->period))
        request_note(r,
                     "%s: WARNING: period: the estimate, %.3g s, is at its bound of "
                     "%.3g s on one "
                     "side at least: expected a shorter period: set period=",
                     r->in, (right - left) * dt, 2 * delays * dt);
    return (right > left ? right - left : 2) * dt;
}

/* ---- the aperture ------------------------------------------------------------------
 */

static int by_ends(const void *a, const void *b)
{
    const trace_ends *x = a, *y = b;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    return x->receiver < y->receiver ? -1 : x->receiver > y->receiver;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Returns the lower quartile; 0 of nothing. If every third shot is missing, half of the
 * distances between shots are twice as large as the others. */
static double quartile(double *value, int count)
{
    qsort(value, (size_t)count, sizeof *value, by_value);
    return count ? value[(count - 1) / 4] : 0;
}

void criterion_aperture(request *r, const survey *s)
{
    static const double SAME = 0.5; /* m: closer shots or receivers are one */
    if (isfinite(r->aperture[0])) return;
    size_t n = (size_t)s->live;
    trace_ends *trace = allocate(n, sizeof *trace, "the positions");
    double *gap = allocate(n, sizeof *gap, "the distances");
    double shot_gap, receiver_gap;
    int gaps = 0;
    for (int i = 0; i < s->live; i++)
        trace[i] = (trace_ends){s->places[i].m - s->places[i].h,
                                s->places[i].m + s->places[i].h};
    /* The sources of a shot differ by rounding errors. They become equal, so that its
     * receivers are sorted. */
    qsort(trace, n, sizeof *trace, by_ends);
    for (size_t i = 1; i < n; i++)
        if (trace[i].source - trace[i - 1].source <= SAME)
            trace[i].source = trace[i - 1].source;
    qsort(trace, n, sizeof *trace, by_ends);
    for (int i = 1; i < s->live; i++) {
        double distance = trace[i].source - trace[i - 1].source;
        if (distance > SAME) gap[gaps++] = distance;
    }
    shot_gap = quartile(gap, gaps);
    gaps = 0;
    for (int i = 1; i < s->live; i++) {
        double distance = trace[i].receiver - trace[i - 1].receiver;
        if (trace[i].source - trace[i - 1].source <= SAME && distance > SAME)
            gap[gaps++] = distance;
    }
    receiver_gap = quartile(gap, gaps);
    free(gap);
    free(trace);
    if (!(shot_gap > 0 && receiver_gap > 0))
        fail("aperture= is missing: cannot tell the distances between shots and "
             "receivers: expected DM,DH");
    r->aperture[0] = fmax(GAPS * shot_gap, fmin(GAPS * receiver_gap, REACH_MAX[0]));
    r->aperture[1] =
        fmax(receiver_gap, fmin(RECEIVER_GAPS * receiver_gap, REACH_MAX[1]));
}

void criterion_ranges(request *r, const su_gather *g, const survey *s, int first)
{
    double measured = measure_period(r, g, s, first);
    if (isnan(r->period)) r->period = measured;
    double ratio = r->period / measured;
    if (ratio > PERIOD_RATIO || ratio < 1 / PERIOD_RATIO)
        request_note(r,
                     "WARNING: period=%.3g: the traces have a period of %.3g s: "
                     "expected at most "
                     "%g times as much or as little",
                     r->period, measured, PERIOD_RATIO);
    if (isnan(r->tau)) r->tau = TAU * r->period;
    if (isnan(r->average)) r->average = r->tau;
    if (isnan(r->dip)) {
        double slowest = INFINITY;
        for (int i = 0; i < r->velocities; i++)
            slowest = fmin(slowest, r->velocity[i].low);
        r->dip = DIP / slowest;
    }
    make_table(r, g->dt * 1e-6);
    request_check_search(r, g);
    if (r->ranges_out && !run_rank && !r->silent) write_table(r);
    query q = query_largest(r, g);
    request_note(
        r,
        "period=%.3g s, dip=%.3g s/m, tau=%.3g s, aperture=%g,%g m: at most %d x %d "
        "x %d x %d x %d values of A to E",
        r->period, r->dip, r->tau, r->aperture[0], r->aperture[1], q.np[A], q.np[B],
        q.np[C], q.np[D], q.np[E]);
}
