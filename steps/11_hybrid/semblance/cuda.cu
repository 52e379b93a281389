/* cuda.cu - the device side in CUDA C: one thread per (A, B) for the bounds, one per
 * (A, B, C) for the search. Chunks are enqueued in a stream without waiting.
 *
 * OpenCL's context, queue, program and kernel are implicit in CUDA C: nvcc has compiled
 * the kernel, and the runtime creates the other objects in its first call.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_device.h"
#define LANES 1 /* a GPU's lanes are its threads */
#include "sides.h"
#include "window.h"

/* Constant memory has 64 KiB in all; its arrays need a size at compile time. */
#define TRACES_MAX 3200
__constant__ query c_query;
__constant__ trace c_traces[TRACES_MAX];

/* const and __restrict__ together promise that the kernel does not write there, so
 * loads may use the read-only cache. */
WINDOW_KERNEL(bounds_kernel, const float *__restrict__ samples,
              cell_bound *__restrict__ bound_of, int first, int end)
{
    const query *q = &c_query;
    int w = W ? W : window_length(q);
    int n = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (n < end) {
        int ia = n / q->np[B], ib = n % q->np[B];
        cell_bound entry = {bound(ia, ib, 0, q->np[C], c_traces, samples, q, w), n};
        bound_of[n] = entry;
    }
}

/* Searches the parts first .. end - 1 in the order of their bounds: see kernel.cl. */
WINDOW_KERNEL(search_kernel, const float *__restrict__ samples,
              const cell_bound *__restrict__ order, int first, int end, int prune,
              float *__restrict__ storage, point *__restrict__ part, int *incumbent,
              int host_incumbent)
{
    const query *q = &c_query;
    int w = W ? W : window_length(q);
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    storage += thread * workspace_floats(q->ntraces, w);
    workspace ws = workspace_at(storage, q->ntraces, w);

    for (int n = first + thread; n < end; n += gridDim.x * blockDim.x) {
        cell_bound entry = order[n / q->np[C]];
        int ia = entry.cell / q->np[B], ib = entry.cell % q->np[B], ic = n % q->np[C];
        point p = first_point(q, ia, ib, ic);
        int fixed = atomicMax(incumbent, host_incumbent);
        float threshold =
                  (fixed > host_incumbent ? fixed : host_incumbent) / FIXED_POINT_ONE,
              upper = entry.bound;
        if (prune && upper > 0 && upper >= threshold)
            upper = bound(ia, ib, ic, 1, c_traces, samples, q, w);
        if (upper > 0 && upper >= threshold) {
            p = search_abc(ia, ib, ic, c_traces, samples, q, w, ws);
            if (p.semblance > threshold)
                atomicMax(incumbent, to_fixed_point(p.semblance));
        }
        part[n] = p;
    }
}

struct device {
    const search_input *input; /* the current search */
    cell_bound *bound;         /* [cells]: results copied back */
    point *part;               /* [parts]: the same, in search order */
    struct {
        device_chunk record;
        cudaEvent_t before, after, copied;
    } in_flight[CHUNKS];
    int started, collected;
    cudaEvent_t clock_event; /* recorded at time clock */
    double clock;
    int block, threads;
    float *d_samples, *d_workspaces;
    cell_bound *d_bound, *d_order;
    point *d_part;
    int *d_incumbent;
};

device *device_begin(const su_gather *g, const query *q, int host_threads,
                     int *shares_cores)
{
    device *s = (device *)allocate(1, sizeof *s, "the device's state");
    s->started = s->collected = 0;
    *shares_cores = 0;
    (void)host_threads;

    cuda_device();

    if (q->ntraces > TRACES_MAX)
        fail("%d traces: constant memory holds %d", q->ntraces, TRACES_MAX);
    size_t samples_size = ((g->ntraces - 1) * q->pitch + q->ns) * sizeof(float);
    size_t order_size = cell_count(q) * sizeof *s->bound;
    size_t part_size = part_count(q) * sizeof *s->part;
    CUDA_CHECK(cudaMalloc((void **)&s->d_samples, samples_size));
    CUDA_CHECK(cudaMalloc((void **)&s->d_part, part_size));

    /* Page-locked host memory: with any other, cudaMemcpyAsync waits for the copy. */
    CUDA_CHECK(cudaMallocHost((void **)&s->bound, order_size));
    CUDA_CHECK(cudaMallocHost((void **)&s->part, part_size));
    for (int i = 0; i < CHUNKS; i++) {
        CUDA_CHECK(cudaEventCreate(&s->in_flight[i].before));
        CUDA_CHECK(cudaEventCreate(&s->in_flight[i].after));
        CUDA_CHECK(cudaEventCreate(&s->in_flight[i].copied));
    }

    /* One dimension, because parts are searched in the order of their bounds. */
    size_t local = 1;
    for (int i = 0; i < 3; i++) local *= q->group[i] ? q->group[i] : 4;
    size_t threads = (part_count(q) + local - 1) / local * local;
    size_t workspace_size = fit_workspaces(
        &threads, local, workspace_floats(q->ntraces, window_length(q)), SIZE_MAX);
    s->block = (int)local;
    s->threads = (int)threads;
    CUDA_CHECK(cudaMalloc((void **)&s->d_bound, order_size));
    CUDA_CHECK(cudaMalloc((void **)&s->d_order, order_size));
    CUDA_CHECK(cudaMalloc((void **)&s->d_incumbent, sizeof *s->d_incumbent));
    CUDA_CHECK(cudaMalloc((void **)&s->d_workspaces, workspace_size));

    CUDA_CHECK(
        cudaMemcpy(s->d_samples, g->samples, samples_size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaEventCreate(&s->clock_event));
    CUDA_CHECK(cudaEventRecord(s->clock_event, 0));
    CUDA_CHECK(cudaEventSynchronize(s->clock_event));
    s->clock = seconds();
    return s;
}

int device_min_chunk(const device *s)
{
    int units, number;
    (void)s;
    CUDA_CHECK(cudaGetDevice(&number));
    CUDA_CHECK(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, number));
    return units * 256;
}

