/* cuda.cu - the CUDA back-end, host and device side.
 *
 * The kernels correspond to those of kernel.cl. The CUDA compiler builds them, and the
 * CUDA runtime creates the context at its first call, so no code is needed here
 * for what OpenCL calls context, queue, program and kernel.
 */
#include <stdlib.h>

#define LANES 1 /* the lanes of a GPU are threads */
#include "cuda_device.h"
#define SIDE(name) device_##name
#include "sides.h"
#include "host.h"
#include "cosine.h"
#include "profile_cuda.h"

/* Index of this thread in the whole range, from 0. */
#define GLOBAL_X ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define GLOBAL_Y ((int)(blockIdx.y * blockDim.y + threadIdx.y))
#define GLOBAL_Z ((int)(blockIdx.z * blockDim.z + threadIdx.z))

/* The size of the box in constant memory; the host writes it once. All strides follow
 * from it. */
__constant__ grid box;

int device_shares_cores;

static int device; /* CUDA's number of it */
static setup s;
static grid g;
static size_t bytes; /* in a field, with ghost cells */
static dim3 block;
static dim3 sweep_blocks, sweep_block; /* launch configuration of a solve */
static float *field[FIELDS];
static float *split_field; /* host copy of a field, split by colour */
static int *flags;         /* [s.sweeps]: 1 if a sweep has not converged */
static int *found;         /* host copy of the flags */

/* The launch configuration for a range of threads: blocks cover the range, and no block
 * is larger than the range. */
typedef struct {
    dim3 grid, block;
} range;

static range make_range(int x, int y, int z)
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
    CUDA_CHECK(cudaMemset(p, 0xff, size)); /* all bits set: NaN */
    return p;
}

static void divide_into_tiles(void);
static void create_dct_arrays(void);
static void free_dct_arrays(void);

void fluid_begin(const setup *requested)
{
    s = *requested;
    reject_gauss_seidel(&s);
    g = s.g;
    bytes = field_size(g) * sizeof(float);

    cuda_device();
    CUDA_CHECK(cudaGetDevice(&device));
    profile_cuda_begin();
    block.x = s.group[0] ? (unsigned)s.group[0] : 8;
    block.y = s.group[1] ? (unsigned)s.group[1] : 8;
    block.z = s.group[2] ? (unsigned)s.group[2] : 8;
    divide_into_tiles();
    create_dct_arrays();

    for (int f = 0; f < FIELDS; f++) {
        field[f] = device_array(bytes);
        fluid_clear(f);
    }
    split_field = (float *)allocate(field_size(g), sizeof *split_field, "a field");
    flags = (int *)device_array((size_t)s.sweeps * sizeof *flags);
    found = (int *)allocate((size_t)s.sweeps, sizeof *found, "convergence flags");
    CUDA_CHECK(cudaMemcpyToSymbol(box, &g, sizeof g));
    CUDA_CHECK(cudaDeviceSynchronize());
    profile_collect();
}

void fluid_end(void)
{
    free(found);
    free(split_field);
    cudaFree(flags);
    free_dct_arrays();
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
    CUDA_CHECK(cudaMemcpy(split_field, field[f], bytes, cudaMemcpyDeviceToHost));
    profile_command("copy to host");
    profile_collect();
    merge_colours(g, split_field, dst);
}

void device_select(void)
{
    CUDA_CHECK(cudaSetDevice(device));
}

void device_finish(void)
{
    CUDA_CHECK(cudaDeviceSynchronize());
}

/* Reads a field in the layout of the device, which is that of the host. */
void device_read(int f, float *dst)
{
    CUDA_CHECK(cudaMemcpy(dst, field[f], bytes, cudaMemcpyDeviceToHost));
    profile_command("copy to host");
}

void fluid_clear(int f)
{
    CUDA_CHECK(cudaMemset(field[f], 0, bytes));
    profile_command("clear");
}

__global__ void add_source_kernel(float *x, const float *__restrict__ source, float dt)
{
    int c = GLOBAL_X;
    if (c < 2 * half_size(box)) x[c] += dt * source[c];
}

