/* cuda.cu - host and device code in CUDA C: one thread per cell of each grid of the
 * batch. Once every cell fits in three bits, one thread computes one word of RUN rows
 * in bit planes (layout: body.h).
 *
 * The CUDA runtime creates what OpenCL calls context, queue, program and kernel at its
 * first call; the compiler has already built the kernel.
 */
#include <stdlib.h>

#define LANES 1 /* a GPU's lanes are its threads */
#include "cuda_device.h"
#include "host.h"

/* Rows per thread, one below the other. */
enum { RUN = 4 };

/* The shape. OpenCL compiles at run time and has it as macros; here it lies in constant
 * memory, which is fast when all threads read the same address. */
__constant__ struct {
    int dim, width;
} c_shape;
#define DIM   c_shape.dim
#define WIDTH c_shape.width

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

/* Computes step n in bit planes: one word of RUN rows per thread. */
__global__ void do_step_planes(cell *grids, int n, cell *flags)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    int y = (blockIdx.y * blockDim.y + threadIdx.y) * RUN + 1;
    int g = blockIdx.z;
    int rows = DIM - 1 - y < RUN ? DIM - 1 - y : RUN;
    cell *grid = grids + (size_t)g * DIM * row_pitch(WIDTH) + w;

    bitvec fours = 0;
    if (w < WIDTH && rows > 0)
        fours = step_column(grid + (size_t)y * row_pitch(WIDTH), w, WIDTH, n, rows,
                            grid[0]);
    set_flag_if_any(fours != 0, 4, flags + g);
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    reject_cpu_options(plan);
    int dim = p->dim;
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    int width = plane_width(dim);
    size_t planes_size = total_words(p) * sizeof(cell);
    cell *staging = sentinel_grids(p);
    cell *planes = (cell *)allocate(total_words(p), sizeof *planes, "the bit planes");
    cell *flags =
        (cell *)allocate(POLL_STEPS * batch, sizeof *flags, "the flags of each step");

    cuda_device();

    cell *d_in, *d_out, *d_planes, *d_flags;
    CUDA_CHECK(cudaMalloc((void **)&d_in, size));
    CUDA_CHECK(cudaMalloc((void **)&d_out, size));
    CUDA_CHECK(cudaMalloc((void **)&d_planes, planes_size));
    CUDA_CHECK(cudaMalloc((void **)&d_flags, POLL_STEPS * batch * sizeof *flags));
    cudaEvent_t start_event, end_event;
    CUDA_CHECK(cudaEventCreate(&start_event));
    CUDA_CHECK(cudaEventCreate(&end_event));

    /* A thread computes one cell at first, and later a column of words. */
    unsigned items[2][2] = {{(unsigned)dim, (unsigned)dim},
                            {(unsigned)width, (unsigned)(dim - 2 + RUN - 1) / RUN}};
    dim3 block = {32, 1, 1}, blocks[2];
    if (plan->group[0]) block.x = plan->group[0];
    if (plan->group[1]) block.y = plan->group[1];
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
            pack_planes(p, n, planes);
            CUDA_CHECK(
                cudaMemcpy(d_planes, planes, planes_size, cudaMemcpyHostToDevice));
            packed = true;
        }
        int steps = plan->max_iterations - n < POLL_STEPS ? plan->max_iterations - n
                                                          : POLL_STEPS;
        size_t flags_size = steps * batch * sizeof *flags;
        CUDA_CHECK(cudaMemset(d_flags, 0, flags_size));
        CUDA_CHECK(cudaEventRecord(start_event, 0));
        for (int s = 0; s < steps; s++) {
            cell *d_step_flags = d_flags + (size_t)s * batch;
            if (packed) {
                CUDA_LAUNCH(do_step_planes, blocks[1], block, 0, d_planes, n + s,
                            d_step_flags);
            } else {
                CUDA_LAUNCH(do_step, blocks[0], block, 0, d_in, d_out, d_step_flags);
                cell *swap = d_in;
                d_in = d_out;
                d_out = swap;
            }
            CUDA_CHECK(cudaGetLastError());
        }
        CUDA_CHECK(cudaEventRecord(end_event, 0));
        CUDA_CHECK(cudaMemcpy(flags, d_flags, flags_size, cudaMemcpyDeviceToHost));
        t->kernel += cuda_seconds(start_event, end_event);
        for (int s = 0; s < steps; s++)
            any_flags = record_finished(p, plan, flags + s * batch, ++n);
    }
    if (packed) {
        CUDA_CHECK(cudaMemcpy(planes, d_planes, planes_size, cudaMemcpyDeviceToHost));
        unpack_planes(planes, n, p);
    } else if (n) {
        CUDA_CHECK(cudaMemcpy(p->grid, d_in, size, cudaMemcpyDeviceToHost));
    }

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    cudaEventDestroy(end_event);
    cudaEventDestroy(start_event);
    cudaFree(d_flags);
    cudaFree(d_planes);
    cudaFree(d_out);
    cudaFree(d_in);
    free(flags);
    free(planes);
    free(staging);
    return 0;
}
