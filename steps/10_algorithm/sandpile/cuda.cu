/* cuda.cu - the same toppling in CUDA C, both sides: one thread a cell of
 * a grid of the batch, or four of them once they fit in a word.
 *
 * What OpenCL names context, queue, program and kernel is implicit here: the compiler
 * has built the kernel, and the runtime makes the rest at its first call.
 */
#include <stdlib.h>

#define LANES 1 /* the lanes of a GPU are its threads */
#define STEPS 8 /* and it wants many bands, which are narrow */
#include "cuda_device.h"
#include "host.h"

/* Rows of a block's band, without those that it borrows. */
enum { ROWS = 8 };

/* Known to the compiler in OpenCL, which builds at run time; here it lies in constant
 * memory, where all threads read it at once. */
__constant__ struct {
    int dim, side, width, mirror;
} c_shape;
#define DIM    c_shape.dim
#define SIDE   c_shape.side
#define WIDTH  c_shape.width
#define MIRROR c_shape.mirror

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

/* Steps n .. n + steps - 1 of grids in bits, from one array into another: a block takes
 * a band of ROWS rows into room, steps it there, and stores what is its own. Where no
 * band fits in shared memory, all blocks have room of their own, apart words each. */
__global__ void do_steps_bits(const cell *__restrict__ in, cell *out, cell *bits,
                              int batch, int n, int steps, cell *rooms, int apart)
{
    CUDA_SHARED(cell, shared);
    int x = threadIdx.x, across = blockDim.x;
    int y = threadIdx.y, down = blockDim.y;
    int g = blockIdx.z;
    int first = blockIdx.y * ROWS + 1;
    band b = band_at(SIDE, first, first + ROWS < SIDE - 1 ? first + ROWS : SIDE - 1);
    int pitch = pitch_of(WIDTH);
    const cell *from = in + (size_t)g * SIDE * pitch;
    cell *to = out + (size_t)g * SIDE * pitch;
    cell *room = shared;
    if (apart) room = rooms + (size_t)apart * (blockIdx.y + gridDim.y * g);

    for (int r = b.top + y; r < b.end; r += down)
        for (int w = x; w < pitch; w += across)
            room[(r - b.top) * pitch + w] = from[(size_t)r * pitch + w];
    __syncthreads();

    for (int s = 0; s < steps; s++) {
        /* Of the rows each thread has some that follow each other. */
        int begin = first_of(b, s), end = after_of(b, SIDE, s);
        int share = (end - begin + down - 1) / down;
        int mine = begin + y * share;
        int rows = mine + share < end ? share : end - mine;
        words fours = 0;
        for (int w = x; w < WIDTH; w += across) {
            cell *c = room + (mine - b.top) * pitch + w;
            if (rows > 0)
                fours |= walk(c, w, WIDTH, n + s, rows, from[w], from[WIDTH + w],
                              MIRROR, SIDE - 2 - mine);
        }
        collect(fours != 0, 4, bits + (size_t)s * batch + g); /* all meet here */
    }

    for (int r = b.first + y; r < b.after; r += down)
        for (int w = x; w < pitch; w += across)
            to[(size_t)r * pitch + w] = room[(r - b.top) * pitch + w];
}

