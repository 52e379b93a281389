/* opencl.c - the host side of kernel.cl.
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

#include "ocl.h"
#include "host.h"
#include "block.h"
#include "profile_ocl.h"

#define ARG(kernel, n, value)                                                          \
    OCL_CHECK(clSetKernelArg(kernel, n, sizeof(value), &(value)))

static setup s;
static grid g;
static size_t bytes;    /* in a field, with ghost cells */
static size_t local[3]; /* work-items per work-group */
static size_t tile[3];  /* of a work-group of a GPU in a sweep: pairs, rows, planes */
static float *split_field; /* host copy of a field, split by colour */

static bool has_local_memory; /* in hardware, as on a GPU; SHARED in the kernels */
static int device_lanes; /* native vector width of the device; LANES in the kernels */
static int workers;      /* work-items of a CPU; WORKERS in the kernels */

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_mem zeros; /* source of clear() */
static cl_mem field[FIELDS];
static bool is_zero[FIELDS]; /* all cells of a field are 0, whatever is in memory */
static cl_mem initial;       /* x before the solve, if it was not 0 */
static cl_mem flags;         /* [s.sweeps]: not 0 if a sweep has not converged */

/* POLL_INTERVAL: sweeps between two reads of the flags by the host; chosen, not tuned.
 * DEPTH: maximum number of sweeps per pass; README.md has the measurement of its
 * choice. */
enum { POLL_INTERVAL = 4, DEPTH = 4 };

enum {
    PUT,
    ADD_SOURCE,
    RELAX,
    SET_RED_GHOSTS,
    RELAX_WAVEFRONT,
    ADVECT,
    ADVECT_VELOCITY,
    DIVERGENCE,
    GRADIENT,
    KERNELS
};
static const char *const kernel_name[KERNELS] = {
    "put",    "add_source",      "relax",      "set_red_ghosts", "relax_wavefront",
    "advect", "advect_velocity", "divergence", "gradient"};
static cl_kernel kernel[KERNELS];

/* Enqueues a kernel. Rounds the global size up to a multiple of the local size. */
static void launch(int k, const char *name, int x, int y, int z)
{
    size_t items[3] = {(size_t)x, (size_t)y, (size_t)z}, group[3], global[3];
    for (int d = 0; d < 3; d++) {
        group[d] = local[d] < items[d] ? local[d] : items[d];
        global[d] = (items[d] + group[d] - 1) / group[d] * group[d];
    }
    OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[k], 3, NULL, global, group, 0, NULL,
                                     profile_event(name)));
}

