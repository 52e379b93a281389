/* cuda.cu - the same search in CUDA C, both sides: one thread per value of A.
 *
 * What OpenCL names context, queue, program and kernel is implicit here: the compiler
 * has built the kernel, and the runtime makes the rest at its first call.
 */
#include <stdlib.h>

#include "cuda_device.h"
#include "host.h"
#include "window.h"

/* const and __restrict__ together promise that nobody writes there while the kernel
 * runs: loads may then go through the cache for what is only read. */
WINDOW_KERNEL(search_kernel, const query *__restrict__ q,
              const trace *__restrict__ traces, const float *__restrict__ samples,
              point *__restrict__ part)
{
    int w = W ? W : window_of(q);
    int ia = blockIdx.x * blockDim.x + threadIdx.x;

    if (ia < q->np[0])
        search_a(ia, traces, samples, q, w, part + (size_t)ia * q->np[1]);
}

int search(const su_gather *g, const query *q, best *found, run_times *t)
{
    double start = seconds();

    trace *traces = prepare(g, q);
    size_t parts = (size_t)q->np[0] * q->np[1];
    point *part = (point *)allocate(parts, sizeof *part, "the best of each (A, B)");

    cuda_device();

    size_t traces_size = g->ntraces * sizeof *traces;
    size_t samples_size = g->ntraces * g->ns * sizeof(float);
    size_t part_size = parts * sizeof *part;
    query *d_query;
    trace *d_traces;
    float *d_samples;
    point *d_part;
    CUDA_CHECK(cudaMalloc((void **)&d_query, sizeof *q));
    CUDA_CHECK(cudaMalloc((void **)&d_traces, traces_size));
    CUDA_CHECK(cudaMalloc((void **)&d_samples, samples_size));
    CUDA_CHECK(cudaMalloc((void **)&d_part, part_size));
    cudaEvent_t before, after;
    CUDA_CHECK(cudaEventCreate(&before));
    CUDA_CHECK(cudaEventCreate(&after));

    int local = q->group[0] ? q->group[0] : 4;
    dim3 block = {(unsigned)local, 1, 1};
    dim3 grid = {(unsigned)((q->np[0] + local - 1) / local), 1, 1};

    double ready = seconds();

    CUDA_CHECK(cudaMemcpy(d_query, q, sizeof *q, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_traces, traces, traces_size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_samples, g->samples, samples_size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(d_part, 0xff, part_size)); /* NaN: see opencl.c */
    CUDA_CHECK(cudaEventRecord(before, 0));
    WINDOW_LAUNCH(window_of(q), search_kernel, grid, block, 0, d_query, d_traces,
                  d_samples, d_part);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(after, 0));
    CUDA_CHECK(cudaMemcpy(part, d_part, part_size, cudaMemcpyDeviceToHost));

    pick_best(q, part, 1, found);

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    t->kernel = cuda_seconds(before, after);

    cudaEventDestroy(after);
    cudaEventDestroy(before);
    cudaFree(d_part);
    cudaFree(d_samples);
    cudaFree(d_traces);
    cudaFree(d_query);
    free(part);
    free(traces);
    return 0;
}
