/* cpu.c - the search: the values of (A, B, C) of all blocks of samples are distributed
 * among threads. */
#include <omp.h>
#include <stdlib.h>

#include "host.h"
#include "window.h"

/* search_block() for some part. It is compiled for each small window: loops of constant
 * length are unrolled, and num stays in registers. OpenCL and CUDA compile their
 * kernels in this way from step 02 on. */
__attribute__((flatten)) static void search_part(int block, int ia, int ib, int ic,
                                                 const trace *traces,
                                                 const float *samples, const query *q,
                                                 const chunk *ch, point *part,
                                                 int parts)
{
    WINDOW_CALL(window_length(q), search_block, block, ia, ib, ic, 0, traces, samples,
                q, ch, part, parts);
}

struct search_state {
    const su_gather *g;
    trace *traces; /* of the current search */
    int chunk;     /* samples that are searched at a time */
    int parts;     /* the largest number of parts of a sample */
    point *part;   /* [chunk][parts]: the best point of each (A, B, C) */
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

    /* The threads start here. */
#pragma omp parallel
    bind_thread(omp_get_thread_num(), omp_get_num_threads());

    t->init += seconds() - start;
    return s;
}

/* Searches some samples of the output trace. */
static void search_chunk(search_state *s, const query *q, int samples,
                         search_result *result)
{
    chunk c = make_chunk(q, samples, LANES);

#pragma omp parallel for collapse(4) schedule(dynamic)
    for (int block = 0; block < c.blocks; block++)
        for (int ia = 0; ia < c.np[A]; ia++)
            for (int ib = 0; ib < c.np[B]; ib++)
                for (int ic = 0; ic < c.np[C]; ic++)
                    search_part(block, ia, ib, ic, s->traces, s->g->samples, q, &c,
                                s->part, s->parts);

    for (int k = 0; k < samples; k++)
        pick_best(&q[k], s->part + k * s->parts, q[k].np[C], &result[k]);
}

void search(search_state *s, const query *q, int samples, const int *indices,
            search_result *result, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);

    double ready = seconds();

    for (int k = 0; k < samples; k += s->chunk)
        search_chunk(s, q + k, samples - k < s->chunk ? samples - k : s->chunk,
                     result + k);

    double end = seconds();
    t->init += ready - start;
    t->run += end - ready;
    t->kernel += end - ready;
}

void for_samples(int samples, void (*f)(int k, const void *context),
                 const void *context)
{
#pragma omp parallel for schedule(dynamic, 8)
    for (int k = 0; k < samples; k++) f(k, context);
}

void search_end(search_state *s)
{
    free(s->part);
    free(s->traces);
    free(s);
}