/* Enqueues a kernel over all cells. */
static void launch_box(int k, const char *name)
{
    if (has_local_memory)
        launch(k, name, g.nx, g.ny, g.nz);
    else
        launch(k, name, workers, 1, 1);
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
    if (!has_local_memory) {
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

/* Writes the zeros of a field that is 0, for operations that read its memory. */
static void fill_zeros(int f)
{
    if (is_zero[f]) clear(field[f], bytes);
    is_zero[f] = false;
}

void fluid_begin(const setup *requested)
{
    cl_int err;
    s = *requested;
    reject_gauss_seidel(&s);
    g = s.g;
    bytes = field_size(g) * sizeof(float);

    cl_device_id device = ocl_device();
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    queue = clCreateCommandQueue(context, device,
                                 profiling() ? CL_QUEUE_PROFILING_ENABLE : 0, &err);
    OCL_CHECK(err);
    /* On a CPU, PoCL turns the work-items of a group into loop iterations: there is one
     * per group, and a group per core. On a GPU: 32 pairs of columns, the size of a
     * warp; 4 rows have not been tuned. */
    cl_uint units, width;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    workers = (int)units;
    has_local_memory = ocl_local_memory(device) > 0;
    const int default_tile[3] = {32, 4,
                                 planes_per_thread(g, ocl_items_at_once(device))};
    for (int d = 0; d < 3; d++) {
        tile[d] = (size_t)(s.group[d] ? s.group[d] : default_tile[d]);
        local[d] = (size_t)(s.group[d] ? s.group[d] : has_local_memory ? 8 : 1);
    }

    /* Native vector width in floats. A work-item of a GPU computes single cells. */
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width,
                              &width, NULL));
    if (has_local_memory) width = 1;
    device_lanes = width >= 16 ? 16 : width >= 8 ? 8 : width >= 4 ? 4 : 1;
    char options[128];
    snprintf(options, sizeof options,
             "-D NX=%d -D NY=%d -D NZ=%d -D SHARED=%d -D LANES=%d -D WORKERS=%d "
             "-cl-denorms-are-zero",
             g.nx, g.ny, g.nz, has_local_memory, device_lanes, workers);
    program = ocl_build(context, device, options);
    for (int k = 0; k < KERNELS; k++) {
        kernel[k] = clCreateKernel(program, kernel_name[k], &err);
        OCL_CHECK(err);
    }
    size_t max_size = bytes + (size_t)s.sweeps * sizeof(cl_int); /* of any buffer */
    char *contents = allocate(max_size, 1, "initial contents");  /* all bits set: NaN */
    for (int f = 0; f < FIELDS; f++) field[f] = create_buffer(bytes, contents);
    split_field = allocate(field_size(g), sizeof *split_field, "a field");
    initial = create_buffer(bytes, contents);
    flags = create_buffer((size_t)s.sweeps * sizeof(cl_int), contents);
    memset(contents, 0, max_size);
    zeros = create_buffer(max_size, contents);
    free(contents);
    for (int f = 0; f < FIELDS; f++) {
        clear(field[f], bytes);
        is_zero[f] = true;
    }
    OCL_CHECK(clFinish(queue));
    profile_collect();
}

void fluid_end(void)
{
    clReleaseMemObject(zeros);
    free(split_field);
    clReleaseMemObject(flags);
    clReleaseMemObject(initial);
    for (int f = 0; f < FIELDS; f++) clReleaseMemObject(field[f]);
    for (int k = 0; k < KERNELS; k++) clReleaseKernel(kernel[k]);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

void fluid_put(int f, int i, int j, int k, float value)
{
    int index = cell_index(g, i, j, k);
    fill_zeros(f);
    ARG(kernel[PUT], 0, field[f]);
    ARG(kernel[PUT], 1, index);
    ARG(kernel[PUT], 2, value);
    launch(PUT, "put", 1, 1, 1);
}

void fluid_get(int f, float *dst)
{
    fill_zeros(f);
    OCL_CHECK(clEnqueueReadBuffer(queue, field[f], CL_TRUE, 0, bytes, split_field, 0,
                                  NULL, profile_event("copy to host")));
    profile_collect();
    merge_colours(g, split_field, dst);
}

void fluid_clear(int f)
{
    is_zero[f] = true;
}

void fluid_add(int x, int source)
{
    if (is_zero[source]) return;
    fill_zeros(x);
    ARG(kernel[ADD_SOURCE], 0, field[x]);
    ARG(kernel[ADD_SOURCE], 1, field[source]);
    ARG(kernel[ADD_SOURCE], 2, s.dt);
    launch(ADD_SOURCE, "add_source",
           (int)(bytes / sizeof(float) + (size_t)device_lanes - 1) / device_lanes, 1,
           1);
}

static void relax_on_gpu(const char *name)
{
    size_t items[3] = {((size_t)g.nx + 1) / 2, (size_t)g.ny, (size_t)g.nz};
    size_t group[3], global[3];
    for (int d = 0; d < 3; d++) {
        group[d] = tile[d] < items[d] ? tile[d] : items[d];
        global[d] = (items[d] + group[d] - 1) / group[d] * group[d];
    }
    cl_int planes = (cl_int)group[2];
    global[2] /= group[2]; /* a work-item iterates over all planes of its tile */
    group[2] = 1;
    ARG(kernel[RELAX], 9, planes);
    OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[RELAX], 3, NULL, global, group, 0,
                                     NULL, profile_event(name)));
}

