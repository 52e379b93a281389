/* cuda.cu - the same search in CUDA C, host and device: one thread per (A, B) for the
 * bounds, one block per (A, B, C) for the search.
 *
 * OpenCL's context, queue, program and kernel are implicit in CUDA C: nvcc has compiled
 * the kernel, and the runtime creates the other objects in its first call.
 */
#include <limits.h>
#include <stdlib.h>

#include "cuda_device.h"
#define LANES 1 /* a GPU's lanes are its threads */
#include "host.h"
#include "moveout_host.h"
#include "share.h"
#include "window.h"

/* Constant memory has 64 KiB in all; its arrays need a size at compile time. */
#define TRACES_MAX 2500
__constant__ query c_query[CHUNK_SAMPLES];
__constant__ trace c_traces[TRACES_MAX];

/* const and __restrict__ together promise that the kernel does not write there, so
 * loads may use the read-only cache. */
WINDOW_KERNEL(bounds_kernel, const float *__restrict__ samples,
              cell_bound *__restrict__ order)
{
    const query *q = c_query;
    int w = W ? W : window_length(q);
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < q->np[A] * q->np[B]) {
        int ia = n / q->np[B], ib = n % q->np[B];
        cell_bound entry = {bound(w, ia, ib, 0, q->np[C], c_traces, samples, q), n};
        order[n] = entry;
    }
}

/* Searches the parts from `first` on in the order of their bounds, a part per block.
 * *incumbent is the largest semblance so far in fixed point. prune: parts whose bound
 * is below it are not searched. */
WINDOW_KERNEL(search_kernel, const float *__restrict__ samples,
              const cell_bound *__restrict__ order, int first, int prune,
              point *__restrict__ part, int *incumbent)
{
    CUDA_SHARED(share_best, found);
    const query *q = c_query;
    int w = W ? W : window_length(q);
    int n = first + blockIdx.x, thread = threadIdx.x, needed = 0;
    cell_bound entry = order[n / q->np[C]];
    int ia = entry.cell / q->np[B], ib = entry.cell % q->np[B], ic = n % q->np[C];

    if (thread == 0) {
        float threshold = atomicMax(incumbent, 0) / FIXED_POINT_ONE,
              upper = entry.bound;
        if (prune && upper > 0 && upper >= threshold)
            upper = bound(w, ia, ib, ic, 1, c_traces, samples, q);
        needed = upper > 0 && upper >= threshold;
    }
    if (__syncthreads_or(needed)) {
        found[thread] = search_share(w, thread, ia, ib, ic, c_traces, samples, q);
        for (int active = SHARERS / 2; active > 0; active /= 2) {
            __syncthreads();
            if (thread < active)
                found[thread] = better_share(found[thread], found[thread + active]);
        }
        if (thread == 0) {
            atomicMax(incumbent, to_fixed_point(found[0].value.semblance));
            part[part_index(q, ia, ib, ic)] = shared_point(q, ia, ib, ic, found[0]);
        }
    } else if (thread == 0) {
        part[part_index(q, ia, ib, ic)] = first_point(q, ia, ib, ic);
    }
}

/* The search of a chunk in blocks, as in step 08. */
WINDOW_KERNEL(block_kernel, const float *__restrict__ samples, chunk ch,
              point *__restrict__ part, int parts)
{
    int w = W ? W : window_length(c_query);
    int i = blockIdx.x * blockDim.x + threadIdx.x, block = i % ch.blocks;
    int ic = i / ch.blocks % ch.np[C];
    int ib = i / ch.blocks / ch.np[C] % ch.np[B];
    int ia = i / ch.blocks / ch.np[C] / ch.np[B];
    if (ia < ch.np[A])
        search_block(w, block, ia, ib, ic, c_traces, samples, c_query, &ch, part,
                     parts);
}

/* Picks the best part of each sample: see kernel.cl. */
__global__ void pick_kernel(chunk ch, point *part, int parts)
{
    CUDA_SHARED(candidate, best);
    int k = blockIdx.x, thread = threadIdx.x;
    const point *own = part + (size_t)k * parts;
    const query *q = &c_query[k];
    int count = q->np[A] * q->np[B] * q->np[C];
    best[thread] = best_part(own, count, thread, PICKERS);
    for (int active = PICKERS / 2; active > 0; active /= 2) {
        __syncthreads();
        if (thread < active) best[thread] = better(best[thread], best[thread + active]);
    }
    if (thread == 0) part[(size_t)ch.samples * parts + k] = own[best[0].part];
}

