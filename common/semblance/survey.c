/* survey.c - see survey.h. */
#include "survey.h"
#include "processes.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_midpoint(const void *a, const void *b)
{
    const trace_place *x = a, *y = b;
    if (x->m != y->m) return x->m < y->m ? -1 : 1;
    return x->number - y->number;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Refuses positions that contradict velocity= and the time of the record: in most
 * traces, the receiver is more than BEYOND times farther from the source than the
 * fastest wave comes. */
static void check_reach(const request *r, const survey *s)
{
    static const double BEYOND = 5;
    double fastest = 0, end = (s->g.ns - 1) * 1e-6 * s->g.dt;
    for (int i = 0; i < r->velocities; i++)
        fastest = fmax(fastest, r->velocity[i].high);
    int far = 0;
    for (int i = 0; i < s->live; i++)
        far += 2 * fabs(s->places[i].h) > BEYOND * fastest * end;
    if (r->velocities && far > s->live / 2)
        fail("%s: %d of %d traces: source and receiver are more than %g m apart, which "
             "needs more than %g times the recorded %g s at velocity=%g: expected "
             "metres: check scalco and counit",
             r->in, far, s->live, BEYOND * fastest * end, BEYOND, end, fastest);
}

/* Reports traces that are auxiliary, and of which kinds. */
static void report_auxiliary(const request *r, const su_gather *g)
{
    enum { KINDS = 5, DIGITS = 7 };
    int kind[KINDS], kinds = 0;
    char text[KINDS * DIGITS + 1] = "";
    size_t count = 0;
    bool more = false; /* kinds than the text has */
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        if (su_is_data(h) || h->trid == SU_DEAD) continue;
        count++;
        int k = 0;
        while (k < kinds && kind[k] != h->trid) k++;
        more |= k == KINDS;
        if (k == KINDS || k < kinds) continue;
        snprintf(text + strlen(text), DIGITS + 1, " %d", kind[kinds++] = h->trid);
    }
    if (count)
        request_note(r,
                     "%s: %zu of %zu traces are not seismic data (trid%s%s) and not "
                     "used",
                     r->in, count, g->ntraces, text, more ? " .." : "");
}

/* Reports traces that count as dead, of which there are `dead`, or are auxiliary, and
 * the direction of an oblique line. */
static void report_gather(const request *r, const su_gather *g, size_t dead)
{
    const line_axis *a = &r->axis;
    if (g->skipped)
        request_note(
            r,
            "%s: %zu of %zu traces have samples that are not finite and count as dead "
            "(bad=skip)",
            r->in, g->skipped, g->ntraces);
    if (dead > g->skipped && !r->dead)
        request_note(r, "%s: %zu of %zu traces are dead (trid 2) and ignored", r->in,
                     dead - g->skipped, g->ntraces);
    report_auxiliary(r, g);
    if (a->kind == SU_AXIS_OBLIQUE)
        request_note(
            r,
            "%s: x and y vary: positions are metres from (%.10g, %.10g) along a line "
            "at %.2f degrees to x; sources and receivers are up to %.2f m away from it",
            r->in, a->x0, a->y0, atan2(a->uy, a->ux) * 180 / acos(-1), a->farthest);
}

su_gather survey_gather(request *r, su_header **header)
{
    su_gather g;
    char reason[SU_REASON_SIZE];
    size_t dead, differing = 0, first = 0;
    origin from = request_origin(r);
    if (proc_read_headers(r->in, r->order, &g, reason)) fail("%s: %s", r->in, reason);
    for (int i = 0; i < r->dead_count; i++) g.trace[r->dead[i]].header.trid = SU_DEAD;
    if (header) {
        *header = allocate(g.ntraces, sizeof **header, "the headers");
        for (size_t i = 0; i < g.ntraces; i++) (*header)[i] = g.trace[i].header;
    }
    if (su_find_axis(&g, &r->axis, reason) ||
        (!r->any_offset && su_check_offsets(&g, &r->axis, &differing, &first, reason)))
        fail("%s: %s", r->in, reason);
    trace_ends ends = line_ends(&g.trace[first].header, &r->axis);
    if (su_line(&g, &r->axis, from.source, from.receiver, &dead, reason))
        fail("%s: %s", r->in, reason);
    if (!r->reported) report_gather(r, &g, dead);
    if (!r->reported && differing)
        request_note(
            r,
            "%s: %zu of %zu traces: offset is not the distance of source and receiver, "
            "the first time in trace %zu (offset %d, %g m apart)",
            r->in, differing, g.ntraces, first + 1, g.trace[first].header.offset,
            fabs(ends.receiver - ends.source));
    r->reported = true;
    if (g.ntraces > INT_MAX)
        fail("%s: %zu traces: expected at most 2^31 - 1", r->in, g.ntraces);
    return g;
}