void fluid_add(int x, int source)
{
    range r = make_range(2 * half_size(g), 1, 1);
    CUDA_LAUNCH(add_source_kernel, r.grid, r.block, 0, field[x], field[source], s.dt);
    profile_command("add_source");
}

/* The tiles of a sweep: `columns` along x, `rows` along y, `count` in all, of `planes`
 * planes each. They are numbered along x first, then along y and z. */
typedef struct {
    int columns, rows, planes, count;
} tiling;
__constant__ tiling tiles;

/* Relaxes a box until it has converged, at most `sweeps` times, one colour after the
 * other. Block b relaxes the tiles b, b + gridDim.x, b + 2 gridDim.x and so on. A sweep
 * sets its flag to 1 if a cell changed by more than the tolerance, or to NaN; the
 * threads of a block combine their results and one of them writes. A sweep that has
 * left its flag 0 is the last one. */
__global__ void relax_kernel(float *x, const float *__restrict__ x0, int *flags,
                             int sweeps, float tolerance, int wall, float a,
                             float inv_c)
{
    grid g = box;
    int leader = threadIdx.x == 0 && threadIdx.y == 0;

    for (int n = 0; n < 2 * sweeps; n++) { /* the red cells, then the black ones */
        int sweep = n / 2, colour = n % 2 ? BLACK : RED, bits = 0;
        if (sweep > 0 && !flags[sweep - 1]) return;
        for (int tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
            int column = tile % tiles.columns, row = tile / tiles.columns;
            position at = {1 + 2 * (int)(column * blockDim.x + threadIdx.x),
                           1 + (int)(row % tiles.rows * blockDim.y + threadIdx.y),
                           1 + row / tiles.rows * tiles.planes};
            int last = at.k + tiles.planes - 1 < g.nz ? at.k + tiles.planes - 1 : g.nz;
            if (!is_inner(g, at)) continue;
            at.i += (at.j + at.k + colour) % 2;
            bits = maximum(bits, relax_columns(x, x0, g, at, last, wall, a, inv_c));
        }
        int unconverged = !(bits_to_change(bits) <= tolerance);
        if (__syncthreads_or(unconverged) && leader) atomicMax(&flags[sweep], 1);
        CUDA_GRID_SYNC();
    }
}

/* Divides the box into tiles, and chooses as many blocks for them as the device holds
 * at the same time. */
static void divide_into_tiles(void)
{
    const int items[3] = {row_items(g), g.ny, g.nz};
    /* 32: the size of a warp; 4 rows are not tuned. */
    const int default_tile[3] = {32, 4, planes_per_thread(g, cuda_threads_at_once())};
    int tile[3], count[3], at_once;
    for (int d = 0; d < 3; d++) {
        tile[d] = s.group[d] ? s.group[d] : default_tile[d];
        tile[d] = tile[d] < items[d] ? tile[d] : items[d];
        count[d] = (items[d] + tile[d] - 1) / tile[d];
    }
    tiling t = {count[0], count[1], tile[2], count[0] * count[1] * count[2]};
    CUDA_CHECK(cudaMemcpyToSymbol(tiles, &t, sizeof t));
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, relax_kernel,
                                                             tile[0] * tile[1], 0));
    at_once *= cuda_multiprocessors();
    sweep_blocks.x = (unsigned)(t.count < at_once ? t.count : at_once);
    sweep_blocks.y = sweep_blocks.z = 1;
    sweep_block.x = (unsigned)tile[0];
    sweep_block.y = (unsigned)tile[1];
    sweep_block.z = 1;
}

