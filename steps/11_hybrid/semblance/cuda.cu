/* cuda.cu - the device's side in CUDA C: one thread per (A, B) for the bounds, one per
 * (A, B, C) for the search; chunks, in a stream that nobody waits for.
 *
 * What OpenCL names context, queue, program and kernel is implicit here: the compiler
 * has built the kernel, and the runtime makes the rest at its first call.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_device.h"
#define LANES 1 /* the lanes of a GPU are its threads */
#include "sides.h"
#include "window.h"

/* Constant memory is 64 KiB in all, and its arrays get their size from the compiler. */
#define TRACES_MAX 3200
__constant__ query c_query;
__constant__ trace c_traces[TRACES_MAX];

/* const and __restrict__ together promise that nobody writes there while the kernel
 * runs: loads may then go through the cache for what is only read. */
WINDOW_KERNEL(bounds_kernel, const float *__restrict__ samples,
              ranked *__restrict__ bound_of, int first, int end)
{
    const query *q = &c_query;
    int w = W ? W : window_of(q);
    int n = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (n < end) {
        int ia = n / q->np[1], ib = n % q->np[1];
        ranked r = {bound(ia, ib, 0, q->np[2], c_traces, samples, q, w), n};
        bound_of[n] = r;
    }
}

/* The parts first .. end - 1, in order; see kernel.cl. */
WINDOW_KERNEL(search_kernel, const float *__restrict__ samples,
              const ranked *__restrict__ order, int first, int end, int prune,
              float *__restrict__ room, point *__restrict__ part, int *best, int known)
{
    const query *q = &c_query;
    int w = W ? W : window_of(q);
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    room += thread * room_of(q->ntraces, w);
    workspace ws = workspace_of(room, q->ntraces, w);

    for (int n = first + thread; n < end; n += gridDim.x * blockDim.x) {
        ranked r = order[n / q->np[2]];
        int ia = r.cell / q->np[1], ib = r.cell % q->np[1], ic = n % q->np[2];
        point p = first_of(q, ia, ib, ic);
        int counts = atomicMax(best, known);
        float least = (counts > known ? counts : known) / COUNTS, most = r.bound;
        if (prune && most > 0 && most >= least)
            most = bound(ia, ib, ic, 1, c_traces, samples, q, w);
        if (most > 0 && most >= least) {
            p = search_abc(ia, ib, ic, c_traces, samples, q, w, ws);
            if (p.semblance > least) atomicMax(best, counts_of(p.semblance));
        }
        part[n] = p;
    }
}

struct device {
    const work *all; /* the search */
    ranked *bound;   /* [cells], what has come back */
    point *part;     /* [parts], the same, in the order of the search */
    struct {
        chunk is;
        cudaEvent_t before, after, back;
    } flight[CHUNKS];
    int started, taken;
    cudaEvent_t zero; /* at seconds() == clock */
    double clock;
    int block, threads;
    float *d_samples, *d_room;
    ranked *d_bound, *d_order;
    point *d_part;
    int *d_best;
};

device *device_begin(const su_gather *g, const query *q, int host_threads, int *beside)
{
    device *s = (device *)allocate(1, sizeof *s, "the device's state");
    s->started = s->taken = 0;
    *beside = 0;
    (void)host_threads;

    cuda_device();

    if (q->ntraces > TRACES_MAX)
        fail("%d traces: constant memory holds %d", q->ntraces, TRACES_MAX);
    size_t samples_size = ((g->ntraces - 1) * q->pitch + q->ns) * sizeof(float);
    size_t order_size = cells_of(q) * sizeof *s->bound;
    size_t part_size = parts_of(q) * sizeof *s->part;
    CUDA_CHECK(cudaMalloc((void **)&s->d_samples, samples_size));
    CUDA_CHECK(cudaMalloc((void **)&s->d_part, part_size));

    /* Memory of the host that the device reads and writes by itself: copies to any
     * other are waited for, whatever they are called. */
    CUDA_CHECK(cudaMallocHost((void **)&s->bound, order_size));
    CUDA_CHECK(cudaMallocHost((void **)&s->part, part_size));
    for (int i = 0; i < CHUNKS; i++) {
        CUDA_CHECK(cudaEventCreate(&s->flight[i].before));
        CUDA_CHECK(cudaEventCreate(&s->flight[i].after));
        CUDA_CHECK(cudaEventCreate(&s->flight[i].back));
    }

    /* One dimension, since parts are searched in an order that is not that of A and B.
     */
    size_t local = 1;
    for (int i = 0; i < 3; i++) local *= q->group[i] ? q->group[i] : 4;
    size_t threads = (parts_of(q) + local - 1) / local * local;
    size_t room_size =
        fit_rooms(&threads, local, room_of(q->ntraces, window_of(q)), SIZE_MAX);
    s->block = (int)local;
    s->threads = (int)threads;
    CUDA_CHECK(cudaMalloc((void **)&s->d_bound, order_size));
    CUDA_CHECK(cudaMalloc((void **)&s->d_order, order_size));
    CUDA_CHECK(cudaMalloc((void **)&s->d_best, sizeof *s->d_best));
    CUDA_CHECK(cudaMalloc((void **)&s->d_room, room_size));

    CUDA_CHECK(
        cudaMemcpy(s->d_samples, g->samples, samples_size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaEventCreate(&s->zero));
    CUDA_CHECK(cudaEventRecord(s->zero, 0));
    CUDA_CHECK(cudaEventSynchronize(s->zero));
    s->clock = seconds();
    return s;
}

int device_fill(const device *s)
{
    int units, number;
    (void)s;
    CUDA_CHECK(cudaGetDevice(&number));
    CUDA_CHECK(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, number));
    return units * 256;
}

