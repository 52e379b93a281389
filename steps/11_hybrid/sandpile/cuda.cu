/* cuda.cu - device code and its host side in CUDA C: one thread per cell, or, once
 * every cell fits in three bits, one block per band in bit planes (layout and bands:
 * body.h).
 *
 * All commands go to one stream, which executes them in order. A temporal block is:
 * copy the ghost rows to the device, launch the kernels, copy rows and flags to the
 * host. The host waits only for the last of these. A copy overlaps with host code only
 * if its host memory is pinned (cudaMallocHost).
 *
 * Grids before last_grid are computed completely, last_grid only before row `end`, and
 * later grids not at all.
 */
#include <stdlib.h>
#include <string.h>

#define LANES 1 /* a GPU's lanes are its threads */
#include "cuda_device.h"
#include "hybrid.h"
#include "sides.h"

/* Own rows of a block's band, and maximum number of steps per launch: a GPU needs many
 * narrow bands. */
enum { ROWS = 8, STEPS = 8 };

/* The shape. OpenCL compiles at run time and has it as macros; here it lies in constant
 * memory, which is fast when all threads read the same address. */
__constant__ struct {
    int dim, side, width, mirror;
} c_shape;
#define DIM    c_shape.dim
#define SIDE   c_shape.side
#define WIDTH  c_shape.width
#define MIRROR c_shape.mirror

/* Sets bit `flag` of *flags if the condition holds for any thread of the block, with at
 * most one atomic operation per block. All threads must call it, including those
 * outside the range, because it contains a barrier. */
FN void set_flag_if_any(int condition, cell flag, cell *flags)
{
    int any = __syncthreads_or(condition);
    if (any && threadIdx.x == 0 && threadIdx.y == 0) atomicOr(flags, flag);
}

__global__ void do_step(const cell *__restrict__ in, cell *out, cell *flags,
                        int last_grid, int end)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int g = blockIdx.z;
    size_t id = ((size_t)g * DIM + y) * DIM + x;

    cell v = 0;
    if (y > 0 && y < (g < last_grid ? DIM - 1 : end) && x > 0 && x < DIM - 1) {
        v = next_grains(in + id, DIM);
        out[id] = v;
    }
    set_flag_if_any(v > 3, 4, flags + g);
    set_flag_if_any(v > 7, 8, flags + g);
}

/* Computes steps n .. n + steps - 1 in bit planes, from one array into another. A block
 * loads a band of at most ROWS rows and its ghost rows into its workspace, computes all
 * steps there, and stores its own rows. If a band does not fit in shared memory, the
 * workspaces are in global memory, workspace_stride words apart. */
__global__ void do_steps_planes(const cell *__restrict__ in, cell *out, cell *flags,
                                int batch, int last_grid, int end, int n, int steps,
                                cell *workspaces, int workspace_stride)
{
    CUDA_SHARED(cell, shared);
    int x = threadIdx.x, threads_x = blockDim.x;
    int y = threadIdx.y, threads_y = blockDim.y;
    int bands = (SIDE - 2 + ROWS - 1) / ROWS, band_id = blockIdx.x, g = band_id / bands;
    int rows = g < last_grid
                   ? SIDE - 2
                   : end - 1; /* of the grid, divided into bands of equal size */
    int grid_bands = (rows + ROWS - 1) / ROWS, band_index = band_id % bands;
    band b = band_at(SIDE, 1 + rows * band_index / grid_bands,
                     1 + rows * (band_index + 1) / grid_bands, steps);
    int pitch = row_pitch(WIDTH);
    const cell *in_grid = in + (size_t)g * SIDE * pitch;
    cell *out_grid = out + (size_t)g * SIDE * pitch;
    cell *workspace = shared;
    if (workspace_stride) workspace = workspaces + (size_t)workspace_stride * band_id;

    for (int r = b.first_stored + y; r < b.end_stored; r += threads_y)
        for (int w = x; w < pitch; w += threads_x)
            workspace[(r - b.first_stored) * pitch + w] =
                in_grid[(size_t)r * pitch + w];
    __syncthreads();

    for (int s = 0; s < steps; s++) {
        /* Each thread computes consecutive rows. */
        int first_valid = band_first_valid(b, s),
            end_valid = band_end_valid(b, SIDE, s);
        int rows_each = (end_valid - first_valid + threads_y - 1) / threads_y;
        int first_row = first_valid + y * rows_each;
        int my_rows =
            first_row + rows_each < end_valid ? rows_each : end_valid - first_row;
        bitvec fours = 0;
        for (int w = x; w < WIDTH; w += threads_x) {
            cell *c = workspace + (first_row - b.first_stored) * pitch + w;
            if (my_rows > 0)
                fours |= step_column(c, w, WIDTH, n + s, my_rows, in_grid[w],
                                     in_grid[WIDTH + w], MIRROR, SIDE - 2 - first_row);
        }
        set_flag_if_any(fours != 0, 4,
                        flags + (size_t)s * batch + g); /* contains a barrier */
    }

    for (int r = b.first + y; r < b.end; r += threads_y)
        for (int w = x; w < pitch; w += threads_x)
            out_grid[(size_t)r * pitch + w] =
                workspace[(r - b.first_stored) * pitch + w];
}