int topple(pile *p, const plan *how, run_times *t)
{
    double start = seconds();

    for_devices(how);
    int dim = p->dim;
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    int mirror = mirror_of(p), side = side_of(dim, mirror), width = width_of(side);
    size_t size_bits = words_of(p, side) * sizeof(cell);
    cell *blank = blank_grids(p);
    cell *planes =
        (cell *)allocate(words_of(p, side), sizeof *planes, "the grids in bits");
    cell *bits = (cell *)allocate(LOOK * batch, sizeof *bits, "the bits of each step");

    cuda_device();

    size_t band_size = (ROWS + 2 * STEPS) * pitch_of(width) * sizeof(cell);
    int bands = (side - 2 + ROWS - 1) / ROWS;
    bool fits = band_size <= CUDA_SHARED_BYTES;
    int apart = fits ? 0 : band_size / sizeof(cell);

    cell *d_in, *d_out, *d_planes[2], *d_bits, *d_rooms = NULL;
    CUDA_CHECK(cudaMalloc((void **)&d_in, size));
    CUDA_CHECK(cudaMalloc((void **)&d_out, size));
    for (int i = 0; i < 2; i++)
        CUDA_CHECK(cudaMalloc((void **)&d_planes[i], size_bits));
    if (!fits) CUDA_CHECK(cudaMalloc((void **)&d_rooms, band_size * bands * batch));
    CUDA_CHECK(cudaMalloc((void **)&d_bits, LOOK * batch * sizeof *bits));
    cudaEvent_t before, done;
    CUDA_CHECK(cudaEventCreate(&before));
    CUDA_CHECK(cudaEventCreate(&done));

    /* A thread takes a cell first, and then a block a band. */
    dim3 block[2] = {{32, 1, 1}, {32, 8, 1}};
    for (int k = 0; k < 2; k++) {
        if (how->group[0]) block[k].x = how->group[0];
        if (how->group[1]) block[k].y = how->group[1];
    }
    dim3 blocks[2] = {{(dim + block[0].x - 1) / block[0].x,
                       (dim + block[0].y - 1) / block[0].y, (unsigned)batch},
                      {1, (unsigned)bands, (unsigned)batch}};

    int shape[4] = {dim, side, width, mirror};
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
            pack_bits(p, mirror, n, planes);
            for (int i = 0; i < 2; i++)
                CUDA_CHECK(
                    cudaMemcpy(d_planes[i], planes, size_bits, cudaMemcpyHostToDevice));
            narrow = true;
        }
        int steps = how->max_iterations - n < LOOK ? how->max_iterations - n : LOOK;
        size_t found = steps * batch * sizeof *bits;
        CUDA_CHECK(cudaMemset(d_bits, 0, found));
        CUDA_CHECK(cudaEventRecord(before, 0));
        for (int s = 0, made; s < steps; s += made) {
            cell *d_found = d_bits + (size_t)s * batch;
            cell **d_from = narrow ? &d_planes[0] : &d_in;
            cell **d_to = narrow ? &d_planes[1] : &d_out;
            made = !narrow ? 1 : steps - s < STEPS ? steps - s : STEPS;
            if (narrow)
                CUDA_LAUNCH(do_steps_bits, blocks[1], block[1], fits ? band_size : 0,
                            *d_from, *d_to, d_found, batch, n + s, made, d_rooms,
                            apart);
            else
                CUDA_LAUNCH(do_step, blocks[0], block[0], 0, *d_from, *d_to, d_found);
            CUDA_CHECK(cudaGetLastError());
            cell *other = *d_from;
            *d_from = *d_to;
            *d_to = other;
        }
        CUDA_CHECK(cudaEventRecord(done, 0));
        CUDA_CHECK(cudaMemcpy(bits, d_bits, found, cudaMemcpyDeviceToHost));
        t->kernel += cuda_seconds(before, done);
        for (int s = 0; s < steps; s++) all = note(p, how, bits + s * batch, ++n);
    }
    if (narrow) {
        CUDA_CHECK(cudaMemcpy(planes, d_planes[0], size_bits, cudaMemcpyDeviceToHost));
        unpack_bits(planes, mirror, n, p);
    } else if (n) {
        CUDA_CHECK(cudaMemcpy(p->grid, d_in, size, cudaMemcpyDeviceToHost));
    }

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    cudaEventDestroy(done);
    cudaEventDestroy(before);
    cudaFree(d_bits);
    cudaFree(d_rooms);
    cudaFree(d_planes[1]);
    cudaFree(d_planes[0]);
    cudaFree(d_out);
    cudaFree(d_in);
    free(bits);
    free(planes);
    free(blank);
    return 0;
}
