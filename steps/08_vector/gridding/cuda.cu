/* cuda.cu - host and device side in CUDA C: one thread per column of a band.
 *
 * CUDA has no counterpart to OpenCL's context, queue and program in the source: nvcc
 * compiles the kernels, and the runtime creates a context and a default stream at its
 * first call.
 */
#include <stdlib.h>

#include "cuda_device.h"
#define ROWS    6  /* of a block; their sums are in the registers of a thread */
#define COLUMNS 32 /* of a block; one thread each */
#define LANES   1
#include "host.h"

#define THREADS 32 /* per block, in kernels whose threads do not cooperate */

/* `const .. __restrict__` promises that no thread writes this memory while the kernel
 * runs. The compiler may then load early, and through the read-only cache. */
KERNEL void grid_blocks(shape s, const real *__restrict__ taps,
                        const int *__restrict__ first,
                        const sorted_visibility *__restrict__ visibilities, cplx *grid)
{
    grid_block(&s, taps, first, visibilities, blockIdx.y,
               blockIdx.x * COLUMNS + threadIdx.x, grid);
}

/* One thread per visibility, in the order of the bins, so that neighbouring threads
 * read the same cells. The threads only read common data, so they need no
 * synchronization. */
KERNEL void degrid(shape s, const real *__restrict__ taps,
                   const int *__restrict__ permutation,
                   const footprint *__restrict__ footprints,
                   const cplx *__restrict__ grid, cplx *value)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < s.visibilities)
        value[permutation[i]] =
            degrid_visibility(&s, taps, &footprints[permutation[i]], grid);
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
    const shape s = p->dims;

    real *table = make_table(p, ROWS, COLUMNS);
    binning bins = allocate_binning(p, ROWS, COLUMNS);
    cuda_device();
    t->copies = 1;
    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    cuda_pin(result, grid_size);
    cplx *d_grid = (cplx *)device_copy(grid_size, result); /* NaN fill */
    cudaEvent_t start_event, end_event;
    CUDA_CHECK(cudaEventCreate(&start_event));
    CUDA_CHECK(cudaEventCreate(&end_event));

    double run_start = seconds();

    bin_visibilities(p, &bins);
    real *d_table =
        (real *)device_copy(table_length(p, ROWS, COLUMNS) * sizeof *table, table);
    int *d_first =
        (int *)device_copy((bins.count + 1) * sizeof *bins.first, bins.first);
    sorted_visibility *d_visibilities = (sorted_visibility *)device_copy(
        s.visibilities * sizeof *bins.visibilities, bins.visibilities);
    dim3 blocks = {(unsigned)((s.size + COLUMNS - 1) / COLUMNS), (unsigned)bins.bands,
                   1};
    dim3 threads = {COLUMNS, 1, 1};
    CUDA_CHECK(cudaEventRecord(start_event, 0));
    CUDA_LAUNCH(grid_blocks, blocks, threads, 0, s, d_table, d_first, d_visibilities,
                d_grid);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(end_event, 0));
    CUDA_CHECK(cudaMemcpy(result, d_grid, grid_size, cudaMemcpyDeviceToHost));

    double end = seconds();
    t->init = run_start - start;
    t->sort = bins.seconds;
    t->run = end - run_start;
    t->kernel = cuda_seconds(start_event, end_event);

    cudaEventDestroy(end_event);
    cudaEventDestroy(start_event);
    cudaFree(d_visibilities);
    cudaFree(d_first);
    cudaFree(d_table);
    cudaFree(d_grid);
    cuda_unpin(result);
    free_binning(&bins);
    free(table);
    return 0;
}

int degridding(const problem *p, const void *model, void *result, run_times *t)
{
    double start = seconds();

    real *table = make_table(p, ROWS, COLUMNS);
    binning bins = allocate_binning(p, ROWS, COLUMNS);
    cuda_device();
    const shape s = p->dims;
    t->copies = 1;
    cudaEvent_t start_event, end_event;
    CUDA_CHECK(cudaEventCreate(&start_event));
    CUDA_CHECK(cudaEventCreate(&end_event));

    double run_start = seconds();

    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    size_t value_size = s.visibilities * sizeof(cplx);
    bin_visibilities(p, &bins);
    real *d_table =
        (real *)device_copy(table_length(p, ROWS, COLUMNS) * sizeof *table, table);
    int *d_permutation =
        (int *)device_copy(s.visibilities * sizeof *bins.permutation, bins.permutation);
    footprint *d_footprints =
        (footprint *)device_copy(s.visibilities * sizeof *p->footprints, p->footprints);
    cplx *d_grid = (cplx *)device_copy(grid_size, model);
    cplx *d_value = (cplx *)device_copy(value_size, result); /* NaN fill */
    dim3 blocks = {(unsigned)((s.visibilities + THREADS - 1) / THREADS), 1, 1};
    dim3 threads = {THREADS, 1, 1};
    CUDA_CHECK(cudaEventRecord(start_event, 0));
    CUDA_LAUNCH(degrid, blocks, threads, 0, s, d_table, d_permutation, d_footprints,
                d_grid, d_value);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(end_event, 0));
    CUDA_CHECK(cudaMemcpy(result, d_value, value_size, cudaMemcpyDeviceToHost));

    double end = seconds();
    t->init = run_start - start;
    t->sort = bins.seconds;
    t->run = end - run_start;
    t->kernel = cuda_seconds(start_event, end_event);

    cudaEventDestroy(end_event);
    cudaEventDestroy(start_event);
    cudaFree(d_value);
    cudaFree(d_grid);
    cudaFree(d_footprints);
    cudaFree(d_permutation);
    cudaFree(d_table);
    free_binning(&bins);
    free(table);
    return 0;
}
