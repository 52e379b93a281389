/* cuda.cu - host and device code in CUDA C: one thread per cell of each grid of the
 * batch. Once all cells fit in a byte, one thread computes the four cells of a word.
 *
 * The CUDA runtime creates what OpenCL calls context, queue, program and kernel at its
 * first call; the compiler has already built the kernel.
 */
#include <stdlib.h>

#include "cuda_device.h"
#include "host.h"

/* The shape. OpenCL compiles at run time and has it as macros; here it lies in constant
 * memory, which is fast when all threads read the same address. */
__constant__ grid_shape c_shape;
#define DIM   c_shape.dim
#define WORDS c_shape.words
#define LAST  c_shape.last_mask

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
    set_flag_if_any(v > 255, 256, flags + g);
}

/* Computes one step for four cells per thread, one byte each. */
__global__ void do_step4(const cell *__restrict__ in, cell *out, cell *flags)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int g = blockIdx.z;
    int pitch = WORDS + 2;
    size_t id = ((size_t)g * DIM + y) * pitch + x + 1;

    cell v = 0;
    if (x < WORDS && y < DIM - 1) {
        v = next_grains4(in[id], in[id - 1], in[id + 1], in[id - pitch],
                         in[id + pitch]);
        v &= x == WORDS - 1 ? LAST : 0xffffffff;
        out[id] = v;
    }
    set_flag_if_any((v & 0xfcfcfcfc) != 0, 4, flags + g);
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    reject_cpu_options(plan);
    int dim = p->dim;
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    size_t packed_size = total_words(p) * sizeof(cell);
    cell *staging = sentinel_grids(p);
    cell *flags =
        (cell *)allocate(POLL_STEPS * batch, sizeof *flags, "the flags of each step");

    cuda_device();

    cell *d_in, *d_out, *d_flags;
    CUDA_CHECK(cudaMalloc((void **)&d_in, size));
    CUDA_CHECK(cudaMalloc((void **)&d_out, size));
    CUDA_CHECK(cudaMalloc((void **)&d_flags, POLL_STEPS * batch * sizeof *flags));
    cudaEvent_t start_event, end_event;
    CUDA_CHECK(cudaEventCreate(&start_event));
    CUDA_CHECK(cudaEventCreate(&end_event));

    unsigned local[3] = {16, 4, 1},
             range[3] = {(unsigned)dim, (unsigned)dim, (unsigned)batch}, groups[3];
    for (int i = 0; i < 3; i++) {
        if (plan->group[i]) local[i] = plan->group[i];
        if (i == 2) local[i] = 1; /* a block sets flags of one grid only */
        groups[i] = (range[i] + local[i] - 1) / local[i];
    }
    dim3 block = {local[0], local[1], local[2]};
    dim3 blocks = {groups[0], groups[1], groups[2]};

    grid_shape shape = make_shape(dim);
    CUDA_CHECK(cudaMemcpyToSymbol(c_shape, &shape, sizeof shape));

    double ready = seconds();
    t->kernel = 0;

    CUDA_CHECK(cudaMemcpy(d_in, p->grid, size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_out, staging, size, cudaMemcpyHostToDevice));

    int n = 0;
    for (int g = 0; g < batch; g++) flags[g] = pile_or(p->grid + g * cells, dim);
    cell any_flags = record_finished(p, plan, flags, n);
    bool packed = false;
    while (any_flags > 3 && n < plan->max_iterations) {
        /* Once all cells fit in a byte, pack four into a word, in the same memory. */
        if (any_flags <= 255 && !packed) {
            CUDA_CHECK(cudaMemcpy(p->grid, d_in, size, cudaMemcpyDeviceToHost));
            packed = true;
            pack_words(p, staging);
            CUDA_CHECK(cudaMemcpy(d_in, staging, packed_size, cudaMemcpyHostToDevice));
            sentinel_words(p, staging);
            CUDA_CHECK(cudaMemcpy(d_out, staging, packed_size, cudaMemcpyHostToDevice));
            blocks.x = (shape.words + local[0] - 1) / local[0];
            blocks.y = (dim - 2 + local[1] - 1) / local[1];
        }
        int steps = plan->max_iterations - n < POLL_STEPS ? plan->max_iterations - n
                                                          : POLL_STEPS;
        size_t flags_size = steps * batch * sizeof *flags;
        CUDA_CHECK(cudaMemset(d_flags, 0, flags_size));
        CUDA_CHECK(cudaEventRecord(start_event, 0));
        for (int s = 0; s < steps; s++) {
            if (packed)
                CUDA_LAUNCH(do_step4, blocks, block, 0, d_in, d_out,
                            d_flags + s * batch);
            else
                CUDA_LAUNCH(do_step, blocks, block, 0, d_in, d_out,
                            d_flags + s * batch);
            CUDA_CHECK(cudaGetLastError());
            cell *swap = d_in;
            d_in = d_out;
            d_out = swap;
        }
        CUDA_CHECK(cudaEventRecord(end_event, 0));
        CUDA_CHECK(cudaMemcpy(flags, d_flags, flags_size, cudaMemcpyDeviceToHost));
        t->kernel += cuda_seconds(start_event, end_event);
        for (int s = 0; s < steps; s++)
            any_flags = record_finished(p, plan, flags + s * batch, ++n);
    }
    CUDA_CHECK(cudaMemcpy(packed ? staging : p->grid, d_in, packed ? packed_size : size,
                          cudaMemcpyDeviceToHost));
    if (packed) unpack_words(p, staging);

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    cudaEventDestroy(end_event);
    cudaEventDestroy(start_event);
    cudaFree(d_flags);
    cudaFree(d_out);
    cudaFree(d_in);
    free(flags);
    free(staging);
    return 0;
}
