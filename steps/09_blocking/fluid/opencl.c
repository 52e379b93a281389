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
static size_t bytes;       /* in a field, with ghost cells */
static size_t local[3];    /* work-items per work-group */
static size_t tile[3];     /* tile of a work-group in a sweep: strips, rows, planes */
static float *split_field; /* host copy of a field, split by colour */

static bool has_local_memory; /* the device has local memory in hardware */
static int workers; /* work-items of relax_wavefront on a device without local memory */
static int device_lanes; /* native vector width of the device; LANES in the kernels */

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_mem zeros; /* source of clear() */
static cl_mem field[FIELDS];
static cl_mem initial;       /* x before the solve, if it was not 0 */
static bool is_zero[FIELDS]; /* true: all cells of a field are 0 */
static cl_mem flags;         /* [s.sweeps]: 1 if a sweep has not converged */

/* POLL_INTERVAL: sweeps between two reads of the flags by the host; chosen, not tuned.
 * DEPTH: maximum number of sweeps per pass; README.md has the measurement of its
 * choice. */
enum { POLL_INTERVAL = 4, DEPTH = 4 };

enum { PUT, ADD_SOURCE, RELAX, RELAX_WAVEFRONT, ADVECT, DIVERGENCE, GRADIENT, KERNELS };
static const char *const kernel_name[KERNELS] = {
    "put",    "add_source", "relax",   "relax_wavefront",
    "advect", "divergence", "gradient"};
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

/* Creates a buffer with the given contents. clEnqueueFillBuffer would need no host
 * array, but Oclgrind reports a buffer that was filled as uninitialized, even after
 * later writes. */
static cl_mem create_buffer(size_t size, void *contents)
{
    cl_int err;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
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
    /* Tile of a work-group in a sweep. On a CPU, PoCL turns work-items into loop
     * iterations: a tile has whole rows and few planes, so that each core gets at least
     * four work-groups. On a GPU: 32 work-items along x, the size of a warp; 4 rows and
     * 16 planes have not been tuned. */
    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    int planes = g.nz / (4 * (int)units);
    planes = planes < 1 ? 1 : planes < 4 ? planes : 4;
    const int tiles[2][3] = {{8, 128, planes}, {32, 4, 16}};
    has_local_memory = ocl_local_memory(device) > 0;
    for (int d = 0; d < 3; d++) {
        tile[d] = (size_t)(s.group[d] ? s.group[d] : tiles[has_local_memory][d]);
        local[d] = (size_t)(s.group[d] ? s.group[d] : 8);
    }

    /* Native vector width in floats; 1 on a GPU. */
    cl_uint width;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width,
                              &width, NULL));
    device_lanes = width >= 16 ? 16 : width >= 8 ? 8 : width >= 4 ? 4 : 1;
    char options[128];
    snprintf(options, sizeof options,
             "-D NX=%d -D NY=%d -D NZ=%d -D SHARED=%d -D LANES=%d -cl-denorms-are-zero",
             g.nx, g.ny, g.nz, has_local_memory, device_lanes);
    workers = worker_count(g, (int)units);
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
    for (int f = 0; f < FIELDS; f++) fluid_clear(f);
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
    ARG(kernel[PUT], 0, field[f]);
    ARG(kernel[PUT], 1, index);
    ARG(kernel[PUT], 2, value);
    launch(PUT, "put", 1, 1, 1);
    is_zero[f] = false;
}

void fluid_get(int f, float *dst)
{
    OCL_CHECK(clEnqueueReadBuffer(queue, field[f], CL_TRUE, 0, bytes, split_field, 0,
                                  NULL, profile_event("copy to host")));
    profile_collect();
    merge_colours(g, split_field, dst);
}

void fluid_clear(int f)
{
    clear(field[f], bytes);
    is_zero[f] = true;
}

void fluid_add(int x, int source)
{
    ARG(kernel[ADD_SOURCE], 0, field[x]);
    ARG(kernel[ADD_SOURCE], 1, field[source]);
    ARG(kernel[ADD_SOURCE], 2, s.dt);
    launch(ADD_SOURCE, "add_source", vectors_per_row(g, device_lanes), g.ny + 2,
           g.nz + 2);
    is_zero[x] = false;
}

