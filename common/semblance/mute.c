/* mute.c - implements mute.h.
 *
 * The samples of a trace before a time that depends on its offset are muted: in the
 * input they are 0, in the output they are 0 and not searched. The time is interpolated
 * in a table, for what comes before the first break; or it is where a correction of
 * normal moveout would stretch the trace by more than a limit: an event with time tn at
 * offset 0 and t at this offset is stretched by t / tn - 1, which is largest for the
 * slowest velocity.
 */
#include "mute.h"
#include "criterion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double TIME_LIMIT = 1e6; /* s */
static const double TOLERANCE = 1e-3; /* samples: the time of a sample is not exact */

/* Returns the time of the table at an offset; outside the table, that of its end. */
static double table_time(const request *r, double offset)
{
    int i = 0;
    while (i < r->mutes && r->mute[i].offset < offset) i++;
    if (i == 0) return r->mute[0].time;
    if (i == r->mutes) return r->mute[i - 1].time;
    const mute_row *a = &r->mute[i - 1], *b = &r->mute[i];
    double part = (offset - a->offset) / (b->offset - a->offset);
    return a->time + part * (b->time - a->time);
}

/* Returns the time up to which the stretch exceeds the limit, by bisection: the stretch
 * decreases with time. */
static double stretch_time(const request *r, double h)
{
    enum { HALVINGS = 60 };
    double early = 0, late = TIME_LIMIT;
    for (int i = 0; i < HALVINGS; i++) {
        double t = (early + late) / 2, z = moveout_at(r, h, t, false);
        double tn = sqrt(t * t - z * h * h);
        *(t > (1 + r->stretch) * tn ? &early : &late) = t;
    }
    return late;
}

/* Returns the time before which a trace with half-offset h is muted; 0 without mute=.
 */
static double mute_time(const request *r, double h)
{
    if (r->mutes) return table_time(r, 2 * fabs(h));
    return r->stretch > 0 && h != 0 ? stretch_time(r, h) : 0;
}

void mute_input(const request *r, su_gather *g, const survey *s, int first)
{
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *header = &s->header[(size_t)first + i];
        if (!su_is_data(header)) continue;
        trace_ends p = line_ends(header, &r->axis);
        double time = mute_time(r, (p.receiver - p.source) / 2);
        double samples = fmin(ceil(time * 1e6 / g->dt - TOLERANCE), g->ns);
        if (samples > 0) memset(g->trace[i].data, 0, (size_t)samples * sizeof(float));
    }
}

int mute_output(const request *r, const su_gather *g, double h)
{
    double time = mute_time(r, h) - TOLERANCE * 1e-6 * g->dt;
    int k = 0;
    while (k < r->t0.count && series_at(&r->t0, k) < time) k++;
    return k;
}
