/* cuda.cu - host and device code in CUDA C: one thread per word of four
 * cells.
 *
 * The CUDA runtime creates what OpenCL calls context, queue, program and kernel at its
 * first call; the compiler has already built the kernel.
 */
#include <stdlib.h>

#include "cuda_device.h"
#include "host.h"

typedef struct {
    cell *in, *out;         /* [dim][words + 2], memory of the device */
    cell *flags;            /* [POLL_STEPS], memory of the device */
    dim3 block, blocks;     /* threads per block; number of blocks */
    cudaEvent_t begin, end; /* of the steps since the last poll */
} device_state;

/* The shape. OpenCL compiles at run time and has it as macros; here it lies in constant
 * memory, which is fast when all threads read the same address. */
__constant__ grid_shape c_shape;
#define DIM   c_shape.dim
#define WORDS c_shape.words
#define LAST  c_shape.last_mask

/* Sets *flag to 1 if the condition holds for any thread of the block, with at most one
 * atomic operation per block. All threads must call it, including those outside the
 * grid, because it contains a barrier. */
FN void set_flag_if_any(int condition, cell *flag)
{
    int any = __syncthreads_or(condition);
    if (any && threadIdx.x == 0 && threadIdx.y == 0) atomicOr(flag, 1);
}

/* Computes one step of four cells. *flag becomes 1 if a new cell is unstable. */
__global__ void do_step(const cell *__restrict__ in, cell *out, cell *flag)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int pitch = WORDS + 2;
    int id = y * pitch + x + 1;

    cell v = 0;
    if (x < WORDS && y < DIM - 1) {
        v = next_grains4(in[id], in[id - 1], in[id + 1], in[id - pitch],
                         in[id + pitch]);
        v &= x == WORDS - 1 ? LAST : 0xffffffff;
        out[id] = v;
    }
    set_flag_if_any((v & 0xfcfcfcfc) != 0, flag);
}

/* Enqueues one step, from d->in into d->out, and swaps the two. The step sets
 * d->flags[slot]. */
static void launch_step(device_state *d, int slot)
{
    CUDA_LAUNCH(do_step, d->blocks, d->block, 0, d->in, d->out, d->flags + slot);
    CUDA_CHECK(cudaGetLastError());
    cell *swap = d->in;
    d->in = d->out;
    d->out = swap;
}

static device_state device_begin(const pile *p, const run_plan *plan)
{
    device_state d;
    size_t size = p->dim * row_pitch(p->dim);

    cuda_device();
    CUDA_CHECK(cudaMalloc((void **)&d.in, size));
    CUDA_CHECK(cudaMalloc((void **)&d.out, size));
    CUDA_CHECK(cudaMalloc((void **)&d.flags, POLL_STEPS * sizeof(cell)));
    CUDA_CHECK(cudaEventCreate(&d.begin));
    CUDA_CHECK(cudaEventCreate(&d.end));

    d.block.x = plan->group[0] ? plan->group[0] : 16;
    d.block.y = plan->group[1] ? plan->group[1] : 4;
    grid_shape shape = make_shape(p->dim);
    CUDA_CHECK(cudaMemcpyToSymbol(c_shape, &shape, sizeof shape));
    d.blocks.x = (shape.words + d.block.x - 1) / d.block.x;
    d.blocks.y = (p->dim - 2 + d.block.y - 1) / d.block.y;
    d.block.z = d.blocks.z = 1;
    return d;
}

static void device_end(device_state *d)
{
    cudaEventDestroy(d->end);
    cudaEventDestroy(d->begin);
    cudaFree(d->flags);
    cudaFree(d->out);
    cudaFree(d->in);
}

/* Topples an unstable pile of which every cell fits in a byte, from step n on. Returns
 * the number of the last step. */
static int topple_words(pile *p, const run_plan *plan, device_state *d, int n,
                        run_times *t)
{
    size_t pitch = row_pitch(p->dim), size = p->dim * pitch;
    cell8 *packed = (cell8 *)allocate(size, sizeof *packed, "the packed grid");

    pile_to_bytes(p, pitch, 3, packed);
    CUDA_CHECK(cudaMemcpy(d->in, packed, size, cudaMemcpyHostToDevice));
    fill_sentinel(p->dim, packed);
    CUDA_CHECK(cudaMemcpy(d->out, packed, size, cudaMemcpyHostToDevice));
    bool stable = false;
    while (!stable && n < plan->max_iterations) {
        int steps = steps_until_poll(plan, n);
        cell flags[POLL_STEPS];
        CUDA_CHECK(cudaMemset(d->flags, 0, sizeof flags));
        CUDA_CHECK(cudaEventRecord(d->begin, 0));
        for (int s = 0; s < steps; s++) launch_step(d, s);
        CUDA_CHECK(cudaEventRecord(d->end, 0));
        CUDA_CHECK(cudaMemcpy(flags, d->flags, sizeof flags, cudaMemcpyDeviceToHost));
        t->kernel += cuda_seconds(d->begin, d->end);
        n += steps_to_stable(flags, steps, &stable);
    }
    CUDA_CHECK(cudaMemcpy(packed, d->in, size, cudaMemcpyDeviceToHost));
    pile_from_bytes(p, pitch, 3, packed);
    free(packed);
    return n;
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    reject_cpu_options(plan);
    device_state d = device_begin(p, plan);

    double ready = seconds();

    int n = topple_tall(p, plan, 255);
    t->kernel = n > 0 ? seconds() - ready : 0;
    if (n < plan->max_iterations && pile_or(p->grid, p->dim) > 3)
        n = topple_words(p, plan, &d, n, t);
    *p->iterations = n;

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    device_end(&d);
    return 0;
}
