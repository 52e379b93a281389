/* cpu.c - the search, the values of (A, B, C) shared among threads. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

/* One search for each small window: loops of a known length are unrolled, and num stays
 * in registers. OpenCL and CUDA have built their kernels so from the beginning. */
#define SEARCH(w, length)                                                              \
    __attribute__((flatten)) static point search_##w(                                  \
        int ia, int ib, int ic, const trace *traces, const float *samples,             \
        const query *q, workspace ws)                                                  \
    {                                                                                  \
        return search_abc(ia, ib, ic, traces, samples, q, length, ws);                 \
    }
SEARCH(1, 1)
SEARCH(3, 3)
SEARCH(5, 5)
SEARCH(7, 7)
SEARCH(9, 9)
SEARCH(11, 11)
SEARCH(13, 13)
SEARCH(15, 15)
SEARCH(any, window_of(q))

typedef point search_one(int, int, int, const trace *, const float *, const query *,
                         workspace);
static search_one *const search_of[] = {search_1, search_3,  search_5,  search_7,
                                        search_9, search_11, search_13, search_15};

struct search_state {
    const su_gather *g;
    trace *traces; /* of a search */
    point *part;   /* the best of each (A, B, C) */
    float *room;   /* of each thread, for the hinges of a trace */
    size_t each;   /* floats that a thread has */
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

    search_one *one = q->tau < 8 ? search_of[q->tau] : search_any;

#pragma omp parallel
    {
        workspace ws = workspace_of(room_of_thread(s), q->ntraces, window_of(q));

#pragma omp for collapse(3) schedule(dynamic)
        for (int ia = 0; ia < q->np[0]; ia++)
            for (int ib = 0; ib < q->np[1]; ib++)
                for (int ic = 0; ic < q->np[2]; ic++)
                    s->part[part_of(q, ia, ib, ic)] =
                        one(ia, ib, ic, s->traces, s->g->samples, q, ws);
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
    free(s->part);
    free(s->traces);
    free(s);
}
