/* cuda.cu - host and device code in CUDA C: one thread per cell of each grid of the
 * batch. Once every cell fits in three bits, one block computes several steps of a band
 * in bit planes (layout and bands: body.h).
 *
 * The CUDA runtime creates what OpenCL calls context, queue, program and kernel at its
 * first call; the compiler has already built the kernel.
 */
#include <stdlib.h>

#define LANES 1 /* a GPU's lanes are its threads */
#define STEPS 8 /* a GPU needs many narrow bands */
#include "cuda_device.h"
#include "host.h"

/* Own rows of a block's band. */
enum { ROWS = 8 };

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

__global__ void do_step(const cell *__restrict__ in, cell *out, cell *flags)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int g = blockIdx.z;
    size_t id = ((size_t)g * DIM + y) * DIM + x;

    cell v = 0;
    if (y > 0 && y < DIM - 1 && x > 0 && x < DIM - 1) {
        v = next_grains(in + id, DIM);
        out[id] = v;
    }
    set_flag_if_any(v > 3, 4, flags + g);
    set_flag_if_any(v > 7, 8, flags + g);
}

/* Computes steps n .. n + steps - 1 in bit planes, from one array into another. A block
 * loads a band of ROWS rows and its ghost rows into its workspace, computes all steps
 * there, and stores its own rows. If a band does not fit in shared memory, the
 * workspaces are in global memory, workspace_stride words apart. */
