/* fill.c - see fill.h.
 *
 * The search finds a curve by the semblance of windows around it. The mean of these
 * windows, `smooth=window`, is a running mean along the curve: it removes the high
 * frequencies of the trace. The default is the mean of one sample per trace, the
 * one on the curve, multiplied by a weight.
 *
 * The weight. Let S be the semblance of K traces, each the sum of one signal and of
 * noise that is independent of the other traces. Noise alone has the expected semblance
 * 1 / K, and a search, which selects the largest of many, has c / K. So
 * (S - c / K) / (1 - c / K) estimates the fraction of the energy that is signal, and S
 * is the fraction that is left in the mean: their quotient is the factor that minimizes
 * the expected square of the error (a Wiener filter of one coefficient).
 */
#include "fill.h"

#include <math.h>
#include <stdlib.h>

/* c above: the mean of K S in searches of traces whose signs were drawn at random was
 * 2.6 to 3.1 (apertures of 20 to 80 traces, windows of 9 and 17 samples). */
static const double NOISE_SEMBLANCE = 3;
/* Upper bound on c / K: a few traces always agree along some curve. */
static const double NOISE_MAX = 0.9;

aperture aperture_new(int capacity)
{
    size_t size = (size_t)capacity;
    return (aperture){.capacity = capacity,
                      .dm = allocate(size, sizeof(double), "an aperture"),
                      .dh = allocate(size, sizeof(double), "an aperture"),
                      .data = allocate(size, sizeof(float *), "an aperture")};
}

void aperture_free(aperture *a)
{
    free(a->dm);
    free(a->dh);
    free(a->data);
}

void aperture_set(aperture *a, const request *r, const su_gather *g, double m, double h,
                  const int *indices, int n)
{
    a->n = n;
    a->ns = g->ns;
    /* refine= and average= use parallel windows. */
    a->moved = r->refine || average_samples(r) > 0;
    bool parallel = r->window == WINDOW_PARALLEL || a->moved;
    a->tau = parallel ? tau_samples(r, g) : 0;
    a->half = a->moved && r->smooth == SMOOTH_WINDOW ? a->tau : 0;
    a->rate = 1e6 / g->dt;
    for (int k = 0; k < n; k++) {
        const su_trace *t = &g->trace[indices[k]];
        position at = request_place(r, &t->header);
        a->dm[k] = at.m - m;
        a->dh[k] = at.h - h;
        a->data[k] = t->data;
    }
}

/* Traces whose crossings are computed at a time, by a loop that is vectorized. */
enum { GROUP = 64 };

/* Stores in x where the curve of t0 and p[PARAMETERS] crosses the traces from `first`
 * on, at most GROUP of them, in samples; NaN where it does not. Returns the number of
 * the first trace that is left. */
static int cross(const aperture *a, int first, double t0, const float *p,
                 double x[GROUP])
{
    int end = a->n - first < GROUP ? a->n : first + GROUP;
    for (int k = first; k < end; k++) {
        double dm = a->dm[k], dh = a->dh[k], linear = t0 + p[A] * dm + p[B] * dh;
        double square =
            linear * linear + p[C] * dh * dh + p[D] * dm * dm + p[E] * dh * dm;
        x[k - first] = sqrt(square) * a->rate;
    }
    return end;
}

/* Returns whether the window of the search fits around x. */
static bool fits(const aperture *a, double x)
{
    return x >= a->tau && x < a->ns - a->tau - 1;
}

double aperture_mean(const aperture *a, double t0, const float *p, int *used)
{
    double sum = 0, crossing[GROUP];
    *used = 0;
    for (int first = 0, end; first < a->n; first = end) {
        end = cross(a, first, t0, p, crossing);
        for (int k = first; k < end; k++) {
            double x = crossing[k - first];
            if (!fits(a, x)) continue;
            int i = (int)x;
            const float *v = a->data[k] + i;
            for (int j = -a->half; j <= a->half; j++)
                sum += v[j] + (x - i) * ((double)v[j + 1] - v[j]);
            ++*used;
        }
    }
    return *used ? sum / (*used * (2.0 * a->half + 1)) : 0;
}

double aperture_semblance(const aperture *a, double t0, const float *p)
{
    float sum[MAX_WINDOW], squares[MAX_WINDOW];
    int window = 2 * a->tau + 1, used = 0;
    double crossing[GROUP];
    for (int j = 0; j < window; j++) sum[j] = squares[j] = 0;
    for (int first = 0, end; first < a->n; first = end) {
        end = cross(a, first, t0, p, crossing);
        for (int k = first; k < end; k++) {
            double x = crossing[k - first];
            if (!fits(a, x)) continue;
            int i = (int)x;
            float part = (float)(x - i);
            const float *v = a->data[k] + i - a->tau;
            for (int j = 0; j < window; j++) {
                float value = v[j] + part * (v[j + 1] - v[j]);
                sum[j] += value;
                squares[j] += value * value;
            }
            used++;
        }
    }
    if (a->n - used > 1) return 0;
    double energy = 0, stack = 0;
    for (int j = 0; j < window; j++) {
        energy += squares[j];
        stack += (double)sum[j] * sum[j];
    }
    return energy > 0 ? stack / energy / used : 0;
}

double semblance_weight(double semblance, int traces)
{
    double noise = fmin(NOISE_SEMBLANCE / traces, NOISE_MAX);
    return semblance > noise ? (semblance - noise) / (1 - noise) / semblance : 0;
}

void fill_trace(const request *r, const aperture *a, const float *coherence,
                const float *parameters, float *stack, fill_sums *sums)
{
    bool of_search = r->smooth == SMOOTH_WINDOW && !a->moved;
    for (int i = 0; i < r->t0.count; i++) {
        if (!(coherence[i] > 0)) {
            if (!of_search || r->weight == WEIGHT_SEMBLANCE)
                stack[i] = 0; /* no curve */
            continue;
        }
        int used;
        double amplitude = aperture_mean(a, series_at(&r->t0, i),
                                         parameters + (size_t)PARAMETERS * i, &used);
        double weight = used ? semblance_weight(coherence[i], used) : 0;
        sums->semblance += coherence[i];
        sums->weight += weight;
        if (of_search) amplitude = stack[i];
        if (r->weight == WEIGHT_SEMBLANCE) amplitude *= weight;
        stack[i] = (float)amplitude;
    }
}
