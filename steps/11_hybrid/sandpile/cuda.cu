/* cuda.cu - the device's side in CUDA C: one thread a cell of a grid of the batch, and
 * a block a band once 32 cells fit in three words.
 *
 * What OpenCL names a queue is the one stream in which everything is done in the order
 * in which it was asked for: so an epoch is rows to keep, launches, rows to give, what
 * they found, and nobody waits but for the last of these. A copy goes on beside the
 * host only from memory that the runtime has made (cudaMallocHost).
 *
 * Of grid `cut` only the rows before row `end` are stepped, and of those after it none.
 */
#include <stdlib.h>
#include <string.h>

#define LANES 1 /* the lanes of a GPU are its threads */
#include "cuda_device.h"
#include "share.h"
#include "sides.h"

/* Rows of a block's band, without those that it borrows, and steps of a launch at most:
 * a GPU wants many bands, which are narrow. */
enum { ROWS = 8, STEPS = 8 };

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

__global__ void do_step(const cell *__restrict__ in, cell *out, cell *bits, int cut,
                        int end)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int g = blockIdx.z;
    size_t id = ((size_t)g * DIM + y) * DIM + x;

    cell v = 0;
    if (y > 0 && y < (g < cut ? DIM - 1 : end) && x > 0 && x < DIM - 1) {
        v = after(in + id, DIM);
        out[id] = v;
    }
    collect(v > 3, 4, bits + g);
    collect(v > 7, 8, bits + g);
}

/* Steps n .. n + steps - 1 of grids in bits, from one array into another: a block takes
 * a band of ROWS rows or less into room, steps it there, and stores what is its own.
 * Where no band fits in shared memory, all blocks have room of their own, apart words
 * each. */
__global__ void do_steps_bits(const cell *__restrict__ in, cell *out, cell *bits,
                              int batch, int cut, int end, int n, int steps,
                              cell *rooms, int apart)
{
    CUDA_SHARED(cell, shared);
    int x = threadIdx.x, across = blockDim.x;
    int y = threadIdx.y, down = blockDim.y;
    int bands = (SIDE - 2 + ROWS - 1) / ROWS, id = blockIdx.x, g = id / bands;
    int rows = g < cut ? SIDE - 2 : end - 1; /* of the grid, in as even bands */
    int all = (rows + ROWS - 1) / ROWS, i = id % bands;
    band b = band_at(SIDE, 1 + rows * i / all, 1 + rows * (i + 1) / all, steps);
    int pitch = pitch_of(WIDTH);
    const cell *from = in + (size_t)g * SIDE * pitch;
    cell *to = out + (size_t)g * SIDE * pitch;
    cell *room = shared;
    if (apart) room = rooms + (size_t)apart * id;

    for (int r = b.top + y; r < b.end; r += down)
        for (int w = x; w < pitch; w += across)
            room[(r - b.top) * pitch + w] = from[(size_t)r * pitch + w];
    __syncthreads();

    for (int s = 0; s < steps; s++) {
        /* Of the rows each thread has some that follow each other. */
        int begin = first_of(b, s), last = after_of(b, SIDE, s);
        int share = (last - begin + down - 1) / down;
        int mine = begin + y * share;
        int many = mine + share < last ? share : last - mine;
        words fours = 0;
        for (int w = x; w < WIDTH; w += across) {
            cell *c = room + (mine - b.top) * pitch + w;
            if (many > 0)
                fours |= walk(c, w, WIDTH, n + s, many, from[w], from[WIDTH + w],
                              MIRROR, SIDE - 2 - mine);
        }
        collect(fours != 0, 4, bits + (size_t)s * batch + g); /* all meet here */
    }

    for (int r = b.first + y; r < b.after; r += down)
        for (int w = x; w < pitch; w += across)
            to[(size_t)r * pitch + w] = room[(r - b.top) * pitch + w];
}

/* What is under way for an epoch. */
typedef struct {
    cudaEvent_t before, after, done;
    int steps;
    cell *in, *out, *found; /* rows from the host and to it; what was found */
} epoch;

static struct {
    cell *rows[2]; /* before and after a launch */
    cell *rooms, *found;
    dim3 block[2];
    size_t shared; /* bytes of a band, where they fit */
    int apart;     /* words of a band, where they do not */
    epoch epochs[EPOCHS];
    int started, waited;
    cudaEvent_t origin;
    double clock; /* seconds() when that came to pass */
} own;

static cell *memory(size_t words)
{
    void *made;
    CUDA_CHECK(cudaMalloc(&made, words * sizeof(cell)));
    return (cell *)made;
}

static cell *memory_beside(size_t words)
{
    void *made;
    CUDA_CHECK(cudaMallocHost(&made, words * sizeof(cell)));
    return (cell *)made;
}