void device_begin_search(device *s, const search_input *input)
{
    s->input = input;
    CUDA_CHECK(cudaMemcpyToSymbolAsync(c_query, input->q, sizeof *input->q, 0,
                                       cudaMemcpyHostToDevice, 0));
    CUDA_CHECK(cudaMemcpyToSymbolAsync(c_traces, input->traces,
                                       input->q->ntraces * sizeof(trace), 0,
                                       cudaMemcpyHostToDevice, 0));
    CUDA_CHECK(cudaMemsetAsync(s->d_incumbent, 0, sizeof *s->d_incumbent, 0));
}

void device_set_order(device *s, const cell_bound *order)
{
    CUDA_CHECK(cudaMemcpyAsync(s->d_order, order,
                               cell_count(s->input->q) * sizeof *order,
                               cudaMemcpyHostToDevice, 0));
}

/* Grid for that many items; with more than max_items a thread processes several. */
static dim3 chunk_grid(const device *s, int items, int upper)
{
    if (items > upper) items = upper;
    dim3 grid = {(unsigned)((items + s->block - 1) / s->block), 1, 1};
    return grid;
}

/* prepare_chunk() before and finish_chunk() after a launch. The results are NaN, on the
 * host and on the device, until they are written and copied. */
static void prepare_chunk(device *s, void *host_result, void *device_result,
                          size_t bytes)
{
    memset(host_result, 0xff, bytes);
    CUDA_CHECK(cudaMemsetAsync(device_result, 0xff, bytes, 0));
    CUDA_CHECK(cudaEventRecord(s->in_flight[s->started % CHUNKS].before, 0));
}

static void finish_chunk(device *s, device_chunk record, void *host_result,
                         const void *device_result, size_t bytes)
{
    int slot = s->started++ % CHUNKS;
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(s->in_flight[slot].after, 0));
    CUDA_CHECK(
        cudaMemcpyAsync(host_result, device_result, bytes, cudaMemcpyDeviceToHost, 0));
    CUDA_CHECK(cudaEventRecord(s->in_flight[slot].copied, 0));
    s->in_flight[slot].record = record;
}

void device_bounds(device *s, int first, int end)
{
    int w = window_length(s->input->q);
    cell_bound *host_result = s->bound + first, *device_result = s->d_bound + first;
    device_chunk record = {first, end, host_result, NULL, 0, 0};
    dim3 block = {(unsigned)s->block, 1, 1};
    dim3 grid = chunk_grid(s, end - first, end - first);
    prepare_chunk(s, host_result, device_result, (end - first) * sizeof *host_result);
    WINDOW_LAUNCH(w, bounds_kernel, grid, block, 0, s->d_samples, s->d_bound, first,
                  end);
    finish_chunk(s, record, host_result, device_result,
                 (end - first) * sizeof *host_result);
}

void device_parts(device *s, int first, int end, float threshold)
{
    int w = window_length(s->input->q);
    point *host_result = s->part + first, *device_result = s->d_part + first;
    device_chunk record = {first, end, NULL, host_result, 0, 0};
    dim3 block = {(unsigned)s->block, 1, 1};
    dim3 grid = chunk_grid(s, end - first, s->threads);
    prepare_chunk(s, host_result, device_result, (end - first) * sizeof *host_result);
    WINDOW_LAUNCH(w, search_kernel, grid, block, 0, s->d_samples, s->d_order, first,
                  end, s->input->prune, s->d_workspaces, s->d_part, s->d_incumbent,
                  threshold < 2 ? (int)(threshold * FIXED_POINT_ONE) : 0);
    finish_chunk(s, record, host_result, device_result,
                 (end - first) * sizeof *host_result);
}

int device_poll(const device *s)
{
    cudaError_t err = cudaEventQuery(s->in_flight[s->collected % CHUNKS].copied);
    if (err == cudaErrorNotReady) return 0;
    CUDA_CHECK(err);
    return 1;
}

device_chunk device_collect(device *s)
{
    int slot = s->collected++ % CHUNKS;
    device_chunk record = s->in_flight[slot].record;
    CUDA_CHECK(cudaEventSynchronize(s->in_flight[slot].copied));
    record.began = s->clock + cuda_seconds(s->clock_event, s->in_flight[slot].before);
    record.ended = record.began +
                   cuda_seconds(s->in_flight[slot].before, s->in_flight[slot].after);
    return record;
}

void device_end(device *s)
{
    for (int i = 0; i < CHUNKS; i++) {
        cudaEventDestroy(s->in_flight[i].before);
        cudaEventDestroy(s->in_flight[i].after);
        cudaEventDestroy(s->in_flight[i].copied);
    }
    cudaEventDestroy(s->clock_event);
    cudaFree(s->d_workspaces);
    cudaFree(s->d_incumbent);
    cudaFree(s->d_order);
    cudaFree(s->d_bound);
    cudaFree(s->d_part);
    cudaFree(s->d_samples);
    cudaFreeHost(s->part);
    cudaFreeHost(s->bound);
    free(s);
}