/* Buffers of window=moveout. */
enum { INPUT, ROWS, BEST, NUMBERS, MOVEOUT_BUFFERS };

struct search_state {
    const su_gather *g;
    trace *traces;     /* of the current search */
    int chunk;         /* samples that are searched at a time */
    point *part;       /* [samples][parts]: the best point of each part */
    cell_bound *order; /* all (A, B), highest bound first */
    /* The best point of each sample of a chunk. */
    point best[CHUNK_SAMPLES];
    int block; /* threads */
    float *d_samples;
    cell_bound *d_order;
    point *d_part;
    int *d_incumbent;
    void *d_moveout[MOVEOUT_BUFFERS]; /* NULL until they are needed */
    size_t moveout_bytes[MOVEOUT_BUFFERS];
    cudaEvent_t before, after;
};

search_state *search_begin(const su_gather *g, const query *q, run_times *t)
{
    double start = seconds();

    search_state *s = (search_state *)allocate(1, sizeof *s, "the state of the search");
    if (part_count(q) > INT_MAX)
        fail("np: %zu (A, B, C), expected at most 2^31 - 1", part_count(q));
    for (int i = 0; i < MOVEOUT_BUFFERS; i++) {
        s->d_moveout[i] = NULL;
        s->moveout_bytes[i] = 0;
    }
    s->g = g;
    s->traces = (trace *)allocate(q->ntraces, sizeof *s->traces, "the traces");
    s->chunk = chunk_samples(q, LANES);
    s->part =
        (point *)allocate(part_capacity(q), sizeof *s->part, "the best of each part");
    s->order = (cell_bound *)allocate(cell_count(q), sizeof *s->order,
                                      "the order of the search");

    cuda_device();

    if (q->ntraces > TRACES_MAX)
        fail("%d traces: constant memory holds %d", q->ntraces, TRACES_MAX);
    size_t samples_size = ((g->ntraces - 1) * q->pitch + q->ns) * sizeof(float);
    size_t part_size = part_capacity(q) * sizeof *s->part + sizeof s->best;
    CUDA_CHECK(cudaMalloc((void **)&s->d_samples, samples_size));
    CUDA_CHECK(cudaMalloc((void **)&s->d_part, part_size));
    CUDA_CHECK(cudaEventCreate(&s->before));
    CUDA_CHECK(cudaEventCreate(&s->after));

    s->block = 1;
    for (int i = 0; i < 3; i++) s->block *= q->group[i] ? q->group[i] : 4;
    CUDA_CHECK(cudaMalloc((void **)&s->d_order, cell_count(q) * sizeof *s->order));
    CUDA_CHECK(cudaMalloc((void **)&s->d_incumbent, sizeof *s->d_incumbent));

    double ready = seconds();

    CUDA_CHECK(
        cudaMemcpy(s->d_samples, g->samples, samples_size, cudaMemcpyHostToDevice));

    t->init += ready - start;
    t->run += seconds() - ready;
    return s;
}

/* Starts the search of the parts first .. end - 1 in the order of their bounds. */
static void search_parts(const search_state *s, int w, int first, int end, int prune)
{
    dim3 block = {SHARERS, 1, 1}, grid = {(unsigned)(end - first), 1, 1};
    WINDOW_LAUNCH(w, search_kernel, grid, block, SHARERS * sizeof(share_best),
                  s->d_samples, s->d_order, first, prune, s->d_part, s->d_incumbent);
    CUDA_CHECK(cudaGetLastError());
}

/* Starts the choice of the best part of each sample of a chunk. */
static void pick_parts(const search_state *s, chunk c)
{
    dim3 block = {PICKERS, 1, 1}, grid = {(unsigned)c.samples, 1, 1};
    CUDA_LAUNCH(pick_kernel, grid, block, PICKERS * sizeof(candidate), c, s->d_part,
                sample_parts(&c));
    CUDA_CHECK(cudaGetLastError());
}

/* Copies the best part of each sample of a chunk to the host, which picks it itself if
 * it needs all parts. */
static void collect(search_state *s, const query *q, const chunk *c,
                    search_result *result)
{
    size_t best_size = c->samples * sizeof(point);
    size_t part_size = best_size * sample_parts(c);
    const point *d_best = s->d_part + (size_t)c->samples * sample_parts(c);
    CUDA_CHECK(cudaMemcpy(s->best, d_best, best_size, cudaMemcpyDeviceToHost));
    if (!store_best(s->best, c->samples, result)) {
        CUDA_CHECK(cudaMemcpy(s->part, s->d_part, part_size, cudaMemcpyDeviceToHost));
        pick_samples(q, c, s->part, result);
    }
}

