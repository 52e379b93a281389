/* cuda.cu - the device's side in CUDA C: one thread per column of a band of one region.
 *
 * CUDA has no counterpart to OpenCL's context, queue and program in the source: nvcc
 * compiles the kernels, and the runtime creates a context and a default stream at its
 * first call. Kernels and asynchronous copies execute in order in that stream. A copy
 * to or from host memory is asynchronous only if the memory is registered with the
 * driver (pinned).
 */
#include <stdlib.h>

#include "cuda_device.h"
#define ROWS    8  /* of a block; their sums are in the registers of a thread */
#define COLUMNS 32 /* of a block; one thread each */
#define LANES   1
#define BLOCKS  1 /* per thread: its registers hold the sums of one block */
#define CHUNK   1
#include "sides.h"

/* `const .. __restrict__` promises that no thread writes this memory while the kernel
 * runs. The compiler may then load early, and through the read-only cache. */
KERNEL void grid_segments(shape s, support_classes classes,
                          const real *__restrict__ taps, const int *__restrict__ first,
                          const sorted_visibility *__restrict__ visibilities,
                          cplx *grid, int band, int column)
{
    segment part = make_segment(band + blockIdx.y, CEIL_DIV(s.size, ROWS),
                                column + blockIdx.x * COLUMNS + threadIdx.x);
    grid_segment(&s, &classes, taps, first, visibilities, part, grid);
}

/* The events before the first and after the last command of a chunk. */
typedef struct {
    cudaEvent_t begin_time, end_time;
} chunk_events;

struct device {
    const problem *p;
    cplx *result; /* host memory that receives the results */
    size_t grid_bytes;

    real *taps;
    int *first;
    sorted_visibility *visibilities;
    cplx *grid;
    support_classes classes;

    chunk_events ring[MAX_IN_FLIGHT]; /* a ring buffer, from `oldest` on */
    int oldest, in_flight;
    cudaEvent_t zero_event; /* recorded when the host's clock was zero_time */
    double zero_time;
};

static void *device_memory(size_t bytes)
{
    void *p;
    CUDA_CHECK(cudaMalloc(&p, bytes));
    return p;
}

/* Allocates device memory and enqueues a copy of host_data. The copy completes before
 * any kernel that is launched later. */
static void *device_copy(size_t bytes, const void *host_data)
{
    void *p = device_memory(bytes);
    CUDA_CHECK(cudaMemcpyAsync(p, host_data, bytes, cudaMemcpyHostToDevice, 0));
    return p;
}

device *device_begin(const problem *p, cplx *result, int host_threads,
                     int *shares_cores)
{
    (void)host_threads;
    *shares_cores = 0;
    device *d = (device *)allocate(1, sizeof *d, "the device");
    memset(d, 0, sizeof *d);
    d->p = p;
    d->result = result;
    d->grid_bytes = (size_t)p->dims.size * p->dims.pitch * sizeof(cplx);

    cuda_device();
    cuda_pin(result, d->grid_bytes);
    d->grid = (cplx *)device_memory(d->grid_bytes);
    CUDA_CHECK(cudaMemcpy(d->grid, result, d->grid_bytes,
                          cudaMemcpyHostToDevice)); /* NaN fill */
    for (int i = 0; i < MAX_IN_FLIGHT; i++) {
        CUDA_CHECK(cudaEventCreate(&d->ring[i].begin_time));
        CUDA_CHECK(cudaEventCreate(&d->ring[i].end_time));
    }
    CUDA_CHECK(cudaEventCreate(&d->zero_event));
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaEventRecord(d->zero_event, 0));
    CUDA_CHECK(cudaEventSynchronize(d->zero_event));
    d->zero_time = seconds();
    return d;
}

block_shape device_blocks(const device *d)
{
    (void)d;
    block_shape block = {own_sizes(), BLOCKS * ROWS};
    return block;
}

void device_load(device *d, const real *taps, const binning *bins)
{
    d->taps =
        (real *)device_copy(table_length(d->p, ROWS, COLUMNS) * sizeof *taps, taps);
    d->classes = bins->classes;
    d->first = (int *)device_copy((bins->count + 1) * sizeof *bins->first, bins->first);
    d->visibilities = (sorted_visibility *)device_copy(
        d->p->dims.visibilities * sizeof *bins->visibilities, bins->visibilities);
}

static void start_grid(device *d, work_region region)
{
    const shape s = d->p->dims;
    int rows = region.row + region.rows < s.size ? region.rows : s.size - region.row;
    int columns = region.column + region.columns < s.size ? region.columns
                                                          : s.size - region.column;
    dim3 groups = {(unsigned)CEIL_DIV(columns, COLUMNS), (unsigned)CEIL_DIV(rows, ROWS),
                   1};
    dim3 threads = {COLUMNS, 1, 1};
    CUDA_LAUNCH(grid_segments, groups, threads, 0, s, d->classes, d->taps, d->first,
                d->visibilities, d->grid, region.row / ROWS, region.column);
    CUDA_CHECK(cudaGetLastError());
    size_t corner = (size_t)region.row * s.pitch + region.column,
           pitch = s.pitch * sizeof(cplx);
    CUDA_CHECK(cudaMemcpy2DAsync(d->result + corner, pitch, d->grid + corner, pitch,
                                 columns * sizeof(cplx), rows, cudaMemcpyDeviceToHost,
                                 0));
}

void device_start(device *d, work_region region)
{
    chunk_events *f = &d->ring[(d->oldest + d->in_flight++) % MAX_IN_FLIGHT];
    CUDA_CHECK(cudaEventRecord(f->begin_time, 0));
    start_grid(d, region);
    CUDA_CHECK(cudaEventRecord(f->end_time, 0));
}

int device_poll(device *d, int wait, double *begin_time, double *end_time)
{
    chunk_events *f = &d->ring[d->oldest];
    cudaError_t state =
        wait ? cudaEventSynchronize(f->end_time) : cudaEventQuery(f->end_time);
    if (state == cudaErrorNotReady) return 0;
    CUDA_CHECK(state);
    *begin_time = d->zero_time + cuda_seconds(d->zero_event, f->begin_time);
    *end_time = d->zero_time + cuda_seconds(d->zero_event, f->end_time);
    d->oldest = (d->oldest + 1) % MAX_IN_FLIGHT;
    d->in_flight--;
    return 1;
}

void device_end(device *d)
{
    cudaEventDestroy(d->zero_event);
    for (int i = 0; i < MAX_IN_FLIGHT; i++) {
        cudaEventDestroy(d->ring[i].end_time);
        cudaEventDestroy(d->ring[i].begin_time);
    }
    cuda_unpin(d->result);
    cudaFree(d->grid);
    cudaFree(d->visibilities);
    cudaFree(d->first);
    cudaFree(d->taps);
    free(d);
}
