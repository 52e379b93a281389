/* opencl.c - the host side of kernel.cl (GPU) and rows.cl (CPU).
 *
 * Every OpenCL program creates the same objects in the same order:
 *   device   the processor                   context  owns memory and programs
 *   queue    commands for one device         program  source compiled for the device
 *   kernel   an entry point of a program     buffer   memory of the device
 * It then enqueues commands: kernels over a range of work-items, reads and writes of
 * buffers. The fields stay on the device, which stops relaxing by itself when a solve
 * has converged. The host reads the flags every POLL_INTERVAL sweeps.
 */
#include <stdlib.h>
#include <string.h>

#define SIDE(name) device_##name
#include "sides.h"
#include "hybrid.h"
#include "ocl.h"
#include "host.h"
#include "passes.h"
#include "strip.h"
#include "block.h"
#include "profile_ocl.h"

int device_shares_cores;

static setup s;
static grid g;
static size_t bytes;          /* in a field, with ghost cells */
static size_t local[3];       /* work-items per work-group */
static size_t sweep_local[3]; /* the same in a sweep */
static int planes;            /* of a work-item in a sweep */
static bool on_gpu;           /* the device has local memory; SHARED in the kernels */
static int workers;           /* work-items on a CPU; WORKERS in the kernels */
static float *split_field;    /* host copy of a field, split by colour */

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_mem zeros; /* source of clear() */
static cl_mem field[FIELDS];
static cl_mem initial;      /* x before a solve in passes, unless it was 0 */
static cl_mem flags;        /* [s.sweeps]: not 0 if a sweep has not converged */
static sweep_record record; /* predicts the number of sweeps */
static cl_mem modes; /* [nz][ny][pitch]: right-hand side, its cosine modes, pressure */
static cl_mem dct_table[2];  /* tables of the transforms along y and z */
static cl_mem mode_table[2]; /* eigenvalues of their modes, then scale factors */
static int device_lanes;     /* LANES in the kernels */
static int pitch;            /* nx, rounded up to whole vectors */

/* POLL_INTERVAL: sweeps between two reads of the flags by the host: fewer reads block
 * the host less often, but up to POLL_INTERVAL - 1 sweeps are enqueued that return at
 * once. Chosen, not tuned. DEPTH: maximum number of sweeps per pass; README.md has the
 * measurement of its choice. */
enum { POLL_INTERVAL = 4, DEPTH = 4 };

enum {
    PUT,
    ADD_SOURCE,
    RELAX,
    ADVECT,
    DIVERGENCE,
    GRADIENT,
    TRANSFORM_Y,
    TRANSFORM_Z,
    SOLVE_X,
    RED_GHOSTS,
    RELAX_WAVEFRONT,
    KERNELS
};
static const char *const kernel_name[KERNELS] = {
    "put",        "add_source",     "relax",          "advect",
    "divergence", "gradient",       "transform_y",    "transform_z",
    "solve_x",    "set_red_ghosts", "relax_wavefront"};
static cl_kernel kernel[KERNELS];
static int kernels; /* of this device: on a GPU, relax() sets all ghost cells */

/* Enqueues a kernel. Rounds the global size up to a multiple of the local size. */
static void enqueue(int k, const char *name, int x, int y, int z)
{
    size_t items[3] = {(size_t)x, (size_t)y, (size_t)z}, group[3], global[3];
    for (int d = 0; d < 3; d++) {
        group[d] = k == RELAX ? sweep_local[d] : local[d];
        group[d] = group[d] < items[d] ? group[d] : items[d];
        global[d] = (items[d] + group[d] - 1) / group[d] * group[d];
    }
    OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[k], 3, NULL, global, group, 0, NULL,
                                     profile_event(name)));
}

/* The same; on a CPU, with one work-item per core. */
static void launch(int k, const char *name, int x, int y, int z)
{
    enqueue(k, name, on_gpu ? x : workers, on_gpu ? y : 1, on_gpu ? z : 1);
}

/* Creates a buffer with the given contents. clEnqueueFillBuffer would need no host
 * array, but Oclgrind reports a buffer that was filled as uninitialized, even after
 * later writes. The buffers of a CPU are in the host's memory: large pages are
 * requested for them before they are first written. */
