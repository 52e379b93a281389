/* cuda.cu - host and device code in CUDA C: one thread per cell.
 *
 * The CUDA runtime creates what OpenCL calls context, queue, program and kernel at its
 * first call; the compiler has already built the kernel.
 */
#include <stdlib.h>

#include "cuda_device.h"
#include "host.h"

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

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    reject_cpu_options(plan);
    int dim = p->dim;
    size_t cells = pile_cells(p), size = cells * sizeof(cell);
    cell *staging = sentinel_grid(p);
    cell *unstable = (cell *)allocate(cells, sizeof *unstable, "the flags");

    cuda_device();

    cell *d_in, *d_out, *d_unstable;
    CUDA_CHECK(cudaMalloc((void **)&d_in, size));
    CUDA_CHECK(cudaMalloc((void **)&d_out, size));
    CUDA_CHECK(cudaMalloc((void **)&d_unstable, size));
    cudaEvent_t start_event, end_event;
    CUDA_CHECK(cudaEventCreate(&start_event));
    CUDA_CHECK(cudaEventCreate(&end_event));

    unsigned local = plan->group[0] ? plan->group[0] : 64;
    dim3 block = {local, 1, 1};
    dim3 blocks = {(unsigned)((cells + local - 1) / local), 1, 1};

    double ready = seconds();
    t->kernel = 0;

    for (int g = 0; g < p->batch; g++) {
        cell *grid = p->grid + g * cells;
        CUDA_CHECK(cudaMemcpy(d_in, grid, size, cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(d_out, staging, size, cudaMemcpyHostToDevice));

        int n = 0;
        cell flags = pile_or(grid, dim);
        while (n < plan->max_iterations && flags > 3) {
            CUDA_CHECK(cudaEventRecord(start_event, 0));
            CUDA_LAUNCH(do_step, blocks, block, 0, d_in, d_out, d_unstable, dim);
            CUDA_CHECK(cudaGetLastError());
            CUDA_CHECK(cudaEventRecord(end_event, 0));

            CUDA_CHECK(cudaMemcpy(unstable, d_unstable, size, cudaMemcpyDeviceToHost));
            flags = pile_or(unstable, dim);
            t->kernel += cuda_seconds(start_event, end_event);

            cell *swap = d_in;
            d_in = d_out;
            d_out = swap;
            n++;
        }
        CUDA_CHECK(cudaMemcpy(grid, d_in, size, cudaMemcpyDeviceToHost));
        p->iterations[g] = n;
    }

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    cudaEventDestroy(end_event);
    cudaEventDestroy(start_event);
    cudaFree(d_unstable);
    cudaFree(d_out);
    cudaFree(d_in);
    free(unstable);
    free(staging);
    return 0;
}
