/* cuda.cu - host and device side in CUDA C: one thread per column of a band.
 *
 * CUDA has no counterpart to OpenCL's context, queue and program in the source: nvcc
 * compiles the kernels, and the runtime creates a context and a default stream at its
 * first call.
 */
#include <stdlib.h>

#include "cuda_sort.h"
#define COLUMNS          32 /* of a block; one thread each */
#define COLUMNS_PER_ITEM 1
#include "host.h"

#define SORT_THREADS 256 /* per block, in the kernels of the sort */

/* The device sorts the visibilities itself: it computes the bin of each, sorts the
 * bins together with the indices of the visibilities, and reads both in that order. */

KERNEL void find_bins(shape s, const footprint *__restrict__ footprints, unsigned *bin,
                      unsigned *index)
{
    int k = blockIdx.x * SORT_THREADS + threadIdx.x;
    if (k >= s.visibilities) return;
    bin[k] = bin_of(&s, ROWS, COLUMNS, &footprints[k]);
    index[k] = k;
}

/* Stores the first visibility of each of `count` bins, and their number at the end: a
 * binary search in the sorted bins for each. */
KERNEL void find_first(int visibilities, const unsigned *__restrict__ bin, int count,
                       int *first)
{
    unsigned b = blockIdx.x * SORT_THREADS + threadIdx.x;
    int from = 0, to = visibilities;
    if (b > (unsigned)count) return;
    while (from < to) {
        int middle = from + (to - from) / 2;
        if (bin[middle] < b)
            from = middle + 1;
        else
            to = middle;
    }
    first[b] = from;
}

KERNEL void make_visibilities(shape s, const unsigned *__restrict__ index,
                              const footprint *__restrict__ footprints,
                              const double *__restrict__ value,
                              sorted_visibility *visibilities)
{
    int i = blockIdx.x * SORT_THREADS + threadIdx.x;
    if (i < s.visibilities)
        visibilities[i] = make_visibility(&s, PAD, &footprints[index[i]],
                                          value + (size_t)2 * index[i]);
}

/* `const .. __restrict__` promises that no thread writes this memory while the kernel
 * runs. The compiler may then load early, and through the read-only cache. */
KERNEL void grid_blocks(shape s, const real *__restrict__ taps,
                        const int *__restrict__ first,
                        const sorted_visibility *__restrict__ visibilities, cplx *grid)
{
    grid_block(&s, taps, first, visibilities, blockIdx.y,
               blockIdx.x * COLUMNS + threadIdx.x, grid);
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

/* The arrays of the sort on the device. */
typedef struct {
    binning bins;
    footprint *footprints;
    double *value;
    device_pairs pairs; /* bins, and indices of visibilities */
    int *first;
    sorted_visibility *visibilities;
    cudaEvent_t begin, end;
} device_sort;

static dim3 sort_blocks(size_t threads)
{
    dim3 blocks = {(unsigned)((threads + SORT_THREADS - 1) / SORT_THREADS), 1, 1};
    return blocks;
}

/* Allocates the arrays, and page-locks what will be copied. */
static device_sort allocate_sort(const problem *p)
{
    size_t n = p->dims.visibilities;
    device_sort d;
    d.bins = make_bins(p, ROWS, COLUMNS);
    cuda_pin((void *)p->footprints, n * sizeof *d.footprints);
    cuda_pin((void *)p->value, 2 * n * sizeof *d.value);
    d.footprints = (footprint *)device_copy(n * sizeof *d.footprints, NULL);
    d.value = (double *)device_copy(2 * n * sizeof *d.value, NULL);
    d.first = (int *)device_copy((d.bins.count + 1) * sizeof *d.first, NULL);
    d.visibilities = (sorted_visibility *)device_copy(n * sizeof *d.visibilities, NULL);
    for (int i = 0; i < 2; i++) {
        d.pairs.keys[i] = (unsigned *)device_copy(n * sizeof(unsigned), NULL);
        d.pairs.values[i] = (unsigned *)device_copy(n * sizeof(unsigned), NULL);
    }
    d.pairs.n = p->dims.visibilities;
    for (d.pairs.bits = 1; d.bins.count >> d.pairs.bits;) d.pairs.bits++;
    d.pairs.workspace = NULL;
    sort_pairs(&d.pairs);
    d.pairs.workspace = device_copy(d.pairs.workspace_bytes, NULL);
    CUDA_CHECK(cudaEventCreate(&d.begin));
    CUDA_CHECK(cudaEventCreate(&d.end));
    return d;
}

/* Enqueues the sort: pairs.values[1] becomes the order of the visibilities, which sets
 * `first` and the sorted visibilities. */
static void start_sort(const problem *p, device_sort *d)
{
    const dim3 threads = {SORT_THREADS, 1, 1};
    size_t n = p->dims.visibilities;
    CUDA_CHECK(cudaEventRecord(d->begin, 0));
    CUDA_CHECK(cudaMemcpyAsync(d->footprints, p->footprints, n * sizeof *d->footprints,
                               cudaMemcpyHostToDevice, 0));
    CUDA_CHECK(cudaMemcpyAsync(d->value, p->value, 2 * n * sizeof *d->value,
                               cudaMemcpyHostToDevice, 0));
    CUDA_LAUNCH(find_bins, sort_blocks(n), threads, 0, p->dims, d->footprints,
                d->pairs.keys[0], d->pairs.values[0]);
    sort_pairs(&d->pairs);
    CUDA_LAUNCH(find_first, sort_blocks(d->bins.count + 1), threads, 0, d->pairs.n,
                d->pairs.keys[1], (int)d->bins.count, d->first);
    CUDA_LAUNCH(make_visibilities, sort_blocks(n), threads, 0, p->dims,
                d->pairs.values[1], d->footprints, d->value, d->visibilities);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(d->end, 0));
}

