/* cuda.cu - the same toppling in CUDA C, both sides: one thread a cell of
 * a grid of the batch, or four of them once they fit in a word.
 *
 * What OpenCL names context, queue, program and kernel is implicit here: the compiler
 * has built the kernel, and the runtime makes the rest at its first call.
 */
#include <stdlib.h>

#include "cuda_device.h"
#include "host.h"

/* Ors v of all threads of a block that are in the same grid, and that into *bits: one
 * atomic for a block and grid. A barrier is crossed by all threads, those beyond the
 * range too. */
FN void collect(cell v, cell *room, cell *bits, int wanted)
{
    int items = blockDim.x * blockDim.y;
    int item = threadIdx.x + blockDim.x * threadIdx.y;
    cell *mine = room + items * threadIdx.z;

    mine[item] = v;
    __syncthreads();
    if (item == 0 && wanted) {
        for (int n = 1; n < items; n++) v |= mine[n];
        atomicOr(bits, v);
    }
}

__global__ void do_step(const cell *in, cell *out, cell *bits, int dim, int batch)
{
    CUDA_SHARED(cell, room); /* [threads of the block] */
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int g = blockIdx.z * blockDim.z + threadIdx.z;
    size_t id = ((size_t)g * dim + y) * dim + x;

    cell v = 0;
    if (y > 0 && y < dim - 1 && x > 0 && x < dim - 1 && g < batch) {
        v = after(in + id, dim);
        out[id] = v;
    }
    collect(v, room, bits + g, g < batch);
}

/* The same for four cells a word and thread, each a byte. */
__global__ void do_step4(const cell *in, cell *out, cell *bits, int dim, int batch)
{
    CUDA_SHARED(cell, room);
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int g = blockIdx.z * blockDim.z + threadIdx.z;
    int words = (dim + 3) / 4;
    size_t id = ((size_t)g * dim + y) * words + x;

    cell v = 0;
    if (y > 0 && y < dim - 1 && x < words && g < batch) {
        cell left = x > 0 ? in[id - 1] : 0;
        cell right = x < words - 1 ? in[id + 1] : 0;
        v = after4(in[id], left, right, in[id - words], in[id + words]);
        v &= within(x, dim);
        out[id] = v;
    }
    v |= v >> 16;
    v = (v | v >> 8) & 255;
    collect(v, room, bits + g, g < batch);
}

int topple(pile *p, const plan *how, run_times *t)
{
    double start = seconds();

    for_devices(how);
    int dim = p->dim;
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    size_t size4 = (size_t)batch * dim * words_of(dim) * sizeof(cell);
    cell *blank = blank_grids(p);
    cell *bits = (cell *)allocate(LOOK * batch, sizeof *bits, "the bits of each step");

    cuda_device();

    cell *d_in, *d_out, *d_bits;
    CUDA_CHECK(cudaMalloc((void **)&d_in, size));
    CUDA_CHECK(cudaMalloc((void **)&d_out, size));
    CUDA_CHECK(cudaMalloc((void **)&d_bits, LOOK * batch * sizeof *bits));
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
    size_t shared = local[0] * local[1] * local[2] * sizeof(cell);

    double ready = seconds();
    t->kernel = 0;

    CUDA_CHECK(cudaMemcpy(d_in, p->grid, size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_out, blank, size, cudaMemcpyHostToDevice));

    int n = 0;
    for (int g = 0; g < batch; g++) bits[g] = pile_bits(p->grid + g * cells, dim);
    cell all = note(p, how, bits, n);
    bool bytes = false;
    while (all > 3 && n < how->max_iterations) {
        /* Once all cells fit, four share a word, in the same memory. */
        if (all <= 255 && !bytes) {
            CUDA_CHECK(cudaMemcpy(p->grid, d_in, size, cudaMemcpyDeviceToHost));
            bytes = true;
            pack_words(p, blank);
            CUDA_CHECK(cudaMemcpy(d_in, blank, size4, cudaMemcpyHostToDevice));
            blank_words(p, blank);
            CUDA_CHECK(cudaMemcpy(d_out, blank, size4, cudaMemcpyHostToDevice));
            blocks.x = (words_of(dim) + local[0] - 1) / local[0];
        }
        int steps = how->max_iterations - n < LOOK ? how->max_iterations - n : LOOK;
        size_t found = steps * batch * sizeof *bits;
        CUDA_CHECK(cudaMemset(d_bits, 0, found));
        CUDA_CHECK(cudaEventRecord(before, 0));
        for (int s = 0; s < steps; s++) {
            if (bytes)
                CUDA_LAUNCH(do_step4, blocks, block, shared, d_in, d_out,
                            d_bits + s * batch, dim, batch);
            else
                CUDA_LAUNCH(do_step, blocks, block, shared, d_in, d_out,
                            d_bits + s * batch, dim, batch);
            CUDA_CHECK(cudaGetLastError());
            cell *other = d_in;
            d_in = d_out;
            d_out = other;
        }
        CUDA_CHECK(cudaEventRecord(done, 0));
        CUDA_CHECK(cudaMemcpy(bits, d_bits, found, cudaMemcpyDeviceToHost));
        t->kernel += cuda_seconds(before, done);
        for (int s = 0; s < steps; s++) all = note(p, how, bits + s * batch, ++n);
    }
    CUDA_CHECK(cudaMemcpy(bytes ? blank : p->grid, d_in, bytes ? size4 : size,
                          cudaMemcpyDeviceToHost));
    if (bytes) unpack_words(p, blank);

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    cudaEventDestroy(done);
    cudaEventDestroy(before);
    cudaFree(d_bits);
    cudaFree(d_out);
    cudaFree(d_in);
    free(bits);
    free(blank);
    return 0;
}
