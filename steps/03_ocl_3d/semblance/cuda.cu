/* cuda.cu - the same search in CUDA C, both sides: one thread per (A, B, C).
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
    int ib = blockIdx.y * blockDim.y + threadIdx.y;
    int ic = blockIdx.z * blockDim.z + threadIdx.z;

    if (ia < q->np[0] && ib < q->np[1] && ic < q->np[2])
        part[part_of(q, ia, ib, ic)] = search_abc(ia, ib, ic, traces, samples, q, w);
}

int search(const su_gather *g, const query *q, best *found, run_times *t)
{
    double start = seconds();

    trace *traces = prepare(g, q);
    size_t parts = (size_t)q->np[0] * q->np[1] * q->np[2];
    point *part = (point *)allocate(parts, sizeof *part, "the best of each (A, B, C)");

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

    size_t local[3];
    unsigned groups[3];
    for (int i = 0; i < 3; i++) local[i] = q->group[i] ? q->group[i] : 4;
    for (int i = 0; i < 3; i++)
        groups[i] = (unsigned)((q->np[i] + local[i] - 1) / local[i]);
    dim3 block = {(unsigned)local[0], (unsigned)local[1], (unsigned)local[2]};
    dim3 grid = {groups[0], groups[1], groups[2]};

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

    pick_best(q, part, q->np[2], found);

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
