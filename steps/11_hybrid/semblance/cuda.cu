/* cuda.cu - the device side in CUDA C: see kernel.cl. Batches are enqueued in a stream
 * without waiting.
 *
 * OpenCL's context, queue, program and kernel are implicit in CUDA C: nvcc has compiled
 * the kernel, and the runtime creates the other objects in its first call.
 */
#include <stdlib.h>

#include "cuda_device.h"
#define LANES 1 /* a GPU's lanes are its threads */
#include "sides.h"
#include "share.h"
#include "window.h"

/* Constant memory has 64 KiB in all; its arrays need a size at compile time. */
#define TRACES_MAX 2500
__constant__ query c_query[CHUNK_SAMPLES];
__constant__ trace c_traces[TRACES_MAX];

/* const and __restrict__ together promise that the kernel does not write there, so
 * loads may use the read-only cache. */
WINDOW_KERNEL(bounds_kernel, const float *__restrict__ samples, int first, int end,
              cell_bound *__restrict__ order)
{
    const query *q = c_query;
    int w = W ? W : window_length(q);
    int n = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (n < end) {
        int ia = n / q->np[B], ib = n % q->np[B];
        cell_bound entry = {bound(w, ia, ib, 0, q->np[C], c_traces, samples, q), n};
        order[n] = entry;
    }
}

WINDOW_KERNEL(search_kernel, const float *__restrict__ samples, int first,
              const cell_bound *__restrict__ order, int prune, point *__restrict__ part,
              int *incumbent, float host_incumbent)
{
    CUDA_SHARED(share_best, found);
    const query *q = c_query;
    int w = W ? W : window_length(q);
    int n = first + blockIdx.x, thread = threadIdx.x, needed = 0;
    cell_bound entry = order[n / q->np[C]];
    int ia = entry.cell / q->np[B], ib = entry.cell % q->np[B], ic = n % q->np[C];
    point p = first_point(q, ia, ib, ic);

    if (thread == 0) {
        float threshold =
            fmaxf(atomicMax(incumbent, 0) / FIXED_POINT_ONE, host_incumbent);
        needed = is_needed(w, entry, ic, prune, threshold, c_traces, samples, q);
    }
    if (__syncthreads_or(needed)) {
        found[thread] = search_share(w, thread, ia, ib, ic, c_traces, samples, q);
        for (int active = SHARERS / 2; active > 0; active /= 2) {
            __syncthreads();
            if (thread < active)
                found[thread] = better_share(found[thread], found[thread + active]);
        }
        if (thread == 0) p = shared_point(q, ia, ib, ic, found[0]);
    }
    if (thread > 0) return;
    atomicMax(incumbent, to_fixed_point(p.semblance));
    part[n] = p;
}

WINDOW_KERNEL(blocks_kernel, const float *__restrict__ samples, int first, int end,
              chunk ch, point *__restrict__ part)
{
    int w = W ? W : window_length(c_query);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int n = first + i / ch.blocks, block = i % ch.blocks;
    if (n < end) search_part(w, block, n, c_traces, samples, c_query, &ch, part);
}

struct device {
    const search_input *input; /* of the current phase */
    work_kind kind;
    cudaEvent_t copied[BATCHES]; /* the results of the batches in flight */
    int started, collected;
    cudaEvent_t clock_event; /* recorded at time clock */
    double clock;
    int block; /* threads */
    float *d_samples;
    cell_bound *d_order;
    point *d_part;
    int *d_incumbent;
    void *pinned;
};

