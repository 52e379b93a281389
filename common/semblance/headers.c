/* headers.c - implements headers.h.
 *
 * An output trace at the place of a dead trace gets its header. Other headers are
 * interpolated among the live traces: fields that belong to the shot along the sources,
 * those of the receiver along the receivers, cdp along the midpoints and tracf along
 * the half-offsets.
 */
#include "headers.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const double SAME = 1e-3;     /* m: traces that are closer are at one place */
static const double ROUNDING = 1e-6; /* added before a number is rounded down */

typedef enum { SOURCE, RECEIVER, MIDPOINT, OFFSET, AXES } axis_kind;

/* The position of trace `number` on an axis, metres. */
typedef struct {
    double x;
    int number;
} site;

/* Distinct positions on an axis, in increasing order; of traces at one position, the
 * first in the file. */
typedef struct {
    site *site;
    int count;
} axis_table;

/* The unit of a field, or the position of a source or receiver across the line. Numbers
 * continue outside the survey; there, positions and elevations keep their last value.
 */
typedef enum { NUMBER, ELEVATION, SOURCE_ACROSS, RECEIVER_ACROSS } field_kind;

static const struct {
    size_t at; /* offset in the header, in bytes */
    axis_kind axis;
    field_kind kind;
} field[] = {
    {offsetof(su_header, fldr), SOURCE, NUMBER},
    {offsetof(su_header, ep), SOURCE, NUMBER},
    {offsetof(su_header, tracf), OFFSET, NUMBER},
    {offsetof(su_header, cdp), MIDPOINT, NUMBER},
    {offsetof(su_header, selev), SOURCE, ELEVATION},
    {offsetof(su_header, sdepth), SOURCE, ELEVATION},
    {offsetof(su_header, sdel), SOURCE, ELEVATION},
    {offsetof(su_header, swdep), SOURCE, ELEVATION},
    {offsetof(su_header, gelev), RECEIVER, ELEVATION},
    {offsetof(su_header, gdel), RECEIVER, ELEVATION},
    {offsetof(su_header, gwdep), RECEIVER, ELEVATION},
};

static int by_position(const void *a, const void *b)
{
    const site *x = a, *y = b;
    if (x->x != y->x) return x->x < y->x ? -1 : 1;
    return x->number - y->number;
}

/* Returns the positions on an axis of the traces that are dead, or of those that have
 * data; with `all`, positions that are equal are kept. */
static axis_table make_axis(const request *r, const survey *s, axis_kind axis,
                            bool dead, bool all)
{
    axis_table t = {.site =
                        allocate(s->g.ntraces, sizeof *t.site, "positions of traces")};
    for (size_t i = 0; i < s->g.ntraces; i++) {
        const su_header *h = &s->header[i];
        if (dead ? h->trid != SU_DEAD : !su_is_data(h)) continue;
        trace_ends p = line_ends(h, &r->axis);
        double x = axis == SOURCE     ? p.source
                   : axis == RECEIVER ? p.receiver
                   : axis == MIDPOINT ? (p.source + p.receiver) / 2
                                      : (p.receiver - p.source) / 2;
        t.site[t.count++] = (site){x, (int)i};
    }
    qsort(t.site, (size_t)t.count, sizeof *t.site, by_position);
    int kept = 0;
    for (int i = 0; i < t.count; i++)
        if (all || i == 0 || t.site[i].x != t.site[kept - 1].x)
            t.site[kept++] = t.site[i];
    t.count = kept;
    return t;
}

/* Returns the first of the sites whose position is not below x; t->count if there is
 * none. */
