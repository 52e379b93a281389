/* cuda.cu - the same toppling in CUDA C, both sides: one thread a cell of
 * a grid of the batch, or four of them once they fit in a word.
 *
 * What OpenCL names context, queue, program and kernel is implicit here: the compiler
 * has built the kernel, and the runtime makes the rest at its first call.
 */
#include <stdlib.h>

#define LANES 1 /* the lanes of a GPU are its threads */
#include "cuda_device.h"
#include "host.h"

/* Rows that a thread takes, one below the other. */
enum { RUN = 4 };

/* Known to the compiler in OpenCL, which builds at run time; here it lies in constant
 * memory, where all threads read it at once. */
__constant__ struct {
    int dim, width;
} c_shape;
#define DIM   c_shape.dim
#define WIDTH c_shape.width

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
    collect(v > 7, 8, bits + g);
}

/* Step n of grids in bits: a word of RUN rows. */
__global__ void do_step_bits(cell *grids, int n, cell *bits)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    int y = (blockIdx.y * blockDim.y + threadIdx.y) * RUN + 1;
    int g = blockIdx.z;
    int rows = DIM - 1 - y < RUN ? DIM - 1 - y : RUN;
    cell *grid = grids + (size_t)g * DIM * pitch_of(WIDTH) + w;

    words fours = 0;
    if (w < WIDTH && rows > 0)
        fours = walk(grid + (size_t)y * pitch_of(WIDTH), w, WIDTH, n, rows, grid[0]);
    collect(fours != 0, 4, bits + g);
}

int topple(pile *p, const plan *how, run_times *t)
{
    double start = seconds();

    for_devices(how);
    int dim = p->dim;
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    int width = width_of(dim);
    size_t size_bits = words_of(p) * sizeof(cell);
    cell *blank = blank_grids(p);
    cell *planes = (cell *)allocate(words_of(p), sizeof *planes, "the grids in bits");
    cell *bits = (cell *)allocate(LOOK * batch, sizeof *bits, "the bits of each step");

    cuda_device();

    cell *d_in, *d_out, *d_planes, *d_bits;
    CUDA_CHECK(cudaMalloc((void **)&d_in, size));
    CUDA_CHECK(cudaMalloc((void **)&d_out, size));
    CUDA_CHECK(cudaMalloc((void **)&d_planes, size_bits));
    CUDA_CHECK(cudaMalloc((void **)&d_bits, LOOK * batch * sizeof *bits));
    cudaEvent_t before, done;
    CUDA_CHECK(cudaEventCreate(&before));
    CUDA_CHECK(cudaEventCreate(&done));

    /* A thread takes a cell first, and then a column of bits. */
    unsigned items[2][2] = {{(unsigned)dim, (unsigned)dim},
                            {(unsigned)width, (unsigned)(dim - 2 + RUN - 1) / RUN}};
    dim3 block = {32, 1, 1}, blocks[2];
    if (how->group[0]) block.x = how->group[0];
    if (how->group[1]) block.y = how->group[1];
    for (int k = 0; k < 2; k++) {
        blocks[k].x = (items[k][0] + block.x - 1) / block.x;
        blocks[k].y = (items[k][1] + block.y - 1) / block.y;
        blocks[k].z = batch;
    }

    int shape[2] = {dim, width};
    CUDA_CHECK(cudaMemcpyToSymbol(c_shape, shape, sizeof shape));

    double ready = seconds();
    t->kernel = 0;

    int n = 0;
    for (int g = 0; g < batch; g++) bits[g] = pile_bits(p->grid + g * cells, dim);
    cell all = note(p, how, bits, n);
    bool narrow = false;
    if (all > 7) {
        CUDA_CHECK(cudaMemcpy(d_in, p->grid, size, cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(d_out, blank, size, cudaMemcpyHostToDevice));
    }
    while (all > 3 && n < how->max_iterations) {
        /* Once three bits are enough for any cell, the grids are packed. */
        if (all <= 7 && !narrow) {
            if (n) CUDA_CHECK(cudaMemcpy(p->grid, d_in, size, cudaMemcpyDeviceToHost));
            pack_bits(p, n, planes);
            CUDA_CHECK(cudaMemcpy(d_planes, planes, size_bits, cudaMemcpyHostToDevice));
            narrow = true;
        }
        int steps = how->max_iterations - n < LOOK ? how->max_iterations - n : LOOK;
        size_t found = steps * batch * sizeof *bits;
        CUDA_CHECK(cudaMemset(d_bits, 0, found));
        CUDA_CHECK(cudaEventRecord(before, 0));
        for (int s = 0; s < steps; s++) {
            cell *d_found = d_bits + (size_t)s * batch;
            if (narrow) {
                CUDA_LAUNCH(do_step_bits, blocks[1], block, 0, d_planes, n + s,
                            d_found);
            } else {
                CUDA_LAUNCH(do_step, blocks[0], block, 0, d_in, d_out, d_found);
                cell *other = d_in;
                d_in = d_out;
                d_out = other;
            }
            CUDA_CHECK(cudaGetLastError());
        }
        CUDA_CHECK(cudaEventRecord(done, 0));
        CUDA_CHECK(cudaMemcpy(bits, d_bits, found, cudaMemcpyDeviceToHost));
        t->kernel += cuda_seconds(before, done);
        for (int s = 0; s < steps; s++) all = note(p, how, bits + s * batch, ++n);
    }
    if (narrow) {
        CUDA_CHECK(cudaMemcpy(planes, d_planes, size_bits, cudaMemcpyDeviceToHost));
        unpack_bits(planes, n, p);
    } else if (n) {
        CUDA_CHECK(cudaMemcpy(p->grid, d_in, size, cudaMemcpyDeviceToHost));
    }

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    cudaEventDestroy(done);
    cudaEventDestroy(before);
    cudaFree(d_bits);
    cudaFree(d_planes);
    cudaFree(d_out);
    cudaFree(d_in);
    free(bits);
    free(planes);
    free(blank);
    return 0;
}
