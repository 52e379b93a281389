/* cuda.cu - host and device code in CUDA C: one thread per cell.
 *
 * The CUDA runtime creates what OpenCL calls context, queue, program and kernel at its
 * first call; the compiler has already built the kernel.
 */
#include <stdlib.h>

#include "cuda_device.h"
#include "host.h"

typedef struct {
    cell *in, *out, *unstable; /* [dim][dim], memory of the device */
    dim3 block, blocks;        /* threads per block; number of blocks */
    cudaEvent_t begin, end;    /* of the last launch */
} device_state;

__global__ void do_step(const cell *__restrict__ in, cell *out, cell *unstable, int dim)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    int y = id / dim;
    int x = id % dim;

    if (y >= dim) return;

    cell v = 0;
    if (y > 0 && y < dim - 1 && x > 0 && x < dim - 1) {
        v = next_grains(in + id, dim);
        out[id] = v;
    }
    unstable[id] = v & ~3u;
}

/* Enqueues one step, from d->in into d->out, and swaps the two. */
static void launch_step(device_state *d, int dim)
{
    CUDA_CHECK(cudaEventRecord(d->begin, 0));
    CUDA_LAUNCH(do_step, d->blocks, d->block, 0, d->in, d->out, d->unstable, dim);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(d->end, 0));
    cell *swap = d->in;
    d->in = d->out;
    d->out = swap;
}

static device_state device_begin(const pile *p, const run_plan *plan)
{
    device_state d;
    size_t cells = pile_cells(p), size = cells * sizeof(cell);

    cuda_device();
    CUDA_CHECK(cudaMalloc((void **)&d.in, size));
    CUDA_CHECK(cudaMalloc((void **)&d.out, size));
    CUDA_CHECK(cudaMalloc((void **)&d.unstable, size));
    CUDA_CHECK(cudaEventCreate(&d.begin));
    CUDA_CHECK(cudaEventCreate(&d.end));

    d.block.x = plan->group[0] ? plan->group[0] : 64;
    d.blocks.x = (unsigned)((cells + d.block.x - 1) / d.block.x);
    d.block.y = d.block.z = d.blocks.y = d.blocks.z = 1;
    return d;
}

static void device_end(device_state *d)
{
    cudaEventDestroy(d->end);
    cudaEventDestroy(d->begin);
    cudaFree(d->unstable);
    cudaFree(d->out);
    cudaFree(d->in);
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    reject_cpu_options(plan);
    size_t size = pile_cells(p) * sizeof(cell);
    cell *staging = sentinel_grid(p);
    cell *unstable = (cell *)allocate(pile_cells(p), sizeof *unstable, "the flags");
    device_state d = device_begin(p, plan);

    double ready = seconds();
    t->kernel = 0;

    CUDA_CHECK(cudaMemcpy(d.in, p->grid, size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d.out, staging, size, cudaMemcpyHostToDevice));
    int n = 0;
    cell or_values = pile_or(p->grid, p->dim);
    while (n < plan->max_iterations && or_values > 3) {
        launch_step(&d, p->dim);
        CUDA_CHECK(cudaMemcpy(unstable, d.unstable, size, cudaMemcpyDeviceToHost));
        or_values = pile_or(unstable, p->dim);
        t->kernel += cuda_seconds(d.begin, d.end);
        n++;
    }
    CUDA_CHECK(cudaMemcpy(p->grid, d.in, size, cudaMemcpyDeviceToHost));
    *p->iterations = n;

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    device_end(&d);
    free(unstable);
    free(staging);
    return 0;
}
