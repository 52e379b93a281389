/* cuda.cu - the CUDA back-end, host and device side.
 *
 * The kernels correspond to those of kernel.cl. The CUDA compiler builds them, and the
 * CUDA runtime creates the context at its first call, so no code is needed here
 * for what OpenCL calls context, queue, program and kernel.
 */
#include <stdlib.h>

#include "cuda_device.h"
#include "host.h"
#include "profile_cuda.h"

static setup s;
static grid g;
static size_t bytes; /* in a field, with ghost cells */
static dim3 block;
static float *field[FIELDS], *change, *partial;

/* Number of blocks for this number of threads, rounded up. */
static dim3 blocks(size_t threads)
{
    dim3 b = {(unsigned)((threads + block.x - 1) / block.x), 1, 1};
    return b;
}

static float *device_array(size_t size)
{
    float *p;
    CUDA_CHECK(cudaMalloc((void **)&p, size));
    CUDA_CHECK(cudaMemset(p, 0xff, size)); /* all bits set: NaN */
    return p;
}

void fluid_begin(const setup *requested)
{
    s = *requested;
    reject_gauss_seidel(&s);
    g = s.g;
    bytes = field_size(g) * sizeof(float);

    cuda_device();
    profile_cuda_begin();
    size_t items = total_items(g);
    block.x = s.group[0] ? (unsigned)s.group[0] : items < 256 ? (unsigned)items : 256;
    block.y = block.z = 1;

    for (int f = 0; f < FIELDS; f++) {
        field[f] = device_array(bytes);
        fluid_clear(f);
    }
    change = device_array(total_items(g) * sizeof(float));
    partial = device_array(PARTIALS * sizeof(float));
    CUDA_CHECK(cudaDeviceSynchronize());
    profile_collect();
}

void fluid_end(void)
{
    cudaFree(partial);
    cudaFree(change);
    for (int f = 0; f < FIELDS; f++) cudaFree(field[f]);
    profile_cuda_end();
}

void fluid_put(int f, int i, int j, int k, float value)
{
    CUDA_CHECK(cudaMemcpy(field[f] + cell_index(g, i, j, k), &value, sizeof value,
                          cudaMemcpyHostToDevice));
    profile_command("copy to device");
}

void fluid_get(int f, float *dst)
{
    CUDA_CHECK(cudaMemcpy(dst, field[f], bytes, cudaMemcpyDeviceToHost));
    profile_command("copy to host");
    profile_collect();
}

void fluid_clear(int f)
{
    CUDA_CHECK(cudaMemset(field[f], 0, bytes));
    profile_command("clear");
}

__global__ void add_source_kernel(float *x, const float *__restrict__ source, float dt,
                                  int cells)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id < cells) x[id] += dt * source[id];
}

void fluid_add(int x, int source)
{
    int cells = (int)field_size(g);
    CUDA_LAUNCH(add_source_kernel, blocks((size_t)cells), block, 0, field[x],
                field[source], s.dt, cells);
    profile_command("add_source");
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

static void set_bnd(int f, int wall)
{
    float sign_x = wall == ALONG_X ? -1 : 1;
    float sign_y = wall == ALONG_Y ? -1 : 1;
    float sign_z = wall == ALONG_Z ? -1 : 1;
    CUDA_LAUNCH(walls_x_kernel, blocks((size_t)g.ny * g.nz), block, 0, field[f], g,
                sign_x);
    profile_command("set_bnd");
    CUDA_LAUNCH(walls_y_kernel, blocks((size_t)g.nx * g.nz), block, 0, field[f], g,
                sign_y);
    profile_command("set_bnd");
    CUDA_LAUNCH(walls_z_kernel, blocks((size_t)g.nx * g.ny), block, 0, field[f], g,
                sign_z);
    profile_command("set_bnd");
}

/* Relaxes the cells of one colour, one per thread. change[id] receives the change of
 * the thread's red cell, and then the larger change of its red and its black cell. */
__global__ void relax_kernel(float *x, const float *__restrict__ x0, float *change,
                             grid g, int colour, float a, float c)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x, items = row_items(g);
    position at = {1 + 2 * (id % items), 1 + id / items % g.ny, 1 + id / items / g.ny};
    if (at.k > g.nz) return;

    at.i += (at.j + at.k + colour) % 2;
    float max_change = colour == RED ? 0 : change[id];
    if (at.i <= g.nx) max_change = maximum(max_change, relax_cell(x, x0, g, at, a, c));
    change[id] = max_change;
}

