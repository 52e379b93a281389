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
#include "profile_ocl.h"

static setup s;
static grid g;
static size_t bytes;          /* in a field, with ghost cells */
static size_t local[3];       /* work-items per work-group */
static size_t sweep_local[3]; /* the same in a sweep */
static int planes;            /* of a work-item in a sweep */

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_mem zeros; /* source of clear() */
static cl_mem field[FIELDS];
static cl_mem flags; /* [s.sweeps]: 1 if a sweep has not converged */

/* Number of sweeps between two reads of the flags by the host: fewer reads block the
 * host less often, but up to POLL_INTERVAL - 1 sweeps are enqueued that return at once.
 * Chosen, not tuned. */
enum { POLL_INTERVAL = 4 };

enum { PUT, ADD_SOURCE, RELAX, ADVECT, DIVERGENCE, GRADIENT, KERNELS };
static const char *const kernel_name[KERNELS] = {"put",    "add_source", "relax",
                                                 "advect", "divergence", "gradient"};
static cl_kernel kernel[KERNELS];

/* Enqueues a kernel. Rounds the global size up to a multiple of the local size. */
static void launch(int k, const char *name, int x, int y, int z)
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
    /* 8 x 8 x 8 as in the paper; many GPUs permit only 256 work-items per group. */
    const int default_local[3] = {8, 8, ocl_group_limit(device) < 512 ? 4 : 8};
    /* 32: the size of a warp; 4 rows are not tuned. */
    const int default_sweep[3] = {32, 4, 1};
    for (int d = 0; d < 3; d++) {
        local[d] = (size_t)(s.group[d] ? s.group[d] : default_local[d]);
        sweep_local[d] = (size_t)(s.group[d] && d < 2 ? s.group[d] : default_sweep[d]);
    }
    planes = s.group[2] ? s.group[2] : planes_per_thread(g, ocl_items_at_once(device));
    planes = planes < g.nz ? planes : g.nz;

    char options[128];
    snprintf(
        options, sizeof options,
        "-D NX=%d -D NY=%d -D NZ=%d -D PLANES=%d -D SHARED=%d -cl-denorms-are-zero",
        g.nx, g.ny, g.nz, planes, ocl_local_memory(device) > 0);
    program = ocl_build(context, device, options);
    for (int k = 0; k < KERNELS; k++) {
        kernel[k] = clCreateKernel(program, kernel_name[k], &err);
        OCL_CHECK(err);
    }
    size_t max_size = bytes + (size_t)s.sweeps * sizeof(cl_int); /* of any buffer */
    char *contents = allocate(max_size, 1, "initial contents");  /* all bits set: NaN */
    for (int f = 0; f < FIELDS; f++) field[f] = create_buffer(bytes, contents);
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
    clReleaseMemObject(flags);
    for (int f = 0; f < FIELDS; f++) clReleaseMemObject(field[f]);
    for (int k = 0; k < KERNELS; k++) clReleaseKernel(kernel[k]);
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
    OCL_CHECK(clEnqueueReadBuffer(queue, field[f], CL_TRUE, 0, bytes, dst, 0, NULL,
                                  profile_event("copy to host")));
    profile_collect();
}

void fluid_clear(int f)
{
    clear(field[f], bytes);
}

void fluid_add(int x, int source)
{
    OCL_ARGS(kernel[ADD_SOURCE], field[x], field[source], s.dt);
    launch(ADD_SOURCE, "add_source", g.nx + 2, g.ny + 2, g.nz + 2);
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

int fluid_solve(int wall, int x, int x0, float a, float c)
{
    int done = 0, last = 0;
    clear(flags, (size_t)s.sweeps * sizeof(cl_int));
    while (done < s.sweeps && !last) {
        relax(x, x0, 2 * done, wall, a, 1 / c);
        relax(x, x0, 2 * done + 1, wall, a, 1 / c);
        done++;
        bool poll = done % POLL_INTERVAL == 0 || done == s.sweeps;
        if (poll && s.tolerance >= 0) last = converged_after(done);
    }
    return last ? last : done;
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
    OCL_ARGS(kernel[DIVERGENCE], field[u], field[v], field[w], field[p], field[div],
             scale);
    launch(DIVERGENCE, "divergence", g.nx, g.ny, g.nz);
}

void fluid_gradient(int u, int v, int w, int p)
{
    OCL_ARGS(kernel[GRADIENT], field[u], field[v], field[w], field[p]);
    launch(GRADIENT, "gradient", g.nx, g.ny, g.nz);
}
