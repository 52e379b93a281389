/* job.c - implements job.h. */
#include "job.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TAU_MAX = 100 /* samples */ };

/* Back-ends count (A, B, C), and (D, E), in an int, which a loop may increase by one
 * step beyond the end. */
enum { COUNT_MAX = 1 << 30 };
static const double SEARCH_MAX = 9e15; /* points of a search: a double counts them */
/* Part of a sample that is added before truncation, because 0.005 s, for example, is
 * not exact in binary. */
static const double ROUNDING = 1e-3;

double series_at(const series *s, int i)
{
    return s->first + s->step * i;
}

interval series_ends(const series *s)
{
    double first = s->first, last = series_at(s, s->count - 1);
    return (interval){fmin(first, last), fmax(first, last)};
}

void request_free(request *r)
{
    free(r->row);
    free(r->velocity);
    free(r->mute);
    free(r->positions);
    free(r->dead);
}

void request_note(const request *r, const char *format, ...)
{
    if (run_rank || r->silent) return;
    va_list values;
    va_start(values, format);
    fprintf(stderr, "%s: ", run_name);
    vfprintf(stderr, format, values);
    fprintf(stderr, "\n");
    va_end(values);
}

double request_trace_count(const request *r)
{
    return r->positions ? r->position_count : (double)r->m0.count * r->h0.count;
}

int request_traces(const request *r)
{
    return (int)request_trace_count(r);
}

position request_position(const request *r, int i)
{
    if (r->positions) return r->positions[i];
    return (position){series_at(&r->m0, i / r->h0.count),
                      series_at(&r->h0, i % r->h0.count)};
}

interval request_offsets(const request *r)
{
    if (r->filled.low <= r->filled.high) return r->filled;
    interval h = series_ends(&r->h0);
    for (int i = 0; i < r->position_count; i++) {
        h.low = fmin(h.low, r->positions[i].h);
        h.high = fmax(h.high, r->positions[i].h);
    }
    return h;
}

void request_set_positions(request *r, position *positions, int count)
{
    r->positions = positions;
    r->position_count = count;
    if (!count) return;
    r->m0 = (series){positions[0].m, 0, 1};
    r->h0 = (series){positions[0].h, 0, 1};
}

origin request_origin(const request *r)
{
    double m0 = r->m0.first, h0 = r->h0.first;
    return (origin){round(m0 - h0), round(m0 + h0)};
}

position request_place(const request *r, const su_header *t)
{
    origin from = request_origin(r);
    double unit = t->scalco < 0 ? -1.0 / t->scalco : 1;
    double source = from.source + t->sy * unit, receiver = from.receiver + t->gy * unit;
    return (position){(receiver + source) / 2, (receiver - source) / 2};
}

int tau_samples(const request *r, const su_gather *g)
{
    /* Any larger number is rejected: it only has to fit an int. */
    const double limit = 1e6;
    return (int)(fmin(r->tau * 1e6 / g->dt, limit) + ROUNDING);
}

int average_samples(const request *r)
{
    int samples = r->t0.count;
    if (samples < 2) return 0;
    return (int)(fmin(r->average / fabs(r->t0.step), samples) + ROUNDING);
}

/* Checks that a search can be counted and fits into memory: the panel, and one point
 * for each (A, B, C), which some back-ends store. */
static void check_search(const int np[5])
{
    double panel = (double)np[A] * np[B], points = panel * np[C];
    if (points * np[D] * np[E] > SEARCH_MAX)
        fail("np: a search of %g points: expected at most %g", points * np[D] * np[E],
             SEARCH_MAX);
    memory_check(panel * sizeof(float) + points * sizeof(point), "np: %.3g (A, B, C)",
                 points);
}

