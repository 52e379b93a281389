/* cuda.cu - the same search in CUDA C, host and device: one thread per value of A.
 *
 * OpenCL's context, queue, program and kernel are implicit in CUDA C: nvcc has compiled
 * the kernel, and the runtime creates the other objects in its first call.
 */
#include <stdlib.h>

#include "cuda_device.h"
#include "host.h"
#include "window.h"

/* const and __restrict__ together promise that the kernel does not write there, so
 * loads may use the read-only cache. */
WINDOW_KERNEL(search_kernel, const query *__restrict__ q,
              const trace *__restrict__ traces, const float *__restrict__ samples,
              point *__restrict__ part)
{
    int w = W ? W : window_length(q);
    int ia = blockIdx.x * blockDim.x + threadIdx.x;

    if (ia < q->np[A])
        search_a(ia, traces, samples, q, w, part + (size_t)ia * q->np[B]);
}

struct search_state {
    const su_gather *g;
    trace *traces; /* of the current search */
    point *part;   /* the best point of each (A, B) */
    dim3 grid, block;
    query *d_query;
    trace *d_traces;
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
    s->part =
        (point *)allocate(part_count(q), sizeof *s->part, "the best of each (A, B)");

    cuda_device();

    size_t traces_size = q->ntraces * sizeof *s->traces;
    size_t samples_size = ((g->ntraces - 1) * q->pitch + q->ns) * sizeof(float);
    size_t part_size = part_count(q) * sizeof *s->part;
    CUDA_CHECK(cudaMalloc((void **)&s->d_query, sizeof *q));
    CUDA_CHECK(cudaMalloc((void **)&s->d_traces, traces_size));
    CUDA_CHECK(cudaMalloc((void **)&s->d_samples, samples_size));
    CUDA_CHECK(cudaMalloc((void **)&s->d_part, part_size));
    CUDA_CHECK(cudaEventCreate(&s->before));
    CUDA_CHECK(cudaEventCreate(&s->after));

    int local = q->group[0] ? q->group[0] : 4;
    dim3 block = {(unsigned)local, 1, 1};
    dim3 grid = {(unsigned)((q->np[A] + local - 1) / local), 1, 1};
    s->block = block;
    s->grid = grid;

    double ready = seconds();

    CUDA_CHECK(
        cudaMemcpy(s->d_samples, g->samples, samples_size, cudaMemcpyHostToDevice));

    t->init += ready - start;
    t->run += seconds() - ready;
    return s;
}

/* Searches one sample of the output trace. */
static void search_sample(search_state *s, const query *q, search_result *result,
                          run_times *t)
{
    size_t part_size = part_count(q) * sizeof *s->part;

    CUDA_CHECK(cudaMemcpy(s->d_query, q, sizeof *q, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(s->d_part, 0xff, part_size)); /* NaN, see opencl.c */
    CUDA_CHECK(cudaEventRecord(s->before, 0));
    WINDOW_LAUNCH(window_length(q), search_kernel, s->grid, s->block, 0, s->d_query,
                  s->d_traces, s->d_samples, s->d_part);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(s->after, 0));
    CUDA_CHECK(cudaMemcpy(s->part, s->d_part, part_size, cudaMemcpyDeviceToHost));

    pick_best(q, s->part, 1, result);

    t->kernel += cuda_seconds(s->before, s->after);
}

void search(search_state *s, const query *q, int samples, const int *indices,
            search_result *result, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);
    size_t traces_size = q->ntraces * sizeof *s->traces;

    double ready = seconds();

    CUDA_CHECK(cudaMemcpy(s->d_traces, s->traces, traces_size, cudaMemcpyHostToDevice));
    for (int k = 0; k < samples; k++) search_sample(s, &q[k], &result[k], t);

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
    cudaFree(s->d_traces);
    cudaFree(s->d_query);
    free(s->part);
    free(s->traces);
    free(s);
}