static void free_sort(const problem *p, device_sort *d)
{
    cudaEventDestroy(d->end);
    cudaEventDestroy(d->begin);
    cudaFree(d->pairs.workspace);
    for (int i = 0; i < 2; i++) {
        cudaFree(d->pairs.values[i]);
        cudaFree(d->pairs.keys[i]);
    }
    cudaFree(d->visibilities);
    cudaFree(d->first);
    cudaFree(d->value);
    cudaFree(d->footprints);
    cuda_unpin((void *)p->value);
    cuda_unpin((void *)p->footprints);
    free_binning(&d->bins);
}

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();
    const shape s = p->dims;

    real *table = make_table(p, ROWS, COLUMNS);
    cuda_device();
    device_sort sort = allocate_sort(p);
    t->copies = 1;
    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    cuda_pin(result, grid_size);
    cplx *d_grid = (cplx *)device_copy(grid_size, result); /* NaN fill */
    cudaEvent_t start_event, end_event;
    CUDA_CHECK(cudaEventCreate(&start_event));
    CUDA_CHECK(cudaEventCreate(&end_event));

    double run_start = seconds();

    start_sort(p, &sort);
    real *d_table =
        (real *)device_copy(table_length(p, ROWS, COLUMNS) * sizeof *table, table);
    dim3 blocks = {(unsigned)((s.size + COLUMNS - 1) / COLUMNS),
                   (unsigned)sort.bins.bands, 1};
    dim3 threads = {COLUMNS, 1, 1};
    CUDA_CHECK(cudaEventRecord(start_event, 0));
    CUDA_LAUNCH(grid_blocks, blocks, threads, 0, s, d_table, sort.first,
                sort.visibilities, d_grid);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(end_event, 0));
    CUDA_CHECK(cudaMemcpy(result, d_grid, grid_size, cudaMemcpyDeviceToHost));

    double end = seconds();
    t->init = run_start - start;
    t->sort = cuda_seconds(sort.begin, sort.end);
    t->run = end - run_start;
    t->kernel = cuda_seconds(start_event, end_event);

    cudaEventDestroy(end_event);
    cudaEventDestroy(start_event);
    cudaFree(d_table);
    cudaFree(d_grid);
    cuda_unpin(result);
    free_sort(p, &sort);
    free(table);
    return 0;
}
