/* cuda.cu - host and device code in CUDA C: one thread per cell of each grid of the
 * batch.
 *
 * The CUDA runtime creates what OpenCL calls context, queue, program and kernel at its
 * first call; the compiler has already built the kernel.
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
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    cell *staging = sentinel_grids(p);
    cell *unstable = (cell *)allocate(cells * batch, sizeof *unstable, "the flags");
    cell *flags = (cell *)allocate(batch, sizeof *flags, "the flags of each grid");

    cuda_device();

    cell *d_in, *d_out, *d_unstable;
    CUDA_CHECK(cudaMalloc((void **)&d_in, size));
    CUDA_CHECK(cudaMalloc((void **)&d_out, size));
    CUDA_CHECK(cudaMalloc((void **)&d_unstable, size));
    cudaEvent_t start_event, end_event;
    CUDA_CHECK(cudaEventCreate(&start_event));
    CUDA_CHECK(cudaEventCreate(&end_event));

    unsigned local[3] = {16, 4, 1},
             range[3] = {(unsigned)dim, (unsigned)dim, (unsigned)batch}, groups[3];
    for (int i = 0; i < 3; i++) {
        if (plan->group[i]) local[i] = plan->group[i];
        groups[i] = (range[i] + local[i] - 1) / local[i];
    }
    dim3 block = {local[0], local[1], local[2]};
    dim3 blocks = {groups[0], groups[1], groups[2]};

    double ready = seconds();
    t->kernel = 0;

    CUDA_CHECK(cudaMemcpy(d_in, p->grid, size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_out, staging, size, cudaMemcpyHostToDevice));

    int n = 0;
    for (int g = 0; g < batch; g++) flags[g] = pile_or(p->grid + g * cells, dim);
    while (record_finished(p, plan, flags, n) > 3 && n < plan->max_iterations) {
        CUDA_CHECK(cudaEventRecord(start_event, 0));
        CUDA_LAUNCH(do_step, blocks, block, 0, d_in, d_out, d_unstable, dim, batch);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(end_event, 0));

        CUDA_CHECK(cudaMemcpy(unstable, d_unstable, size, cudaMemcpyDeviceToHost));
        for (int g = 0; g < batch; g++) flags[g] = pile_or(unstable + g * cells, dim);
        t->kernel += cuda_seconds(start_event, end_event);

        cell *swap = d_in;
        d_in = d_out;
        d_out = swap;
        n++;
    }
    CUDA_CHECK(cudaMemcpy(p->grid, d_in, size, cudaMemcpyDeviceToHost));

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    cudaEventDestroy(end_event);
    cudaEventDestroy(start_event);
    cudaFree(d_unstable);
    cudaFree(d_out);
    cudaFree(d_in);
    free(flags);
    free(unstable);
    free(staging);
    return 0;
}
