/* coarse.c - see coarse.h.
 *
 * Neighbouring values of the default grids are so close (criterion.c) that a maximum of
 * the semblance is several values wide: every second value of each parameter finds it.
 *
 *   1. The n values of a parameter are the centres of n equal parts of a range. The
 *      first search uses the centres of (n + 1) / 2 equal parts (in integers) of the
 *      same range.
 *   2. Along A, then B, .. E: the points one step of the grid before and after the best
 *      point, but not beyond the first and the last value of the grid, are searched. If
 *      the larger of their semblances (of equal ones, that before) exceeds the best
 *      one, its point becomes the best point.
 *
 * The samples of an output trace have different best points. The back-end searches them
 * together in both parts, like those of any search.
 *
 * Left out: a third of the values (with two passes, one of the test surveys is filled
 * 0.4 dB worse); part 2 from several points, or twice (no survey is filled better).
 */
#include "coarse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns how many values the first search has of a parameter with n values. */
static int coarse_values(int n)
{
    return (n + 1) / 2;
}

/* Returns the distance between two values of parameter i. */
static double step_of(const query *q, int i)
{
    return ((double)q->p1[i] - q->p0[i]) / q->np[i];
}

/* Makes first, first + step, .. the n values of parameter i. */
static void set_values(query *q, int i, double first, double step, int n)
{
    q->p0[i] = (float)first;
    q->p1[i] = (float)(first + n * step);
    q->np[i] = n;
}

static query coarse_query(const query *q)
{
    query coarse = *q;
    for (int i = 0; i < PARAMETERS; i++) {
        int n = coarse_values(q->np[i]);
        double step = step_of(q, i), spacing = step * q->np[i] / n;
        set_values(&coarse, i, q->p0[i] + (spacing - step) / 2, spacing, n);
    }
    return coarse;
}

/* Returns x, or the nearer end of an interval that does not contain it. */
static double clamped(double x, double end, double other_end)
{
    return fmin(fmax(x, fmin(end, other_end)), fmax(end, other_end));
}

/* Returns the search of the two points next to *best along parameter i; of *best alone
 * if parameter i has one value. */
static query neighbours(const query *q, const point *best, int i)
{
    float p[PARAMETERS]; /* a point begins with A to E */
    memcpy(p, best, sizeof p);
    query next = *q;
    for (int j = 0; j < PARAMETERS; j++) set_values(&next, j, p[j], 0, 1);
    if (q->np[i] == 1) return next;
    double step = step_of(q, i), first = q->p0[i], last = first + (q->np[i] - 1) * step;
    double before = clamped(p[i] - step, first, last);
    double after = clamped(p[i] + step, first, last);
    set_values(&next, i, before, after - before, 2);
    return next;
}

/* Returns whether a sample has more than one value of parameter i. */
static bool varies(const query *q, int samples, int i)
{
    int k = 0;
    while (k < samples && q[k].np[i] == 1) k++;
    return k < samples;
}

void search_coarse(search_state *s, const query *q, int samples, const int *indices,
                   search_result *result, run_times *t)
{
    query *next = allocate((size_t)samples, sizeof *next, "the samples of a trace");
    search_result *found = allocate((size_t)samples, sizeof *found, "a trace");

    for (int k = 0; k < samples; k++) next[k] = coarse_query(&q[k]);
    search(s, next, samples, indices, result, t);
    for (int i = 0; i < PARAMETERS; i++) {
        if (!varies(q, samples, i)) continue;
        for (int k = 0; k < samples; k++) {
            next[k] = neighbours(&q[k], &result[k].best, i);
            found[k] = (search_result){.best.semblance = NAN};
        }
        search(s, next, samples, indices, found, t);
        for (int k = 0; k < samples; k++) {
            float semblance = found[k].best.semblance;
            if (semblance > result[k].best.semblance || isnan(semblance))
                result[k].best = found[k].best; /* the caller rejects NaN */
        }
    }
    free(found);
    free(next);
}

query coarse_largest(const query *q)
{
    query largest = *q;
    for (int i = 0; i < PARAMETERS; i++)
        if (q->np[i] > 2) largest.np[i] = coarse_values(q->np[i]);
    return largest;
}