static cl_mem create_buffer(size_t size, void *contents)
{
    cl_int err;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    if (!on_gpu) {
        void *host =
            clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION,
                               0, size, 0, NULL, NULL, &err);
        OCL_CHECK(err);
        memory_large_pages(host, size);
        OCL_CHECK(clEnqueueUnmapMemObject(queue, buffer, host, 0, NULL, NULL));
    }
    OCL_CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, size, contents, 0, NULL,
                                   profile_event("copy to device")));
    return buffer;
}

static void clear(cl_mem buffer, size_t size)
{
    OCL_CHECK(clEnqueueCopyBuffer(queue, zeros, buffer, 0, 0, size, 0, NULL,
                                  profile_event("clear")));
}

static void copy(cl_mem dst, cl_mem src)
{
    OCL_CHECK(clEnqueueCopyBuffer(queue, src, dst, 0, 0, bytes, 0, NULL,
                                  profile_event("copy")));
}

/* Creates the buffers of the pressure solver. */
static void create_dct_buffers(void)
{
    size_t size = (size_t)pitch * (size_t)g.ny * (size_t)g.nz * sizeof(float);
    float *contents = allocate(1, size, "a pressure");
    modes = create_buffer(size, contents);
    free(contents);
    for (int d = 0; d < 2; d++) {
        int n = d ? g.nz : g.ny, odd = odd_factor(n);
        size_t table_size = (size_t)n + (size_t)odd * (size_t)odd;
        float *dst = allocate(table_size, sizeof *dst, "cosines");
        fill_dct_factors(n, dst);
        fill_odd_matrix(odd, dst + n);
        dct_table[d] = create_buffer(table_size * sizeof *dst, dst);
        free(dst);
        dst = allocate(2 * (size_t)n, sizeof *dst, "cosine modes");
        fill_modes(n, dst, dst + n);
        mode_table[d] = create_buffer(2 * (size_t)n * sizeof *dst, dst);
        free(dst);
    }
}

void fluid_begin(const setup *requested)
{
    cl_int err;
    s = *requested;
    reject_gauss_seidel(&s);
    g = s.g;
    bytes = field_size(g) * sizeof(float);

    /* The whole device, or, if the host computes on the same processor, the cores that
     * the host does not use. */
    cl_device_id device = ocl_device_with_host(
        hybrid_host_threads(1), machine_processors(), &device_shares_cores);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    queue = clCreateCommandQueue(context, device,
                                 profiling() ? CL_QUEUE_PROFILING_ENABLE : 0, &err);
    OCL_CHECK(err);
    /* 8 x 8 x 8 as in the paper; many GPUs permit only 256 work-items per group. */
    const int default_local[3] = {8, 8, ocl_group_limit(device) < 512 ? 4 : 8};
    cl_uint units, width;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    workers = (int)units;
    on_gpu = ocl_local_memory(device) > 0;
    /* On a CPU, PoCL turns the work-items of a group into loop iterations: there is one
     * per group. On a GPU: 32 is the size of a warp; 4 rows are not tuned. */
    const int default_sweep[3] = {32, 4, 1};
    for (int d = 0; d < 3; d++) {
        local[d] = (size_t)(s.group[d] ? s.group[d] : on_gpu ? default_local[d] : 1);
        sweep_local[d] = (size_t)(s.group[d] && d < 2 ? s.group[d] : default_sweep[d]);
        if (!on_gpu) sweep_local[d] = local[d];
    }
    planes = s.group[2] ? s.group[2] : planes_per_thread(g, ocl_items_at_once(device));
    planes = planes < g.nz ? planes : g.nz;

    /* Native vector width in floats. A work-item of a GPU computes single cells. */
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width,
                              &width, NULL));
    device_lanes = on_gpu ? 1 : width >= 16 ? 16 : width >= 8 ? 8 : 4;
    pitch = (g.nx + device_lanes - 1) / device_lanes * device_lanes;
    char options[200];
    snprintf(options, sizeof options,
             "-D NX=%d -D NY=%d -D NZ=%d -D PLANES=%d -D SHARED=%d -D LANES=%d "
             "-D WORKERS=%d -D FROM_ZERO=%d -D PITCH=%d -cl-denorms-are-zero",
             g.nx, g.ny, g.nz, planes, on_gpu, device_lanes, workers, s.from_zero,
             pitch);
    program = ocl_build(context, device, options);
    kernels = on_gpu ? RED_GHOSTS : KERNELS;
    for (int k = 0; k < kernels; k++) {
        kernel[k] = clCreateKernel(program, kernel_name[k], &err);
        OCL_CHECK(err);
    }
    size_t max_size = bytes + (size_t)s.sweeps * sizeof(cl_int); /* of any buffer */
    char *contents = allocate(max_size, 1, "initial contents");  /* all bits set: NaN */
    for (int f = 0; f < FIELDS; f++) field[f] = create_buffer(bytes, contents);
    initial = create_buffer(bytes, contents);
    create_dct_buffers();
    record = (sweep_record){.a = -1};
    split_field = allocate(field_size(g), sizeof *split_field, "a field");
    flags = create_buffer((size_t)s.sweeps * sizeof(cl_int), contents);
    memset(contents, 0, max_size);
    zeros = create_buffer(max_size, contents);
    free(contents);
    for (int f = 0; f < FIELDS; f++) clear(field[f], bytes);
    OCL_CHECK(clFinish(queue));
    profile_collect();
}