static void relax(int x, int x0, int colour, float a, float c)
{
    CUDA_LAUNCH(relax_kernel, blocks(total_items(g)), block, 0, field[x], field[x0],
                change, g, colour, a, c);
    profile_command(colour == RED ? "relax red" : "relax black");
}

/* First stage of the reduction: each of PARTIALS threads finds the maximum of every
 * PARTIALS-th element of change. */
__global__ void find_largest_kernel(const float *__restrict__ change, int count,
                                    float *partial)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= PARTIALS) return;

    float max_change = 0;
    for (int n = id; n < count; n += PARTIALS)
        max_change = maximum(max_change, change[n]);
    partial[id] = max_change;
}

/* Returns the largest change of a cell in this sweep. */
static float find_max_change(void)
{
    float found[PARTIALS], max_change = 0;
    CUDA_LAUNCH(find_largest_kernel, blocks(PARTIALS), block, 0, change,
                (int)total_items(g), partial);
    profile_command("find_largest");
    CUDA_CHECK(cudaMemcpy(found, partial, sizeof found, cudaMemcpyDeviceToHost));
    profile_command("copy to host");
    for (int n = 0; n < PARTIALS; n++) max_change = maximum(max_change, found[n]);
    return max_change;
}

int fluid_solve(int wall, int x, int x0, float a, float c)
{
    int sweeps = 0;
    do {
        relax(x, x0, RED, a, c);
        relax(x, x0, BLACK, a, c);
        set_bnd(x, wall);
        sweeps++;
    } while (!(find_max_change() <= s.tolerance) && sweeps < s.sweeps);
    return sweeps;
}

__global__ void advect_kernel(float *d, const float *__restrict__ d0,
                              const float *__restrict__ u, const float *__restrict__ v,
                              const float *__restrict__ w, grid g, float dt)
{
    position at = inner_cell(g, blockIdx.x * blockDim.x + threadIdx.x);
    if (at.k <= g.nz)
        d[cell_index(g, at.i, at.j, at.k)] = advected_value(d0, u, v, w, g, at, dt);
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    CUDA_LAUNCH(advect_kernel, blocks((size_t)g.nx * g.ny * g.nz), block, 0, field[d],
                field[d0], field[u], field[v], field[w], g, s.dt);
    profile_command("advect");
    set_bnd(d, wall);
}

__global__ void divergence_kernel(const float *__restrict__ u,
                                  const float *__restrict__ v,
                                  const float *__restrict__ w, float *p, float *div,
                                  grid g, int longest)
{
    position at = inner_cell(g, blockIdx.x * blockDim.x + threadIdx.x);
    if (at.k <= g.nz) divergence_cell(u, v, w, p, div, g, at, longest);
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    CUDA_LAUNCH(divergence_kernel, blocks((size_t)g.nx * g.ny * g.nz), block, 0,
                field[u], field[v], field[w], field[p], field[div], g, longest_side(g));
    profile_command("divergence");
    set_bnd(div, SCALAR);
    set_bnd(p, SCALAR);
}

__global__ void gradient_kernel(float *u, float *v, float *w,
                                const float *__restrict__ p, grid g)
{
    position at = inner_cell(g, blockIdx.x * blockDim.x + threadIdx.x);
    if (at.k <= g.nz) gradient_cell(u, v, w, p, g, at);
}

void fluid_gradient(int u, int v, int w, int p)
{
    CUDA_LAUNCH(gradient_kernel, blocks((size_t)g.nx * g.ny * g.nz), block, 0, field[u],
                field[v], field[w], field[p], g);
    profile_command("gradient");
    set_bnd(u, ALONG_X);
    set_bnd(v, ALONG_Y);
    set_bnd(w, ALONG_Z);
}
