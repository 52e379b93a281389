/* cuda.cu - the same toppling in CUDA C, both sides: one thread a cell.
 *
 * What OpenCL names context, queue, program and kernel is implicit here: the compiler
 * has built the kernel, and the runtime makes the rest at its first call.
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
        v = after(in + id, dim);
        out[id] = v;
    }
    unstable[id] = v & ~3u;
}

int topple(pile *p, const plan *how, run_times *t)
{
    double start = seconds();

    for_devices(how);
    int dim = p->dim;
    size_t cells = pile_cells(p), size = cells * sizeof(cell);
    cell *blank = blank_grid(p);
    cell *unstable = (cell *)allocate(cells, sizeof *unstable, "the flags");

    cuda_device();

    cell *d_in, *d_out, *d_unstable;
    CUDA_CHECK(cudaMalloc((void **)&d_in, size));
    CUDA_CHECK(cudaMalloc((void **)&d_out, size));
    CUDA_CHECK(cudaMalloc((void **)&d_unstable, size));
    cudaEvent_t before, done;
    CUDA_CHECK(cudaEventCreate(&before));
    CUDA_CHECK(cudaEventCreate(&done));

    unsigned local = how->group[0] ? how->group[0] : 64;
    dim3 block = {local, 1, 1};
    dim3 blocks = {(unsigned)((cells + local - 1) / local), 1, 1};

    double ready = seconds();
    t->kernel = 0;

    for (int g = 0; g < p->batch; g++) {
        cell *grid = p->grid + g * cells;
        CUDA_CHECK(cudaMemcpy(d_in, grid, size, cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(d_out, blank, size, cudaMemcpyHostToDevice));

        int n = 0;
        cell bits = pile_bits(grid, dim);
        while (n < how->max_iterations && bits > 3) {
            CUDA_CHECK(cudaEventRecord(before, 0));
            CUDA_LAUNCH(do_step, blocks, block, 0, d_in, d_out, d_unstable, dim);
            CUDA_CHECK(cudaGetLastError());
            CUDA_CHECK(cudaEventRecord(done, 0));

            CUDA_CHECK(cudaMemcpy(unstable, d_unstable, size, cudaMemcpyDeviceToHost));
            bits = pile_bits(unstable, dim);
            t->kernel += cuda_seconds(before, done);

            cell *other = d_in;
            d_in = d_out;
            d_out = other;
            n++;
        }
        CUDA_CHECK(cudaMemcpy(grid, d_in, size, cudaMemcpyDeviceToHost));
        p->iterations[g] = n;
    }

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    cudaEventDestroy(done);
    cudaEventDestroy(before);
    cudaFree(d_unstable);
    cudaFree(d_out);
    cudaFree(d_in);
    free(unstable);
    free(blank);
    return 0;
}
