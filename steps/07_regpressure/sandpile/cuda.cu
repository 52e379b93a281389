/* cuda.cu - the same toppling in CUDA C, both sides: one thread a cell of
 * a grid of the batch, or four of them once they fit in a word.
 *
 * What OpenCL names context, queue, program and kernel is implicit here: the compiler
 * has built the kernel, and the runtime makes the rest at its first call.
 */
#include <stdlib.h>

#include "cuda_device.h"
#include "host.h"

/* Known to the compiler in OpenCL, which builds at run time; here it lies in constant
 * memory, where all threads read it at once. */
__constant__ shape c_shape;
#define DIM   c_shape.dim
#define WORDS c_shape.words
#define LAST  c_shape.last

/* Sets a bit of *bits if any thread of the block has found what it stands for: one
 * atomic a block at most. All threads come here, those beyond the range too. */
FN void collect(int found, cell bit, cell *bits)
{
    int any = __syncthreads_or(found);
    if (any && threadIdx.x == 0 && threadIdx.y == 0) atomicOr(bits, bit);
}

__global__ void do_step(const cell *__restrict__ in, cell *out, cell *bits)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int g = blockIdx.z;
    size_t id = ((size_t)g * DIM + y) * DIM + x;

    cell v = 0;
    if (y > 0 && y < DIM - 1 && x > 0 && x < DIM - 1) {
        v = after(in + id, DIM);
        out[id] = v;
    }
    collect(v > 3, 4, bits + g);
    collect(v > 255, 256, bits + g);
}

/* The same for four cells a word, each a byte, and RUN rows a thread. */
__global__ void do_step4(const cell *__restrict__ in, cell *out, cell *bits)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = (blockIdx.y * blockDim.y + threadIdx.y) * RUN + 1;
    int g = blockIdx.z;
    int rows = DIM - 1 - y < RUN ? DIM - 1 - y : RUN;
    int pitch = WORDS + 2;
    size_t id = ((size_t)g * DIM + y) * pitch + x + 1;

    cell v = 0;
    if (x < WORDS && rows > 0) {
        cell mask = x == WORDS - 1 ? LAST : 0xffffffff;
        v = walk(in + id, out + id, rows, pitch, mask);
    }
    collect((v & 0xfcfcfcfc) != 0, 4, bits + g);
}

int topple(pile *p, const plan *how, run_times *t)
{
    double start = seconds();

    for_devices(how);
    int dim = p->dim;
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    size_t size4 = words_of(p) * sizeof(cell);
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
        if (i == 2) local[i] = 1; /* a block collects for one grid */
        groups[i] = (size3[i] + local[i] - 1) / local[i];
    }
    dim3 block = {local[0], local[1], local[2]};
    dim3 blocks = {groups[0], groups[1], groups[2]};

    shape of = shape_of(dim);
    CUDA_CHECK(cudaMemcpyToSymbol(c_shape, &of, sizeof of));

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
            blocks.x = (of.words + local[0] - 1) / local[0];
            int runs = (dim - 2 + RUN - 1) / RUN;
            blocks.y = (runs + local[1] - 1) / local[1];
        }
        int steps = how->max_iterations - n < LOOK ? how->max_iterations - n : LOOK;
        size_t found = steps * batch * sizeof *bits;
        CUDA_CHECK(cudaMemset(d_bits, 0, found));
        CUDA_CHECK(cudaEventRecord(before, 0));
        for (int s = 0; s < steps; s++) {
            if (bytes)
                CUDA_LAUNCH(do_step4, blocks, block, 0, d_in, d_out,
                            d_bits + s * batch);
            else
                CUDA_LAUNCH(do_step, blocks, block, 0, d_in, d_out, d_bits + s * batch);
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
