/* cuda.cu - the same toppling in CUDA C, both sides: one thread a cell of
 * a grid of the batch.
 *
 * What OpenCL names context, queue, program and kernel is implicit here: the compiler
 * has built the kernel, and the runtime makes the rest at its first call.
 */
#include <stdlib.h>

#include "cuda_device.h"
#include "host.h"

__global__ void do_step(const cell *__restrict__ in, cell *out, cell *unstable, int dim,
                        int batch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int g = blockIdx.z * blockDim.z + threadIdx.z;
    size_t id = ((size_t)g * dim + y) * dim + x;

    if (x >= dim || y >= dim || g >= batch) return;

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
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    cell *blank = blank_grids(p);
    cell *unstable = (cell *)allocate(cells * batch, sizeof *unstable, "the flags");
    cell *bits = (cell *)allocate(batch, sizeof *bits, "the bits of each grid");

    cuda_device();

    cell *d_in, *d_out, *d_unstable;
    CUDA_CHECK(cudaMalloc((void **)&d_in, size));
    CUDA_CHECK(cudaMalloc((void **)&d_out, size));
    CUDA_CHECK(cudaMalloc((void **)&d_unstable, size));
    cudaEvent_t before, done;
    CUDA_CHECK(cudaEventCreate(&before));
    CUDA_CHECK(cudaEventCreate(&done));

    unsigned local[3] = {16, 4, 1},
             size3[3] = {(unsigned)dim, (unsigned)dim, (unsigned)batch}, groups[3];
    for (int i = 0; i < 3; i++) {
        if (how->group[i]) local[i] = how->group[i];
        groups[i] = (size3[i] + local[i] - 1) / local[i];
    }
    dim3 block = {local[0], local[1], local[2]};
    dim3 blocks = {groups[0], groups[1], groups[2]};

    double ready = seconds();
    t->kernel = 0;

    CUDA_CHECK(cudaMemcpy(d_in, p->grid, size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_out, blank, size, cudaMemcpyHostToDevice));

    int n = 0;
    for (int g = 0; g < batch; g++) bits[g] = pile_bits(p->grid + g * cells, dim);
    while (note(p, how, bits, n) > 3 && n < how->max_iterations) {
        CUDA_CHECK(cudaEventRecord(before, 0));
        CUDA_LAUNCH(do_step, blocks, block, 0, d_in, d_out, d_unstable, dim, batch);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(done, 0));

        CUDA_CHECK(cudaMemcpy(unstable, d_unstable, size, cudaMemcpyDeviceToHost));
        for (int g = 0; g < batch; g++) bits[g] = pile_bits(unstable + g * cells, dim);
        t->kernel += cuda_seconds(before, done);

        cell *other = d_in;
        d_in = d_out;
        d_out = other;
        n++;
    }
    CUDA_CHECK(cudaMemcpy(p->grid, d_in, size, cudaMemcpyDeviceToHost));

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    cudaEventDestroy(done);
    cudaEventDestroy(before);
    cudaFree(d_unstable);
    cudaFree(d_out);
    cudaFree(d_in);
    free(bits);
    free(unstable);
    free(blank);
    return 0;
}
