/* survey.c - see survey.h. */
#include "survey.h"
#include "processes.h"

#include <math.h>
#include <stdlib.h>

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

survey survey_read(request *r)
{
    survey s = {0};
    s.g = request_gather(r, &s.header);
    request_fit(r, &s.g);
    origin from = request_origin(r);
    s.places = allocate(s.g.ntraces, sizeof *s.places, "the midpoints");
    for (size_t i = 0; i < s.g.ntraces; i++) {
        const su_header *t = &s.g.trace[i].header;
        if (t->trid == SU_DEAD) continue;
        double unit = t->scalco < 0 ? -1.0 / t->scalco : 1;
        double source = from.source + t->sy * unit;
        double receiver = from.receiver + t->gy * unit;
        s.places[s.live++] =
            (trace_place){(receiver + source) / 2, (receiver - source) / 2, (int)i};
    }
    qsort(s.places, (size_t)s.live, sizeof *s.places, by_midpoint);
    return s;
}

void survey_free(survey *s)
{
    free(s->places);
    free(s->header);
    proc_free_gather(&s->g);
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