int fluid_solve(int wall, int x, int x0, float a, float c)
{
    CUDA_CHECK(cudaMemset(flags, 0, (size_t)s.sweeps * sizeof *flags));
    profile_command("clear");
    CUDA_LAUNCH_TOGETHER(relax_kernel, sweep_blocks, sweep_block, 0, field[x],
                         field[x0], flags, s.sweeps, s.tolerance, wall, a, 1 / c);
    profile_command("relax");
    if (s.tolerance < 0) return s.sweeps;

    int sweeps = 0;
    CUDA_CHECK(cudaMemcpy(found, flags, (size_t)s.sweeps * sizeof *found,
                          cudaMemcpyDeviceToHost));
    profile_command("copy to host");
    while (sweeps < s.sweeps && found[sweeps]) sweeps++;
    return sweeps < s.sweeps ? sweeps + 1 : s.sweeps;
}

/* Direct solution of the pressure equation. The registers of a thread do not hold a
 * column, so these transforms do not split it as dct2 and dct3 do (cosine.h): they
 * multiply it by the matrix of the transform. That takes n operations per cell, but
 * many threads share a column, and no operation waits for an earlier stage.
 *
 * modes[nz][ny][nx] holds the right-hand side, then its cosine modes, then the
 * pressure. matrix[n][row_length(n)] has a row for each element that is read.
 *
 * ROWS: results that a thread computes at once, so that it loads each element once for
 * all of them; chosen, not tuned. */
enum { ROWS = 4 };

HOST_DEVICE_FN int row_length(int n)
{
    return (n + ROWS - 1) / ROWS * ROWS;
}

/* Elements first to first + ROWS - 1 of the transform of x[0], x[step] ..; n elements.
 */
FN void transform_rows(const float *x, int step, const float *matrix, int n, int first,
                       float result[ROWS])
{
    UNROLL
    for (int r = 0; r < ROWS; r++) result[r] = 0;
    matrix += first;
    for (int i = 0; i < n; i++, matrix += row_length(n)) {
        UNROLL
        for (int r = 0; r < ROWS; r++) result[r] += x[i * step] * matrix[r];
    }
}

/* Transforms the columns of plane blockIdx.y along y: forward from the field x to
 * modes, or inverse back to the field, with ghost cells. A block keeps its columns in
 * shared memory: lines[ny][columns]. */
__global__ void transform_y_kernel(float *x, float *modes,
                                   const float *__restrict__ matrix, int inverse)
{
    grid g = box;
    int i = GLOBAL_X, k = blockIdx.y, columns = blockDim.x, threads = blockDim.y;
    CUDA_SHARED(float, lines);
    float *column = lines + threadIdx.x;
    float *plane = modes + (size_t)g.nx * g.ny * k + i;
    for (int j = threadIdx.y; i < g.nx && j < g.ny; j += threads)
        column[j * columns] =
            inverse ? plane[g.nx * j] : x[cell_index(g, 1 + i, 1 + j, 1 + k)];
    __syncthreads();
    for (int j = ROWS * threadIdx.y; i < g.nx && j < g.ny; j += ROWS * threads) {
        float result[ROWS];
        transform_rows(column, columns, matrix, g.ny, j, result);
        UNROLL
        for (int r = 0; r < ROWS; r++) {
            if (j + r >= g.ny) continue;
            position at = {1 + i, 1 + j + r, 1 + k};
            if (inverse)
                store(x, g, at, SCALAR, result[r]);
            else
                plane[g.nx * (j + r)] = result[r];
        }
    }
}

/* Transforms the columns of row blockIdx.y of all planes along z, in place, forward or
 * inverse: lines[nz][columns]. */
__global__ void transform_z_kernel(float *modes, const float *__restrict__ matrix)
{
    grid g = box;
    int i = GLOBAL_X, j = blockIdx.y, columns = blockDim.x, threads = blockDim.y;
    size_t plane = (size_t)g.nx * g.ny;
    CUDA_SHARED(float, lines);
    float *column = lines + threadIdx.x, *xz_slab = modes + g.nx * j + i;
    for (int k = threadIdx.y; i < g.nx && k < g.nz; k += threads)
        column[k * columns] = xz_slab[plane * k];
    __syncthreads();
    for (int k = ROWS * threadIdx.y; i < g.nx && k < g.nz; k += ROWS * threads) {
        float result[ROWS];
        transform_rows(column, columns, matrix, g.nz, k, result);
        UNROLL
        for (int r = 0; r < ROWS; r++)
            if (k + r < g.nz) xz_slab[plane * (k + r)] = result[r];
    }
}