device *device_begin(const su_gather *g, const query *q, const search_input *input,
                     int host_threads, device_traits *traits)
{
    device *d = (device *)allocate(1, sizeof *d, "the device's state");
    d->started = d->collected = 0;
    (void)host_threads;

    cuda_device();
    traits->lanes = LANES;
    traits->shares_cores = 0;
    traits->busy_items = cuda_threads_at_once();

    if (q->ntraces > TRACES_MAX)
        fail("%d traces: constant memory holds %d", q->ntraces, TRACES_MAX);
    size_t samples_size = ((g->ntraces - 1) * q->pitch + q->ns) * sizeof(float);
    size_t order_size = cell_count(q) * sizeof(cell_bound);
    size_t part_size = part_capacity(q) * sizeof(point);
    CUDA_CHECK(cudaMalloc((void **)&d->d_samples, samples_size));
    CUDA_CHECK(cudaMalloc((void **)&d->d_order, order_size));
    CUDA_CHECK(cudaMalloc((void **)&d->d_part, part_size));
    CUDA_CHECK(cudaMalloc((void **)&d->d_incumbent, sizeof *d->d_incumbent));

    /* Page-locked: a copy to other memory makes the host wait. */
    cuda_pin(input->part, part_size + order_size);
    d->pinned = input->part;
    for (int i = 0; i < BATCHES; i++) CUDA_CHECK(cudaEventCreate(&d->copied[i]));

    d->block = 1;
    for (int i = 0; i < 3; i++) d->block *= q->group[i] ? q->group[i] : 4;

    CUDA_CHECK(
        cudaMemcpy(d->d_samples, g->samples, samples_size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaEventCreate(&d->clock_event));
    CUDA_CHECK(cudaEventRecord(d->clock_event, 0));
    CUDA_CHECK(cudaEventSynchronize(d->clock_event));
    d->clock = seconds();
    return d;
}

void device_begin_phase(device *d, const search_input *in, work_kind kind)
{
    d->input = in;
    d->kind = kind;
    CUDA_CHECK(cudaMemcpyToSymbolAsync(c_query, in->q,
                                       in->device.samples * sizeof *in->q, 0,
                                       cudaMemcpyHostToDevice, 0));
    CUDA_CHECK(cudaMemcpyToSymbolAsync(c_traces, in->traces,
                                       in->q->ntraces * sizeof *in->traces, 0,
                                       cudaMemcpyHostToDevice, 0));
    if (kind == NODES)
        CUDA_CHECK(cudaMemcpyAsync(d->d_order, in->order,
                                   cell_count(in->q) * sizeof *in->order,
                                   cudaMemcpyHostToDevice, 0));
    CUDA_CHECK(cudaMemsetAsync(d->d_incumbent, 0, sizeof *d->d_incumbent, 0));
}

/* The number of blocks for so many threads. */
static dim3 grid_for(const device *d, size_t threads)
{
    dim3 grid = {(unsigned)((threads + d->block - 1) / d->block), 1, 1};
    return grid;
}

/* Until the kernel writes them, the results are NaN, so that missing ones are detected.
 */
void device_start(device *d, int first, int end, float incumbent)
{
    const search_input *in = d->input;
    int w = window_length(in->q), items = end - first, bounds = d->kind == BOUNDS;
    size_t size = bounds ? sizeof(cell_bound) : in->device.samples * sizeof(point);
    size_t from = first * size, bytes = items * size;
    char *result = bounds ? (char *)d->d_order : (char *)d->d_part;
    char *host = bounds ? (char *)in->order : (char *)in->part;
    dim3 block = {(unsigned)d->block, 1, 1}, sharers = {SHARERS, 1, 1};
    dim3 parts = {(unsigned)items, 1, 1};

    CUDA_CHECK(cudaMemsetAsync(result + from, 0xff, bytes, 0));
    if (d->kind == BOUNDS)
        WINDOW_LAUNCH(w, bounds_kernel, grid_for(d, items), block, 0, d->d_samples,
                      first, end, d->d_order);
    if (d->kind == NODES)
        WINDOW_LAUNCH(w, search_kernel, parts, sharers, SHARERS * sizeof(share_best),
                      d->d_samples, first, d->d_order, in->prune, d->d_part,
                      d->d_incumbent, incumbent);
    if (d->kind == BLOCKS)
        WINDOW_LAUNCH(w, blocks_kernel, grid_for(d, (size_t)items * in->device.blocks),
                      block, 0, d->d_samples, first, end, in->device, d->d_part);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(
        cudaMemcpyAsync(host + from, result + from, bytes, cudaMemcpyDeviceToHost, 0));
    CUDA_CHECK(cudaEventRecord(d->copied[d->started++ % BATCHES], 0));
}

int device_poll(const device *d)
{
    cudaError_t err = cudaEventQuery(d->copied[d->collected % BATCHES]);
    if (err == cudaErrorNotReady) return 0;
    CUDA_CHECK(err);
    return 1;
}

/* CUDA gives milliseconds between two events, as a float. After an hour, a float of all
 * milliseconds would be too coarse: each batch is timed from the one before. */
double device_collect(device *d)
{
    cudaEvent_t *slot = &d->copied[d->collected++ % BATCHES], event = *slot;
    CUDA_CHECK(cudaEventSynchronize(event));
    d->clock += cuda_seconds(d->clock_event, event);
    *slot = d->clock_event;
    d->clock_event = event;
    return d->clock;
}

void device_end(device *d)
{
    for (int i = 0; i < BATCHES; i++) cudaEventDestroy(d->copied[i]);
    cudaEventDestroy(d->clock_event);
    cuda_unpin(d->pinned);
    cudaFree(d->d_incumbent);
    cudaFree(d->d_part);
    cudaFree(d->d_order);
    cudaFree(d->d_samples);
    free(d);
}
