/* cuda.cu - the same fluid in CUDA C, both sides.
 *
 * What OpenCL names context, queue, program and kernel is implicit here: the compiler
 * has built the kernels, and the runtime makes the rest at its first call.
 */
#include <stdlib.h>

#define LANES 1 /* a GPU's lanes are threads */
#include "cuda_device.h"
#include "host.h"
#include "profile_cuda.h"

/* This thread's place in the range, counted from 0; z is the slowest. */
#define GLOBAL_X ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define GLOBAL_Y ((int)(blockIdx.y * blockDim.y + threadIdx.y))
#define GLOBAL_Z ((int)(blockIdx.z * blockDim.z + threadIdx.z))

/* The box, which the host writes once, and the strides that follow from it. */
__constant__ grid box;

/* Neighbours among threads take neighbours in memory: the odd columns, then the even
 * ones. */
FN int column(grid g, int id)
{
    int odd = (g.nx + 1) / 2;
    return id < odd ? 1 + 2 * id : 2 + 2 * (id - odd);
}

__global__ void add_source_kernel(float *x, const float *__restrict__ source, float dt)
{
    grid g = box;
    int n = GLOBAL_X, j = GLOBAL_Y, k = GLOBAL_Z;
    if (n >= row_of(g) || j > g.ny + 1 || k > g.nz + 1) return;

    int red = n + row_of(g) * j + plane_of(g) * k, black = red + half_of(g);
    x[red] += dt * source[red];
    x[black] += dt * source[black];
}

/* moving[sweep] becomes 1 if a cell of the colour moved farther than the tolerance, or
 * is NaN: the block agrees, and one of it writes. Once it was left 0 by a sweep before,
 * nothing is done. */
__global__ void relax_kernel(float *x, const float *__restrict__ x0, int *moving,
                             int planes, int sweep, float tolerance, int colour,
                             int wall, float a, float over_c)
{
    if (sweep > 0 && !moving[sweep - 1]) return;

    grid g = box;
    int strip = GLOBAL_X;
    int j = 1 + GLOBAL_Y;
    int first = 1 + GLOBAL_Z * planes;
    int last = first + planes - 1 < g.nz ? first + planes - 1 : g.nz;
    int far = strip < strips_of(g, LANES) && j <= g.ny &&
              relax_strip(x, x0, g, colour, strip, j, first, last, wall, a, over_c,
                          tolerance);

    int one = threadIdx.x == 0 && threadIdx.y == 0;
    if (__syncthreads_or(far) && one) moving[sweep] = 1;
}

__global__ void advect_kernel(float *d, const float *__restrict__ d0,
                              const float *__restrict__ u, const float *__restrict__ v,
                              const float *__restrict__ w, int wall, float dt)
{
    grid g = box;
    int i = column(g, GLOBAL_X), j = 1 + GLOBAL_Y, k = 1 + GLOBAL_Z;
    if (i <= g.nx && j <= g.ny && k <= g.nz)
        advect_cell(d, d0, u, v, w, g, i, j, k, wall, dt);
}

__global__ void divergence_kernel(const float *__restrict__ u,
                                  const float *__restrict__ v,
                                  const float *__restrict__ w, float *p, float *div,
                                  float scale)
{
    grid g = box;
    int i = column(g, GLOBAL_X), j = 1 + GLOBAL_Y, k = 1 + GLOBAL_Z;
    if (i <= g.nx && j <= g.ny && k <= g.nz)
        divergence_cell(u, v, w, p, div, g, i, j, k, scale);
}

__global__ void gradient_kernel(float *u, float *v, float *w,
                                const float *__restrict__ p)
{
    grid g = box;
    int i = column(g, GLOBAL_X), j = 1 + GLOBAL_Y, k = 1 + GLOBAL_Z;
    if (i <= g.nx && j <= g.ny && k <= g.nz) gradient_cell(u, v, w, p, g, i, j, k);
}

static setup s;
static grid g;
static size_t bytes; /* of a field, with ghosts */
static dim3 block;
static int brick[3]; /* in a sweep: strips, rows and planes of a block */
static float *field[FIELDS];
static float *halves; /* a field on its way to the host */
static int *moving;   /* [s.sweeps]: 1 if a cell moved too far to stop */

/* Sweeps between two looks of the host. */
enum { LOOK_EVERY = 4 };

/* A range of threads: the blocks that cover it, none of them larger than it is. */
typedef struct {
    dim3 grid, block;
} range;

static range over(int x, int y, int z)
{
    range r;
    r.block.x = block.x < (unsigned)x ? block.x : (unsigned)x;
    r.block.y = block.y < (unsigned)y ? block.y : (unsigned)y;
    r.block.z = block.z < (unsigned)z ? block.z : (unsigned)z;
    r.grid.x = ((unsigned)x + r.block.x - 1) / r.block.x;
    r.grid.y = ((unsigned)y + r.block.y - 1) / r.block.y;
    r.grid.z = ((unsigned)z + r.block.z - 1) / r.block.z;
    return r;
}

