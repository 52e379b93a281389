/* cuda.cu - the same in CUDA C, both sides: a block per copy of the
 * grid, and in it a thread per strip of the footprint.
 *
 * What OpenCL names context, queue, program and kernel is implicit here: the compiler
 * has built the kernels, and the runtime makes the rest at its first call.
 */
#include <stdlib.h>

#include "cuda_device.h"
#define SYNC() __syncthreads()
#include "host.h"

#define THREADS 32 /* a block, where threads have nothing to do with each other */

/* const with __restrict__ promises that nobody writes there while the kernel runs: the
 * compiler may read early, and through the read-only cache. */
KERNEL void grid_copies(shape s, const cplx *__restrict__ table,
                        const place *__restrict__ at, const cplx *__restrict__ value,
                        cplx *grid)
{
    int c = blockIdx.x;
    grid_share(&s, table, at, value, c, threadIdx.y, threadIdx.x,
               grid + c * ((size_t)s.size * s.pitch));
}

/* Adds all copies to the first: a block per row. */
KERNEL void add_copies(shape s, cplx *grid)
{
    size_t cells = (size_t)s.size * s.pitch;
    for (int u = threadIdx.x; u < s.size; u += THREADS) {
        size_t i = (size_t)blockIdx.x * s.pitch + u;
        for (int c = 1; c < s.copies; c++) grid[i] = plus(grid[i], grid[c * cells + i]);
    }
}

/* A thread per visibility: they share nothing but what they read. */
KERNEL void degrid(shape s, const cplx *__restrict__ table,
                   const place *__restrict__ at, const cplx *__restrict__ grid,
                   cplx *value)
{
    int k = blockIdx.x * THREADS + threadIdx.x;
    if (k < s.samples) value[k] = degrid_one(&s, table, &at[k], grid);
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

    cplx *table = table_of(p);
    cplx *value = values_of(p);
    cuda_device();
    int device, units;
    size_t room, all;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device));
    CUDA_CHECK(cudaMemGetInfo(&room, &all));
    size_t table_size = table_count(p) * sizeof *table;
    shape s = shape_of(p, units, (double)room - (double)table_size);
    t->copies = s.copies;
    cut(&s, p, s.width, 5, 1024); /* the paper's strips */

    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    cplx *d_grid = (cplx *)device_copy(s.copies * grid_size, NULL);
    cudaEvent_t before, after;
    CUDA_CHECK(cudaEventCreate(&before));
    CUDA_CHECK(cudaEventCreate(&after));

    double ready = seconds();

    cplx *d_table = (cplx *)device_copy(table_size, table);
    place *d_at = (place *)device_copy(s.samples * sizeof *p->at, p->at);
    cplx *d_value = (cplx *)device_copy(s.samples * sizeof *value, value);
    CUDA_CHECK(cudaMemset(d_grid, 0, s.copies * grid_size));
    dim3 copies = {(unsigned)s.copies, 1, 1};
    dim3 strips = {(unsigned)s.strips[1], (unsigned)s.strips[0], 1};
    dim3 rows = {(unsigned)s.size, 1, 1}, threads = {THREADS, 1, 1};
    CUDA_CHECK(cudaEventRecord(before, 0));
    CUDA_LAUNCH(grid_copies, copies, strips, 0, s, d_table, d_at, d_value, d_grid);
    CUDA_CHECK(cudaGetLastError());
    CUDA_LAUNCH(add_copies, rows, threads, 0, s, d_grid);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(after, 0));
    CUDA_CHECK(cudaMemcpy(result, d_grid, grid_size, cudaMemcpyDeviceToHost));

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    t->kernel = cuda_seconds(before, after);

    cudaEventDestroy(after);
    cudaEventDestroy(before);
    cudaFree(d_value);
    cudaFree(d_at);
    cudaFree(d_table);
    cudaFree(d_grid);
    free(value);
    free(table);
    return 0;
}

int degridding(const problem *p, const void *model, void *result, run_times *t)
{
    double start = seconds();

    cplx *table = table_of(p);
    cuda_device();
    const shape s = p->is;
    t->copies = 1;
    cudaEvent_t before, after;
    CUDA_CHECK(cudaEventCreate(&before));
    CUDA_CHECK(cudaEventCreate(&after));

    double ready = seconds();

    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    size_t value_size = s.samples * sizeof(cplx);
    cplx *d_table = (cplx *)device_copy(table_count(p) * sizeof *table, table);
    place *d_at = (place *)device_copy(s.samples * sizeof *p->at, p->at);
    cplx *d_grid = (cplx *)device_copy(grid_size, model);
    cplx *d_value = (cplx *)device_copy(value_size, result); /* the poison */
    dim3 blocks = {(unsigned)((s.samples + THREADS - 1) / THREADS), 1, 1};
    dim3 threads = {THREADS, 1, 1};
    CUDA_CHECK(cudaEventRecord(before, 0));
    CUDA_LAUNCH(degrid, blocks, threads, 0, s, d_table, d_at, d_grid, d_value);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(after, 0));
    CUDA_CHECK(cudaMemcpy(result, d_value, value_size, cudaMemcpyDeviceToHost));

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    t->kernel = cuda_seconds(before, after);

    cudaEventDestroy(after);
    cudaEventDestroy(before);
    cudaFree(d_value);
    cudaFree(d_grid);
    cudaFree(d_at);
    cudaFree(d_table);
    free(table);
    return 0;
}