/* Searches some samples of the output trace, in blocks. */
static void search_chunk(search_state *s, const query *q, chunk c,
                         search_result *result, run_times *t)
{
    int parts = sample_parts(&c);
    size_t best_size = c.samples * sizeof(point), part_size = best_size * parts;
    unsigned threads = (unsigned)c.blocks * c.np[A] * c.np[B] * c.np[C];
    unsigned group = s->block;
    dim3 block = {group, 1, 1}, grid = {(threads + group - 1) / group, 1, 1};

    CUDA_CHECK(cudaMemcpyToSymbol(c_query, q, c.samples * sizeof *q));
    CUDA_CHECK(cudaMemcpyToSymbol(c_traces, s->traces, q->ntraces * sizeof *s->traces));
    /* NaN, see opencl.c */
    CUDA_CHECK(cudaMemset(s->d_part, 0xff, part_size + best_size));
    CUDA_CHECK(cudaEventRecord(s->before, 0));
    WINDOW_LAUNCH(window_length(q), block_kernel, grid, block, 0, s->d_samples, c,
                  s->d_part, parts);
    CUDA_CHECK(cudaGetLastError());
    pick_parts(s, c);
    CUDA_CHECK(cudaEventRecord(s->after, 0));
    collect(s, q, &c, result);
    t->kernel += cuda_seconds(s->before, s->after);
}

/* Searches one sample of the output trace. */
static void search_sample(search_state *s, const query *q, search_result *result,
                          run_times *t)
{
    prepare_sample(q, s->traces);
    size_t traces_size = q->ntraces * sizeof *s->traces;
    size_t order_size = cell_count(q) * sizeof *s->order;
    size_t part_size = (part_count(q) + 1) * sizeof *s->part; /* and the best one */
    const chunk c = make_chunk(q, 1, LANES);
    int cells = (int)cell_count(q), w = window_length(q), prune = !result->panel;
    dim3 block = {(unsigned)s->block, 1, 1};
    dim3 grid = {(unsigned)((cells + s->block - 1) / s->block), 1, 1};

    CUDA_CHECK(cudaMemcpyToSymbol(c_query, q, sizeof *q));
    CUDA_CHECK(cudaMemcpyToSymbol(c_traces, s->traces, traces_size));
    CUDA_CHECK(cudaMemset(s->d_part, 0xff, part_size)); /* NaN, see opencl.c */
    CUDA_CHECK(cudaMemset(s->d_incumbent, 0, sizeof *s->d_incumbent));

    /* The panel needs every (A, B), so nothing may be pruned. */
    if (prune) {
        CUDA_CHECK(cudaEventRecord(s->before, 0));
        WINDOW_LAUNCH(w, bounds_kernel, grid, block, 0, s->d_samples, s->d_order);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(s->after, 0));
        CUDA_CHECK(
            cudaMemcpy(s->order, s->d_order, order_size, cudaMemcpyDeviceToHost));
        t->kernel += cuda_seconds(s->before, s->after);
        qsort(s->order, cells, sizeof *s->order, by_bound);
    } else {
        for (int n = 0; n < cells; n++) {
            cell_bound entry = {NO_BOUND, n};
            s->order[n] = entry;
        }
    }
    CUDA_CHECK(cudaMemcpy(s->d_order, s->order, order_size, cudaMemcpyHostToDevice));

    /* The (A, B) with the highest bound comes first and gives the first incumbent. */
    CUDA_CHECK(cudaEventRecord(s->before, 0));
    search_parts(s, w, 0, q->np[C], prune);
    if (cells > 1) search_parts(s, w, q->np[C], (int)part_count(q), prune);
    pick_parts(s, c);
    CUDA_CHECK(cudaEventRecord(s->after, 0));
    collect(s, q, &c, result);
    t->kernel += cuda_seconds(s->before, s->after);
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
            search_sample(s, &q[first], &result[first], t);
        else
            search_chunk(s, q + first, c, result + first, t);
    }

    double end = seconds();
    t->init += ready - start;
    t->run += end - ready;
}

#include "moveout_cuda.h"

void search_end(search_state *s)
{
    for (int i = 0; i < MOVEOUT_BUFFERS; i++) cudaFree(s->d_moveout[i]);
    cudaEventDestroy(s->after);
    cudaEventDestroy(s->before);
    cudaFree(s->d_incumbent);
    cudaFree(s->d_order);
    cudaFree(s->d_part);
    cudaFree(s->d_samples);
    free(s->order);
    free(s->part);
    free(s->traces);
    free(s);
}