static float *device_array(size_t size)
{
    float *p;
    CUDA_CHECK(cudaMalloc((void **)&p, size));
    CUDA_CHECK(cudaMemset(p, 0xff, size)); /* the poison */
    return p;
}

void fluid_begin(const setup *wanted)
{
    s = *wanted;
    refuse_gauss_seidel(&s);
    g = s.g;
    bytes = cells_of(g) * sizeof(float);

    cuda_device();
    marks_begin();
    block.x = s.group[0] ? (unsigned)s.group[0] : 8;
    block.y = s.group[1] ? (unsigned)s.group[1] : 8;
    block.z = s.group[2] ? (unsigned)s.group[2] : 8;
    static const int usual[3] = {32, 4, 16};
    for (int d = 0; d < 3; d++) brick[d] = s.group[d] ? s.group[d] : usual[d];

    for (int f = 0; f < FIELDS; f++) {
        field[f] = device_array(bytes);
        fluid_clear(f);
    }
    halves = (float *)allocate(cells_of(g), sizeof *halves, "a field");
    moving = (int *)device_array((size_t)s.sweeps * sizeof *moving);
    CUDA_CHECK(cudaMemcpyToSymbol(box, &g, sizeof g));
    CUDA_CHECK(cudaDeviceSynchronize());
    collect();
}

void fluid_end(void)
{
    cudaFree(moving);
    free(halves);
    for (int f = 0; f < FIELDS; f++) cudaFree(field[f]);
    marks_end();
}

void fluid_put(int f, int i, int j, int k, float value)
{
    CUDA_CHECK(cudaMemcpy(field[f] + at(g, i, j, k), &value, sizeof value,
                          cudaMemcpyHostToDevice));
    book("copy to device");
}

void fluid_get(int f, float *to)
{
    CUDA_CHECK(cudaMemcpy(halves, field[f], bytes, cudaMemcpyDeviceToHost));
    book("copy to host");
    collect();
    join(g, halves, to);
}

void fluid_clear(int f)
{
    CUDA_CHECK(cudaMemset(field[f], 0, bytes));
    book("clear");
}

void fluid_add(int x, int source)
{
    range r = over(row_of(g), g.ny + 2, g.nz + 2);
    CUDA_LAUNCH(add_source_kernel, r.grid, r.block, 0, field[x], field[source], s.dt);
    book("add_source");
}

static void relax(int x, int x0, int sweep, int colour, int wall, float a, float over_c)
{
    int items[3] = {strips_of(g, LANES), g.ny, g.nz}, group[3];
    unsigned groups[3];
    for (int d = 0; d < 3; d++) {
        group[d] = brick[d] < items[d] ? brick[d] : items[d];
        groups[d] = (unsigned)((items[d] + group[d] - 1) / group[d]);
    }
    dim3 blocks = {groups[0], groups[1], groups[2]};
    dim3 threads = {(unsigned)group[0], (unsigned)group[1], 1};
    CUDA_LAUNCH(relax_kernel, blocks, threads, 0, field[x], field[x0], moving, group[2],
                sweep, s.tolerance, colour, wall, a, over_c);
    book(colour == RED ? "relax red" : "relax black");
}

/* After which of the sweeps done the device has stopped; 0 if it has not. */
static int stopped(int done)
{
    int found[LOOK_EVERY], first = (done - 1) / LOOK_EVERY * LOOK_EVERY;
    CUDA_CHECK(cudaMemcpy(found, moving + first, (size_t)(done - first) * sizeof *found,
                          cudaMemcpyDeviceToHost));
    book("copy to host");
    for (int n = first; n < done; n++)
        if (!found[n - first]) return n + 1;
    return 0;
}

int fluid_solve(int wall, int x, int x0, float a, float c)
{
    int done = 0, last = 0;
    CUDA_CHECK(cudaMemset(moving, 0, (size_t)s.sweeps * sizeof *moving));
    book("clear");
    while (done < s.sweeps && !last) {
        relax(x, x0, done, RED, wall, a, 1 / c);
        relax(x, x0, done, BLACK, wall, a, 1 / c);
        done++;
        bool look = done % LOOK_EVERY == 0 || done == s.sweeps;
        if (look && s.tolerance >= 0) last = stopped(done);
    }
    return last ? last : done;
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    range r = over(g.nx, g.ny, g.nz);
    CUDA_LAUNCH(advect_kernel, r.grid, r.block, 0, field[d], field[d0], field[u],
                field[v], field[w], wall, s.dt);
    book("advect");
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    range r = over(g.nx, g.ny, g.nz);
    CUDA_LAUNCH(divergence_kernel, r.grid, r.block, 0, field[u], field[v], field[w],
                field[p], field[div], -0.5f / longest_side(g));
    book("divergence");
}

void fluid_gradient(int u, int v, int w, int p)
{
    range r = over(g.nx, g.ny, g.nz);
    CUDA_LAUNCH(gradient_kernel, r.grid, r.block, 0, field[u], field[v], field[w],
                field[p]);
    book("gradient");
}
