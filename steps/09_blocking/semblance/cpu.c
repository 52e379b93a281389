/* cpu.c - the search: the values of (A, B, C) are distributed among threads. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

/* One instance for each small window: loops of constant length are unrolled, and num
 * stays in registers. OpenCL and CUDA compile their kernels in this way from step 02
 * on. */
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
SEARCH(any, window_length(q))

typedef point search_function(int, int, int, const trace *, const float *,
                              const query *, workspace);
static search_function *const search_by_tau[] = {
    search_1, search_3, search_5, search_7, search_9, search_11, search_13, search_15};

/* The same for blocks of samples. */
#define BLOCK(w, length)                                                               \
    __attribute__((flatten)) static void block_##w(                                    \
        int block, int ia, int ib, int ic, const trace *traces, const float *samples,  \
        const query *q, const chunk *ch, point *part, int parts)                       \
    {                                                                                  \
        search_block(block, ia, ib, ic, 0, traces, samples, q, ch, length, part,       \
                     parts);                                                           \
    }
BLOCK(1, 1)
BLOCK(3, 3)
BLOCK(5, 5)
BLOCK(7, 7)
BLOCK(9, 9)
BLOCK(11, 11)
BLOCK(13, 13)
BLOCK(15, 15)
BLOCK(17, 17)
BLOCK(19, 19)
BLOCK(21, 21)
BLOCK(any, window_length(q))

typedef void block_function(int, int, int, int, const trace *, const float *,
                            const query *, const chunk *, point *, int);
static block_function *const block_by_tau[] = {block_1,  block_3,  block_5,  block_7,
                                               block_9,  block_11, block_13, block_15,
                                               block_17, block_19, block_21};

struct search_state {
    const su_gather *g;
    trace *traces;           /* of the current search */
    int chunk;               /* samples that are searched at a time */
    int parts;               /* the largest number of parts of a sample */
    point *part;             /* [chunk][parts]: the best point of each (A, B, C) */
    float *workspaces;       /* one for each thread */
    size_t workspace_stride; /* floats from one workspace to the next */
};

static float *thread_workspace(const search_state *s)
{
    return s->workspaces + omp_get_thread_num() * s->workspace_stride;
}

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

    /* The threads start here, and each is the first to touch its workspace. */
    s->workspace_stride =
        (workspace_floats(q->ntraces, window_length(q)) + 15) / 16 * 16;
    s->workspaces = allocate_untouched(s->workspace_stride * omp_get_max_threads(),
                                       sizeof *s->workspaces, "the workspaces");
#pragma omp parallel
    {
        bind_thread(omp_get_thread_num(), omp_get_num_threads());
        memset(thread_workspace(s), 0xff, s->workspace_stride * sizeof *s->workspaces);
    }

    t->init += seconds() - start;
    return s;
}

/* Searches some samples of the output trace, in blocks. */
static void search_chunk(search_state *s, const query *q, const chunk *c,
                         search_result *result)
{
    block_function *search_part = q->tau < 11 ? block_by_tau[q->tau] : block_any;

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
    search_function *search_part = q->tau < 8 ? search_by_tau[q->tau] : search_any;

#pragma omp parallel
    {
        workspace ws = workspace_at(thread_workspace(s), q->ntraces, window_length(q));

#pragma omp for collapse(3) schedule(dynamic)
        for (int ia = 0; ia < q->np[A]; ia++)
            for (int ib = 0; ib < q->np[B]; ib++)
                for (int ic = 0; ic < q->np[C]; ic++)
                    s->part[part_index(q, ia, ib, ic)] =
                        search_part(ia, ib, ic, s->traces, s->g->samples, q, ws);
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
        if (!few_knots(q + first, &c, LANES, s->traces))
            search_chunk(s, q + first, &c, result + first);
        else
            for (int k = first; k < first + n; k++) search_sample(s, &q[k], &result[k]);
    }

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
    free(s->workspaces);
    free(s->part);
    free(s->traces);
    free(s);
}
