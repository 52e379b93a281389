/* cpu.c - the search, the values of (A, B, C) shared among threads. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

/* One search for each small window: loops of a known length are unrolled, and num stays
 * in registers. OpenCL and CUDA have built their kernels so from the beginning. */
#define WINDOW(w, length)                                                              \
    __attribute__((flatten)) static point search_##w(                                  \
        int ia, int ib, int ic, const trace *traces, const float *samples,             \
        const query *q, workspace ws)                                                  \
    {                                                                                  \
        return search_abc(ia, ib, ic, traces, samples, q, length, ws);                 \
    }                                                                                  \
    __attribute__((flatten)) static float bound_##w(                                   \
        int ia, int ib, int ic, int cs, const trace *traces, const float *samples,     \
        const query *q)                                                                \
    {                                                                                  \
        return bound(ia, ib, ic, cs, traces, samples, q, length);                      \
    }
WINDOW(1, 1)
WINDOW(3, 3)
WINDOW(5, 5)
WINDOW(7, 7)
WINDOW(9, 9)
WINDOW(11, 11)
WINDOW(13, 13)
WINDOW(15, 15)
WINDOW(any, window_of(q))

typedef struct {
    point (*search)(int, int, int, const trace *, const float *, const query *,
                    workspace);
    float (*bound)(int, int, int, int, const trace *, const float *, const query *);
} window;
#define OF(w)                                                                          \
    {                                                                                  \
        search_##w, bound_##w                                                          \
    }
static const window of_window[] = {OF(1),  OF(3),  OF(5),  OF(7),  OF(9),
                                   OF(11), OF(13), OF(15), OF(any)};

struct search_state {
    const su_gather *g;
    trace *traces; /* of a search */
    point *part;   /* the best of each (A, B, C) */
    float *room;   /* of each thread, for the hinges of a trace */
    size_t each;   /* floats that a thread has */
    ranked *order; /* [np[0] np[1]]: all (A, B), the most promising first */
};

static float *room_of_thread(const search_state *s)
{
    return s->room + omp_get_thread_num() * s->each;
}

search_state *search_begin(const su_gather *g, const query *q, run_times *t)
{
    double start = seconds();

    search_state *s = allocate(1, sizeof *s, "the state of the search");
    s->g = g;
    s->traces = allocate(q->ntraces, sizeof *s->traces, "the traces");
    s->part = allocate(parts_of(q), sizeof *s->part, "the best of each (A, B, C)");
    s->order = allocate(cells_of(q), sizeof *s->order, "the order of the search");

    /* Threads are called for the first time here, and each touches its own room. */
    s->each = (room_of(q->ntraces, window_of(q)) + 15) / 16 * 16;
    s->room = untouched(s->each * omp_get_max_threads(), sizeof *s->room, "the hinges");
#pragma omp parallel
    memset(room_of_thread(s), 0xff, s->each * sizeof *s->room);

    t->init += seconds() - start;
    return s;
}

void search(search_state *s, const query *q, const int *near, best *found, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, near, s->traces);

    double ready = seconds();

    window of = of_window[q->tau < 8 ? q->tau : 8];
    const float *samples = s->g->samples;
    const trace *traces = s->traces;
    size_t cells = cells_of(q), next = 0;
    int prune = !found->panel; /* the panel asks for all */
    float best = 0;

#pragma omp parallel
    {
        workspace ws = workspace_of(room_of_thread(s), q->ntraces, window_of(q));

#pragma omp for schedule(dynamic)
        for (size_t n = 0; n < cells; n++) {
            int ia = n / q->np[1], ib = n % q->np[1];
            s->order[n].cell = (int)n;
            s->order[n].bound =
                prune ? of.bound(ia, ib, 0, q->np[2], traces, samples, q) : 2;
            for (int ic = 0; ic < q->np[2]; ic++)
                s->part[part_of(q, ia, ib, ic)] = first_of(q, ia, ib, ic);
        }
#pragma omp single
        if (prune) qsort(s->order, cells, sizeof *s->order, higher);

        /* Whoever is free takes the next, until nothing that follows can be better. */
        for (;;) {
            size_t n;
#pragma omp atomic capture
            n = next++;
            if (n >= parts_of(q)) break;
            ranked r = s->order[n / q->np[2]];
            int ia = r.cell / q->np[1], ib = r.cell % q->np[1], ic = n % q->np[2];
            float least;
#pragma omp atomic read
            least = best;
            if (r.bound <= 0 || r.bound < least) break;
            float most = prune ? of.bound(ia, ib, ic, 1, traces, samples, q) : r.bound;
            if (most <= 0 || most < least) continue;
            point p = of.search(ia, ib, ic, traces, samples, q, ws);
            if (p.semblance > least)
#pragma omp critical
                if (p.semblance > best) {
#pragma omp atomic write
                    best = p.semblance;
                }
            s->part[part_of(q, ia, ib, ic)] = p;
        }
    }

    pick_best(q, s->part, q->np[2], found);

    double end = seconds();
    t->init += ready - start;
    t->run += end - ready;
    t->kernel += end - ready;
}

void search_end(search_state *s)
{
    free(s->room);
    free(s->order);
    free(s->part);
    free(s->traces);
    free(s);
}
