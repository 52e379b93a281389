/* line.c - see line.h. */
#include "line.h"
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double line_metres(int32_t value, int16_t scale)
{
    if (scale < 0) return value / -(double)scale;
    return scale ? (double)value * scale : value;
}

trace_ends line_ends(const su_header *h, su_axis axis)
{
    bool x = axis == SU_AXIS_X;
    return (trace_ends){line_metres(x ? h->sx : h->sy, h->scalco),
                        line_metres(x ? h->gx : h->gy, h->scalco)};
}

/* Returns which coordinates vary among sources and receivers: 1: x, 2: y, 3: both, 0:
 * neither. */
static int find_varying(const su_gather *g)
{
    int found = 0;
    const su_header *reference = NULL;
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        if (h->trid == SU_DEAD) continue;
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

static int localize_traces(su_gather *g, int along_x, double source, double receiver,
                           char why[SU_REASON_SIZE])
{
    for (size_t i = 0; i < g->ntraces; i++) {
        su_header *h = &g->trace[i].header;
        if (h->trid == SU_DEAD) continue;
        int32_t s = along_x ? h->sx : h->sy, r = along_x ? h->gx : h->gy;
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
        if (h->trid == SU_DEAD) continue;
        if (!reference) reference = h;
        if (h->delrt != reference->delrt)
            return refuse(why, "trace %zu: delrt is %d ms, other traces have %d", i + 1,
                          h->delrt, reference->delrt);
    }
    long microseconds = 1000L * reference->delrt;
    if (microseconds % g->dt)
        return refuse(why, "delrt is %d ms, not a whole number of samples of %d us",
                      reference->delrt, g->dt);
    *delay = microseconds / g->dt;
    if (*delay <= -(long)g->ns)
        return refuse(why, "delrt is %d ms: the traces end before time 0",
                      reference->delrt);
    if (*delay + g->ns > 65535)
        return refuse(why, "delrt is %d ms: %ld samples from time 0, at most 65535",
                      reference->delrt, *delay + g->ns);
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

int su_find_axis(const su_gather *g, su_axis *axis, char why[SU_REASON_SIZE])
{
    bool live = false;
    for (size_t i = 0; i < g->ntraces; i++) live |= g->trace[i].header.trid != SU_DEAD;
    if (!live)
        return refuse(why, "all of its %zu traces are dead (trid 2)", g->ntraces);
    if (*axis != SU_AXIS_AUTO) return 0;
    int varies = find_varying(g);
    if (varies == 0 || varies == 3)
        return refuse(why,
                      "cannot tell which axis the line follows (%s): set axis=x or "
                      "axis=y",
                      varies ? "x and y both vary" : "neither x nor y varies");
    *axis = varies == 1 ? SU_AXIS_X : SU_AXIS_Y;
    return 0;
}

/* Returns the largest magnitude of a coordinate of the live traces. */
static double largest_coordinate(const su_gather *g)
{
    double largest = 0;
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        const int32_t value[] = {h->sx, h->sy, h->gx, h->gy};
        for (int k = 0; k < 4 && h->trid != SU_DEAD; k++)
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
        if (h->trid != SU_DEAD && h->counit >= 2 && h->counit < CODES &&
            largest <= angle_max[h->counit])
            return refuse(why,
                          "trace %zu: counit is %d, so its coordinates are angles: "
                          "expected lengths: project them to metres, for example with "
                          "PROJ, or set counit to 1 if they are lengths",
                          i + 1, h->counit);
    }
    return 0;
}

int su_line(su_gather *g, su_axis *axis, double source, double receiver, size_t *dead,
            char why[SU_REASON_SIZE])
{
    size_t alive = 0;
    for (size_t i = 0; i < g->ntraces; i++) alive += g->trace[i].header.trid != SU_DEAD;
    long delay = 0;
    if (su_find_axis(g, axis, why) != 0 || check_unit(g, why) != 0 ||
        find_delay(g, &delay, why) != 0 ||
        localize_traces(g, *axis == SU_AXIS_X, source, receiver, why) != 0)
        return -1;
    *dead = g->ntraces - alive;
    return start_at_time_zero(g, delay, why);
}
