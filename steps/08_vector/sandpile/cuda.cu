/* cuda.cu - host and device code in CUDA C: one thread computes one word of RUN rows in
 * bit planes (layout: body.h).
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

typedef struct {
    cell *planes;           /* the grid in bit planes, memory of the device */
    cell *flags;            /* [POLL_STEPS], memory of the device */
    dim3 block, blocks;     /* threads per block; number of blocks */
    cudaEvent_t begin, end; /* of the steps since the last poll */
} device_state;

/* The shape. OpenCL compiles at run time and has it as macros; here it lies in constant
 * memory, which is fast when all threads read the same address. */
__constant__ struct {
    int dim, width;
} c_shape;
#define DIM   c_shape.dim
#define WIDTH c_shape.width

/* Computes step n of one word in RUN rows. *flag becomes nonzero if a cell is
 * unstable: each thread that finds an unstable cell sets it, so there is no barrier. */
__global__ void do_step(cell *planes, cell *flag, int n)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    int y = (blockIdx.y * blockDim.y + threadIdx.y) * RUN + 1;
    int rows = DIM - 1 - y < RUN ? DIM - 1 - y : RUN;

    if (w < WIDTH && rows > 0) {
        cell *c = planes + (size_t)y * row_pitch(WIDTH) + w;
        if (step_column(c, w, WIDTH, n, rows, planes[w])) atomicOr(flag, 1u);
    }
}

/* Enqueues step n, which sets d->flags[slot]. */
static void launch_step(const device_state *d, int n, int slot)
{
    CUDA_LAUNCH(do_step, d->blocks, d->block, 0, d->planes, d->flags + slot, n);
    CUDA_CHECK(cudaGetLastError());
}

static device_state device_begin(int dim, const run_plan *plan)
{
    device_state d;
    int shape[2] = {dim, plane_width(dim)}, runs = (dim - 2 + RUN - 1) / RUN;

    cuda_device();
    CUDA_CHECK(cudaMalloc((void **)&d.planes, total_words(dim) * sizeof(cell)));
    CUDA_CHECK(cudaMalloc((void **)&d.flags, POLL_STEPS * sizeof(cell)));
    CUDA_CHECK(cudaEventCreate(&d.begin));
    CUDA_CHECK(cudaEventCreate(&d.end));

    d.block.x = plan->group[0] ? plan->group[0] : 32;
    d.block.y = plan->group[1] ? plan->group[1] : 1;
    CUDA_CHECK(cudaMemcpyToSymbol(c_shape, shape, sizeof shape));
    d.blocks.x = (plane_width(dim) + d.block.x - 1) / d.block.x;
    d.blocks.y = (runs + d.block.y - 1) / d.block.y;
    d.block.z = d.blocks.z = 1;
    return d;
}

static void device_end(device_state *d)
{
    cudaEventDestroy(d->end);
    cudaEventDestroy(d->begin);
    cudaFree(d->flags);
    cudaFree(d->planes);
}

/* Topples an unstable pile of which no cell exceeds 7, from step n on. Returns the
 * number of the last step. */
static int topple_planes(pile *p, const run_plan *plan, device_state *d, int n,
                         run_times *t)
{
    size_t words = total_words(p->dim), size = words * sizeof(cell);
    cell *planes = (cell *)allocate(words, sizeof *planes, "the bit planes");

    pack_planes(p, n, planes);
    CUDA_CHECK(cudaMemcpy(d->planes, planes, size, cudaMemcpyHostToDevice));
    bool stable = false;
    while (!stable && n < plan->max_iterations) {
        int steps = steps_until_poll(plan, n);
        cell flags[POLL_STEPS];
        CUDA_CHECK(cudaMemset(d->flags, 0, sizeof flags));
        CUDA_CHECK(cudaEventRecord(d->begin, 0));
        for (int s = 0; s < steps; s++) launch_step(d, n + s, s);
        CUDA_CHECK(cudaEventRecord(d->end, 0));
        CUDA_CHECK(cudaMemcpy(flags, d->flags, sizeof flags, cudaMemcpyDeviceToHost));
        t->kernel += cuda_seconds(d->begin, d->end);
        n += steps_to_stable(flags, steps, &stable);
    }
    CUDA_CHECK(cudaMemcpy(planes, d->planes, size, cudaMemcpyDeviceToHost));
    unpack_planes(planes, n, p);
    free(planes);
    return n;
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    reject_cpu_options(plan);
    device_state d = device_begin(p->dim, plan);

    double ready = seconds();

    int n = topple_tall(p, plan, 7);
    t->kernel = n > 0 ? seconds() - ready : 0;
    if (n < plan->max_iterations && pile_or(p->grid, p->dim) > 3)
        n = topple_planes(p, plan, &d, n, t);
    *p->iterations = n;

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    device_end(&d);
    return 0;
}