void device_begin(const column *c, int host_threads, int *beside)
{
    (void)host_threads;
    *beside = 0;
    cuda_device();

    const int *group = c->how->group;
    int dim = c->p->dim, side = c->side, width = c->width;
    size_t batch = c->p->batch, halo = c->halo, pitch = pitch_of(width);
    size_t widest = pitch > (size_t)dim ? pitch : (size_t)dim;
    size_t band_words = (ROWS + 2 * STEPS) * pitch;
    bool fits = band_words * sizeof(cell) <= CUDA_SHARED_BYTES;
    own.shared = fits ? band_words * sizeof(cell) : 0;
    own.apart = fits ? 0 : band_words;

    size_t numbers = pile_cells(c->p), packed = side * pitch;
    size_t words = batch * (numbers > packed ? numbers : packed);
    for (int i = 0; i < 2; i++) own.rows[i] = memory(words);
    if (!fits) own.rooms = memory(band_words * batch * ((side - 2 + ROWS - 1) / ROWS));
    own.found = memory(halo * batch);

    /* A thread takes a cell first, and then a block a band. */
    dim3 block[2] = {{32, 1, 1}, {32, 8, 1}};
    for (int k = 0; k < 2; k++) {
        if (group[0]) block[k].x = group[0];
        if (group[1]) block[k].y = group[1];
        own.block[k] = block[k];
    }
    int shape[4] = {dim, side, width, c->mirror};
    CUDA_CHECK(cudaMemcpyToSymbol(c_shape, shape, sizeof shape));

    for (int i = 0; i < EPOCHS; i++) {
        epoch *e = own.epochs + i;
        e->in = memory_beside(halo * widest);
        e->out = memory_beside(halo * widest);
        e->found = memory_beside(halo * batch);
        CUDA_CHECK(cudaEventCreate(&e->before));
        CUDA_CHECK(cudaEventCreate(&e->after));
        CUDA_CHECK(cudaEventCreate(&e->done));
    }
    CUDA_CHECK(cudaEventCreate(&own.origin));
    CUDA_CHECK(cudaEventRecord(own.origin, 0));
    CUDA_CHECK(cudaDeviceSynchronize());
    own.clock = seconds();
}

void device_take(const column *c, int first, int after, const cell *rows)
{
    size_t size = (after - first) * c->pitch * sizeof(cell);
    for (int i = 0; i < 2; i++)
        CUDA_CHECK(cudaMemcpy(own.rows[i] + (size_t)first * c->pitch, rows, size,
                              cudaMemcpyHostToDevice));
}

void device_give(const column *c, int first, int after, cell *rows)
{
    size_t size = (after - first) * c->pitch * sizeof(cell);
    CUDA_CHECK(cudaMemcpy(rows, own.rows[0] + (size_t)first * c->pitch, size,
                          cudaMemcpyDeviceToHost));
}

/* Steps n .. n + steps - 1, which are s .. of an epoch. */
static void launch(const column *c, int n, int s, int steps)
{
    int batch = c->p->batch, cut = c->after / c->side, y = c->after % c->side;
    int end = after_right(c, s + steps);
    cell *found = own.found + (size_t)s * batch;
    dim3 block = own.block[c->packed], blocks = {1, 1, 1};
    if (c->packed) {
        int bands = (c->side - 2 + ROWS - 1) / ROWS;
        blocks.x = cut * bands + (y ? (end - 1 + ROWS - 1) / ROWS : 0);
        CUDA_LAUNCH(do_steps_bits, blocks, block, own.shared, own.rows[0], own.rows[1],
                    found, batch, cut, end, n, steps, own.rooms, own.apart);
    } else {
        int rows = cut ? c->side : end;
        blocks.x = (c->side + block.x - 1) / block.x;
        blocks.y = (rows + block.y - 1) / block.y;
        blocks.z = cut + (y > 0);
        CUDA_LAUNCH(do_step, blocks, block, 0, own.rows[0], own.rows[1], found, cut,
                    end);
    }
    CUDA_CHECK(cudaGetLastError());
    cell *other = own.rows[0];
    own.rows[0] = own.rows[1];
    own.rows[1] = other;
}

void device_start(const column *c, int n, int steps, const cell *kept)
{
    epoch *e = own.epochs + own.started++ % EPOCHS;
    size_t pitch = c->pitch, row = pitch * sizeof(cell), first = first_wanted(c);
    size_t in = (after_kept(c) - c->after) * row, out = (c->after - first) * row;
    size_t size = (size_t)steps * c->p->batch * sizeof(cell);

    e->steps = steps;
    memcpy(e->in, kept, in);
    CUDA_CHECK(cudaMemcpyAsync(own.rows[0] + c->after * pitch, e->in, in,
                               cudaMemcpyHostToDevice, 0));
    CUDA_CHECK(cudaMemsetAsync(own.found, 0, size, 0));
    CUDA_CHECK(cudaEventRecord(e->before, 0));
    for (int s = 0, made; s < steps; s += made) {
        made = !c->packed ? 1 : steps - s < STEPS ? steps - s : STEPS;
        launch(c, n + s, s, made);
    }
    CUDA_CHECK(cudaEventRecord(e->after, 0));
    CUDA_CHECK(cudaMemcpyAsync(e->out, own.rows[0] + first * pitch, out,
                               cudaMemcpyDeviceToHost, 0));
    CUDA_CHECK(cudaMemcpyAsync(e->found, own.found, size, cudaMemcpyDeviceToHost, 0));
    CUDA_CHECK(cudaEventRecord(e->done, 0));
}

double device_wait(const column *c, cell *found, const cell **last)
{
    epoch *e = own.epochs + own.waited++ % EPOCHS;
    CUDA_CHECK(cudaEventSynchronize(e->done));
    double begin = own.clock + cuda_seconds(own.origin, e->before);
    double took = cuda_seconds(e->before, e->after);
    share_note("device", -1, "steps", begin, begin + took);

    for (size_t i = 0; i < (size_t)e->steps * c->p->batch; i++) found[i] |= e->found[i];
    *last = e->out;
    return took;
}

void device_end(void)
{
    CUDA_CHECK(cudaDeviceSynchronize());
    cudaEventDestroy(own.origin);
    for (int i = 0; i < EPOCHS; i++) {
        epoch *e = own.epochs + i;
        cudaEventDestroy(e->done);
        cudaEventDestroy(e->after);
        cudaEventDestroy(e->before);
        cudaFreeHost(e->found);
        cudaFreeHost(e->out);
        cudaFreeHost(e->in);
    }
    cudaFree(own.found);
    cudaFree(own.rooms);
    cudaFree(own.rows[1]);
    cudaFree(own.rows[0]);
}
