/* survey.c - see survey.h. */
#include "survey.h"
#include "crew.h"

#include <math.h>
#include <stdlib.h>

static int by_midpoint(const void *a, const void *b)
{
    const place *one = a, *other = b;
    if (one->m != other->m) return one->m < other->m ? -1 : 1;
    return one->number - other->number;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

survey survey_read(request *r)
{
    survey s = {.g = request_gather(r)};
    request_fit(r, &s.g);
    origin from = origin_of(r);
    s.at = allocate(s.g.ntraces, sizeof *s.at, "the midpoints");
    for (size_t i = 0; i < s.g.ntraces; i++) {
        const su_header *t = &s.g.trace[i].header;
        if (t->trid == SU_DEAD) continue;
        double unit = t->scalco < 0 ? -1.0 / t->scalco : 1;
        double source = from.source + t->sy * unit;
        double receiver = from.receiver + t->gy * unit;
        s.at[s.live++] =
            (place){(receiver + source) / 2, (receiver - source) / 2, (int)i, t->cdp};
    }
    qsort(s.at, (size_t)s.live, sizeof *s.at, by_midpoint);
    return s;
}

void survey_free(survey *s)
{
    free(s->at);
    crew_free(&s->g);
}

/* The first place whose midpoint is not below m; s->live if there is none. */
static int first_from(const survey *s, double m)
{
    int low = 0, high = s->live;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (s->at[middle].m < m)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int survey_near(const survey *s, const request *r, double m, double h, int *near)
{
    int n = 0;
    for (int k = first_from(s, m - r->aperture[0]); k < s->live; k++) {
        if (s->at[k].m > m + r->aperture[0]) break;
        if (fabs(s->at[k].h - h) <= r->aperture[1]) near[n++] = s->at[k].number;
    }
    qsort(near, (size_t)n, sizeof *near, by_number);
    return n;
}

const place *survey_nearest(const survey *s, double m, double h)
{
    int from = first_from(s, m);
    const place *best = NULL;
    double least = INFINITY;
    for (int step = -1; step <= 1; step += 2)
        for (int k = step < 0 ? from - 1 : from; k >= 0 && k < s->live; k += step) {
            double dm = s->at[k].m - m, dh = s->at[k].h - h;
            if (dm * dm >= least) break;
            if (best && dm * dm + dh * dh >= least) continue;
            least = dm * dm + dh * dh;
            best = &s->at[k];
        }
    return best;
}
