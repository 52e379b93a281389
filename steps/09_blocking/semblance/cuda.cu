/* cuda.cu - the same search in CUDA C, host and device: one thread per (A, B, C).
 *
 * OpenCL's context, queue, program and kernel are implicit in CUDA C: nvcc has compiled
 * the kernel, and the runtime creates the other objects in its first call.
 */
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
WINDOW_KERNEL(search_kernel, const float *__restrict__ samples,
              float *__restrict__ storage, point *__restrict__ part)
{
    const query *q = c_query;
    int w = W ? W : window_length(q);
    int ia0 = blockIdx.x * blockDim.x + threadIdx.x;
    int ib0 = blockIdx.y * blockDim.y + threadIdx.y;
    int ic0 = blockIdx.z * blockDim.z + threadIdx.z;

    int threads = blockDim.x * blockDim.y * blockDim.z;
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    size_t block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    storage += (block * threads + thread) * workspace_floats(q->ntraces, w);
    workspace ws = workspace_at(storage, q->ntraces, w);

    /* If the grid is smaller than np, a thread searches more than one part. */
    for (int ia = ia0; ia < q->np[A]; ia += gridDim.x * blockDim.x)
        for (int ib = ib0; ib < q->np[B]; ib += gridDim.y * blockDim.y)
            for (int ic = ic0; ic < q->np[C]; ic += gridDim.z * blockDim.z)
                part[part_index(q, ia, ib, ic)] =
                    search_abc(ia, ib, ic, c_traces, samples, q, w, ws);
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
        search_block(block, ia, ib, ic, 0, c_traces, samples, c_query, &ch, w, part,
                     parts);
}

/* Picks the best part of each sample: see kernel.cl. */
__global__ void pick_kernel(chunk ch, point *part, int parts)
{
    CUDA_SHARED(candidate, best);
    int k = blockIdx.x, thread = threadIdx.x;
    const point *own = part + (size_t)k * parts;
    const query *q = &c_query[k];
    int count = q->np[A] * q->np[B] * q->np[C] * ch.split;
    best[thread] = best_part(own, count, thread, PICKERS);
    for (int active = PICKERS / 2; active > 0; active /= 2) {
        __syncthreads();
        if (thread < active) best[thread] = better(best[thread], best[thread + active]);
    }
    if (thread == 0) part[(size_t)ch.samples * parts + k] = own[best[0].part];
}

struct search_state {
    const su_gather *g;
    trace *traces;  /* of the current search */
    int chunk;      /* samples that are searched at a time */
    double at_once; /* threads that the device runs at a time */
    point *part;    /* [samples][parts]: the best point of each part */
    /* The best point of each sample of a chunk. */
    point best[CHUNK_SAMPLES];
    dim3 grid, block;
    float *d_samples, *d_workspaces;
    point *d_part;
    cudaEvent_t before, after;
};

search_state *search_begin(const su_gather *g, const query *q, run_times *t)
{
    double start = seconds();

    search_state *s = (search_state *)allocate(1, sizeof *s, "the state of the search");
    s->g = g;
    s->traces = (trace *)allocate(q->ntraces, sizeof *s->traces, "the traces");
    s->chunk = chunk_samples(q, LANES);
    s->part =
        (point *)allocate(part_capacity(q), sizeof *s->part, "the best of each part");

    cuda_device();
    s->at_once = cuda_threads_at_once();

    if (q->ntraces > TRACES_MAX)
        fail("%d traces: constant memory holds %d", q->ntraces, TRACES_MAX);
    size_t samples_size = ((g->ntraces - 1) * q->pitch + q->ns) * sizeof(float);
    size_t part_size = part_capacity(q) * sizeof *s->part + sizeof s->best;
    CUDA_CHECK(cudaMalloc((void **)&s->d_samples, samples_size));
    CUDA_CHECK(cudaMalloc((void **)&s->d_part, part_size));
    CUDA_CHECK(cudaEventCreate(&s->before));
    CUDA_CHECK(cudaEventCreate(&s->after));

    size_t local[3], global[3];
    unsigned groups[3];
    for (int i = 0; i < 3; i++) local[i] = q->group[i] ? q->group[i] : 4;
    for (int i = 0; i < 3; i++)
        global[i] = (q->np[i] + local[i] - 1) / local[i] * local[i];
    for (int i = 1; i < 3; i++)
        if (global[i] > CUDA_GRID_YZ_MAX * local[i])
            global[i] = CUDA_GRID_YZ_MAX * local[i];
    size_t workspace_size = fit_workspaces(
        global, local, workspace_floats(q->ntraces, window_length(q)), SIZE_MAX);
    for (int i = 0; i < 3; i++) groups[i] = (unsigned)(global[i] / local[i]);
    dim3 block = {(unsigned)local[0], (unsigned)local[1], (unsigned)local[2]};
    dim3 grid = {groups[0], groups[1], groups[2]};
    s->block = block;
    s->grid = grid;
    CUDA_CHECK(cudaMalloc((void **)&s->d_workspaces, workspace_size));

    double ready = seconds();

    CUDA_CHECK(
        cudaMemcpy(s->d_samples, g->samples, samples_size, cudaMemcpyHostToDevice));

    t->init += ready - start;
    t->run += seconds() - ready;
    return s;
}

