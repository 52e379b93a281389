/* cpu.c - the search. Of a single sample, the (A, B) are bounded first; then threads
 * take values of (A, B, C), those with the highest bounds first, until no bound exceeds
 * the incumbent. Of several samples, it is the search of step 08. */
#include <omp.h>
#include <stdlib.h>

#include "host.h"
#include "nodes.h"
#include "window.h"

/* The functions of a search are compiled for each small window: loops of constant
 * length are unrolled, and num stays in registers. */
#define FOR_WINDOW __attribute__((flatten)) static

FOR_WINDOW void search_part(int block, int ia, int ib, int ic, const trace *traces,
                            const float *samples, const query *q, const chunk *ch,
                            point *part, int parts)
{
    WINDOW_CALL(window_length(q), search_block, block, ia, ib, ic, traces, samples, q,
                ch, part, parts);
}

FOR_WINDOW point search_abc(int ia, int ib, int ic, const trace *traces,
                            const float *samples, const query *q)
{
    WINDOW_CALL(window_length(q), return search_nodes, ia, ib, ic, traces, samples, q);
}

FOR_WINDOW float bound_of(int ia, int ib, int ic, int c_count, const trace *traces,
                          const float *samples, const query *q)
{
    WINDOW_CALL(window_length(q), return bound, ia, ib, ic, c_count, traces, samples,
                q);
}

struct search_state {
    const su_gather *g;
    trace *traces;     /* of the current search */
    int chunk;         /* samples that are searched at a time */
    int parts;         /* the largest number of parts of a sample */
    point *part;       /* [chunk][parts]: the best point of each (A, B, C) */
    cell_bound *order; /* [np[A] np[B]]: all (A, B), highest bound first */
};

search_state *search_begin(const su_gather *g, const query *q, run_times *t)
{
    double start = seconds();

    search_state *s = allocate(1, sizeof *s, "the state of the search");
    s->g = g;
    s->traces = allocate(q->ntraces, sizeof *s->traces, "the traces");
    s->chunk = chunk_samples(q, LANES);
    s->parts = part_count(q);
    s->part =
        allocate(s->chunk * s->parts, sizeof *s->part, "the best of each (A, B, C)");
    s->order = allocate(cell_count(q), sizeof *s->order, "the order of the search");

    /* The threads start here. */
#pragma omp parallel
    bind_thread(omp_get_thread_num(), omp_get_num_threads());

    t->init += seconds() - start;
    return s;
}

/* Searches some samples of the output trace, in blocks. */
static void search_chunk(search_state *s, const query *q, const chunk *c,
                         search_result *result)
{
#pragma omp parallel for collapse(4) schedule(dynamic)
    for (int block = 0; block < c->blocks; block++)
        for (int ia = 0; ia < c->np[A]; ia++)
            for (int ib = 0; ib < c->np[B]; ib++)
                for (int ic = 0; ic < c->np[C]; ic++)
                    search_part(block, ia, ib, ic, s->traces, s->g->samples, q, c,
                                s->part, s->parts);

    for (int k = 0; k < c->samples; k++)
        pick_best(&q[k], s->part + k * s->parts, q[k].np[C], &result[k]);
}

/* Searches one sample of the output trace. */
static void search_sample(search_state *s, const query *q, search_result *result)
{
    prepare_sample(q, s->traces);
    const float *samples = s->g->samples;
    const trace *traces = s->traces;
    size_t cells = cell_count(q), next_part = 0;
    int prune = !result->panel; /* the panel needs every (A, B) */
    float incumbent = 0;

#pragma omp parallel
    {
#pragma omp for schedule(dynamic)
        for (size_t n = 0; n < cells; n++) {
            int ia = n / q->np[B], ib = n % q->np[B];
            s->order[n].cell = (int)n;
            s->order[n].bound =
                prune ? bound_of(ia, ib, 0, q->np[C], traces, samples, q) : NO_BOUND;
            for (int ic = 0; ic < q->np[C]; ic++)
                s->part[part_index(q, ia, ib, ic)] = first_point(q, ia, ib, ic);
        }
#pragma omp single
        if (prune) qsort(s->order, cells, sizeof *s->order, by_bound);

        /* Each thread takes the next part, until no further bound exceeds the
         * incumbent. */
        for (;;) {
            size_t n;
#pragma omp atomic capture
            n = next_part++;
            if (n >= part_count(q)) break;
            cell_bound entry = s->order[n / q->np[C]];
            int ia = entry.cell / q->np[B], ib = entry.cell % q->np[B],
                ic = n % q->np[C];
            float threshold;
#pragma omp atomic read
            threshold = incumbent;
            if (entry.bound <= 0 || entry.bound < threshold) break;
            float upper =
                prune ? bound_of(ia, ib, ic, 1, traces, samples, q) : entry.bound;
            if (upper <= 0 || upper < threshold) continue;
            point p = search_abc(ia, ib, ic, traces, samples, q);
            if (p.semblance > threshold)
#pragma omp critical
                if (p.semblance > incumbent) {
#pragma omp atomic write
                    incumbent = p.semblance;
                }
            s->part[part_index(q, ia, ib, ic)] = p;
        }
    }

    pick_best(q, s->part, q->np[C], result);
}

void search(search_state *s, const query *q, int samples, const int *indices,
            search_result *result, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);

    double ready = seconds();

    for (int first = 0; first < samples; first += s->chunk) {
        int n = samples - first < s->chunk ? samples - first : s->chunk;
        chunk c = make_chunk(q + first, n, LANES);
        if (n == 1)
            search_sample(s, &q[first], &result[first]);
        else
            search_chunk(s, q + first, &c, result + first);
    }

    double end = seconds();
    t->init += ready - start;
    t->run += end - ready;
    t->kernel += end - ready;
}

#include "moveout_cpu.h"

void for_samples(int samples, void (*f)(int k, const void *context),
                 const void *context)
{
#pragma omp parallel for schedule(dynamic, 8)
    for (int k = 0; k < samples; k++) f(k, context);
}

void search_end(search_state *s)
{
    free(s->order);
    free(s->part);
    free(s->traces);
    free(s);
}
