/* cpu.c - the search: the (A, B) are bounded first; then threads take values of (A, B,
 * C), those with the highest bounds first, until no bound exceeds the incumbent. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "moveout_host.h"
#include "processes.h"

/* One instance for each small window: loops of constant length are unrolled, and num
 * stays in registers. OpenCL and CUDA compile their kernels in this way from step 02
 * on. */
#define KERNELS(w, length)                                                             \
    __attribute__((flatten)) static point search_##w(                                  \
        int ia, int ib, int ic, const trace *traces, const float *samples,             \
        const query *q, workspace ws)                                                  \
    {                                                                                  \
        return search_abc(ia, ib, ic, traces, samples, q, length, ws);                 \
    }                                                                                  \
    __attribute__((flatten)) static float bound_##w(                                   \
        int ia, int ib, int ic, int c_count, const trace *traces,                      \
        const float *samples, const query *q)                                          \
    {                                                                                  \
        return bound(ia, ib, ic, c_count, traces, samples, q, length);                 \
    }
KERNELS(1, 1)
KERNELS(3, 3)
KERNELS(5, 5)
KERNELS(7, 7)
KERNELS(9, 9)
KERNELS(11, 11)
KERNELS(13, 13)
KERNELS(15, 15)
KERNELS(any, window_length(q))

typedef struct {
    point (*search)(int, int, int, const trace *, const float *, const query *,
                    workspace);
    float (*bound)(int, int, int, int, const trace *, const float *, const query *);
} window_kernels;
#define ENTRY(w)                                                                       \
    {                                                                                  \
        search_##w, bound_##w                                                          \
    }
static const window_kernels kernels_by_tau[] = {ENTRY(1),  ENTRY(3),  ENTRY(5),
                                                ENTRY(7),  ENTRY(9),  ENTRY(11),
                                                ENTRY(13), ENTRY(15), ENTRY(any)};

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
    cell_bound *order;       /* [np[A] np[B]]: all (A, B), highest bound first */
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
    s->order = allocate(cell_count(q), sizeof *s->order, "the order of the search");

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
    window_kernels kernels = kernels_by_tau[q->tau < 8 ? q->tau : 8];
    const float *samples = s->g->samples;
    const trace *traces = s->traces;
    size_t cells = cell_count(q), next_part = 0;
    int prune = !result->panel; /* the panel needs every (A, B) */
    float incumbent = 0;

#pragma omp parallel
    {
        workspace ws = workspace_at(thread_workspace(s), q->ntraces, window_length(q));

#pragma omp for schedule(dynamic)
        for (size_t n = 0; n < cells; n++) {
            int ia = n / q->np[B], ib = n % q->np[B];
            s->order[n].cell = (int)n;
            s->order[n].bound =
                prune ? kernels.bound(ia, ib, 0, q->np[C], traces, samples, q)
                      : NO_BOUND;
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
                prune ? kernels.bound(ia, ib, ic, 1, traces, samples, q) : entry.bound;
            if (upper <= 0 || upper < threshold) continue;
            point p = kernels.search(ia, ib, ic, traces, samples, q, ws);
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
        if (!few_knots(q + first, &c, LANES, 1, s->traces))
            search_chunk(s, q + first, &c, result + first);
        else
            for (int k = first; k < first + n; k++) {
                search_sample(s, &q[k], &result[k]);
                proc_progress();
            }
        proc_progress();
    }

    double end = seconds();
    t->init += ready - start;
    t->run += end - ready;
    t->kernel += end - ready;
}

/* ---- window=moveout ---------------------------------------------------------------
 */

/* Searches an output trace: each thread takes the next point, and keeps the best ones
 * of all samples. */
static void follow_moveout(search_state *s, const query *q, int samples,
                           const int *indices, search_result *result, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);
    moveout_shape shape = shape_of(samples, q->tau, q->ntraces, LANES);
    float *input = moveout_input(&shape, q, s->traces);
    float *factors = input + INPUT_ROWS * shape.stride;
    int points = point_count(q);
    int *best_number = allocate(samples, sizeof *best_number, "the best points");
    for (int k = 0; k < samples; k++) result[k].best.semblance = -1;

    double ready = seconds();

#pragma omp parallel
    {
        size_t stride = shape.stride;
        float *rows = allocate_untouched((SUM_ROWS + BEST_ROWS + 1) * stride,
                                         sizeof *rows, "the rows of a thread");
        float *best = rows + SUM_ROWS * stride;
        int *numbers = (int *)(best + BEST_ROWS * stride);
        memset(rows, 0, (SUM_ROWS + BEST_ROWS + 1) * stride * sizeof *rows);
        for (size_t k = 0; k < stride; k++) best[SEMBLANCE_ROW * stride + k] = -1;

#pragma omp for schedule(dynamic)
        for (int number = 0; number < points; number++) {
            float fraction[PARAMETERS];
            point_fractions(q, number, fraction);
            for (int block = 0; block < shape.blocks; block++)
                sum_block(&shape, block, input, factors, fraction, s->traces,
                          s->g->samples, q, rows);
            for (int block = 0; block * LANES < samples; block++)
                keep_block(&shape, block, number, rows, best, numbers);
            if (omp_get_thread_num() == 0) proc_progress();
        }

        /* The search keeps the first of several equal points, in any thread. */
#pragma omp critical
        for (int k = 0; k < samples; k++) {
            float semblance = best[SEMBLANCE_ROW * stride + k];
            float gain = semblance - result[k].best.semblance;
            if (gain < 0 || (gain == 0 && numbers[k] > best_number[k])) continue;
            best_number[k] = numbers[k];
            result[k].best.stack = best[STACK_ROW * stride + k];
            result[k].best.semblance = semblance;
        }
        free(rows);
    }

    for (int k = 0; k < samples; k++)
        result[k].best = numbered_point(&q[k], best_number[k], result[k].best.stack,
                                        result[k].best.semblance);

    double end = seconds();
    free(best_number);
    free(input);
    t->init += ready - start;
    t->run += end - ready;
    t->kernel += end - ready;
}
trace_search *search_moveout = follow_moveout;

void for_samples(int samples, void (*f)(int k, const void *context),
                 const void *context)
{
#pragma omp parallel for schedule(dynamic, 8)
    for (int k = 0; k < samples; k++) f(k, context);
}

void search_end(search_state *s)
{
    free(s->workspaces);
    free(s->order);
    free(s->part);
    free(s->traces);
    free(s);
}