/* Solves along x, one mode (ky, kz) per thread. The block copies its modes to shared
 * memory, so that consecutive threads access consecutive floats of modes; the odd
 * distance between two modes lets the threads access different banks. */
__global__ void solve_x_kernel(float *modes, const float *__restrict__ eigenvalue_y,
                               const float *__restrict__ eigenvalue_z)
{
    grid g = box;
    int threads = blockDim.x, first = threads * (int)blockIdx.x, distance = g.nx | 1;
    int count = g.ny * g.nz - first < threads ? g.ny * g.nz - first : threads;
    CUDA_SHARED(float, lines);
    float *own = lines + distance * (int)threadIdx.x,
          *pivots = own + distance * threads;
    modes += (size_t)g.nx * first;
    for (int c = threadIdx.x; c < g.nx * count; c += threads)
        lines[c / g.nx * distance + c % g.nx] = modes[c];
    __syncthreads();
    int mode = first + (int)threadIdx.x;
    if ((int)threadIdx.x < count)
        thomas_solve(own, pivots, g.nx,
                     eigenvalue_y[mode % g.ny] + eigenvalue_z[mode / g.ny]);
    __syncthreads();
    for (int c = threadIdx.x; c < g.nx * count; c += threads)
        modes[c] = lines[c / g.nx * distance + c % g.nx];
}

static float *modes;         /* [nz][ny][nx]: see above */
static float *matrix[2][2];  /* along y and z: of the transform, and of its inverse */
static float *eigenvalue[2]; /* of the modes along y and z */

static float *device_copy(const float *src, size_t count)
{
    float *p = device_array(count * sizeof *p);
    CUDA_CHECK(cudaMemcpy(p, src, count * sizeof *p, cudaMemcpyHostToDevice));
    return p;
}

/* Creates the arrays of the pressure solver. */
static void create_dct_arrays(void)
{
    modes = device_array((size_t)g.nx * g.ny * g.nz * sizeof *modes);
    for (int d = 0; d < 2; d++) {
        int n = d ? g.nz : g.ny, length = row_length(n);
        size_t size = (size_t)n * length;
        float *forward = (float *)allocate(2 * size, sizeof *forward, "cosines"),
              *inverse = forward + size;
        float *values =
                  (float *)allocate(2 * (size_t)n, sizeof *values, "cosine modes"),
              *scale = values + n;
        fill_modes(n, values, scale);
        for (int k = 0; k < n; k++)
            for (int i = 0; i < n; i++) {
                double cosine = cos(PI * ((2 * i + 1) * k % (4 * n)) / (2 * n));
                forward[i * length + k] = (float)cosine;
                inverse[k * length + i] = (float)(scale[k] * cosine);
            }
        matrix[d][0] = device_copy(forward, size);
        matrix[d][1] = device_copy(inverse, size);
        eigenvalue[d] = device_copy(values, (size_t)n);
        free(forward);
        free(values);
    }
}

static void free_dct_arrays(void)
{
    for (int d = 0; d < 2; d++) {
        for (int inverse = 0; inverse < 2; inverse++) cudaFree(matrix[d][inverse]);
        cudaFree(eigenvalue[d]);
    }
    cudaFree(modes);
}

/* Returns how many lines of this size, up to 32, fit in the shared memory of a block.
 */
static unsigned lines_per_block(size_t line)
{
    unsigned lines = 32;
    while (lines > 1 && lines * line > CUDA_SHARED_BYTES) lines /= 2;
    return lines;
}

/* Launch configuration of a transform of n elements: a block for up to 32 columns along
 * x, in each of the `rows` planes or slabs. */
static range columns_range(int n, int rows)
{
    range r = {{1, 1, 1}, {1, 1, 1}};
    r.block.x = lines_per_block(n * sizeof(float));
    r.block.y = 8; /* threads per column; chosen, not tuned */
    r.grid.x = ((unsigned)g.nx + r.block.x - 1) / r.block.x;
    r.grid.y = (unsigned)rows;
    return r;
}