static void relax(int x, int x0, int sweep, int colour, int wall, float a, float inv_c)
{
    size_t items[3] = {(size_t)strip_count(g, device_lanes), (size_t)g.ny,
                       (size_t)g.nz};
    size_t group[3], global[3];
    for (int d = 0; d < 3; d++) {
        group[d] = tile[d] < items[d] ? tile[d] : items[d];
        global[d] = (items[d] + group[d] - 1) / group[d] * group[d];
    }
    cl_int planes = (cl_int)group[2];
    global[2] /= group[2]; /* a work-item iterates over all planes of its tile */
    group[2] = 1;

    ARG(kernel[RELAX], 0, field[x]);
    ARG(kernel[RELAX], 1, field[x0]);
    ARG(kernel[RELAX], 2, flags);
    ARG(kernel[RELAX], 3, planes);
    ARG(kernel[RELAX], 4, sweep);
    ARG(kernel[RELAX], 5, s.tolerance);
    ARG(kernel[RELAX], 6, colour);
    ARG(kernel[RELAX], 7, wall);
    ARG(kernel[RELAX], 8, a);
    ARG(kernel[RELAX], 9, inv_c);
    OCL_CHECK(clEnqueueNDRangeKernel(
        queue, kernel[RELAX], 3, NULL, global, group, 0, NULL,
        profile_event(colour == RED ? "relax red" : "relax black")));
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

static int solve_by_colour(int wall, int x, int x0, float a, float c)
{
    int done = 0, last = 0;
    clear(flags, (size_t)s.sweeps * sizeof(cl_int));
    while (done < s.sweeps && !last) {
        relax(x, x0, done, RED, wall, a, 1 / c);
        relax(x, x0, done, BLACK, wall, a, 1 / c);
        done++;
        bool poll = done % POLL_INTERVAL == 0 || done == s.sweeps;
        if (poll && s.tolerance >= 0) last = converged_after(done);
    }
    return last ? last : done;
}

/* Executes the sweeps first, first + 1 .. of a solve in one pass. Returns the first of
 * these sweeps, counted from 1, after which the solve has converged; 0: none. */
static int relax_wavefront(int x, int x0, int first, int sweeps, int wall, float a,
                           float inv_c)
{
    size_t items = (size_t)workers, group_size = 1; /* one work-item per group */
    cl_int found[DEPTH];
    clear(flags, (size_t)s.sweeps * sizeof(cl_int));
    ARG(kernel[RELAX_WAVEFRONT], 0, field[x]);
    ARG(kernel[RELAX_WAVEFRONT], 1, field[x0]);
    ARG(kernel[RELAX_WAVEFRONT], 2, flags);
    ARG(kernel[RELAX_WAVEFRONT], 3, workers);
    ARG(kernel[RELAX_WAVEFRONT], 5, first);
    ARG(kernel[RELAX_WAVEFRONT], 6, sweeps);
    ARG(kernel[RELAX_WAVEFRONT], 7, s.tolerance);
    ARG(kernel[RELAX_WAVEFRONT], 8, wall);
    ARG(kernel[RELAX_WAVEFRONT], 9, a);
    ARG(kernel[RELAX_WAVEFRONT], 10, inv_c);
    for (int phase = 0; phase < 2; phase++) {
        ARG(kernel[RELAX_WAVEFRONT], 4, phase);
        OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[RELAX_WAVEFRONT], 1, NULL,
                                         &items, &group_size, 0, NULL,
                                         profile_event("relax")));
    }
    if (s.tolerance < 0) return 0;
    OCL_CHECK(clEnqueueReadBuffer(queue, flags, CL_TRUE, (size_t)first * sizeof *found,
                                  (size_t)sweeps * sizeof *found, found, 0, NULL,
                                  profile_event("copy to host")));
    for (int n = 0; n < sweeps; n++)
        if (!found[n]) return n + 1;
    return 0;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* A pass of several sweeps detects convergence only after its last sweep, when the
 * field has been overwritten. The number of sweeps is therefore predicted from the
 * previous solve of the same kind: all but the last of them are executed in passes, the
 * following ones one by one. If one of the sweeps of a pass has already converged, the
 * solve is repeated from its initial values, up to that sweep. */
static int solve_by_passes(int wall, int x, int x0, float a, float c)
{
    static int previous_sweeps[ALONG_Z + 1][FIELDS];
    int depth = pass_depth(g, workers, DEPTH), done = 0, last = 0;
    int predicted = s.tolerance < 0 ? s.sweeps : previous_sweeps[wall][x] - 1;
    if (predicted > 1 && !is_zero[x]) copy(initial, field[x]);

    while (done < s.sweeps && !last) {
        int batch = predicted > done ? smaller(predicted - done, depth) : 1;
        last = relax_wavefront(x, x0, done, batch, wall, a, 1 / c);
        if (last) last += done;
        done += batch;
    }
    if (last && last < done) {
        copy(field[x], is_zero[x] ? zeros : initial);
        for (done = 0; done < last; done += smaller(last - done, depth))
            relax_wavefront(x, x0, done, smaller(last - done, depth), wall, a, 1 / c);
    }
    previous_sweeps[wall][x] = done;
    return done;
}

int fluid_solve(int wall, int x, int x0, float a, float c)
{
    int sweeps =
        (has_local_memory ? solve_by_colour : solve_by_passes)(wall, x, x0, a, c);
    is_zero[x] = false;
    return sweeps;
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    ARG(kernel[ADVECT], 0, field[d]);
    ARG(kernel[ADVECT], 1, field[d0]);
    ARG(kernel[ADVECT], 2, field[u]);
    ARG(kernel[ADVECT], 3, field[v]);
    ARG(kernel[ADVECT], 4, field[w]);
    ARG(kernel[ADVECT], 5, wall);
    ARG(kernel[ADVECT], 6, s.dt);
    launch(ADVECT, "advect", strip_count(g, device_lanes), g.ny, g.nz);
    is_zero[d] = false;
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    float scale = -0.5f / longest_side(g);
    ARG(kernel[DIVERGENCE], 0, field[u]);
    ARG(kernel[DIVERGENCE], 1, field[v]);
    ARG(kernel[DIVERGENCE], 2, field[w]);
    ARG(kernel[DIVERGENCE], 3, field[p]);
    ARG(kernel[DIVERGENCE], 4, field[div]);
    ARG(kernel[DIVERGENCE], 5, scale);
    launch(DIVERGENCE, "divergence", strip_count(g, device_lanes), g.ny, g.nz);
    is_zero[div] = false;
    is_zero[p] = true;
}

void fluid_gradient(int u, int v, int w, int p)
{
    ARG(kernel[GRADIENT], 0, field[u]);
    ARG(kernel[GRADIENT], 1, field[v]);
    ARG(kernel[GRADIENT], 2, field[w]);
    ARG(kernel[GRADIENT], 3, field[p]);
    launch(GRADIENT, "gradient", strip_count(g, device_lanes), g.ny, g.nz);
    is_zero[u] = is_zero[v] = is_zero[w] = false;
}
