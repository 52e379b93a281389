/* line.c - see line.h. */
#include "line.h"
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bounds of line.h on a line that is oblique: it may bend by about 20 degrees in its
 * middle. */
static const double STRAIGHT = 0.05, CROOKED = 0.1;
static const int16_t MILLIMETRES = -1000; /* scalco of positions on an oblique line */
/* Bounds of line.h on the difference of offset and distance; the offset is a whole
 * number of metres. */
static const double OFFSET_TOLERANCE = 0.1, OFFSET_UNIT = 1;

double line_metres(int32_t value, int16_t scale)
{
    if (scale < 0) return value / -(double)scale;
    return scale ? (double)value * scale : value;
}

/* x or y of a source and its receiver. */
static trace_ends x_ends(const su_header *h)
{
    return (trace_ends){line_metres(h->sx, h->scalco), line_metres(h->gx, h->scalco)};
}

static trace_ends y_ends(const su_header *h)
{
    return (trace_ends){line_metres(h->sy, h->scalco), line_metres(h->gy, h->scalco)};
}

static double to_millimetre(double metres)
{
    return nearbyint(metres * -MILLIMETRES) / -MILLIMETRES;
}

/* Coordinates in the direction (ux, uy), from (x0, y0) on. */
static trace_ends project(const su_header *h, const line_axis *axis, double ux,
                          double uy)
{
    trace_ends x = x_ends(h), y = y_ends(h);
    return (trace_ends){(x.source - axis->x0) * ux + (y.source - axis->y0) * uy,
                        (x.receiver - axis->x0) * ux + (y.receiver - axis->y0) * uy};
}

trace_ends line_ends(const su_header *h, const line_axis *axis)
{
    if (axis->kind != SU_AXIS_OBLIQUE)
        return axis->kind == SU_AXIS_X ? x_ends(h) : y_ends(h);
    trace_ends p = project(h, axis, axis->ux, axis->uy);
    return (trace_ends){to_millimetre(p.source), to_millimetre(p.receiver)};
}

trace_ends line_across(const su_header *h, const line_axis *axis)
{
    if (axis->kind == SU_AXIS_OBLIQUE) return project(h, axis, -axis->uy, axis->ux);
    return axis->kind == SU_AXIS_X ? y_ends(h) : x_ends(h);
}

void line_place(const line_axis *axis, double along, double across, double *x,
                double *y)
{
    *x = axis->kind == SU_AXIS_X ? along : across;
    *y = axis->kind == SU_AXIS_X ? across : along;
    if (axis->kind != SU_AXIS_OBLIQUE) return;
    *x = axis->x0 + along * axis->ux - across * axis->uy;
    *y = axis->y0 + along * axis->uy + across * axis->ux;
}

/* Returns which coordinates vary among sources and receivers: 1: x, 2: y, 3: both, 0:
 * neither. */
static int find_varying(const su_gather *g)
{
    int found = 0;
    const su_header *reference = NULL;
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        if (!su_is_data(h)) continue;
        if (!reference) reference = h;
        double x = line_metres(reference->sx, reference->scalco),
               y = line_metres(reference->sy, reference->scalco);
        if (line_metres(h->sx, h->scalco) != x || line_metres(h->gx, h->scalco) != x)
            found |= 1;
        if (line_metres(h->sy, h->scalco) != y || line_metres(h->gy, h->scalco) != y)
            found |= 2;
    }
    return found;
}

/* Distance of source and receiver in the plane. */
static double true_distance(const su_header *h)
{
    trace_ends x = x_ends(h), y = y_ends(h);
    return hypot(x.receiver - x.source, y.receiver - y.source);
}

/* Makes *axis the straight line through the mean of all sources and receivers that has
 * the smallest sum of squared distances from them. */
