/* cuda.cu - the same fluid in CUDA C, both sides.
 *
 * What OpenCL names context, queue, program and kernel is implicit here: the compiler
 * has built the kernels, and the runtime makes the rest at its first call.
 */
#include <stdlib.h>

#include "cuda_device.h"
#include "host.h"
#include "profile_cuda.h"

__global__ void add_source_kernel(float *x, const float *__restrict__ source, float dt,
                                  int cells)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id < cells) x[id] += dt * source[id];
}

/* Each thread notes how far its cell of the colour moved: the red one, and then the
 * larger of both. */
__global__ void relax_kernel(float *x, const float *__restrict__ x0, float *moved,
                             grid g, int colour, float a, float c)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x, lanes = lanes_of(g);
    int j = 1 + id / lanes % g.ny;
    int k = 1 + id / lanes / g.ny;
    int i = 1 + id % lanes * 2 + (j + k + colour) % 2;
    if (k > g.nz) return;

    float most = colour == RED ? 0 : moved[id];
    if (i <= g.nx) most = larger(most, relax_cell(x, x0, g, i, j, k, a, c));
    moved[id] = most;
}

/* The largest of what PARTS threads find, each in its part of moved. */
__global__ void find_largest_kernel(const float *__restrict__ moved, int count,
                                    float *part)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= PARTS) return;

    float most = 0;
    for (int n = id; n < count; n += PARTS) most = larger(most, moved[n]);
    part[id] = most;
}

__global__ void walls_x_kernel(float *x, grid g, float sign)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    int j = 1 + id % g.ny, k = 1 + id / g.ny;
    if (k <= g.nz) mirror_x(x, g, j, k, sign);
}

__global__ void walls_y_kernel(float *x, grid g, float sign)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 1 + id % g.nx, k = 1 + id / g.nx;
    if (k <= g.nz) mirror_y(x, g, i, k, sign);
}

__global__ void walls_z_kernel(float *x, grid g, float sign)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 1 + id % g.nx, j = 1 + id / g.nx;
    if (j <= g.ny) mirror_z(x, g, i, j, sign);
}

__global__ void advect_kernel(float *d, const float *__restrict__ d0,
                              const float *__restrict__ u, const float *__restrict__ v,
                              const float *__restrict__ w, grid g, float dt)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 1 + id % g.nx, j = 1 + id / g.nx % g.ny, k = 1 + id / g.nx / g.ny;
    if (k <= g.nz) advect_cell(d, d0, u, v, w, g, i, j, k, dt);
}

__global__ void divergence_kernel(const float *__restrict__ u,
                                  const float *__restrict__ v,
                                  const float *__restrict__ w, float *p, float *div,
                                  grid g, int longest)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 1 + id % g.nx, j = 1 + id / g.nx % g.ny, k = 1 + id / g.nx / g.ny;
    if (k <= g.nz) divergence_cell(u, v, w, p, div, g, i, j, k, longest);
}

__global__ void gradient_kernel(float *u, float *v, float *w,
                                const float *__restrict__ p, grid g)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 1 + id % g.nx, j = 1 + id / g.nx % g.ny, k = 1 + id / g.nx / g.ny;
    if (k <= g.nz) gradient_cell(u, v, w, p, g, i, j, k);
}

static setup s;
static grid g;
static size_t bytes; /* of a field, with ghosts */
static dim3 block;
static float *field[FIELDS], *moved, *part;

/* Blocks for so many threads. */
static dim3 blocks(size_t threads)
{
    dim3 b = {(unsigned)((threads + block.x - 1) / block.x), 1, 1};
    return b;
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
    size_t lanes = lanes_in_all(g);
    block.x = s.group[0] ? (unsigned)s.group[0] : lanes < 256 ? (unsigned)lanes : 256;
    block.y = block.z = 1;

    for (int f = 0; f < FIELDS; f++) {
        field[f] = device_array(bytes);
        fluid_clear(f);
    }
    moved = device_array(lanes_in_all(g) * sizeof(float));
    part = device_array(PARTS * sizeof(float));
    CUDA_CHECK(cudaDeviceSynchronize());
    collect();
}

void fluid_end(void)
{
    cudaFree(part);
    cudaFree(moved);
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
    CUDA_CHECK(cudaMemcpy(to, field[f], bytes, cudaMemcpyDeviceToHost));
    book("copy to host");
    collect();
}

void fluid_clear(int f)
{
    CUDA_CHECK(cudaMemset(field[f], 0, bytes));
    book("clear");
}

void fluid_add(int x, int source)
{
    int cells = (int)cells_of(g);
    CUDA_LAUNCH(add_source_kernel, blocks((size_t)cells), block, 0, field[x],
                field[source], s.dt, cells);
    book("add_source");
}

static void set_bnd(int f, int wall)
{
    float sign_x = wall == ALONG_X ? -1 : 1;
    float sign_y = wall == ALONG_Y ? -1 : 1;
    float sign_z = wall == ALONG_Z ? -1 : 1;
    CUDA_LAUNCH(walls_x_kernel, blocks((size_t)g.ny * g.nz), block, 0, field[f], g,
                sign_x);
    book("set_bnd");
    CUDA_LAUNCH(walls_y_kernel, blocks((size_t)g.nx * g.nz), block, 0, field[f], g,
                sign_y);
    book("set_bnd");
    CUDA_LAUNCH(walls_z_kernel, blocks((size_t)g.nx * g.ny), block, 0, field[f], g,
                sign_z);
    book("set_bnd");
}

static void relax(int x, int x0, int colour, float a, float c)
{
    CUDA_LAUNCH(relax_kernel, blocks(lanes_in_all(g)), block, 0, field[x], field[x0],
                moved, g, colour, a, c);
    book(colour == RED ? "relax red" : "relax black");
}

/* How far the cell moved that moved most. */
static float most_moved(void)
{
    float found[PARTS], most = 0;
    CUDA_LAUNCH(find_largest_kernel, blocks(PARTS), block, 0, moved,
                (int)lanes_in_all(g), part);
    book("find_largest");
    CUDA_CHECK(cudaMemcpy(found, part, sizeof found, cudaMemcpyDeviceToHost));
    book("copy to host");
    for (int n = 0; n < PARTS; n++) most = larger(most, found[n]);
    return most;
}

int fluid_solve(int wall, int x, int x0, float a, float c)
{
    int sweeps = 0;
    do {
        relax(x, x0, RED, a, c);
        relax(x, x0, BLACK, a, c);
        set_bnd(x, wall);
        sweeps++;
    } while (!(most_moved() <= s.tolerance) && sweeps < s.sweeps);
    return sweeps;
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    CUDA_LAUNCH(advect_kernel, blocks((size_t)g.nx * g.ny * g.nz), block, 0, field[d],
                field[d0], field[u], field[v], field[w], g, s.dt);
    book("advect");
    set_bnd(d, wall);
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    CUDA_LAUNCH(divergence_kernel, blocks((size_t)g.nx * g.ny * g.nz), block, 0,
                field[u], field[v], field[w], field[p], field[div], g, longest_side(g));
    book("divergence");
    set_bnd(div, SCALAR);
    set_bnd(p, SCALAR);
}

void fluid_gradient(int u, int v, int w, int p)
{
    CUDA_LAUNCH(gradient_kernel, blocks((size_t)g.nx * g.ny * g.nz), block, 0, field[u],
                field[v], field[w], field[p], g);
    book("gradient");
    set_bnd(u, ALONG_X);
    set_bnd(v, ALONG_Y);
    set_bnd(w, ALONG_Z);
}