void device_search(device *s, const work *all)
{
    s->all = all;
    CUDA_CHECK(cudaMemcpyToSymbolAsync(c_query, all->q, sizeof *all->q, 0,
                                       cudaMemcpyHostToDevice, 0));
    CUDA_CHECK(cudaMemcpyToSymbolAsync(c_traces, all->traces,
                                       all->q->ntraces * sizeof(trace), 0,
                                       cudaMemcpyHostToDevice, 0));
    CUDA_CHECK(cudaMemsetAsync(s->d_best, 0, sizeof *s->d_best, 0));
}

void device_order(device *s, const ranked *order)
{
    CUDA_CHECK(cudaMemcpyAsync(s->d_order, order, cells_of(s->all->q) * sizeof *order,
                               cudaMemcpyHostToDevice, 0));
}

/* The grid of a chunk of so many items, or of fewer that take more than one each. */
static dim3 grid_of(const device *s, int items, int most)
{
    if (items > most) items = most;
    dim3 grid = {(unsigned)((items + s->block - 1) / s->block), 1, 1};
    return grid;
}

/* Before the launch of a chunk: what it will write is NaN, here and on the device,
 * until it is written; and behind it what it wrote is read. */
static void open_flight(device *s, void *to, void *written, size_t bytes)
{
    memset(to, 0xff, bytes);
    CUDA_CHECK(cudaMemsetAsync(written, 0xff, bytes, 0));
    CUDA_CHECK(cudaEventRecord(s->flight[s->started % CHUNKS].before, 0));
}

static void read_back(device *s, chunk is, void *to, const void *written, size_t bytes)
{
    int slot = s->started++ % CHUNKS;
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(s->flight[slot].after, 0));
    CUDA_CHECK(cudaMemcpyAsync(to, written, bytes, cudaMemcpyDeviceToHost, 0));
    CUDA_CHECK(cudaEventRecord(s->flight[slot].back, 0));
    s->flight[slot].is = is;
}

void device_bounds(device *s, int first, int end)
{
    int w = window_of(s->all->q);
    ranked *to = s->bound + first, *written = s->d_bound + first;
    chunk is = {first, end, to, NULL, 0, 0};
    dim3 block = {(unsigned)s->block, 1, 1};
    dim3 grid = grid_of(s, end - first, end - first);
    open_flight(s, to, written, (end - first) * sizeof *to);
    WINDOW_LAUNCH(w, bounds_kernel, grid, block, 0, s->d_samples, s->d_bound, first,
                  end);
    read_back(s, is, to, written, (end - first) * sizeof *to);
}

void device_parts(device *s, int first, int end, float least)
{
    int w = window_of(s->all->q);
    point *to = s->part + first, *written = s->d_part + first;
    chunk is = {first, end, NULL, to, 0, 0};
    dim3 block = {(unsigned)s->block, 1, 1};
    dim3 grid = grid_of(s, end - first, s->threads);
    open_flight(s, to, written, (end - first) * sizeof *to);
    WINDOW_LAUNCH(w, search_kernel, grid, block, 0, s->d_samples, s->d_order, first,
                  end, s->all->prune, s->d_room, s->d_part, s->d_best,
                  least < 2 ? (int)(least * COUNTS) : 0);
    read_back(s, is, to, written, (end - first) * sizeof *to);
}

int device_ended(const device *s)
{
    cudaError_t err = cudaEventQuery(s->flight[s->taken % CHUNKS].back);
    if (err == cudaErrorNotReady) return 0;
    CUDA_CHECK(err);
    return 1;
}

chunk device_take(device *s)
{
    int slot = s->taken++ % CHUNKS;
    chunk is = s->flight[slot].is;
    CUDA_CHECK(cudaEventSynchronize(s->flight[slot].back));
    is.began = s->clock + cuda_seconds(s->zero, s->flight[slot].before);
    is.ended = is.began + cuda_seconds(s->flight[slot].before, s->flight[slot].after);
    return is;
}

void device_end(device *s)
{
    for (int i = 0; i < CHUNKS; i++) {
        cudaEventDestroy(s->flight[i].before);
        cudaEventDestroy(s->flight[i].after);
        cudaEventDestroy(s->flight[i].back);
    }
    cudaEventDestroy(s->zero);
    cudaFree(s->d_room);
    cudaFree(s->d_best);
    cudaFree(s->d_order);
    cudaFree(s->d_bound);
    cudaFree(s->d_part);
    cudaFree(s->d_samples);
    cudaFreeHost(s->part);
    cudaFreeHost(s->bound);
    free(s);
}