static void fit_line(const su_gather *g, line_axis *axis)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        if (!su_is_data(h)) continue;
        trace_ends at_x = x_ends(h), at_y = y_ends(h);
        if (!n) axis->x0 = at_x.source, axis->y0 = at_y.source;
        for (int end = 0; end < 2; end++) {
            double dx = (end ? at_x.receiver : at_x.source) - axis->x0;
            double dy = (end ? at_y.receiver : at_y.source) - axis->y0;
            n++, x += dx, y += dy, xx += dx * dx, xy += dx * dy, yy += dy * dy;
        }
    }
    double angle = atan2(2 * (xy - x * y / n), (xx - x * x / n) - (yy - y * y / n)) / 2;
    axis->ux = cos(angle), axis->uy = sin(angle);
    if (axis->uy < -axis->ux) axis->ux = -axis->ux, axis->uy = -axis->uy;
    axis->kind = SU_AXIS_OBLIQUE;
    double middle = (y * axis->ux - x * axis->uy) / n;
    axis->farthest = 0;
    for (size_t i = 0; i < g->ntraces; i++) {
        if (!su_is_data(&g->trace[i].header)) continue;
        trace_ends p = line_across(&g->trace[i].header, axis);
        axis->farthest = fmax(axis->farthest,
                              fmax(fabs(p.source - middle), fabs(p.receiver - middle)));
    }
}

/* Returns 0, or -1 with a message in why if a line that fit_line() has found is not
 * straight. */
static int check_straight(const su_gather *g, const line_axis *axis,
                          char why[SU_REASON_SIZE])
{
    double low = INFINITY, high = -INFINITY;
    size_t n = 0, shorter = 0;
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        if (!su_is_data(h)) continue;
        trace_ends p = line_ends(h, axis);
        low = fmin(low, fmin(p.source, p.receiver));
        high = fmax(high, fmax(p.source, p.receiver));
        n++;
        shorter += fabs(p.receiver - p.source) < (1 - STRAIGHT) * true_distance(h);
    }
    if (axis->farthest <= STRAIGHT * (high - low) &&
        (double)shorter <= CROOKED * (double)n)
        return 0;
    return refuse(
        why,
        "x and y vary, not along a straight line: %.4g m away from one of "
        "%.4g m (%.0f %% of the source-receiver distances become shorter): "
        "expected at most %g %%: select a straight part, or one coordinate by "
        "axis=x or axis=y",
        axis->farthest, high - low, 100 * (double)shorter / (double)n, 100 * STRAIGHT);
}

/* ---- offset ------------------------------------------------------------------------
 */

static bool offset_differs(const su_header *h, double distance)
{
    double offset = fabs((double)h->offset);
    return fabs(distance - offset) >
           OFFSET_TOLERANCE * fmax(distance, offset) + OFFSET_UNIT;
}

