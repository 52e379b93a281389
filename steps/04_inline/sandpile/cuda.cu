/* cuda.cu - host and device code in CUDA C: one thread per cell, in columns
 * and rows.
 *
 * The CUDA runtime creates what OpenCL calls context, queue, program and kernel at its
 * first call; the compiler has already built the kernel.
 */
#include <stdlib.h>

#include "cuda_device.h"
#include "host.h"

typedef struct {
    cell *in, *out, *flags; /* [dim][dim], [POLL_STEPS]: memory of the device */
    dim3 block, blocks;     /* threads per block; number of blocks */
    cudaEvent_t begin, end; /* of the steps since the last poll */
} device_state;

/* Sets *flag to 1 if the condition holds for any thread of the block, with at most one
 * atomic operation per block. All threads must call it, including those outside the
 * grid, because it contains a barrier. */
FN void set_flag_if_any(int condition, cell *flag)
{
    int any = __syncthreads_or(condition);
    if (any && threadIdx.x == 0 && threadIdx.y == 0) atomicOr(flag, 1);
}

/* Computes one step. *flag becomes 1 if a new cell is unstable. */
__global__ void do_step(const cell *__restrict__ in, cell *out, cell *flag, int dim)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int id = y * dim + x;

    cell v = 0;
    if (y > 0 && y < dim - 1 && x > 0 && x < dim - 1) {
        v = next_grains(in + id, dim);
        out[id] = v;
    }
    set_flag_if_any(v > 3, flag);
}

/* Enqueues one step, from d->in into d->out, and swaps the two. The step sets
 * d->flags[slot]. */
static void launch_step(device_state *d, int slot, int dim)
{
    CUDA_LAUNCH(do_step, d->blocks, d->block, 0, d->in, d->out, d->flags + slot, dim);
    CUDA_CHECK(cudaGetLastError());
    cell *swap = d->in;
    d->in = d->out;
    d->out = swap;
}

static device_state device_begin(const pile *p, const run_plan *plan)
{
    device_state d;
    size_t size = pile_cells(p) * sizeof(cell);

    cuda_device();
    CUDA_CHECK(cudaMalloc((void **)&d.in, size));
    CUDA_CHECK(cudaMalloc((void **)&d.out, size));
    CUDA_CHECK(cudaMalloc((void **)&d.flags, POLL_STEPS * sizeof(cell)));
    CUDA_CHECK(cudaEventCreate(&d.begin));
    CUDA_CHECK(cudaEventCreate(&d.end));

    d.block.x = plan->group[0] ? plan->group[0] : 16;
    d.block.y = plan->group[1] ? plan->group[1] : 4;
    d.blocks.x = (p->dim + d.block.x - 1) / d.block.x;
    d.blocks.y = (p->dim + d.block.y - 1) / d.block.y;
    d.block.z = d.blocks.z = 1;
    return d;
}

static void device_end(device_state *d)
{
    cudaEventDestroy(d->end);
    cudaEventDestroy(d->begin);
    cudaFree(d->flags);
    cudaFree(d->out);
    cudaFree(d->in);
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    reject_cpu_options(plan);
    size_t size = pile_cells(p) * sizeof(cell);
    cell *staging = sentinel_grid(p);
    device_state d = device_begin(p, plan);

    double ready = seconds();
    t->kernel = 0;

    CUDA_CHECK(cudaMemcpy(d.in, p->grid, size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d.out, staging, size, cudaMemcpyHostToDevice));
    int n = 0;
    bool stable = pile_or(p->grid, p->dim) <= 3;
    while (!stable && n < plan->max_iterations) {
        int steps = steps_until_poll(plan, n);
        cell flags[POLL_STEPS];
        CUDA_CHECK(cudaMemset(d.flags, 0, sizeof flags));
        CUDA_CHECK(cudaEventRecord(d.begin, 0));
        for (int s = 0; s < steps; s++) launch_step(&d, s, p->dim);
        CUDA_CHECK(cudaEventRecord(d.end, 0));
        CUDA_CHECK(cudaMemcpy(flags, d.flags, sizeof flags, cudaMemcpyDeviceToHost));
        t->kernel += cuda_seconds(d.begin, d.end);
        n += steps_to_stable(flags, steps, &stable);
    }
    CUDA_CHECK(cudaMemcpy(p->grid, d.in, size, cudaMemcpyDeviceToHost));
    *p->iterations = n;

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    device_end(&d);
    free(staging);
    return 0;
}