void fluid_end(void)
{
    free(split_field);
    clReleaseMemObject(zeros);
    clReleaseMemObject(initial);
    clReleaseMemObject(modes);
    for (int n = 0; n < 2; n++) {
        clReleaseMemObject(dct_table[n]);
        clReleaseMemObject(mode_table[n]);
    }
    clReleaseMemObject(flags);
    for (int f = 0; f < FIELDS; f++) clReleaseMemObject(field[f]);
    for (int k = 0; k < kernels; k++) clReleaseKernel(kernel[k]);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

void fluid_put(int f, int i, int j, int k, float value)
{
    int index = cell_index(g, i, j, k);
    OCL_ARGS(kernel[PUT], field[f], index, value);
    launch(PUT, "put", 1, 1, 1);
}

void fluid_get(int f, float *dst)
{
    OCL_CHECK(clEnqueueReadBuffer(queue, field[f], CL_TRUE, 0, bytes, split_field, 0,
                                  NULL, profile_event("copy to host")));
    profile_collect();
    merge_colours(g, split_field, dst);
}

void device_select(void)
{
}

void device_finish(void)
{
    OCL_CHECK(clFinish(queue));
}

/* Reads a field in the layout of the device, which is that of the host. */
void device_read(int f, float *dst)
{
    OCL_CHECK(clEnqueueReadBuffer(queue, field[f], CL_TRUE, 0, bytes, dst, 0, NULL,
                                  profile_event("copy to host")));
}

void fluid_clear(int f)
{
    if (on_gpu || !s.from_zero) clear(field[f], bytes);
}

void fluid_add(int x, int source)
{
    OCL_ARGS(kernel[ADD_SOURCE], field[x], field[source], s.dt);
    launch(ADD_SOURCE, "add_source", 2 * half_size(g), 1, 1);
}

static void relax(int x, int x0, int n, int wall, float a, float inv_c)
{
    OCL_ARGS(kernel[RELAX], field[x], field[x0], flags, n, s.tolerance, wall, a, inv_c);
    launch(RELAX, n % 2 ? "relax black" : "relax red", row_items(g), g.ny,
           (g.nz + planes - 1) / planes);
}

/* Returns the first of the sweeps done after which the solve has converged; 0: none. */
static int converged_after(int done)
{
    cl_int found[POLL_INTERVAL];
    int first = (done - 1) / POLL_INTERVAL * POLL_INTERVAL;
    OCL_CHECK(clEnqueueReadBuffer(queue, flags, CL_TRUE, (size_t)first * sizeof *found,
                                  (size_t)(done - first) * sizeof *found, found, 0,
                                  NULL, profile_event("copy to host")));
    for (int n = first; n < done; n++)
        if (!found[n - first]) return n + 1;
    return 0;
}

static int solve_by_sweeps(int wall, int x, int x0, float a, float c)
{
    int done = 0, last = 0;
    while (done < s.sweeps && !last) {
        relax(x, x0, 2 * done, wall, a, 1 / c);
        relax(x, x0, 2 * done + 1, wall, a, 1 / c);
        done++;
        bool poll = done % POLL_INTERVAL == 0 || done == s.sweeps;
        if (poll && s.tolerance >= 0) last = converged_after(done);
    }
    return last ? last : done;
}

/* Arguments of a solve. */
typedef struct {
    int wall, x, x0;
    float a, inv_c;
} solve_arguments;

/* Executes sweeps of a solve in one pass (passes.h). */
static int relax_wavefront(const void *solve, int first, int sweeps)
{
    const solve_arguments *e = solve;
    cl_int found[DEPTH];
    for (int phase = 0; phase < 2; phase++) {
        OCL_ARGS(kernel[RELAX_WAVEFRONT], field[e->x], field[e->x0], flags, phase,
                 first, sweeps, s.tolerance, e->wall, e->a, e->inv_c);
        launch(RELAX_WAVEFRONT, "relax", 1, 1, 1);
    }
    if (s.tolerance < 0) return 0;
    OCL_CHECK(clEnqueueReadBuffer(queue, flags, CL_TRUE, (size_t)first * sizeof *found,
                                  (size_t)sweeps * sizeof *found, found, 0, NULL,
                                  profile_event("copy to host")));
    for (int n = 0; n < sweeps; n++)
        if (!found[n]) return first + n + 1;
    return 0;
}

static void restore(const void *solve)
{
    const solve_arguments *e = solve;
    if (!s.from_zero) copy(field[e->x], initial);
}

/* On a CPU, passes need many planes per worker. */
static bool use_passes(void)
{
    return !on_gpu && worker_count(g, workers) == workers &&
           pass_depth(g, workers, DEPTH) > 1;
}

int fluid_solve(int wall, int x, int x0, float a, float c)
{
    int sweeps, predicted = predict_sweeps(&record, wall, x, a);
    clear(flags, (size_t)s.sweeps * sizeof(cl_int));
    if (use_passes()) {
        solve_arguments e = {wall, x, x0, a, 1 / c};
        if (!s.from_zero) copy(initial, field[x]);
        sweeps = solve_by_passes(&s, predicted, pass_depth(g, workers, DEPTH),
                                 relax_wavefront, restore, &e);
    } else {
        sweeps = solve_by_sweeps(wall, x, x0, a, c);
    }
    record_sweeps(&record, wall, x, a, sweeps);
    if (!on_gpu) {
        OCL_ARGS(kernel[RED_GHOSTS], field[x], wall);
        launch(RED_GHOSTS, "red ghosts", 1, 1, 1);
    }
    return sweeps;
}

static void transform_y(cl_mem x, cl_int inverse)
{
    OCL_ARGS(kernel[TRANSFORM_Y], x, modes, dct_table[0], inverse);
    enqueue(TRANSFORM_Y, "transform_y", pitch / device_lanes, g.nz, 1);
}

static void transform_z(cl_int inverse)
{
    OCL_ARGS(kernel[TRANSFORM_Z], modes, dct_table[1], inverse);
    enqueue(TRANSFORM_Z, "transform_z", pitch / device_lanes, g.ny, 1);
}

/* Solves the pressure equation 6 p - (sum of the six neighbours) = b directly: DCT-II
 * along y and z, Thomas algorithm along x, inverse transforms. See R. W. Hockney, A
 * fast direct solution of Poisson's equation using Fourier analysis, JACM 12 (1965). */
static void solve_pressure(cl_mem p, cl_mem b)
{
    transform_y(b, 0);
    transform_z(0);
    OCL_ARGS(kernel[SOLVE_X], modes, mode_table[0], mode_table[1]);
    enqueue(SOLVE_X, "solve_x", (g.nz + device_lanes - 1) / device_lanes, g.ny, 1);
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

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    OCL_ARGS(kernel[ADVECT], field[d], field[d0], field[u], field[v], field[w], wall,
             s.dt);
    launch(ADVECT, "advect", g.nx, g.ny, g.nz);
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    float scale = -0.5f / longest_side(g);
    fluid_clear(p);
    OCL_ARGS(kernel[DIVERGENCE], field[u], field[v], field[w], field[div], scale);
    launch(DIVERGENCE, "divergence", g.nx, g.ny, g.nz);
}

void fluid_gradient(int u, int v, int w, int p)
{
    OCL_ARGS(kernel[GRADIENT], field[u], field[v], field[w], field[p]);
    launch(GRADIENT, "gradient", g.nx, g.ny, g.nz);
}