__global__ void do_steps_planes(const cell *__restrict__ in, cell *out, cell *flags,
                                int batch, int n, int steps, cell *workspaces,
                                int workspace_stride)
{
    CUDA_SHARED(cell, shared);
    int x = threadIdx.x, threads_x = blockDim.x;
    int y = threadIdx.y, threads_y = blockDim.y;
    int g = blockIdx.z;
    int first = blockIdx.y * ROWS + 1;
    band b = band_at(SIDE, first, first + ROWS < SIDE - 1 ? first + ROWS : SIDE - 1);
    int pitch = row_pitch(WIDTH);
    const cell *in_grid = in + (size_t)g * SIDE * pitch;
    cell *out_grid = out + (size_t)g * SIDE * pitch;
    cell *workspace = shared;
    if (workspace_stride)
        workspace =
            workspaces + (size_t)workspace_stride * (blockIdx.y + gridDim.y * g);

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

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    reject_cpu_options(plan);
    int dim = p->dim;
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    int mirror = find_mirror(p), side = stored_side(dim, mirror),
        width = plane_width(side);
    size_t planes_size = total_words(p, side) * sizeof(cell);
    cell *staging = sentinel_grids(p);
    cell *planes =
        (cell *)allocate(total_words(p, side), sizeof *planes, "the bit planes");
    cell *flags =
        (cell *)allocate(POLL_STEPS * batch, sizeof *flags, "the flags of each step");

    cuda_device();

    size_t band_size = (ROWS + 2 * STEPS) * row_pitch(width) * sizeof(cell);
    int bands = (side - 2 + ROWS - 1) / ROWS;
    bool fits = band_size <= CUDA_SHARED_BYTES;
    int workspace_stride = fits ? 0 : band_size / sizeof(cell);

    cell *d_in, *d_out, *d_planes[2], *d_flags, *d_workspaces = NULL;
    CUDA_CHECK(cudaMalloc((void **)&d_in, size));
    CUDA_CHECK(cudaMalloc((void **)&d_out, size));
    for (int i = 0; i < 2; i++)
        CUDA_CHECK(cudaMalloc((void **)&d_planes[i], planes_size));
    if (!fits)
        CUDA_CHECK(cudaMalloc((void **)&d_workspaces, band_size * bands * batch));
    CUDA_CHECK(cudaMalloc((void **)&d_flags, POLL_STEPS * batch * sizeof *flags));
    cudaEvent_t start_event, end_event;
    CUDA_CHECK(cudaEventCreate(&start_event));
    CUDA_CHECK(cudaEventCreate(&end_event));

    /* A thread computes one cell at first, and later a block of 256 threads a band: a
     * thread takes a word of some rows. */
    unsigned words = width < 32 ? width : 32;
    dim3 block[2] = {{32, 1, 1}, {words, 256 / words, 1}};
    for (int k = 0; k < 2; k++) {
        if (plan->group[0]) block[k].x = plan->group[0];
        if (plan->group[1]) block[k].y = plan->group[1];
    }
    dim3 blocks[2] = {{(dim + block[0].x - 1) / block[0].x,
                       (dim + block[0].y - 1) / block[0].y, (unsigned)batch},
                      {1, (unsigned)bands, (unsigned)batch}};

    int shape[4] = {dim, side, width, mirror};
    CUDA_CHECK(cudaMemcpyToSymbol(c_shape, shape, sizeof shape));

    double ready = seconds();
    t->kernel = 0;

    int n = 0;
    for (int g = 0; g < batch; g++) flags[g] = pile_or(p->grid + g * cells, dim);
    cell any_flags = record_finished(p, plan, flags, n);
    bool packed = false;
    if (any_flags > 7) {
        CUDA_CHECK(cudaMemcpy(d_in, p->grid, size, cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(d_out, staging, size, cudaMemcpyHostToDevice));
    }
    while (any_flags > 3 && n < plan->max_iterations) {
        /* Once every cell fits in three bits, pack the grids into bit planes. */
        if (any_flags <= 7 && !packed) {
            if (n) CUDA_CHECK(cudaMemcpy(p->grid, d_in, size, cudaMemcpyDeviceToHost));
            pack_planes(p, mirror, n, planes);
            for (int i = 0; i < 2; i++)
                CUDA_CHECK(cudaMemcpy(d_planes[i], planes, planes_size,
                                      cudaMemcpyHostToDevice));
            packed = true;
        }
        int steps = plan->max_iterations - n < POLL_STEPS ? plan->max_iterations - n
                                                          : POLL_STEPS;
        size_t flags_size = steps * batch * sizeof *flags;
        CUDA_CHECK(cudaMemset(d_flags, 0, flags_size));
        CUDA_CHECK(cudaEventRecord(start_event, 0));
        for (int s = 0, launch_steps; s < steps; s += launch_steps) {
            cell *d_step_flags = d_flags + (size_t)s * batch;
            cell **d_from = packed ? &d_planes[0] : &d_in;
            cell **d_to = packed ? &d_planes[1] : &d_out;
            launch_steps = !packed ? 1 : steps - s < STEPS ? steps - s : STEPS;
            if (packed)
                CUDA_LAUNCH(do_steps_planes, blocks[1], block[1], fits ? band_size : 0,
                            *d_from, *d_to, d_step_flags, batch, n + s, launch_steps,
                            d_workspaces, workspace_stride);
            else
                CUDA_LAUNCH(do_step, blocks[0], block[0], 0, *d_from, *d_to,
                            d_step_flags);
            CUDA_CHECK(cudaGetLastError());
            cell *swap = *d_from;
            *d_from = *d_to;
            *d_to = swap;
        }
        CUDA_CHECK(cudaEventRecord(end_event, 0));
        CUDA_CHECK(cudaMemcpy(flags, d_flags, flags_size, cudaMemcpyDeviceToHost));
        t->kernel += cuda_seconds(start_event, end_event);
        for (int s = 0; s < steps; s++)
            any_flags = record_finished(p, plan, flags + s * batch, ++n);
    }
    if (packed) {
        CUDA_CHECK(
            cudaMemcpy(planes, d_planes[0], planes_size, cudaMemcpyDeviceToHost));
        unpack_planes(planes, mirror, n, p);
    } else if (n) {
        CUDA_CHECK(cudaMemcpy(p->grid, d_in, size, cudaMemcpyDeviceToHost));
    }

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    cudaEventDestroy(end_event);
    cudaEventDestroy(start_event);
    cudaFree(d_flags);
    cudaFree(d_workspaces);
    cudaFree(d_planes[1]);
    cudaFree(d_planes[0]);
    cudaFree(d_out);
    cudaFree(d_in);
    free(flags);
    free(planes);
    free(staging);
    return 0;
}
