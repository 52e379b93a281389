/* cuda.cu - the same search in CUDA C, host and device: one thread per part of a
 * sample, then one block of threads per sample.
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
#define TRACES_MAX 4300
__constant__ query c_query[CHUNK_SAMPLES];
__constant__ trace c_traces[TRACES_MAX];

/* const and __restrict__ together promise that the kernel does not write there, so
 * loads may use the read-only cache. */
WINDOW_KERNEL(search_kernel, const float *__restrict__ samples, chunk ch,
              point *__restrict__ part, int parts)
{
    int w = W ? W : window_length(c_query);
    int i0 = blockIdx.x * blockDim.x + threadIdx.x;
    int ib0 = blockIdx.y * blockDim.y + threadIdx.y;
    int ic0 = blockIdx.z * blockDim.z + threadIdx.z;

    /* Neighbouring threads have neighbouring samples. If the grid is smaller than the
     * number of parts, a thread searches more than one. */
    int n = ch.np[A] * ch.blocks * ch.split;
    for (int i = i0; i < n; i += gridDim.x * blockDim.x)
        for (int ib = ib0; ib < ch.np[B]; ib += gridDim.y * blockDim.y)
            for (int ic = ic0; ic < ch.np[C]; ic += gridDim.z * blockDim.z)
                search_block(w, i / ch.split % ch.blocks, i / ch.split / ch.blocks, ib,
                             ic, i % ch.split, c_traces, samples, c_query, &ch, part,
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
    trace *traces; /* of the current search */
    int chunk;     /* samples that are searched at a time */
    point *part;   /* [samples][parts]: the best point of each part */
    /* The best point of each sample of a chunk. */
    point best[CHUNK_SAMPLES];
    dim3 block;
    float *d_samples;
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

    if (q->ntraces > TRACES_MAX)
        fail("%d traces: constant memory holds %d", q->ntraces, TRACES_MAX);
    size_t samples_size = ((g->ntraces - 1) * q->pitch + q->ns) * sizeof(float);
    size_t part_size = part_capacity(q) * sizeof *s->part + sizeof s->best;
    CUDA_CHECK(cudaMalloc((void **)&s->d_samples, samples_size));
    CUDA_CHECK(cudaMalloc((void **)&s->d_part, part_size));
    CUDA_CHECK(cudaEventCreate(&s->before));
    CUDA_CHECK(cudaEventCreate(&s->after));

    unsigned local[3];
    for (int i = 0; i < 3; i++) local[i] = q->group[i] ? q->group[i] : 4;
    dim3 block = {local[0], local[1], local[2]};
    s->block = block;

    double ready = seconds();

    CUDA_CHECK(
        cudaMemcpy(s->d_samples, g->samples, samples_size, cudaMemcpyHostToDevice));

    t->init += ready - start;
    t->run += seconds() - ready;
    return s;
}

/* Searches some samples of the output trace. */
static void search_chunk(search_state *s, const query *q, int samples,
                         search_result *result, run_times *t)
{
    chunk c = make_chunk(q, samples, LANES);
    int parts = sample_parts(&c);
    point *d_best = s->d_part + (size_t)samples * parts;
    size_t best_size = samples * sizeof(point), part_size = best_size * parts;
    unsigned columns = (unsigned)c.np[A] * c.blocks * c.split;
    unsigned blocks[] = {(columns + s->block.x - 1) / s->block.x,
                         (c.np[B] + s->block.y - 1) / s->block.y,
                         (c.np[C] + s->block.z - 1) / s->block.z};
    for (int i = 1; i < 3; i++)
        if (blocks[i] > CUDA_GRID_YZ_MAX) blocks[i] = CUDA_GRID_YZ_MAX;
    dim3 grid = {blocks[0], blocks[1], blocks[2]};
    dim3 pick_block = {PICKERS, 1, 1}, pick_grid = {(unsigned)samples, 1, 1};

    CUDA_CHECK(cudaMemcpyToSymbol(c_query, q, samples * sizeof *q));
    /* NaN, see opencl.c */
    CUDA_CHECK(cudaMemset(s->d_part, 0xff, part_size + best_size));
    CUDA_CHECK(cudaEventRecord(s->before, 0));
    WINDOW_LAUNCH(window_length(q), search_kernel, grid, s->block, 0, s->d_samples, c,
                  s->d_part, parts);
    CUDA_CHECK(cudaGetLastError());
    CUDA_LAUNCH(pick_kernel, pick_grid, pick_block, PICKERS * sizeof(candidate), c,
                s->d_part, parts);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(s->after, 0));
    CUDA_CHECK(cudaMemcpy(s->best, d_best, best_size, cudaMemcpyDeviceToHost));

    if (!store_best(s->best, samples, result)) {
        CUDA_CHECK(cudaMemcpy(s->part, s->d_part, part_size, cudaMemcpyDeviceToHost));
        pick_samples(q, &c, s->part, result);
    }

    t->kernel += cuda_seconds(s->before, s->after);
}

void search(search_state *s, const query *q, int samples, const int *indices,
            search_result *result, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);
    size_t traces_size = q->ntraces * sizeof *s->traces;

    double ready = seconds();

    CUDA_CHECK(cudaMemcpyToSymbol(c_traces, s->traces, traces_size));
    for (int k = 0; k < samples; k += s->chunk)
        search_chunk(s, q + k, samples - k < s->chunk ? samples - k : s->chunk,
                     result + k, t);

    double end = seconds();
    t->init += ready - start;
    t->run += end - ready;
}

void search_end(search_state *s)
{
    cudaEventDestroy(s->after);
    cudaEventDestroy(s->before);
    cudaFree(s->d_part);
    cudaFree(s->d_samples);
    free(s->part);
    free(s->traces);
    free(s);
}