/* The commands in flight for one temporal block. */
typedef struct {
    cudaEvent_t steps_begin, steps_end, done;
    int steps;
    cell *in, *out, *flags; /* rows to the device, rows from the device, flags */
} time_block;

static struct {
    cell *rows[2]; /* input and output of a launch */
    cell *workspaces, *flags;
    dim3 block[2];
    size_t shared_bytes;  /* size of a band, if it fits in shared memory */
    int workspace_stride; /* words per band, if it does not fit */
    time_block time_blocks[MAX_IN_FLIGHT];
    int started, waited;
    cudaEvent_t origin;
    double clock_offset; /* seconds() at the origin event */
} state;

static cell *allocate_device(size_t words)
{
    void *memory;
    CUDA_CHECK(cudaMalloc(&memory, words * sizeof(cell)));
    return (cell *)memory;
}

static cell *allocate_pinned(size_t words)
{
    void *memory;
    CUDA_CHECK(cudaMallocHost(&memory, words * sizeof(cell)));
    return (cell *)memory;
}

void device_begin(const slab *c, int host_threads, int *shares_cores)
{
    (void)host_threads;
    *shares_cores = 0;
    cuda_device();

    const int *group = c->plan->group;
    int dim = c->p->dim, side = c->side, width = c->width;
    size_t batch = c->p->batch, halo = c->halo, pitch = row_pitch(width);
    size_t widest = pitch > (size_t)dim ? pitch : (size_t)dim;
    size_t band_words = (ROWS + 2 * STEPS) * pitch;
    bool fits = band_words * sizeof(cell) <= CUDA_SHARED_BYTES;
    state.shared_bytes = fits ? band_words * sizeof(cell) : 0;
    state.workspace_stride = fits ? 0 : band_words;

    size_t cell_words = pile_cells(c->p), plane_words = side * pitch;
    size_t buffer_words = batch * (cell_words > plane_words ? cell_words : plane_words);
    for (int i = 0; i < 2; i++) state.rows[i] = allocate_device(buffer_words);
    if (!fits)
        state.workspaces =
            allocate_device(band_words * batch * ((side - 2 + ROWS - 1) / ROWS));
    state.flags = allocate_device(halo * batch);

    /* A thread computes one cell at first, and later a block of 256 threads a band: a
     * thread takes a word of some rows. */
    unsigned words = width < 32 ? width : 32;
    dim3 block[2] = {{32, 1, 1}, {words, 256 / words, 1}};
    for (int k = 0; k < 2; k++) {
        if (group[0]) block[k].x = group[0];
        if (group[1]) block[k].y = group[1];
        state.block[k] = block[k];
    }
    int shape[4] = {dim, side, width, c->mirror};
    CUDA_CHECK(cudaMemcpyToSymbol(c_shape, shape, sizeof shape));

    for (int i = 0; i < MAX_IN_FLIGHT; i++) {
        time_block *in_flight = state.time_blocks + i;
        in_flight->in = allocate_pinned(halo * widest);
        in_flight->out = allocate_pinned(halo * widest);
        in_flight->flags = allocate_pinned(halo * batch);
        CUDA_CHECK(cudaEventCreate(&in_flight->steps_begin));
        CUDA_CHECK(cudaEventCreate(&in_flight->steps_end));
        CUDA_CHECK(cudaEventCreate(&in_flight->done));
    }
    CUDA_CHECK(cudaEventCreate(&state.origin));
    CUDA_CHECK(cudaEventRecord(state.origin, 0));
    CUDA_CHECK(cudaDeviceSynchronize());
    state.clock_offset = seconds();
}

void device_write_rows(const slab *c, int first, int end, const cell *rows)
{
    size_t size = (end - first) * c->pitch * sizeof(cell);
    for (int i = 0; i < 2; i++)
        CUDA_CHECK(cudaMemcpy(state.rows[i] + (size_t)first * c->pitch, rows, size,
                              cudaMemcpyHostToDevice));
}