/* Returns the row a fraction `part` of the way from *low to *high. */
static ranges interpolate(const ranges *low, const ranges *high, double part)
{
    ranges at = *low;
    for (int k = 0; k < PARAMETERS; k++) {
        at.p0[k] += part * (high->p0[k] - low->p0[k]);
        at.p1[k] += part * (high->p1[k] - low->p1[k]);
        at.np[k] += part * (high->np[k] - low->np[k]);
    }
    return at;
}

/* Returns how many rows are before (h0, t0) in the order of a file. */
static int rows_before(const ranges *row, int rows, double h0, double t0)
{
    int low = 0, high = rows;
    while (low < high) {
        int middle = low + (high - low) / 2;
        const ranges *at = &row[middle];
        if (at->h0 < h0 || (at->h0 == h0 && at->t0 < t0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the number of rows with the half-offset of row[0]. */
static int rows_of_offset(const ranges *row, int rows)
{
    return rows_before(row, rows, row[0].h0, INFINITY);
}

/* Returns the ranges at t0, interpolated linearly between the two rows around it, of
 * rows with one half-offset. */
static ranges ranges_at_time(const ranges *row, int rows, double t0)
{
    if (rows == 1) return row[0];
    int i = rows_before(row, rows, row[0].h0, t0);
    const ranges *high = &row[i < 1 ? 1 : i < rows ? i : rows - 1], *low = high - 1;
    return interpolate(low, high, (t0 - low->t0) / (high->t0 - low->t0));
}

/* Returns the ranges at (h0, t0), interpolated in t0 at the two half-offsets around h0,
 * and between these. */
static ranges ranges_at(const request *r, double h0, double t0)
{
    int end = rows_before(r->row, r->rows, h0, INFINITY);
    if (end == 0) end = rows_of_offset(r->row, r->rows);
    int begin = rows_before(r->row, end, r->row[end - 1].h0, -INFINITY);
    const ranges *low = r->row + begin, *high = r->row + end;
    ranges a = ranges_at_time(low, end - begin, t0);
    if (end == r->rows) return a;
    ranges b = ranges_at_time(high, rows_of_offset(high, r->rows - end), t0);
    return interpolate(&a, &b, (h0 - low->h0) / (high->h0 - low->h0));
}

/* Checks that the rows cover all half-offsets of h and, for each of their own, all
 * times of t. */
static void check_rows(const request *r, interval t, interval h)
{
    static const double SECOND = 1e-9, METRE = 1e-6; /* rounding errors */
    const ranges *row = r->row, *end = r->row + r->rows;
    if (r->by_offset && (h.low < row->h0 - METRE || h.high > end[-1].h0 + METRE))
        fail("ranges: rows from %g to %g m: expected rows for h0 from %g to %g m",
             row->h0, end[-1].h0, h.low, h.high);
    for (int n; row < end; row += n) {
        n = rows_of_offset(row, (int)(end - row));
        if (n > 1 && (t.low < row->t0 - SECOND || t.high > row[n - 1].t0 + SECOND))
            fail("ranges: rows from %g to %g s: expected rows for t0 from %g to %g s",
                 row->t0, row[n - 1].t0, t.low, t.high);
    }
}

void request_fit(request *r, const su_gather *g)
{
    double dt = g->dt * 1e-6, begin = g->first * dt, end = (g->ns - 1) * dt;
    if (!r->t0.count) r->t0 = (series){begin, dt, g->ns - g->first};
    if (!(r->t0.count * request_trace_count(r) <= POINTS_MAX))
        fail("m0, h0: %g output points: expected at most %d",
             r->t0.count * request_trace_count(r), POINTS_MAX);
    double t0 = r->t0.first, last = series_at(&r->t0, r->t0.count - 1);
    if (!(t0 >= begin - 1e-3 * dt && t0 <= end)) last = t0;
    if (!(last >= begin - 1e-3 * dt && last <= end + 1e-3 * dt))
        fail("t0=%g: expected %g to %g s, the recorded time of the traces", last, begin,
             end);
    double sample = t0 / dt;
    const char *consecutive = r->choose                     ? "choose=1"
                              : r->passes > 1               ? "passes=2"
                              : r->window == WINDOW_MOVEOUT ? "window=moveout"
                                                            : NULL;
    if (consecutive && (fabs(sample - nearbyint(sample)) > 1e-3 ||
                        (r->t0.count > 1 && fabs(r->t0.step / dt - 1) > 1e-6)))
        fail("%s: t0 from %g s in steps of %g s: expected consecutive samples of %d us",
             consecutive, t0, r->t0.step, g->dt);
    if (!r->velocities) request_check_search(r, g);
}

void request_check_search(const request *r, const su_gather *g)
{
    check_rows(r, series_ends(&r->t0), request_offsets(r));
    int tau = tau_samples(r, g);
    if (tau > TAU_MAX)
        fail("tau=%g: %g samples: expected at most %d samples of %d us", r->tau,
             r->tau * 1e6 / g->dt, TAU_MAX, g->dt);
    if (2 * tau + 2 > g->ns - g->first)
        fail("tau=%g: a window of %d samples does not fit traces of %d samples", r->tau,
             2 * tau + 1, g->ns - g->first);
    query largest = query_largest(r, g);
    check_search(largest.np);
    double points = 1;
    for (int k = 0; k < PARAMETERS; k++) points *= largest.np[k];
    if (r->window == WINDOW_MOVEOUT && points > INT_MAX)
        fail("np: a search of %g points: expected at most 2^31 - 1 with window=moveout",
             points);
    double parts = (double)largest.np[A] * largest.np[B] * largest.np[C];
    double values = (double)largest.np[D] * largest.np[E];
    if (fmax(parts, values) > COUNT_MAX)
        fail("np: %g (A, B, C) and %g (D, E): expected at most 2^30 of each", parts,
             values);
}

uint64_t request_hash(const request *r)
{
    double values[] = {r->m0.first, r->m0.step,     r->m0.count,    r->h0.first,
                       r->h0.step,  r->h0.count,    r->t0.first,    r->t0.step,
                       r->t0.count, r->tau,         r->average,     r->aperture[0],
                       r->refine,   r->aperture[1], (int)r->weight, r->stretch};
    uint64_t hash = digest_update(r->digest, values, sizeof values);
    hash = digest_update(hash, r->row, (size_t)r->rows * sizeof *r->row);
    hash = digest_update(hash, r->positions,
                         (size_t)r->position_count * sizeof *r->positions);
    hash = digest_update(hash, r->mute, (size_t)r->mutes * sizeof *r->mute);
    if (r->stretch > 0) /* else the velocities have no effect but the rows */
        hash = digest_update(hash, r->velocity,
                             (size_t)r->velocities * sizeof *r->velocity);
    return hash;
}

query query_at(const request *r, const su_gather *g, double m0, double h0, double t0)
{
    origin from = request_origin(r);
    ranges at = ranges_at(r, h0, t0);
    query q = {.m0 = (float)(m0 - (from.receiver + from.source) / 2),
               .h0 = (float)(h0 - (from.receiver - from.source) / 2),
               .t0 = (float)t0,
               .idt = 1e6f / (float)g->dt,
               .tau = tau_samples(r, g),
               .ns = g->ns,
               .pitch = g->pitch};
    for (int k = 0; k < PARAMETERS; k++) {
        q.p0[k] = (float)at.p0[k];
        q.p1[k] = (float)at.p1[k];
        q.np[k] = (int)lround(at.np[k]);
    }
    memcpy(q.group, r->group, sizeof q.group);
    return q;
}

query query_largest(const request *r, const su_gather *g)
{
    query q = query_at(r, g, r->m0.first, r->h0.first, r->t0.first);
    for (int i = 0; i < r->rows; i++)
        for (int k = 0; k < PARAMETERS; k++)
            if (r->row[i].np[k] > q.np[k]) q.np[k] = (int)r->row[i].np[k];
    q.ntraces = (int)g->ntraces;
    return q;
}
