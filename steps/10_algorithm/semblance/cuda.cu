/* cuda.cu - the same search in CUDA C, host and device: one thread per (A, B) for the
 * bounds, one per (A, B, C) for the search.
 *
 * OpenCL's context, queue, program and kernel are implicit in CUDA C: nvcc has compiled
 * the kernel, and the runtime creates the other objects in its first call.
 */
#include <limits.h>
#include <stdlib.h>

#include "cuda_device.h"
#define LANES 1 /* a GPU's lanes are its threads */
#include "host.h"
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
        cell_bound entry = {bound(ia, ib, 0, q->np[C], c_traces, samples, q, w), n};
        order[n] = entry;
    }
}

/* Searches the parts first .. end - 1 in the order of their bounds: see kernel.cl. */
WINDOW_KERNEL(search_kernel, const float *__restrict__ samples,
              const cell_bound *__restrict__ order, int first, int end, int prune,
              float *__restrict__ storage, point *__restrict__ part, int *incumbent)
{
    const query *q = c_query;
    int w = W ? W : window_length(q);
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    storage += thread * workspace_floats(q->ntraces, w);
    workspace ws = workspace_at(storage, q->ntraces, w);

    for (int n = first + thread; n < end; n += gridDim.x * blockDim.x) {
        cell_bound entry = order[n / q->np[C]];
        int ia = entry.cell / q->np[B], ib = entry.cell % q->np[B], ic = n % q->np[C];
        point p = first_point(q, ia, ib, ic);
        float threshold = atomicMax(incumbent, 0) / FIXED_POINT_ONE,
              upper = entry.bound;
        if (prune && upper > 0 && upper >= threshold)
            upper = bound(ia, ib, ic, 1, c_traces, samples, q, w);
        if (upper > 0 && upper >= threshold) {
            p = search_abc(ia, ib, ic, c_traces, samples, q, w, ws);
            if (p.semblance > threshold)
                atomicMax(incumbent, to_fixed_point(p.semblance));
        }
        part[part_index(q, ia, ib, ic)] = p;
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
        search_block(block, ia, ib, ic, c_traces, samples, c_query, &ch, w, part,
                     parts);
}

struct search_state {
    const su_gather *g;
    trace *traces;     /* of the current search */
    int chunk;         /* samples that are searched at a time */
    int parts;         /* the largest number of parts of a sample */
    point *part;       /* [chunk][parts]: the best point of each (A, B, C) */
    cell_bound *order; /* all (A, B), highest bound first */
    int block, threads;
    float *d_samples, *d_workspaces;
    cell_bound *d_order;
    point *d_part;
    int *d_incumbent;
    cudaEvent_t before, after;
};

search_state *search_begin(const su_gather *g, const query *q, run_times *t)
{
    double start = seconds();

    search_state *s = (search_state *)allocate(1, sizeof *s, "the state of the search");
    if (part_count(q) > INT_MAX)
        fail("np: %zu (A, B, C), expected at most 2^31 - 1", part_count(q));
    s->g = g;
    s->traces = (trace *)allocate(q->ntraces, sizeof *s->traces, "the traces");
    s->chunk = chunk_samples(q, LANES);
    s->parts = part_count(q);
    s->part = (point *)allocate(s->chunk * s->parts, sizeof *s->part,
                                "the best of each (A, B, C)");
    s->order = (cell_bound *)allocate(cell_count(q), sizeof *s->order,
                                      "the order of the search");

    cuda_device();

    if (q->ntraces > TRACES_MAX)
        fail("%d traces: constant memory holds %d", q->ntraces, TRACES_MAX);
    size_t samples_size = ((g->ntraces - 1) * q->pitch + q->ns) * sizeof(float);
    size_t part_size = s->chunk * s->parts * sizeof *s->part;
    CUDA_CHECK(cudaMalloc((void **)&s->d_samples, samples_size));
    CUDA_CHECK(cudaMalloc((void **)&s->d_part, part_size));
    CUDA_CHECK(cudaEventCreate(&s->before));
    CUDA_CHECK(cudaEventCreate(&s->after));

    /* One dimension, because parts are searched in the order of their bounds. */
    size_t local = 1;
    for (int i = 0; i < 3; i++) local *= q->group[i] ? q->group[i] : 4;
    size_t threads = (part_count(q) + local - 1) / local * local;
    size_t workspace_size = fit_workspaces(
        &threads, local, workspace_floats(q->ntraces, window_length(q)), SIZE_MAX);
    s->block = (int)local;
    s->threads = (int)threads;
    CUDA_CHECK(cudaMalloc((void **)&s->d_order, cell_count(q) * sizeof *s->order));
    CUDA_CHECK(cudaMalloc((void **)&s->d_incumbent, sizeof *s->d_incumbent));
    CUDA_CHECK(cudaMalloc((void **)&s->d_workspaces, workspace_size));

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
    int threads = end - first < s->threads ? end - first : s->threads;
    dim3 block = {(unsigned)s->block, 1, 1};
    dim3 grid = {(unsigned)((threads + s->block - 1) / s->block), 1, 1};
    WINDOW_LAUNCH(w, search_kernel, grid, block, 0, s->d_samples, s->d_order, first,
                  end, prune, s->d_workspaces, s->d_part, s->d_incumbent);
    CUDA_CHECK(cudaGetLastError());
}

/* Searches some samples of the output trace, in blocks. */
static void search_chunk(search_state *s, const query *q, chunk c,
                         search_result *result, run_times *t)
{
    size_t part_size = c.samples * s->parts * sizeof *s->part;
    unsigned threads = (unsigned)c.blocks * c.np[A] * c.np[B] * c.np[C];
    unsigned group = s->block;
    dim3 block = {group, 1, 1}, grid = {(threads + group - 1) / group, 1, 1};

    CUDA_CHECK(cudaMemcpyToSymbol(c_query, q, c.samples * sizeof *q));
    CUDA_CHECK(cudaMemcpyToSymbol(c_traces, s->traces, q->ntraces * sizeof *s->traces));
    CUDA_CHECK(cudaMemset(s->d_part, 0xff, part_size)); /* NaN, see opencl.c */
    CUDA_CHECK(cudaEventRecord(s->before, 0));
    WINDOW_LAUNCH(window_length(q), block_kernel, grid, block, 0, s->d_samples, c,
                  s->d_part, s->parts);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(s->after, 0));
    CUDA_CHECK(cudaMemcpy(s->part, s->d_part, part_size, cudaMemcpyDeviceToHost));

    for (int k = 0; k < c.samples; k++)
        pick_best(&q[k], s->part + k * s->parts, q[k].np[C], &result[k]);

    t->kernel += cuda_seconds(s->before, s->after);
}