static void relax(int x, int x0, int sweep, int colour, int zero, int wall, float a,
                  float inv_c)
{
    const char *name = colour == RED ? "relax red" : "relax black";
    ARG(kernel[RELAX], 0, field[x]);
    ARG(kernel[RELAX], 1, field[x0]);
    ARG(kernel[RELAX], 2, flags);
    ARG(kernel[RELAX], 3, sweep);
    ARG(kernel[RELAX], 4, s.tolerance);
    ARG(kernel[RELAX], 5, colour);
    ARG(kernel[RELAX], 6, wall);
    ARG(kernel[RELAX], 7, a);
    ARG(kernel[RELAX], 8, inv_c);
    if (has_local_memory) {
        relax_on_gpu(name);
    } else {
        ARG(kernel[RELAX], 9, zero);
        launch_box(RELAX, name);
    }
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

static int solve_by_sweeps(int x, int x0, int zero, int wall, float a, float c)
{
    int done = 0, last = 0;
    while (done < s.sweeps && !last) {
        relax(x, x0, done, RED, zero, wall, a, 1 / c);
        relax(x, x0, done, BLACK, zero, wall, a, 1 / c);
        done++;
        bool poll = done % POLL_INTERVAL == 0 || done == s.sweeps;
        if (poll && s.tolerance >= 0) last = converged_after(done);
    }
    return last ? last : done;
}

/* Executes sweeps `first` to first + sweeps - 1 of a solve in one pass. Returns the
 * number of sweeps after which the solve has converged; 0: it has not. */
static int relax_wavefront(int x, int x0, int first, int sweeps, int zero, int wall,
                           float a, float inv_c)
{
    cl_int found[DEPTH];
    ARG(kernel[RELAX_WAVEFRONT], 0, field[x]);
    ARG(kernel[RELAX_WAVEFRONT], 1, field[x0]);
    ARG(kernel[RELAX_WAVEFRONT], 2, flags);
    ARG(kernel[RELAX_WAVEFRONT], 4, first);
    ARG(kernel[RELAX_WAVEFRONT], 5, sweeps);
    ARG(kernel[RELAX_WAVEFRONT], 6, s.tolerance);
    ARG(kernel[RELAX_WAVEFRONT], 7, zero);
    ARG(kernel[RELAX_WAVEFRONT], 8, wall);
    ARG(kernel[RELAX_WAVEFRONT], 9, a);
    ARG(kernel[RELAX_WAVEFRONT], 10, inv_c);
    for (int phase = 0; phase < 2; phase++) {
        ARG(kernel[RELAX_WAVEFRONT], 3, phase);
        launch_box(RELAX_WAVEFRONT, "relax");
    }
    if (s.tolerance < 0) return 0;
    OCL_CHECK(clEnqueueReadBuffer(queue, flags, CL_TRUE, (size_t)first * sizeof *found,
                                  (size_t)sweeps * sizeof *found, found, 0, NULL,
                                  profile_event("copy to host")));
    for (int n = 0; n < sweeps; n++)
        if (!found[n]) return first + n + 1;
    return 0;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* A pass of several sweeps detects convergence only after its last sweep, when the
 * field has been overwritten. All but the last of the `predicted` sweeps are therefore
 * executed in passes, the following ones one by one. If one of the sweeps of a pass has
 * already converged, the solve is repeated from its initial values, up to that sweep.
 */
static int solve_by_passes(int x, int x0, int predicted, int zero, int wall, float a,
                           float c)
{
    int depth = pass_depth(g, workers, DEPTH), done = 0, last = 0;
    int in_passes = s.tolerance < 0 ? s.sweeps : predicted - 1, batch;
    if (in_passes > 1 && !zero) copy(initial, field[x]);

    while (done < s.sweeps && !last) {
        batch = in_passes > done ? smaller(in_passes - done, depth) : 1;
        last = relax_wavefront(x, x0, done, batch, zero, wall, a, 1 / c);
        done += batch;
    }
    if (!last || last == done) return done;
    if (!zero) copy(field[x], initial);
    for (done = 0; done < last; done += batch) {
        batch = smaller(last - done, depth);
        relax_wavefront(x, x0, done, batch, zero, wall, a, 1 / c);
    }
    return done;
}

/* On a CPU, passes need many planes per worker. */
static bool use_passes(void)
{
    return !has_local_memory && worker_count(g, workers) == workers &&
           pass_depth(g, workers, DEPTH) > 1;
}

/* Sets the red ghost cells after a solve. On a GPU, relax() sets them. */
static void set_red_ghosts(int x, int wall)
{
    if (has_local_memory) return;
    ARG(kernel[SET_RED_GHOSTS], 0, field[x]);
    ARG(kernel[SET_RED_GHOSTS], 1, wall);
    launch_box(SET_RED_GHOSTS, "red ghosts");
}

int fluid_solve(int wall, int x, int x0, float a, float c)
{
    static int previous_sweeps[ALONG_Z + 1][FIELDS], latest_sweeps;
    static float latest_a = -1;
    int *previous = &previous_sweeps[wall][x];
    if (!*previous && a == latest_a) *previous = latest_sweeps;
    if (has_local_memory) fill_zeros(x);
    int zero = is_zero[x];
    fill_zeros(x0);
    is_zero[x] = false;
    /* Without a tolerance, all flags keep their initial value, which is not 0. */
    if (s.tolerance >= 0) clear(flags, (size_t)s.sweeps * sizeof(cl_int));
    *previous = use_passes() ? solve_by_passes(x, x0, *previous, zero, wall, a, c)
                             : solve_by_sweeps(x, x0, zero, wall, a, c);
    set_red_ghosts(x, wall);
    latest_sweeps = *previous;
    latest_a = a;
    return *previous;
}

static void advect(int wall, int d, int d0, int u, int v, int w)
{
    ARG(kernel[ADVECT], 0, field[d]);
    ARG(kernel[ADVECT], 1, field[d0]);
    ARG(kernel[ADVECT], 2, field[u]);
    ARG(kernel[ADVECT], 3, field[v]);
    ARG(kernel[ADVECT], 4, field[w]);
    ARG(kernel[ADVECT], 5, wall);
    ARG(kernel[ADVECT], 6, s.dt);
    launch_box(ADVECT, "advect");
}

static void advect_velocity(const int to[3], int u, int v, int w)
{
    const int fields[] = {to[0], to[1], to[2], u, v, w};
    for (cl_uint n = 0; n < 6; n++) ARG(kernel[ADVECT_VELOCITY], n, field[fields[n]]);
    ARG(kernel[ADVECT_VELOCITY], 6, s.dt);
    launch_box(ADVECT_VELOCITY, "advect");
}

/* On a CPU, the three components of the velocity, which are advected in three calls
 * (step.h), are computed by one kernel, which the third call enqueues. */
void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    static int to[3];
    const int operands[] = {d0, u, v, w};
    for (int n = 0; n < 4; n++) fill_zeros(operands[n]);
    if (wall != SCALAR) to[wall - ALONG_X] = d;
    if (wall == SCALAR || has_local_memory)
        advect(wall, d, d0, u, v, w);
    else if (wall == ALONG_Z)
        advect_velocity(to, u, v, w);
    is_zero[d] = false;
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    float scale = -0.5f / longest_side(g);
    const int operands[] = {u, v, w};
    for (int n = 0; n < 3; n++) fill_zeros(operands[n]);
    is_zero[p] = true;
    is_zero[div] = false;
    ARG(kernel[DIVERGENCE], 0, field[u]);
    ARG(kernel[DIVERGENCE], 1, field[v]);
    ARG(kernel[DIVERGENCE], 2, field[w]);
    ARG(kernel[DIVERGENCE], 3, field[div]);
    ARG(kernel[DIVERGENCE], 4, scale);
    launch_box(DIVERGENCE, "divergence");
}

void fluid_gradient(int u, int v, int w, int p)
{
    const int operands[] = {u, v, w, p};
    for (int n = 0; n < 4; n++) fill_zeros(operands[n]);
    ARG(kernel[GRADIENT], 0, field[u]);
    ARG(kernel[GRADIENT], 1, field[v]);
    ARG(kernel[GRADIENT], 2, field[w]);
    ARG(kernel[GRADIENT], 3, field[p]);
    launch_box(GRADIENT, "gradient");
}