static double along_distance(const su_header *h, const line_axis *axis)
{
    trace_ends p = line_ends(h, axis);
    return fabs(p.receiver - p.source);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the median of distance / offset in the traces in which they differ; NAN if
 * its quartiles are not within a tenth of it. */
static double constant_factor(const su_gather *g, const line_axis *axis, size_t count)
{
    double *factor = allocate(count, sizeof *factor, "the offsets");
    size_t n = 0;
    for (size_t i = 0; i < g->ntraces && n < count; i++) {
        const su_header *h = &g->trace[i].header;
        double distance = along_distance(h, axis);
        if (su_is_data(h) && h->offset && offset_differs(h, distance))
            factor[n++] = distance / fabs((double)h->offset);
    }
    qsort(factor, n, sizeof *factor, by_value);
    double median = factor[n / 2], low = factor[n / 4], high = factor[3 * n / 4];
    free(factor);
    return high - low <= OFFSET_TOLERANCE * median ? median : NAN;
}

/* Stores the reason for a constant factor between distances and offsets, and what to
 * set. */
static void explain_factor(char text[SU_REASON_SIZE], double factor, const su_header *h)
{
    static const double FOOT = 0.3048, NEAR = 0.03;
    double power = round(log10(factor));
    double scale = line_metres(1, h->scalco) / pow(10, power);
    double digits = round(log10(scale));
    bool scaled = power != 0 && fabs(factor / pow(10, power) - 1) < NEAR &&
                  fabs(scale / pow(10, digits) - 1) < NEAR && fabs(digits) <= 4;
    if (scaled)
        snprintf(text, SU_REASON_SIZE,
                 "set scalco to %.0f if offset is right (it is %d)",
                 digits < 0 ? -pow(10, -digits) : pow(10, digits), h->scalco);
    else if (fabs(factor / FOOT - 1) < NEAR || fabs(factor * FOOT - 1) < NEAR)
        snprintf(text, SU_REASON_SIZE, "one is in feet: convert it to metres");
    else
        snprintf(
            text, SU_REASON_SIZE,
            "expected metres in both: scalco is %d, counit %d; project coordinates "
            "that are angles",
            h->scalco, h->counit);
}

int su_check_offsets(const su_gather *g, const line_axis *axis, size_t *count,
                     size_t *first, char why[SU_REASON_SIZE])
{
    size_t live = 0, compared = 0, across = 0;
    *count = 0;
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        if (!su_is_data(h)) continue;
        live++;
        if (!h->offset) continue;
        compared++;
        if (!offset_differs(h, along_distance(h, axis))) continue;
        if (!(*count)++) *first = i;
        across += !offset_differs(h, true_distance(h));
    }
    if (2 * *count <= compared || 2 * compared < live) return 0;
    const su_header *h = &g->trace[*first].header;
    char text[SU_REASON_SIZE];
    double factor = constant_factor(g, axis, *count);
    if (2 * across > *count)
        snprintf(text, sizeof text,
                 "the line does not follow axis=%s: leave that option out",
                 axis->kind == SU_AXIS_X ? "x" : "y");
    else if (factor > 0)
        explain_factor(text, factor, h);
    else
        snprintf(text, sizeof text, "expected positions in sx, sy, gx and gy");
    if (factor > 0)
        return refuse(why,
                      "trace %zu: source and receiver are %g m apart, offset is %d, a "
                      "factor of %.3g as in most traces: %s; or offset=ignore",
                      *first + 1, along_distance(h, axis), h->offset, factor, text);
    return refuse(
        why,
        "trace %zu: source and receiver are %g m apart, offset is %d, and most "
        "traces differ, too: %s; or offset=ignore",
        *first + 1, along_distance(h, axis), h->offset, text);
}

/* ---- su_line() ---------------------------------------------------------------------
 */

/* Stores the coordinate relative to origin in *local, in units of 1/-scalco m if scalco
 * is negative, else in metres. Returns -1 if it does not fit into 32 bits. */
static int localize(int32_t coordinate, int16_t scalco, double origin, int32_t *local)
{
    int64_t times = scalco > 0 ? scalco : 1, parts = scalco < 0 ? -scalco : 1;
    int64_t local_value = coordinate * times - (int64_t)origin * parts;
    if (local_value < INT32_MIN || local_value > INT32_MAX) return -1;
    *local = (int32_t)local_value;
    return 0;
}

/* Stores the positions of source and receiver on an oblique line, relative to the
 * origins, in millimetres. */
static int localize_oblique(su_header *h, const line_axis *axis, double source,
                            double receiver)
{
    trace_ends p = line_ends(h, axis);
    double s = nearbyint((p.source - source) * -MILLIMETRES);
    double r = nearbyint((p.receiver - receiver) * -MILLIMETRES);
    if (fabs(s) > INT32_MAX || fabs(r) > INT32_MAX) return -1;
    h->sy = (int32_t)s, h->gy = (int32_t)r;
    h->scalco = MILLIMETRES;
    return 0;
}

