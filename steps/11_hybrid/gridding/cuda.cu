/* cuda.cu - the device's side in CUDA C: a thread per column of a band, of those of one
 * piece.
 *
 * What OpenCL names context, queue, program and kernel is implicit here: the compiler
 * has built the kernels, and the runtime makes the rest at its first call. Launches and
 * copies that are Async go into one queue; a copy is waited for all the same, unless
 * the host's memory is registered with the driver.
 */
#include <stdlib.h>

#include "cuda_device.h"
#define COLUMNS 32 /* of a block, each of them with a thread of its own */
#define LANES   1
#define WIDE    1
#define BLOCKS  1 /* of a thread, which has registers for one */
#define CHUNK   1
#include "sides.h"

#define THREADS 32 /* a block, where threads have nothing to do with each other */

/* const with __restrict__ promises that nobody writes there while the kernel runs: the
 * compiler may read early, and through the read-only cache. */
KERNEL void grid_segments(shape s, classes all, const real *__restrict__ taps,
                          const int *__restrict__ first,
                          const sample *__restrict__ samples, cplx *grid, int band,
                          int column)
{
    grid_segment(&s, &all, taps, first, samples, band + blockIdx.y,
                 column + blockIdx.x * COLUMNS + threadIdx.x, grid);
}

/* A thread per visibility, in the order of bins, so that neighbours read the same
 * cells: they share nothing but what they read. Values stay in that order: those of a
 * piece are to lie together. */
KERNEL void degrid(shape s, const real *__restrict__ taps, const int *__restrict__ from,
                   const place *__restrict__ at, const cplx *__restrict__ grid,
                   cplx *value, int begin, int end)
{
    int k = begin + blockIdx.x * THREADS + threadIdx.x;
    if (k < end) value[k] = degrid_one(&s, taps, &at[from[k]], grid);
}

/* A piece on its way: before its first command and after its last. */
typedef struct {
    cudaEvent_t began, ended;
} flight;

struct device {
    const problem *p;
    int degrid;
    cplx *result; /* where results go */
    size_t grid_bytes, result_bytes;

    real *taps;
    int *first; /* or from */
    sample *samples;
    place *at;
    cplx *grid, *value;
    classes all;

    flight away[IN_FLIGHT]; /* a ring: `flying` of them from `oldest` on */
    int oldest, flying;
    cudaEvent_t zero; /* when it was `start` by the host's clock */
    double start;
};

static void *device_memory(size_t bytes)
{
    void *p;
    CUDA_CHECK(cudaMalloc(&p, bytes));
    return p;
}

/* The same with a copy of what lies at `from`, which comes in time for what is launched
 * after it. */
static void *device_copy(size_t bytes, const void *from)
{
    void *p = device_memory(bytes);
    CUDA_CHECK(cudaMemcpyAsync(p, from, bytes, cudaMemcpyHostToDevice, 0));
    return p;
}

device *device_begin(const problem *p, int degrid, void *result, int host_threads,
                     int *beside)
{
    (void)host_threads;
    *beside = 0;
    device *d = (device *)allocate(1, sizeof *d, "the device");
    memset(d, 0, sizeof *d);
    d->p = p;
    d->degrid = degrid;
    d->result = (cplx *)result;
    d->grid_bytes = (size_t)p->is.size * p->is.pitch * sizeof(cplx);
    d->result_bytes = degrid ? p->is.samples * sizeof(cplx) : d->grid_bytes;

    cuda_device();
    CUDA_CHECK(cudaHostRegister(result, d->result_bytes, cudaHostRegisterDefault));
    d->grid = (cplx *)device_memory(d->grid_bytes);
    if (degrid) d->value = (cplx *)device_memory(d->result_bytes);
    CUDA_CHECK(cudaMemcpy(degrid ? d->value : d->grid, result, d->result_bytes,
                          cudaMemcpyHostToDevice)); /* the poison */
    for (int i = 0; i < IN_FLIGHT; i++) {
        CUDA_CHECK(cudaEventCreate(&d->away[i].began));
        CUDA_CHECK(cudaEventCreate(&d->away[i].ended));
    }
    CUDA_CHECK(cudaEventCreate(&d->zero));
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaEventRecord(d->zero, 0));
    CUDA_CHECK(cudaEventSynchronize(d->zero));
    d->start = seconds();
    return d;
}

