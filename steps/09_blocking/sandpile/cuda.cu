/* cuda.cu - host and device code in CUDA C: one block computes several steps of a band
 * in bit planes (layout and bands: body.h).
 *
 * The CUDA runtime creates what OpenCL calls context, queue, program and kernel at its
 * first call; the compiler has already built the kernel.
 */
#include <stdlib.h>

#define LANES 1 /* a GPU's lanes are its threads */
#include "cuda_device.h"
#include "host.h"

/* Own rows of a block's band, and steps per launch. A GPU needs many narrow bands. */
enum { ROWS = 8, STEPS = 8 };

typedef struct {
    cell *planes[2];        /* input and output of a launch */
    cell *flags;            /* [POLL_STEPS] */
    cell *workspaces;       /* of all blocks, unless they are in shared memory */
    size_t shared_bytes;    /* per block */
    int workspace_stride;   /* words per block; 0: in shared memory */
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

/* Computes steps n .. n + steps - 1, from one array into another. A block loads a band
 * of ROWS rows and its ghost rows into its workspace, computes all steps there, and
 * stores its own rows. If a band does not fit in shared memory, the workspaces are in
 * global memory, workspace_stride words apart. flags[s] becomes nonzero if a cell is
 * unstable after step s. */
__global__ void do_steps(const cell *__restrict__ in, cell *out, cell *flags, int n,
                         int steps, cell *workspaces, int workspace_stride)
{
    CUDA_SHARED(cell, shared);
    int x = threadIdx.x, threads_x = blockDim.x;
    int y = threadIdx.y, threads_y = blockDim.y;
    int first = blockIdx.y * ROWS + 1;
    int end = first + ROWS < DIM - 1 ? first + ROWS : DIM - 1;
    band b = band_at(DIM, first, end, steps);
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
        int first_valid = band_first_valid(b, s), end_valid = band_end_valid(b, DIM, s);
        int rows_each = (end_valid - first_valid + threads_y - 1) / threads_y;
        int first_row = first_valid + y * rows_each;
        int my_rows =
            first_row + rows_each < end_valid ? rows_each : end_valid - first_row;
        bitvec fours = 0;
        for (int w = x; w < WIDTH && my_rows > 0; w += threads_x) {
            cell *c = workspace + (first_row - b.first_stored) * pitch + w;
            fours |= step_column(c, w, WIDTH, n + s, my_rows, in[w]);
        }
        /* At most one thread per block stores the flag. It is a barrier, too. */
        int any = __syncthreads_or(fours != 0);
        if (any && x == 0 && y == 0) atomicOr(&flags[s], 1u);
    }

    for (int r = b.first + y; r < b.end; r += threads_y)
        for (int w = x; w < pitch; w += threads_x)
            out[(size_t)r * pitch + w] = workspace[(r - b.first_stored) * pitch + w];
}

/* Enqueues steps n .. n + steps - 1, at most STEPS; slot is the index of the first
 * flag.
 */
static void launch_steps(device_state *d, int n, int slot, int steps)
{
    CUDA_LAUNCH(do_steps, d->blocks, d->block, d->shared_bytes, d->planes[0],
                d->planes[1], d->flags + slot, n, steps, d->workspaces,
                d->workspace_stride);
    CUDA_CHECK(cudaGetLastError());
    cell *swap = d->planes[0];
    d->planes[0] = d->planes[1];
    d->planes[1] = swap;
}

static device_state device_begin(int dim, const run_plan *plan)
{
    device_state d;
    int width = plane_width(dim), shape[2] = {dim, width};

    cuda_device();
    for (int i = 0; i < 2; i++)
        CUDA_CHECK(cudaMalloc((void **)&d.planes[i], total_words(dim) * sizeof(cell)));
    CUDA_CHECK(cudaMalloc((void **)&d.flags, POLL_STEPS * sizeof(cell)));
    CUDA_CHECK(cudaEventCreate(&d.begin));
    CUDA_CHECK(cudaEventCreate(&d.end));

    /* A block of 256 threads: a thread takes a word of some rows. */
    int words = width < 32 ? width : 32;
    d.block.x = plan->group[0] ? plan->group[0] : words;
    d.block.y = plan->group[1] ? plan->group[1] : 256 / words;
    CUDA_CHECK(cudaMemcpyToSymbol(c_shape, shape, sizeof shape));
    d.blocks.x = 1;
    d.blocks.y = (dim - 2 + ROWS - 1) / ROWS;
    d.block.z = d.blocks.z = 1;

    size_t band_size = (ROWS + 2 * STEPS) * row_pitch(width) * sizeof(cell);
    bool fits = band_size <= CUDA_SHARED_BYTES;
    d.shared_bytes = fits ? band_size : 0;
    d.workspace_stride = fits ? 0 : band_size / sizeof(cell);
    d.workspaces = NULL;
    if (!fits) CUDA_CHECK(cudaMalloc((void **)&d.workspaces, band_size * d.blocks.y));
    return d;
}

static void device_end(device_state *d)
{
    cudaFree(d->workspaces);
    cudaEventDestroy(d->end);
    cudaEventDestroy(d->begin);
    cudaFree(d->flags);
    cudaFree(d->planes[1]);
    cudaFree(d->planes[0]);
}

/* Topples an unstable pile of which no cell exceeds 7, from step n on. Returns the
 * number of the last step. */
static int topple_planes(pile *p, const run_plan *plan, device_state *d, int n,
                         run_times *t)
{
    size_t words = total_words(p->dim), size = words * sizeof(cell);
    cell *planes = (cell *)allocate(words, sizeof *planes, "the bit planes");

    pack_planes(p, n, planes);
    for (int i = 0; i < 2; i++)
        CUDA_CHECK(cudaMemcpy(d->planes[i], planes, size, cudaMemcpyHostToDevice));
    bool stable = false;
    while (!stable && n < plan->max_iterations) {
        int steps = steps_until_poll(plan, n);
        cell flags[POLL_STEPS];
        CUDA_CHECK(cudaMemset(d->flags, 0, sizeof flags));
        CUDA_CHECK(cudaEventRecord(d->begin, 0));
        for (int s = 0; s < steps; s += STEPS)
            launch_steps(d, n + s, s, steps - s < STEPS ? steps - s : STEPS);
        CUDA_CHECK(cudaEventRecord(d->end, 0));
        CUDA_CHECK(cudaMemcpy(flags, d->flags, sizeof flags, cudaMemcpyDeviceToHost));
        t->kernel += cuda_seconds(d->begin, d->end);
        n += steps_to_stable(flags, steps, &stable);
    }
    CUDA_CHECK(cudaMemcpy(planes, d->planes[0], size, cudaMemcpyDeviceToHost));
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
