/* cuda.cu - the device side of hybrid.c in CUDA C: one block computes several steps of
 * a band in bit planes (layout and bands: body.h).
 *
 * The CUDA runtime creates what OpenCL calls context, queue, program and kernel at its
 * first call; the compiler has already built the kernel.
 */
#include <stdlib.h>

#define LANES 1 /* a GPU's lanes are its threads */
#include "cuda_device.h"
#include "hybrid.h"
#include "sides.h"

/* Own rows of a block's band, and steps per launch. A GPU needs many narrow bands. */
enum { ROWS = 8, STEPS = 8 };

static struct {
    grid_shape shape;
    cell *planes[2];        /* input and output of a launch */
    cell *flags;            /* [halo] */
    cell *workspaces;       /* of all blocks, unless they are in shared memory */
    size_t shared_bytes;    /* per block */
    int workspace_stride;   /* words per block; 0: in shared memory */
    dim3 block;             /* threads per block */
    cudaEvent_t begin, end; /* of the steps of a block of steps */
    cudaEvent_t origin;
    double clock_offset; /* seconds() at the origin event */
} state;

/* The shape. OpenCL compiles at run time and has it as macros; here it lies in constant
 * memory, which is fast when all threads read the same address. */
__constant__ struct {
    int side, width, mirror;
} c_shape;
#define SIDE   c_shape.side
#define WIDTH  c_shape.width
#define MIRROR c_shape.mirror

/* Computes steps n .. n + steps - 1 of rows 1 .. last - 1, from one array into another.
 * Rows last .. last + steps - 1, if they exist, are ghost rows. A block loads a band
 * of ROWS rows and its ghost rows into its workspace, computes all steps there, and
 * stores its own rows. If a band does not fit in shared memory, the workspaces are in
 * global memory, workspace_stride words apart. flags[s] becomes nonzero if a cell is
 * unstable after step s. */
__global__ void do_steps(const cell *__restrict__ in, cell *out, cell *flags, int n,
                         int steps, cell *workspaces, int workspace_stride, int last)
{
    CUDA_SHARED(cell, shared);
    int x = threadIdx.x, threads_x = blockDim.x;
    int y = threadIdx.y, threads_y = blockDim.y;
    int first = blockIdx.y * ROWS + 1;
    int end = first + ROWS < last ? first + ROWS : last;
    band b = band_at(SIDE, first, end, steps);
    int pitch = row_pitch(WIDTH);
    cell *workspace = shared;
    if (workspace_stride)
        workspace = workspaces + (size_t)workspace_stride * blockIdx.y;

    for (int r = b.first_stored + y; r < b.end_stored; r += threads_y)
        for (int w = x; w < pitch; w += threads_x)
            workspace[(r - b.first_stored) * pitch + w] = in[(size_t)r * pitch + w];
    __syncthreads();

    for (int s = 0; s < steps; s++) {
        /* Each thread computes consecutive rows. */
        int first_valid = band_first_valid(b, s);
        int end_valid = band_end_valid(b, SIDE, s);
        int rows_each = (end_valid - first_valid + threads_y - 1) / threads_y;
        int first_row = first_valid + y * rows_each;
        int my_rows =
            first_row + rows_each < end_valid ? rows_each : end_valid - first_row;
        bitvec fours = 0;
        for (int w = x; w < WIDTH && my_rows > 0; w += threads_x) {
            cell *c = workspace + (first_row - b.first_stored) * pitch + w;
            fours |= step_column(c, w, WIDTH, n + s, my_rows, in[w], in[WIDTH + w],
                                 MIRROR, SIDE - 2 - first_row);
        }
        /* At most one thread per block stores the flag. It is a barrier, too. */
        int any = __syncthreads_or(fours != 0);
        if (any && x == 0 && y == 0) atomicOr(&flags[s], 1u);
    }

    for (int r = b.first + y; r < b.end; r += threads_y)
        for (int w = x; w < pitch; w += threads_x)
            out[(size_t)r * pitch + w] = workspace[(r - b.first_stored) * pitch + w];
}

/* Enqueues steps n .. n + steps - 1, at most STEPS, of rows 1 .. end - 1; slot is the
 * index of the first flag. */