blocks device_blocks(const device *d)
{
    (void)d;
    blocks its = {ROWS, COLUMNS, BLOCKS * ROWS};
    return its;
}

void device_load(device *d, const real *taps, const sorted *o, const cplx *model)
{
    size_t n = d->p->is.samples;
    d->taps =
        (real *)device_copy(table_count(d->p, ROWS, COLUMNS) * sizeof *taps, taps);
    d->all = o->all;
    if (d->degrid) {
        d->first = (int *)device_copy(n * sizeof *o->from, o->from);
        d->at = (place *)device_copy(n * sizeof *d->at, d->p->at);
        CUDA_CHECK(
            cudaMemcpyAsync(d->grid, model, d->grid_bytes, cudaMemcpyHostToDevice, 0));
    } else {
        d->first = (int *)device_copy((o->bins + 1) * sizeof *o->first, o->first);
        d->samples = (sample *)device_copy(n * sizeof *o->samples, o->samples);
    }
}

static void start_grid(device *d, piece at)
{
    const shape s = d->p->is;
    int rows = at.row + at.rows < s.size ? at.rows : s.size - at.row;
    int columns = at.column + at.columns < s.size ? at.columns : s.size - at.column;
    dim3 groups = {(unsigned)BINS_OF(columns, COLUMNS), (unsigned)BINS_OF(rows, ROWS),
                   1};
    dim3 threads = {COLUMNS, 1, 1};
    CUDA_LAUNCH(grid_segments, groups, threads, 0, s, d->all, d->taps, d->first,
                d->samples, d->grid, at.row / ROWS, at.column);
    CUDA_CHECK(cudaGetLastError());
    size_t corner = (size_t)at.row * s.pitch + at.column,
           pitch = s.pitch * sizeof(cplx);
    CUDA_CHECK(cudaMemcpy2DAsync(d->result + corner, pitch, d->grid + corner, pitch,
                                 columns * sizeof(cplx), rows, cudaMemcpyDeviceToHost,
                                 0));
}

static void start_degrid(device *d, piece at)
{
    const shape s = d->p->is;
    int end = at.row + at.rows < s.samples ? at.row + at.rows : s.samples;
    int n = end - at.row;
    dim3 groups = {(unsigned)BINS_OF(n, THREADS), 1, 1};
    dim3 threads = {THREADS, 1, 1};
    CUDA_LAUNCH(degrid, groups, threads, 0, s, d->taps, d->first, d->at, d->grid,
                d->value, at.row, end);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpyAsync(d->result + at.row, d->value + at.row, n * sizeof(cplx),
                               cudaMemcpyDeviceToHost, 0));
}

void device_start(device *d, piece at)
{
    flight *f = &d->away[(d->oldest + d->flying++) % IN_FLIGHT];
    CUDA_CHECK(cudaEventRecord(f->began, 0));
    (d->degrid ? start_degrid : start_grid)(d, at);
    CUDA_CHECK(cudaEventRecord(f->ended, 0));
}

int device_ended(device *d, int wait, double *began, double *ended)
{
    flight *f = &d->away[d->oldest];
    cudaError_t state =
        wait ? cudaEventSynchronize(f->ended) : cudaEventQuery(f->ended);
    if (state == cudaErrorNotReady) return 0;
    CUDA_CHECK(state);
    *began = d->start + cuda_seconds(d->zero, f->began);
    *ended = d->start + cuda_seconds(d->zero, f->ended);
    d->oldest = (d->oldest + 1) % IN_FLIGHT;
    d->flying--;
    return 1;
}

void device_end(device *d)
{
    cudaEventDestroy(d->zero);
    for (int i = 0; i < IN_FLIGHT; i++) {
        cudaEventDestroy(d->away[i].ended);
        cudaEventDestroy(d->away[i].began);
    }
    cudaHostUnregister(d->result);
    cudaFree(d->value);
    cudaFree(d->grid);
    cudaFree(d->at);
    cudaFree(d->samples);
    cudaFree(d->first);
    cudaFree(d->taps);
    free(d);
}
