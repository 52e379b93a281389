/* cuda.cu - the same in CUDA C, both sides: a thread per column of a
 * band.
 *
 * What OpenCL names context, queue, program and kernel is implicit here: the compiler
 * has built the kernels, and the runtime makes the rest at its first call.
 */
#include <stdlib.h>

#include "cuda_device.h"
#define COLUMNS 32 /* of a block, each of them with a thread of its own */
#define LANES   1
#define WIDE    1
#define BLOCKS  1 /* of a thread, which has registers for one */
#define CHUNK   1
#include "host.h"

#define THREADS 32 /* a block, where threads have nothing to do with each other */

/* const with __restrict__ promises that nobody writes there while the kernel runs: the
 * compiler may read early, and through the read-only cache. */
KERNEL void grid_segments(shape s, const real *__restrict__ taps,
                          const int *__restrict__ first,
                          const sample *__restrict__ samples, cplx *grid)
{
    grid_segment(&s, taps, first, samples, blockIdx.y,
                 blockIdx.x * COLUMNS + threadIdx.x, grid);
}

/* A thread per visibility, in the order of bins, so that neighbours read the same
 * cells: they share nothing but what they read. */
KERNEL void degrid(shape s, const real *__restrict__ taps, const int *__restrict__ from,
                   const place *__restrict__ at, const cplx *__restrict__ grid,
                   cplx *value)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < s.samples) value[from[i]] = degrid_one(&s, taps, &at[from[i]], grid);
}

/* Device memory of so many bytes; with from, they are copied there. */
static void *device_copy(size_t bytes, const void *from)
{
    void *p;
    CUDA_CHECK(cudaMalloc(&p, bytes));
    if (from) CUDA_CHECK(cudaMemcpy(p, from, bytes, cudaMemcpyHostToDevice));
    return p;
}

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();
    const shape s = p->is;

    real *table = table_of(p, ROWS, COLUMNS);
    sorted o = sorted_for(p, ROWS, COLUMNS);
    cuda_device();
    t->copies = 1;
    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    cplx *d_grid = (cplx *)device_copy(grid_size, result); /* the poison */
    cudaEvent_t before, after;
    CUDA_CHECK(cudaEventCreate(&before));
    CUDA_CHECK(cudaEventCreate(&after));

    double ready = seconds();

    sort(p, &o);
    real *d_table =
        (real *)device_copy(table_count(p, ROWS, COLUMNS) * sizeof *table, table);
    int *d_first = (int *)device_copy((o.bins + 1) * sizeof *o.first, o.first);
    sample *d_samples = (sample *)device_copy(s.samples * sizeof *o.samples, o.samples);
    dim3 blocks = {(unsigned)((s.size + COLUMNS - 1) / COLUMNS), (unsigned)o.bands, 1};
    dim3 threads = {COLUMNS, 1, 1};
    CUDA_CHECK(cudaEventRecord(before, 0));
    CUDA_LAUNCH(grid_segments, blocks, threads, 0, s, d_table, d_first, d_samples,
                d_grid);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(after, 0));
    CUDA_CHECK(cudaMemcpy(result, d_grid, grid_size, cudaMemcpyDeviceToHost));

    double end = seconds();
    t->init = ready - start;
    t->sort = o.seconds;
    t->run = end - ready;
    t->kernel = cuda_seconds(before, after);

    cudaEventDestroy(after);
    cudaEventDestroy(before);
    cudaFree(d_samples);
    cudaFree(d_first);
    cudaFree(d_table);
    cudaFree(d_grid);
    sorted_free(&o);
    free(table);
    return 0;
}

int degridding(const problem *p, const void *model, void *result, run_times *t)
{
    double start = seconds();

    real *table = table_of(p, ROWS, COLUMNS);
    sorted o = sorted_for(p, ROWS, COLUMNS);
    cuda_device();
    const shape s = p->is;
    t->copies = 1;
    cudaEvent_t before, after;
    CUDA_CHECK(cudaEventCreate(&before));
    CUDA_CHECK(cudaEventCreate(&after));

    double ready = seconds();

    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    size_t value_size = s.samples * sizeof(cplx);
    sort(p, &o);
    real *d_table =
        (real *)device_copy(table_count(p, ROWS, COLUMNS) * sizeof *table, table);
    int *d_from = (int *)device_copy(s.samples * sizeof *o.from, o.from);
    place *d_at = (place *)device_copy(s.samples * sizeof *p->at, p->at);
    cplx *d_grid = (cplx *)device_copy(grid_size, model);
    cplx *d_value = (cplx *)device_copy(value_size, result); /* the poison */
    dim3 blocks = {(unsigned)((s.samples + THREADS - 1) / THREADS), 1, 1};
    dim3 threads = {THREADS, 1, 1};
    CUDA_CHECK(cudaEventRecord(before, 0));
    CUDA_LAUNCH(degrid, blocks, threads, 0, s, d_table, d_from, d_at, d_grid, d_value);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(after, 0));
    CUDA_CHECK(cudaMemcpy(result, d_value, value_size, cudaMemcpyDeviceToHost));

    double end = seconds();
    t->init = ready - start;
    t->sort = o.seconds;
    t->run = end - ready;
    t->kernel = cuda_seconds(before, after);

    cudaEventDestroy(after);
    cudaEventDestroy(before);
    cudaFree(d_value);
    cudaFree(d_grid);
    cudaFree(d_at);
    cudaFree(d_from);
    cudaFree(d_table);
    sorted_free(&o);
    free(table);
    return 0;
}
