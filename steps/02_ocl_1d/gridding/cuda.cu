/* cuda.cu - host and device side in CUDA C: one thread per copy of the grid.
 *
 * CUDA has no counterpart to OpenCL's context, queue and program in the source: nvcc
 * compiles the kernels, and the runtime creates a context and a default stream at its
 * first call.
 */
#include <stdlib.h>

#include "cuda_device.h"
#include "host.h"

#define THREADS 32 /* per block, in kernels whose threads do not cooperate */

/* `const .. __restrict__` promises that no thread writes this memory while the kernel
 * runs. The compiler may then load early, and through the read-only cache. */
KERNEL void grid_copies(shape s, const cplx *__restrict__ table,
                        const footprint *__restrict__ footprints,
                        const cplx *__restrict__ value, cplx *grid)
{
    int c = blockIdx.x;
    grid_range(&s, table, footprints, value, c, grid + c * ((size_t)s.size * s.pitch));
}

/* Adds all copies to the first: one block per row of the grid. */
KERNEL void add_copies(shape s, cplx *grid)
{
    size_t cells = (size_t)s.size * s.pitch;
    for (int u = threadIdx.x; u < s.size; u += THREADS) {
        size_t i = (size_t)blockIdx.x * s.pitch + u;
        for (int c = 1; c < s.copies; c++) grid[i] = plus(grid[i], grid[c * cells + i]);
    }
}

/* Allocates device memory. If host_data is not NULL, copies that many bytes from
 * there. */
static void *device_copy(size_t bytes, const void *host_data)
{
    void *p;
    CUDA_CHECK(cudaMalloc(&p, bytes));
    if (host_data) CUDA_CHECK(cudaMemcpy(p, host_data, bytes, cudaMemcpyHostToDevice));
    return p;
}

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();

    cplx *table = make_table(p);
    cplx *value = make_values(p);
    cuda_device();
    int device, units;
    size_t free_bytes, total_bytes;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device));
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    size_t table_size = table_length(p) * sizeof *table;
    const shape s = make_shape(p, units, (double)free_bytes - (double)table_size);
    t->copies = s.copies;

    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    cplx *d_grid = (cplx *)device_copy(s.copies * grid_size, NULL);
    cudaEvent_t start_event, end_event;
    CUDA_CHECK(cudaEventCreate(&start_event));
    CUDA_CHECK(cudaEventCreate(&end_event));

    double run_start = seconds();

    cplx *d_table = (cplx *)device_copy(table_size, table);
    footprint *d_footprints =
        (footprint *)device_copy(s.visibilities * sizeof *p->footprints, p->footprints);
    cplx *d_value = (cplx *)device_copy(s.visibilities * sizeof *value, value);
    CUDA_CHECK(cudaMemset(d_grid, 0, s.copies * grid_size));
    dim3 copies = {(unsigned)s.copies, 1, 1}, one = {1, 1, 1};
    dim3 rows = {(unsigned)s.size, 1, 1}, threads = {THREADS, 1, 1};
    CUDA_CHECK(cudaEventRecord(start_event, 0));
    CUDA_LAUNCH(grid_copies, copies, one, 0, s, d_table, d_footprints, d_value, d_grid);
    CUDA_CHECK(cudaGetLastError());
    CUDA_LAUNCH(add_copies, rows, threads, 0, s, d_grid);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(end_event, 0));
    CUDA_CHECK(cudaMemcpy(result, d_grid, grid_size, cudaMemcpyDeviceToHost));

    double end = seconds();
    t->init = run_start - start;
    t->run = end - run_start;
    t->kernel = cuda_seconds(start_event, end_event);

    cudaEventDestroy(end_event);
    cudaEventDestroy(start_event);
    cudaFree(d_value);
    cudaFree(d_footprints);
    cudaFree(d_table);
    cudaFree(d_grid);
    free(value);
    free(table);
    return 0;
}