static int localize_traces(su_gather *g, const line_axis *axis, double source,
                           double receiver, char why[SU_REASON_SIZE])
{
    for (size_t i = 0; i < g->ntraces; i++) {
        su_header *h = &g->trace[i].header;
        if (!su_is_data(h)) continue;
        bool along_x = axis->kind == SU_AXIS_X;
        int32_t s = along_x ? h->sx : h->sy, r = along_x ? h->gx : h->gy;
        if (axis->kind == SU_AXIS_OBLIQUE) {
            trace_ends p = line_ends(h, axis);
            if (localize_oblique(h, axis, source, receiver) != 0)
                return refuse(
                    why,
                    "trace %zu: at %g and %g m on an oblique line, too far "
                    "from the output point's %g and %g m: expected a distance "
                    "of 32 bits, in millimetres",
                    i + 1, p.source, p.receiver, source, receiver);
            h->sx = h->gx = 0;
            continue;
        }
        if (localize(s, h->scalco, source, &h->sy) != 0)
            return refuse(
                why,
                "trace %zu: source at %g m is too far from the output point's "
                "%g m (scalco=%d): expected a distance of 32 bits",
                i + 1, line_metres(s, h->scalco), source, h->scalco);
        if (localize(r, h->scalco, receiver, &h->gy) != 0)
            return refuse(
                why,
                "trace %zu: receiver at %g m is too far from the output point's "
                "%g m (scalco=%d): expected a distance of 32 bits",
                i + 1, line_metres(r, h->scalco), receiver, h->scalco);
        h->sx = h->gx = 0;
        if (h->scalco > 0) h->scalco = 1;
    }
    return 0;
}

/* Stores in *delay the number of samples between time 0 and sample 0; it is negative if
 * sample 0 is before time 0. */
static int find_delay(const su_gather *g, long *delay, char why[SU_REASON_SIZE])
{
    const su_header *reference = NULL;
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        if (!su_is_data(h)) continue;
        if (!reference) reference = h;
        int scale = abs((int)h->tscale);
        if (h->delrt && scale > 1 && scale != 10 && scale != 100 && scale != 1000 &&
            scale != 10000)
            return refuse(
                why,
                "trace %zu: delrt is %d and its scale in bytes 215-216 is %d: "
                "expected 1, 10, 100, 1000 or 10000, negative to divide, or 0 "
                "if delrt is in ms",
                i + 1, h->delrt, h->tscale);
        if (su_delay(h) != su_delay(reference))
            return refuse(why, "trace %zu: delrt is %g ms, other traces have %g", i + 1,
                          su_delay(h) / 1000, su_delay(reference) / 1000);
    }
    double first = su_delay(reference), samples = first / g->dt;
    if (samples != nearbyint(samples))
        return refuse(why, "delrt is %g ms, not a whole number of samples of %d us",
                      first / 1000, g->dt);
    if (samples <= -g->ns)
        return refuse(why, "delrt is %g ms: the traces end before time 0",
                      first / 1000);
    if (samples + g->ns > 65535)
        return refuse(why, "delrt is %g ms: %.0f samples from time 0, at most 65535",
                      first / 1000, samples + g->ns);
    *delay = (long)samples;
    return 0;
}

/* Refuses traces of different kinds of data, such as pressure and motion. */
static int check_kinds(const su_gather *g, char why[SU_REASON_SIZE])
{
    size_t first = g->ntraces;
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        if (!su_is_data(h)) continue;
        if (first == g->ntraces) first = i;
        int kind = h->trid ? h->trid : SU_LIVE, other = g->trace[first].header.trid;
        if (kind != (other ? other : SU_LIVE))
            return refuse(why,
                          "trace %zu: trid is %d, but %d in trace %zu: expected one "
                          "kind of data: select it, for example with suwind key=trid",
                          i + 1, h->trid, other, first + 1);
    }
    return 0;
}

/* Prepends `delay` zeros to the samples of each trace. */
static int prepend_zeros(su_gather *g, long delay, char why[SU_REASON_SIZE])
{
    su_gather moved = su_alloc(g->ntraces, g->ns + (int)delay, g->dt);
    if (!moved.trace)
        return refuse(why, "not enough memory for %zu traces of %ld samples",
                      g->ntraces, g->ns + delay);
    for (size_t i = 0; i < g->ntraces; i++) {
        moved.trace[i].header = g->trace[i].header;
        memcpy(moved.trace[i].data + delay, g->trace[i].data,
               (size_t)g->ns * sizeof(float));
    }
    moved.big_endian = g->big_endian;
    moved.skipped = g->skipped;
    su_free(g);
    *g = moved;
    g->ns -= (int)delay;
    return 0;
}