void device_read_rows(const slab *c, int first, int end, cell *rows)
{
    size_t size = (end - first) * c->pitch * sizeof(cell);
    CUDA_CHECK(cudaMemcpy(rows, state.rows[0] + (size_t)first * c->pitch, size,
                          cudaMemcpyDeviceToHost));
}

/* Launches steps n .. n + steps - 1; n is step s of the temporal block. */
static void launch(const slab *c, int n, int s, int steps)
{
    int batch = c->p->batch, last_grid = c->end / c->side, y = c->end % c->side;
    int end = slab_end_valid(c, s + steps);
    cell *flags = state.flags + (size_t)s * batch;
    dim3 block = state.block[c->packed], blocks = {1, 1, 1};
    if (c->packed) {
        int bands = (c->side - 2 + ROWS - 1) / ROWS;
        blocks.x = last_grid * bands + (y ? (end - 1 + ROWS - 1) / ROWS : 0);
        CUDA_LAUNCH(do_steps_planes, blocks, block, state.shared_bytes, state.rows[0],
                    state.rows[1], flags, batch, last_grid, end, n, steps,
                    state.workspaces, state.workspace_stride);
    } else {
        int rows = last_grid ? c->side : end;
        blocks.x = (c->side + block.x - 1) / block.x;
        blocks.y = (rows + block.y - 1) / block.y;
        blocks.z = last_grid + (y > 0);
        CUDA_LAUNCH(do_step, blocks, block, 0, state.rows[0], state.rows[1], flags,
                    last_grid, end);
    }
    CUDA_CHECK(cudaGetLastError());
    cell *swap = state.rows[0];
    state.rows[0] = state.rows[1];
    state.rows[1] = swap;
}

void device_start(const slab *c, int n, int steps, const cell *ghosts)
{
    time_block *in_flight = state.time_blocks + state.started++ % MAX_IN_FLIGHT;
    size_t pitch = c->pitch, row = pitch * sizeof(cell), first = first_host_ghost(c);
    size_t in = (slab_end_stored(c) - c->end) * row, out = (c->end - first) * row;
    size_t size = (size_t)steps * c->p->batch * sizeof(cell);

    in_flight->steps = steps;
    memcpy(in_flight->in, ghosts, in);
    CUDA_CHECK(cudaMemcpyAsync(state.rows[0] + c->end * pitch, in_flight->in, in,
                               cudaMemcpyHostToDevice, 0));
    CUDA_CHECK(cudaMemsetAsync(state.flags, 0, size, 0));
    CUDA_CHECK(cudaEventRecord(in_flight->steps_begin, 0));
    for (int s = 0, launch_steps; s < steps; s += launch_steps) {
        launch_steps = !c->packed ? 1 : steps - s < STEPS ? steps - s : STEPS;
        launch(c, n + s, s, launch_steps);
    }
    CUDA_CHECK(cudaEventRecord(in_flight->steps_end, 0));
    CUDA_CHECK(cudaMemcpyAsync(in_flight->out, state.rows[0] + first * pitch, out,
                               cudaMemcpyDeviceToHost, 0));
    CUDA_CHECK(cudaMemcpyAsync(in_flight->flags, state.flags, size,
                               cudaMemcpyDeviceToHost, 0));
    CUDA_CHECK(cudaEventRecord(in_flight->done, 0));
}

double device_wait(const slab *c, cell *step_flags, const cell **ghosts)
{
    time_block *in_flight = state.time_blocks + state.waited++ % MAX_IN_FLIGHT;
    CUDA_CHECK(cudaEventSynchronize(in_flight->done));
    double begin =
        state.clock_offset + cuda_seconds(state.origin, in_flight->steps_begin);
    double took = cuda_seconds(in_flight->steps_begin, in_flight->steps_end);
    hybrid_log("device", -1, "steps", begin, begin + took);

    for (size_t i = 0; i < (size_t)in_flight->steps * c->p->batch; i++)
        step_flags[i] |= in_flight->flags[i];
    *ghosts = in_flight->out;
    return took;
}

void device_end(void)
{
    CUDA_CHECK(cudaDeviceSynchronize());
    cudaEventDestroy(state.origin);
    for (int i = 0; i < MAX_IN_FLIGHT; i++) {
        time_block *in_flight = state.time_blocks + i;
        cudaEventDestroy(in_flight->done);
        cudaEventDestroy(in_flight->steps_end);
        cudaEventDestroy(in_flight->steps_begin);
        cudaFreeHost(in_flight->flags);
        cudaFreeHost(in_flight->out);
        cudaFreeHost(in_flight->in);
    }
    cudaFree(state.flags);
    cudaFree(state.workspaces);
    cudaFree(state.rows[1]);
    cudaFree(state.rows[0]);
}