static void transform_y(float *x, int inverse)
{
    range r = columns_range(g.ny, g.nz);
    CUDA_LAUNCH(transform_y_kernel, r.grid, r.block,
                r.block.x * (size_t)g.ny * sizeof(float), x, modes, matrix[0][inverse],
                inverse);
    profile_command("transform_y");
}

static void transform_z(int inverse)
{
    range r = columns_range(g.nz, g.ny);
    CUDA_LAUNCH(transform_z_kernel, r.grid, r.block,
                r.block.x * (size_t)g.nz * sizeof(float), modes, matrix[1][inverse]);
    profile_command("transform_z");
}

static void solve_x(void)
{
    size_t line = 2 * (size_t)(g.nx | 1) * sizeof(float); /* a mode, and its pivots */
    dim3 threads = {lines_per_block(line), 1, 1};
    dim3 blocks = {((unsigned)(g.ny * g.nz) + threads.x - 1) / threads.x, 1, 1};
    CUDA_LAUNCH(solve_x_kernel, blocks, threads, threads.x * line, modes, eigenvalue[0],
                eigenvalue[1]);
    profile_command("solve_x");
}

/* Solves the pressure equation 6 p - (sum of the six neighbours) = b directly: DCT-II
 * along y and z, Thomas algorithm along x, inverse transforms. See R. W. Hockney, A
 * fast direct solution of Poisson's equation using Fourier analysis, JACM 12 (1965). */
static void solve_pressure(float *p, float *b)
{
    transform_y(b, 0);
    transform_z(0);
    solve_x();
    transform_z(1);
    transform_y(p, 1);
}

/* Sweeps if their number is fixed. */
int fluid_pressure(int p, int div)
{
    if (s.tolerance < 0) return fluid_solve(SCALAR, p, div, 1, 6);
    solve_pressure(field[p], field[div]);
    return 0;
}

__global__ void advect_kernel(float *d, const float *__restrict__ d0,
                              const float *__restrict__ u, const float *__restrict__ v,
                              const float *__restrict__ w, int wall, float dt)
{
    grid g = box;
    position at = {item_column(g, GLOBAL_X), 1 + GLOBAL_Y, 1 + GLOBAL_Z};
    if (is_inner(g, at)) store(d, g, at, wall, advected_value(d0, u, v, w, g, at, dt));
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    range r = make_range(g.nx, g.ny, g.nz);
    CUDA_LAUNCH(advect_kernel, r.grid, r.block, 0, field[d], field[d0], field[u],
                field[v], field[w], wall, s.dt);
    profile_command("advect");
}

__global__ void divergence_kernel(const float *__restrict__ u,
                                  const float *__restrict__ v,
                                  const float *__restrict__ w, float *div, float scale)
{
    grid g = box;
    position at = {item_column(g, GLOBAL_X), 1 + GLOBAL_Y, 1 + GLOBAL_Z};
    if (is_inner(g, at)) divergence_cell(u, v, w, div, g, at, scale);
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    range r = make_range(g.nx, g.ny, g.nz);
    fluid_clear(p);
    CUDA_LAUNCH(divergence_kernel, r.grid, r.block, 0, field[u], field[v], field[w],
                field[div], -0.5f / longest_side(g));
    profile_command("divergence");
}

__global__ void gradient_kernel(float *u, float *v, float *w,
                                const float *__restrict__ p)
{
    grid g = box;
    position at = {item_column(g, GLOBAL_X), 1 + GLOBAL_Y, 1 + GLOBAL_Z};
    if (is_inner(g, at)) gradient_cell(u, v, w, p, g, at);
}

void fluid_gradient(int u, int v, int w, int p)
{
    range r = make_range(g.nx, g.ny, g.nz);
    CUDA_LAUNCH(gradient_kernel, r.grid, r.block, 0, field[u], field[v], field[w],
                field[p]);
    profile_command("gradient");
}