static void launch_steps(int end, int n, int slot, int steps)
{
    dim3 blocks = {1, (unsigned)(end - 1 + ROWS - 1) / ROWS, 1};
    CUDA_LAUNCH(do_steps, blocks, state.block, state.shared_bytes, state.planes[0],
                state.planes[1], state.flags + slot, n, steps, state.workspaces,
                state.workspace_stride, end);
    CUDA_CHECK(cudaGetLastError());
    cell *swap = state.planes[0];
    state.planes[0] = state.planes[1];
    state.planes[1] = swap;
}

void device_begin(const grid_shape *shape, int host_threads, int *shares_cores)
{
    int side = shape->side, width = shape->width;
    const int *group = shape->plan->group;
    int constants[3] = {side, width, shape->mirror};

    (void)host_threads;
    *shares_cores = 0;
    cuda_device();
    state.shape = *shape;
    size_t size = side * row_pitch(width) * sizeof(cell);
    for (int i = 0; i < 2; i++) CUDA_CHECK(cudaMalloc((void **)&state.planes[i], size));
    CUDA_CHECK(cudaMalloc((void **)&state.flags, shape->halo * sizeof(cell)));
    CUDA_CHECK(cudaEventCreate(&state.begin));
    CUDA_CHECK(cudaEventCreate(&state.end));
    CUDA_CHECK(cudaEventCreate(&state.origin));

    /* A block of 256 threads: a thread takes a word of some rows. */
    int words = width < 32 ? width : 32;
    state.block.x = group[0] ? group[0] : words;
    state.block.y = group[1] ? group[1] : 256 / words;
    state.block.z = 1;
    CUDA_CHECK(cudaMemcpyToSymbol(c_shape, constants, sizeof constants));

    size_t band_size = (ROWS + 2 * STEPS) * row_pitch(width) * sizeof(cell);
    bool fits = band_size <= CUDA_SHARED_BYTES;
    size_t bands = (side - 2 + ROWS - 1) / ROWS;
    state.shared_bytes = fits ? band_size : 0;
    state.workspace_stride = fits ? 0 : band_size / sizeof(cell);
    state.workspaces = NULL;
    if (!fits) CUDA_CHECK(cudaMalloc((void **)&state.workspaces, band_size * bands));

    CUDA_CHECK(cudaEventRecord(state.origin, 0));
    CUDA_CHECK(cudaDeviceSynchronize());
    state.clock_offset = seconds();
}

void device_end(void)
{
    cudaFree(state.workspaces);
    cudaEventDestroy(state.origin);
    cudaEventDestroy(state.end);
    cudaEventDestroy(state.begin);
    cudaFree(state.flags);
    cudaFree(state.planes[1]);
    cudaFree(state.planes[0]);
}

void device_write_rows(int first, int end, const cell *planes)
{
    size_t pitch = row_pitch(state.shape.width), at = first * pitch;
    size_t size = (end - first) * pitch * sizeof(cell);
    for (int i = 0; i < 2; i++)
        CUDA_CHECK(cudaMemcpy(state.planes[i] + at, planes + at, size,
                              cudaMemcpyHostToDevice));
}

void device_read_rows(int first, int end, cell *planes)
{
    size_t pitch = row_pitch(state.shape.width), at = first * pitch;
    size_t size = (end - first) * pitch * sizeof(cell);
    CUDA_CHECK(
        cudaMemcpy(planes + at, state.planes[0] + at, size, cudaMemcpyDeviceToHost));
}

void device_start(int end, int n, int steps)
{
    int side = state.shape.side;
    band slab = band_at(side, 1, end, state.shape.halo);
    CUDA_CHECK(cudaMemsetAsync(state.flags, 0, steps * sizeof(cell), 0));
    CUDA_CHECK(cudaEventRecord(state.begin, 0));
    for (int s = 0, launched; s < steps; s += launched) {
        launched = steps - s < STEPS ? steps - s : STEPS;
        int valid = band_end_valid(slab, side, s + launched - 1);
        launch_steps(valid, n + s, s, launched);
    }
    CUDA_CHECK(cudaEventRecord(state.end, 0));
}

double device_wait(int steps, cell *flags)
{
    cell device_flags[MAX_HALO];
    CUDA_CHECK(cudaMemcpy(device_flags, state.flags, steps * sizeof(cell),
                          cudaMemcpyDeviceToHost));
    for (int s = 0; s < steps; s++) flags[s] |= device_flags[s];

    double begin = state.clock_offset + cuda_seconds(state.origin, state.begin);
    double took = cuda_seconds(state.begin, state.end);
    hybrid_log("device", -1, "steps", begin, begin + took);
    return took;
}