static int first_from(const axis_table *t, double x)
{
    int low = 0, high = t->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (t->site[middle].x < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns a field of trace `number`: positions, for which `at` has no meaning, and
 * elevations in metres. */
static double field_value(const request *r, const survey *s, int number, size_t at,
                          field_kind kind)
{
    const su_header *h = &s->header[number];
    if (kind == SOURCE_ACROSS) return line_across(h, &r->axis).source;
    if (kind == RECEIVER_ACROSS) return line_across(h, &r->axis).receiver;
    int32_t value;
    memcpy(&value, (const char *)h + at, sizeof value);
    return line_metres(value, kind == ELEVATION ? h->scalel : 1);
}

/* Returns a field at position x, interpolated linearly between the sites around it.
 * Outside them, a number grows as it does on average between the first site and the
 * last. */
static double interpolate(const request *r, const survey *s, const axis_table *t,
                          double x, size_t at, field_kind kind)
{
    int high = first_from(t, x), low = high - 1;
    if (high < t->count && t->site[high].x == x) low = high;
    const site *a = &t->site[low < 0 ? 0 : low];
    const site *b = &t->site[high == t->count ? low : high];
    double value = field_value(r, s, a->number, at, kind);
    bool outside = low < 0 || high == t->count;
    if (outside) {
        if (kind != NUMBER) return value;
        a = &t->site[0];
        b = &t->site[t->count - 1];
        if (low >= 0) value = field_value(r, s, a->number, at, kind);
    }
    if (a->x == b->x) return value;
    double other = field_value(r, s, b->number, at, kind);
    return value + (x - a->x) / (b->x - a->x) * (other - value);
}

/* The nearest 32-bit integer. */
static int32_t round_number(double x)
{
    return (int32_t)fmin(fmax(floor(x + 0.5 + ROUNDING), INT32_MIN), INT32_MAX);
}

/* Converts metres to units of scalco or scalel. */
static double to_units(double metres, int16_t scale)
{
    return scale < 0 ? metres * -scale : scale > 1 ? metres / scale : metres;
}

static void put_field(su_header *t, size_t at, double value)
{
    int32_t rounded = round_number(value);
    memcpy((char *)t + at, &rounded, sizeof rounded);
}

/* Returns the scalco of the survey if all output coordinates are whole numbers in it;
 * else the coarsest of 1 to 1/10000 of a metre in which they are; if there is none, the
 * finest in which they fit into 32 bits. On an oblique line, at least millimetres. */
static int16_t choose_scalco(const request *r, int16_t survey_scale)
{
    const int16_t scale[] = {survey_scale, 1, -10, -100, -1000, -10000};
    enum { SCALES = sizeof scale / sizeof *scale };
    double largest = fabs(r->axis.x0) + fabs(r->axis.y0) + 2 * r->axis.farthest;
    int found = r->axis.kind == SU_AXIS_OBLIQUE ? SCALES - 2 : 0;
    for (; found < SCALES - 1; found++) {
        double worst = 0;
        for (int i = 0; i < request_traces(r); i++) {
            position p = request_position(r, i);
            for (int sign = -1; sign <= 1; sign += 2) {
                double x = to_units(p.m + sign * p.h, scale[found]);
                worst = fmax(worst, fabs(x - nearbyint(x)));
                largest = fmax(largest, fabs(p.m + sign * p.h));
            }
        }
        if (worst < 1e-3) break;
    }
    while (found > 0 && to_units(largest, scale[found]) > INT32_MAX) found--;
    return scale[found];
}

/* Returns the number of the first dead trace at a place; -1 if there is none. */
static int dead_at(const request *r, const survey *s, const axis_table *dead,
                   double source, double receiver)
{
    int found = INT_MAX;
    for (int k = first_from(dead, source - SAME);
         k < dead->count && dead->site[k].x <= source + SAME; k++) {
        int number = dead->site[k].number;
        trace_ends p = line_ends(&s->header[number], &r->axis);
        if (fabs(p.receiver - receiver) <= SAME && number < found) found = number;
    }
    return found < INT_MAX ? found : -1;
}

/* Stores the sign of the field offset on both sides of the source: [0]: receivers
 * before it, [1]: after it. It is that of the first live trace there; without one, that
 * of receiver - source. */
static void find_signs(const request *r, const survey *s, int sign[2])
{
    sign[0] = -1, sign[1] = 1;
    for (size_t i = s->g.ntraces; i-- > 0;) {
        const su_header *h = &s->header[i];
        trace_ends p = line_ends(h, &r->axis);
        if (!su_is_data(h) || h->offset == 0 || p.receiver == p.source) continue;
        sign[p.receiver > p.source] = h->offset < 0 ? -1 : 1;
    }
}

/* Sets the fields that describe the output times; the delay has the scale that it has
 * in `live`, or is in ms. fail() if the times do not fit. */
static void set_times(const request *r, const survey *s, const su_header *live,
                      su_header *t)
{
    double dt = r->t0.count > 1 ? r->t0.step * 1e6 : s->g.dt;
    double delay = r->t0.first * 1e3, scaled = to_units(delay, live->tscale);
    if (live->delrt && fabs(scaled - nearbyint(scaled)) <= 1e-6 &&
        scaled <= INT16_MAX) {
        t->tscale = live->tscale;
        delay = scaled;
    }
    if (fabs(dt - nearbyint(dt)) > 1e-6 || dt < 1 || dt > 65535)
        fail("t0: steps of %g s, expected a whole number of microseconds, 1 to 65535",
             r->t0.step);
    if (fabs(delay - nearbyint(delay)) > 1e-6 || delay > INT16_MAX)
        fail("t0: starts at %g s, expected a whole number of milliseconds, at most %d "
             "(delrt of a trace)",
             r->t0.first, INT16_MAX);
    if (r->t0.count > 65535)
        fail("t0: %d samples, expected at most 65535 a trace", r->t0.count);
    t->delrt = (int16_t)lround(delay);
    t->ns = (uint16_t)r->t0.count;
    t->dt = (uint16_t)lround(dt);
}

su_header *headers_make(const request *r, const survey *s)
{
    axis_table axis[AXES], dead = make_axis(r, s, SOURCE, true, true);
    for (int k = 0; k < AXES; k++)
        axis[k] = make_axis(r, s, (axis_kind)k, false, false);
    int sign[2], traces = request_traces(r);
    find_signs(r, s, sign);

    su_header times = {0}, *first = s->header;
    while (!su_is_data(first)) first++;
    set_times(r, s, first, &times);
    int16_t scalco = choose_scalco(r, first->scalco);
    su_header *header = allocate((size_t)traces, sizeof *header, "the headers");
    memset(header, 0, (size_t)traces * sizeof *header);
    for (int i = 0; i < traces; i++) {
        position p = request_position(r, i);
        double at[AXES] = {p.m - p.h, p.m + p.h, p.m, p.h};
        int replaced = dead_at(r, s, &dead, at[SOURCE], at[RECEIVER]);
        su_header *t = &header[i];
        if (replaced >= 0) {
            *t = s->header[replaced];
            t->trid = 0;
        } else {
            t->tracl = t->tracr = i + 1;
            t->scalco = scalco;
            t->scalel = first->scalel;
            t->counit = first->counit;
            for (size_t f = 0; f < sizeof field / sizeof *field; f++) {
                double value =
                    interpolate(r, s, &axis[field[f].axis], at[field[f].axis],
                                field[f].at, field[f].kind);
                if (field[f].kind == ELEVATION) value = to_units(value, t->scalel);
                put_field(t, field[f].at, value);
            }
            double x, y,
                across[2] = {
                    interpolate(r, s, &axis[SOURCE], at[SOURCE], 0, SOURCE_ACROSS),
                    interpolate(r, s, &axis[RECEIVER], at[RECEIVER], 0,
                                RECEIVER_ACROSS)};
            line_place(&r->axis, at[SOURCE], across[0], &x, &y);
            t->sx = round_number(to_units(x, scalco));
            t->sy = round_number(to_units(y, scalco));
            line_place(&r->axis, at[RECEIVER], across[1], &x, &y);
            t->gx = round_number(to_units(x, scalco));
            t->gy = round_number(to_units(y, scalco));
            double distance = hypot(2 * p.h, across[1] - across[0]);
            t->offset = sign[p.h > 0] * round_number(distance);
        }
        t->delrt = times.delrt;
        if (times.delrt) t->tscale = times.tscale;
        t->ns = times.ns;
        t->dt = times.dt;
    }
    for (int k = 0; k < AXES; k++) free(axis[k].site);
    free(dead.site);
    return header;
}
