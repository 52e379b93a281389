/* opencl.c - the host side of kernel.cl.
 *
 * Every OpenCL program creates the same objects in the same order:
 *   device   the processor                   context  owns memory and programs
 *   queue    commands for one device         program  source compiled for the device
 *   kernel   an entry point of a program     buffer   memory of the device
 * It then enqueues commands: kernels over a range of work-items, reads and writes of
 * buffers. The fields stay on the device. After each sweep the host reads the partial
 * maxima of the change and decides whether to continue.
 */
#include <stdlib.h>
#include <string.h>

#include "ocl.h"
#include "host.h"
#include "profile_ocl.h"

static setup s;
static grid g;
static size_t bytes;    /* in a field, with ghost cells */
static size_t local[3]; /* work-items per work-group */

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_mem zeros; /* source of clear() */
static cl_mem field[FIELDS], change, partial;

enum { PUT, ADD_SOURCE, RELAX, FIND_LARGEST, ADVECT, DIVERGENCE, GRADIENT, KERNELS };
static const char *const kernel_name[KERNELS] = {
    "put", "add_source", "relax", "find_largest", "advect", "divergence", "gradient"};
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
    for (int d = 0; d < 3; d++)
        local[d] = (size_t)(s.group[d] ? s.group[d] : default_local[d]);

    char options[128];
    snprintf(options, sizeof options, "-D NX=%d -D NY=%d -D NZ=%d -cl-denorms-are-zero",
             g.nx, g.ny, g.nz);
    program = ocl_build(context, device, options);
    for (int k = 0; k < KERNELS; k++) {
        kernel[k] = clCreateKernel(program, kernel_name[k], &err);
        OCL_CHECK(err);
    }
    size_t max_size = bytes + PARTIALS * sizeof(cl_int);        /* of any buffer */
    char *contents = allocate(max_size, 1, "initial contents"); /* all bits set: NaN */
    for (int f = 0; f < FIELDS; f++) field[f] = create_buffer(bytes, contents);
    change = create_buffer(total_items(g) * sizeof(cl_int), contents);
    partial = create_buffer(PARTIALS * sizeof(cl_int), contents);
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
    clReleaseMemObject(partial);
    clReleaseMemObject(change);
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

static void relax(int x, int x0, int colour, int wall, float a, float inv_c)
{
    OCL_ARGS(kernel[RELAX], field[x], field[x0], change, colour, wall, a, inv_c);
    launch(RELAX, colour == RED ? "relax red" : "relax black", row_items(g), g.ny,
           g.nz);
}

/* Returns the largest change of a cell in this sweep. */
static float find_max_change(void)
{
    int count = (int)total_items(g);
    cl_int found[PARTIALS], max_change = 0;
    OCL_ARGS(kernel[FIND_LARGEST], change, count, partial);
    launch(FIND_LARGEST, "find_largest", PARTIALS, 1, 1);
    OCL_CHECK(clEnqueueReadBuffer(queue, partial, CL_TRUE, 0, sizeof found, found, 0,
                                  NULL, profile_event("copy to host")));
    for (int n = 0; n < PARTIALS; n++) max_change = maximum(max_change, found[n]);
    return bits_to_change(max_change);
}

int fluid_solve(int wall, int x, int x0, float a, float c)
{
    int sweeps = 0;
    do {
        relax(x, x0, RED, wall, a, 1 / c);
        relax(x, x0, BLACK, wall, a, 1 / c);
        sweeps++;
    } while (!(find_max_change() <= s.tolerance) && sweeps < s.sweeps);
    return sweeps;
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