/* Searches one sample of the output trace. */
static void search_sample(search_state *s, const query *q, search_result *result,
                          run_times *t)
{
    prepare_sample(q, s->traces);
    size_t traces_size = q->ntraces * sizeof *s->traces;
    size_t order_size = cell_count(q) * sizeof *s->order;
    size_t part_size = part_count(q) * sizeof *s->part;
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
    CUDA_CHECK(cudaEventRecord(s->after, 0));
    CUDA_CHECK(cudaMemcpy(s->part, s->d_part, part_size, cudaMemcpyDeviceToHost));

    pick_best(q, s->part, q->np[C], result);

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
        if (!few_knots(q + first, &c, LANES, s->traces))
            search_chunk(s, q + first, c, result + first, t);
        else
            for (int k = first; k < first + n; k++)
                search_sample(s, &q[k], &result[k], t);
    }

    double end = seconds();
    t->init += ready - start;
    t->run += end - ready;
}

void search_end(search_state *s)
{
    cudaEventDestroy(s->after);
    cudaEventDestroy(s->before);
    cudaFree(s->d_workspaces);
    cudaFree(s->d_incumbent);
    cudaFree(s->d_order);
    cudaFree(s->d_part);
    cudaFree(s->d_samples);
    free(s->order);
    free(s->part);
    free(s->traces);
    free(s);
}