/* Searches some samples of the output trace, in blocks. */
static void search_chunk(search_state *s, const query *q, chunk c,
                         search_result *result, run_times *t)
{
    int parts = sample_parts(&c);
    point *d_best = s->d_part + (size_t)c.samples * parts;
    size_t best_size = c.samples * sizeof(point), part_size = best_size * parts;
    unsigned threads = (unsigned)c.blocks * c.np[A] * c.np[B] * c.np[C];
    unsigned group = s->block.x * s->block.y * s->block.z;
    dim3 block = {group, 1, 1}, grid = {(threads + group - 1) / group, 1, 1};
    dim3 pick_block = {PICKERS, 1, 1}, pick_grid = {(unsigned)c.samples, 1, 1};

    CUDA_CHECK(cudaMemcpyToSymbol(c_query, q, c.samples * sizeof *q));
    CUDA_CHECK(cudaMemcpyToSymbol(c_traces, s->traces, q->ntraces * sizeof *s->traces));
    /* NaN, see opencl.c */
    CUDA_CHECK(cudaMemset(s->d_part, 0xff, part_size + best_size));
    CUDA_CHECK(cudaEventRecord(s->before, 0));
    WINDOW_LAUNCH(window_length(q), block_kernel, grid, block, 0, s->d_samples, c,
                  s->d_part, parts);
    CUDA_CHECK(cudaGetLastError());
    CUDA_LAUNCH(pick_kernel, pick_grid, pick_block, PICKERS * sizeof(candidate), c,
                s->d_part, parts);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(s->after, 0));
    CUDA_CHECK(cudaMemcpy(s->best, d_best, best_size, cudaMemcpyDeviceToHost));

    if (!store_best(s->best, c.samples, result)) {
        CUDA_CHECK(cudaMemcpy(s->part, s->d_part, part_size, cudaMemcpyDeviceToHost));
        pick_samples(q, &c, s->part, result);
    }

    t->kernel += cuda_seconds(s->before, s->after);
}

/* Searches one sample of the output trace. */
static void search_sample(search_state *s, const query *q, search_result *result,
                          run_times *t)
{
    prepare_sample(q, s->traces);
    size_t traces_size = q->ntraces * sizeof *s->traces;
    size_t part_size = part_count(q) * sizeof *s->part;

    CUDA_CHECK(cudaMemcpyToSymbol(c_query, q, sizeof *q));
    CUDA_CHECK(cudaMemcpyToSymbol(c_traces, s->traces, traces_size));
    CUDA_CHECK(cudaMemset(s->d_part, 0xff, part_size)); /* NaN, see opencl.c */
    CUDA_CHECK(cudaEventRecord(s->before, 0));
    WINDOW_LAUNCH(window_length(q), search_kernel, s->grid, s->block, 0, s->d_samples,
                  s->d_workspaces, s->d_part);
    CUDA_CHECK(cudaGetLastError());
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
        if (!few_knots(q + first, &c, LANES, s->at_once, s->traces))
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
    cudaFree(s->d_part);
    cudaFree(s->d_samples);
    free(s->part);
    free(s->traces);
    free(s);
}