/* Moves sample 0 to time 0. Samples before it are skipped in place, also if they are
 * read later. */
static int start_at_time_zero(su_gather *g, long delay, char why[SU_REASON_SIZE])
{
    if (g->samples && delay > 0 && prepend_zeros(g, delay, why) != 0) return -1;
    if (g->samples && delay < 0) g->samples -= delay;
    g->ns += (int)delay;
    g->first = delay > 0 ? (int)delay : 0;
    for (size_t i = 0; i < g->ntraces; i++) {
        if (g->samples && delay < 0) g->trace[i].data -= delay;
        g->trace[i].header.ns = (uint16_t)g->ns;
        g->trace[i].header.delrt = 0;
    }
    return 0;
}

int su_find_axis(const su_gather *g, line_axis *axis, char why[SU_REASON_SIZE])
{
    size_t live = 0, dead = 0;
    for (size_t i = 0; i < g->ntraces; i++) {
        live += su_is_data(&g->trace[i].header);
        dead += g->trace[i].header.trid == SU_DEAD;
    }
    if (!live && dead == g->ntraces)
        return refuse(why, "all of its %zu traces are dead (trid 2)", g->ntraces);
    if (!live)
        return refuse(why,
                      "none of its %zu traces has seismic data: expected trid 0, 1, "
                      "11..17",
                      g->ntraces);
    if (axis->kind != SU_AXIS_AUTO) return 0;
    int varies = find_varying(g);
    if (varies == 0)
        return refuse(why, "cannot tell which axis the line follows (neither x nor y "
                           "varies): set axis=x or axis=y");
    axis->kind = varies == 1 ? SU_AXIS_X : SU_AXIS_Y;
    if (varies < 3) return 0;
    fit_line(g, axis);
    return check_straight(g, axis, why);
}

/* Returns the largest magnitude of a coordinate of the live traces. */
static double largest_coordinate(const su_gather *g)
{
    double largest = 0;
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        const int32_t value[] = {h->sx, h->sy, h->gx, h->gy};
        for (int k = 0; k < 4 && su_is_data(h); k++)
            largest = fmax(largest, fabs(line_metres(value[k], h->scalco)));
    }
    return largest;
}

/* Refuses coordinates that are angles: counit is 2 (seconds), 3 (degrees) or 4
 * (degrees, minutes and seconds as DDDMMSS). Coordinates that are too large for angles
 * are lengths although counit, which many programs do not set, says otherwise. */
static int check_unit(const su_gather *g, char why[SU_REASON_SIZE])
{
    static const double angle_max[] = {[2] = 180 * 3600.0, [3] = 180, [4] = 1800000};
    enum { CODES = sizeof angle_max / sizeof *angle_max };
    double largest = largest_coordinate(g);
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        if (su_is_data(h) && h->counit >= 2 && h->counit < CODES &&
            largest <= angle_max[h->counit])
            return refuse(why,
                          "trace %zu: counit is %d, so its coordinates are angles: "
                          "expected lengths: project them to metres, for example with "
                          "PROJ, or set counit to 1 if they are lengths",
                          i + 1, h->counit);
    }
    return 0;
}

int su_line(su_gather *g, line_axis *axis, double source, double receiver, size_t *dead,
            char why[SU_REASON_SIZE])
{
    *dead = 0;
    for (size_t i = 0; i < g->ntraces; i++) *dead += g->trace[i].header.trid == SU_DEAD;
    long delay = 0;
    if (su_find_axis(g, axis, why) != 0 || check_kinds(g, why) != 0 ||
        check_unit(g, why) != 0 || find_delay(g, &delay, why) != 0 ||
        localize_traces(g, axis, source, receiver, why) != 0)
        return -1;
    return start_at_time_zero(g, delay, why);
}