survey survey_read(request *r)
{
    survey s = {0};
    s.g = survey_gather(r, &s.header);
    request_fit(r, &s.g);
    s.places = allocate(s.g.ntraces, sizeof *s.places, "the midpoints");
    for (size_t i = 0; i < s.g.ntraces; i++) {
        const su_header *t = &s.g.trace[i].header;
        position at = request_place(r, t);
        if (su_is_data(t)) s.places[s.live++] = (trace_place){at.m, at.h, (int)i};
    }
    qsort(s.places, (size_t)s.live, sizeof *s.places, by_midpoint);
    check_reach(r, &s);
    return s;
}

int16_t survey_kind(const survey *s)
{
    int16_t kind = s->live ? s->header[s->places[0].number].trid : SU_LIVE;
    return kind ? kind : SU_LIVE;
}

void survey_free(survey *s)
{
    free(s->places);
    free(s->header);
    proc_free_gather(&s->g);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Returns whether sample k is SPIKE times larger than both neighbours and than limit.
 */
static bool is_spike(const float *x, int ns, int k, float limit)
{
    float before = k > 0 ? fabsf(x[k - 1]) : 0;
    float after = k < ns - 1 ? fabsf(x[k + 1]) : 0;
    return fabsf(x[k]) > SPIKE * fmaxf(limit, fmaxf(before, after));
}

float *survey_offset(const request *r, const su_gather *part, const bool *used)
{
    static const double SHARE = 0.2;
    /* In fewer samples, a mean can be a part of an event. */
    enum { RECORDED_MIN = 50 };
    double energy = 0, of_means = 0;
    int recorded = part->ns - part->first;
    if (recorded < RECORDED_MIN) return NULL;
    float *offset = allocate(part->ntraces, sizeof *offset, "the means of the traces");
    for (size_t i = 0; i < part->ntraces; i++) {
        const float *x = part->trace[i].data;
        enum { LANES = 8 }; /* independent sums */
        double sums[LANES] = {0}, energies[LANES] = {0}, sum = 0;
        offset[i] = 0;
        if (!used[i]) continue;
        for (int k = part->first; k < part->ns; k += LANES)
            for (int j = 0; j < LANES && k + j < part->ns; j++) {
                double value = x[k + j];
                sums[j] += value;
                energies[j] += value * value;
            }
        for (int j = 0; j < LANES; j++) {
            sum += sums[j];
            energy += energies[j];
        }
        offset[i] = (float)(sum / recorded);
        of_means += sum * sum / recorded;
    }
    if (!(of_means > SHARE * energy)) {
        free(offset);
        return NULL;
    }
    request_note(
        r,
        "%s: WARNING: %.0f %% of the energy of the live traces is a constant "
        "offset: expected at most %.0f %%: the mean of each trace is subtracted "
        "before the search, and added to the filled traces",
        r->in, 100 * of_means / energy, 100 * SHARE);
    return offset;
}

void survey_subtract(su_gather *part, const float *offset)
{
    proc_wait();
    if (!offset) return;
    if (proc_owns_samples())
        for (size_t i = 0; i < part->ntraces; i++)
            for (int k = part->first; k < part->ns; k++)
                part->trace[i].data[k] -= offset[i];
    proc_wait();
}

void survey_report(const request *r, const su_gather *part, int first)
{
    size_t n = part->ntraces, live = 0, zero = 0, spikes = 0, trace = 0;
    int sample = 0;
    float *peak = allocate(2 * n, sizeof *peak, "the amplitudes"), *sorted = peak + n;
    for (size_t i = 0; i < n; i++) {
        peak[i] = 0;
        if (!su_is_data(&part->trace[i].header)) continue;
        for (int k = 0; k < part->ns; k++)
            peak[i] = fmaxf(peak[i], fabsf(part->trace[i].data[k]));
        if (peak[i] > 0)
            sorted[live++] = peak[i];
        else
            zero++;
    }
    qsort(sorted, live, sizeof *sorted, by_value);
    float median = live ? sorted[live / 2] : 0;
    for (size_t i = 0; i < n; i++) {
        if (!(peak[i] > SPIKE * median)) continue;
        for (int k = 0; k < part->ns; k++)
            if (is_spike(part->trace[i].data, part->ns, k, median) && !spikes++) {
                trace = (size_t)first + i + 1;
                sample = k;
            }
    }
    free(peak);
    if (zero)
        request_note(
            r,
            "%s: %zu of %zu live traces are all zero and weaken the stack: mark "
            "them as dead (trid 2), or fill them by fill=dead",
            r->in, zero, zero + live);
    if (spikes)
        request_note(
            r,
            "%s: %zu spikes, the first in trace %zu at %g s (more than %d times "
            "the neighbours and the median of the traces' largest amplitudes)",
            r->in, spikes, trace, sample * 1e-6 * part->dt, SPIKE);
}

/* Samples of a search, as powers of two: smallest (except 0) and largest magnitude. The
 * difference of two neighbours can have a magnitude 2^-24 times that of the samples,
 * and a part of it 2^-24 times that; for a relative error of 2^-24, the square of a
 * normal sample is not below 2^-126. With a largest sample of 2^41, the square of a sum
 * of 10,000 traces is below 2^110, and that leaves a factor of 2^17 for the sum over a
 * window. */
enum { SMALLEST = -38, LARGEST = 41, SCALED = 40 };

int survey_scale(const su_gather *part, const bool *used)
{
    /* The bits of magnitudes increase with them; those of 0, less 1, are the largest.
     */
    uint32_t least = UINT32_MAX, most = 0;
    for (size_t i = 0; i < part->ntraces; i++) {
        if (!used[i]) continue;
        for (int k = 0; k < part->ns; k++) {
            uint32_t bits;
            memcpy(&bits, &part->trace[i].data[k], sizeof bits);
            bits &= UINT32_MAX >> 1;
            most = bits > most ? bits : most;
            least = bits - 1 < least ? bits - 1 : least;
        }
    }
    float smallest, largest;
    least++;
    memcpy(&smallest, &least, sizeof smallest);
    memcpy(&largest, &most, sizeof largest);
    if (largest == 0 ||
        (smallest >= ldexpf(1, SMALLEST) && largest <= ldexpf(1, LARGEST)))
        return 0;
    int exponent;
    frexpf(largest, &exponent);
    return exponent == SCALED ? 1 : SCALED - exponent;
}

void survey_rescale(su_gather *part, int exponent)
{
    proc_wait();
    if (exponent == 0) return;
    if (proc_owns_samples())
        for (size_t i = 0; i < part->ntraces; i++)
            for (int k = 0; k < part->ns; k++) {
                double x = ldexp(part->trace[i].data[k], exponent);
                bool small = fabs(x) < ldexp(1, SMALLEST);
                part->trace[i].data[k] = small ? 0 : (float)x;
            }
    proc_wait();
}

void survey_check_input(const request *r, const survey *s)
{
    char why[SU_REASON_SIZE];
    if (su_check_size(r->in, &s->g, why) != 0) fail("%s: %s", r->in, why);
}

/* Returns the first place whose midpoint is not below m; s->live if there is none. */
static int lower_bound(const survey *s, double m)
{
    int low = 0, high = s->live;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (s->places[middle].m < m)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int survey_select(const survey *s, const request *r, double m, double h, int *indices)
{
    int n = 0;
    for (int k = lower_bound(s, m - r->aperture[0]); k < s->live; k++) {
        if (s->places[k].m > m + r->aperture[0]) break;
        if (fabs(s->places[k].h - h) <= r->aperture[1])
            indices[n++] = s->places[k].number;
    }
    qsort(indices, (size_t)n, sizeof *indices, by_number);
    return n;
}
