/* opencl.c - the host code for kernel.cl.
 *
 * An OpenCL program creates these objects, in this order:
 *   device   executes kernels               context   memory and programs
 *   queue    commands for the device        program   source, built for the device
 *   kernel   an entry point of the program  buffer    device memory
 * Then it enqueues commands: write buffers, run the kernel over a range, read buffers.
 */
#include <stdlib.h>

#include "ocl.h"
#include "host.h"

/* Returns the seconds on the device from the end of one command to the start of
 * another, and releases both events. */
static double seconds_between(cl_event first, cl_event second)
{
    cl_ulong begin, end;
    OCL_CHECK(clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_END, sizeof begin,
                                      &begin, NULL));
    OCL_CHECK(clGetEventProfilingInfo(second, CL_PROFILING_COMMAND_START, sizeof end,
                                      &end, NULL));
    clReleaseEvent(first);
    clReleaseEvent(second);
    return 1e-9 * (end - begin);
}

/* Returns the words per vector: 1 on a GPU, whose lanes are work-items. */
static cl_uint vector_lanes(cl_device_id device, int width)
{
    cl_uint lanes;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, sizeof lanes,
                              &lanes, NULL));
    if (ocl_is_gpu(device)) return 1;
    lanes = lanes >= 16 ? 16 : lanes >= 8 ? 8 : lanes >= 4 ? 4 : 1;
    return width % lanes ? WIDTH_MULTIPLE : lanes;
}

/* The bands into which the grid is divided. */
typedef struct {
    int rows;      /* own rows of a band */
    int max_steps; /* steps per launch */
    int tile_rows; /* rows that compute all steps while they are in a cache */
    int count;
    size_t size; /* bytes of a band, including ghost rows */
    bool fits;   /* in local memory */
} band_shape;

/* Chooses the bands for the inner rows of a grid. A GPU needs many narrow bands. A CPU
 * gets one band per thread, but of at most L2_BYTES and at least min_rows rows, because
 * shorter bands compute too many ghost rows redundantly; and it computes more steps per
 * launch, because each launch wakes its threads. L2_BYTES, L1_BYTES, min_rows and
 * max_steps are tuned; the sizes lie below those of the L2 and L1 caches of the CPUs
 * used. */
static band_shape choose_bands(cl_device_id device, int inner_rows, int width)
{
    enum { L2_BYTES = 512 * 1024, L1_BYTES = 32 * 1024 };
    size_t row_size = row_pitch(width) * sizeof(cell);
    bool gpu = ocl_is_gpu(device);
    cl_uint units;
    cl_ulong local_bytes;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local_bytes,
                              &local_bytes, NULL));

    band_shape b;
    int even_rows = (inner_rows + (int)units - 1) / (int)units;
    int min_rows = 128, max_rows = L2_BYTES / row_size;
    b.rows = even_rows > max_rows ? max_rows : even_rows;
    if (b.rows < min_rows) b.rows = min_rows;
    if (gpu) b.rows = 8;
    b.max_steps = gpu ? 8 : 64;
    /* On a GPU a tile has all rows of the band (rows + 2 max_steps) and the shift of
     * max_steps. */
    b.tile_rows = gpu ? b.rows + 3 * b.max_steps : (int)(L1_BYTES / row_size);
    b.count = (inner_rows + b.rows - 1) / b.rows;
    b.size = (b.rows + 2 * b.max_steps) * row_size;
    b.fits = b.size <= local_bytes;
    return b;
}

/* The objects of one run, and the range of work-items of a launch. */
typedef struct {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem planes[2], flags; /* planes: input and output of a launch */
    cl_mem workspace;        /* unless it is in local memory */
    band_shape bands;
    size_t global[2], local[2];
} device_state;

static cl_mem create_buffer(cl_context context, size_t size)
{
    cl_int err;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    return buffer;
}

/* A group computes a band: on a GPU with 256 work-items. */
static void choose_range(device_state *d, const run_plan *plan, int width, bool gpu)
{
    int words = width < 32 ? width : 32;
    d->local[0] = plan->group[0] ? plan->group[0] : gpu ? words : 1;
    d->local[1] = plan->group[1] ? plan->group[1] : gpu ? 256 / words : 1;
    d->global[0] = d->local[0];
    d->global[1] = d->local[1] * d->bands.count;
}

/* Creates the buffers, and passes to the kernel what is the same for all launches. */
static void create_buffers(device_state *d, int dim)
{
    band_shape b = d->bands;
    for (int i = 0; i < 2; i++)
        d->planes[i] = create_buffer(d->context, total_words(dim) * sizeof(cell));
    d->flags = create_buffer(d->context, POLL_STEPS * sizeof(cell));
    d->workspace = create_buffer(d->context, b.fits ? sizeof(cell) : b.size * b.count);
    int stride = b.fits ? 0 : b.size / sizeof(cell);
    OCL_CHECK(clSetKernelArg(d->kernel, 2, sizeof d->flags, &d->flags));
    OCL_CHECK(clSetKernelArg(d->kernel, 6, b.fits ? b.size : sizeof d->workspace,
                             b.fits ? NULL : &d->workspace));
    OCL_CHECK(clSetKernelArg(d->kernel, 7, sizeof stride, &stride));
}

/* Enqueues steps n .. n + steps - 1; slot is the index of the first flag. */
static void launch_steps(device_state *d, const size_t global[2], int n, int slot,
                         int steps)
{
    OCL_CHECK(clSetKernelArg(d->kernel, 0, sizeof *d->planes, &d->planes[0]));
    OCL_CHECK(clSetKernelArg(d->kernel, 1, sizeof *d->planes, &d->planes[1]));
    OCL_CHECK(clSetKernelArg(d->kernel, 3, sizeof n, &n));
    OCL_CHECK(clSetKernelArg(d->kernel, 4, sizeof slot, &slot));
    OCL_CHECK(clSetKernelArg(d->kernel, 5, sizeof steps, &steps));
    OCL_CHECK(clEnqueueNDRangeKernel(d->queue, d->kernel, 2, NULL, global, d->local, 0,
                                     NULL, NULL));
    cl_mem swap = d->planes[0];
    d->planes[0] = d->planes[1];
    d->planes[1] = swap;
}

/* Creates the objects for a grid with dim cells per side. */
static device_state device_begin(int dim, const run_plan *plan)
{
    device_state d;
    cl_int err;

    cl_device_id device = ocl_device();
    d.context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    d.queue = clCreateCommandQueue(d.context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    int width = plane_width(dim), lanes = vector_lanes(device, width);
    d.bands = choose_bands(device, dim - 2, width);
    choose_range(&d, plan, width, ocl_is_gpu(device));

    /* The source is compiled here, at run time, when shape and device are known. */
    char build_options[160];
    snprintf(build_options, sizeof build_options,
             "-D DIM=%d -D WIDTH=%d -D LANES=%d -D ROWS=%d -D TILE=%d%s", dim, width,
             lanes, d.bands.rows, d.bands.tile_rows,
             d.bands.fits ? "" : " -D LOCAL=__global");
    d.program = ocl_build(d.context, device, build_options);
    d.kernel = clCreateKernel(d.program, "do_steps", &err);
    OCL_CHECK(err);
    create_buffers(&d, dim);

    /* Launch one group on an empty grid: many drivers finish the compilation of a
     * kernel at its first launch. */
    const cell empty = 0;
    OCL_CHECK(clEnqueueFillBuffer(d.queue, d.planes[0], &empty, sizeof empty, 0,
                                  total_words(dim) * sizeof(cell), 0, NULL, NULL));
    launch_steps(&d, d.local, 0, 0, 1);
    OCL_CHECK(clFinish(d.queue));
    return d;
}

static void device_end(device_state *d)
{
    clReleaseMemObject(d->workspace);
    clReleaseMemObject(d->flags);
    clReleaseMemObject(d->planes[1]);
    clReleaseMemObject(d->planes[0]);
    clReleaseKernel(d->kernel);
    clReleaseProgram(d->program);
    clReleaseCommandQueue(d->queue);
    clReleaseContext(d->context);
}

/* Topples an unstable pile of which no cell exceeds 7, from step n on. Returns the
 * number of the last step. */
static int topple_planes(pile *p, const run_plan *plan, device_state *d, int n,
                         run_times *t)
{
    size_t words = total_words(p->dim), size = words * sizeof(cell);
    cell *planes = allocate(words, sizeof *planes, "the bit planes");

    pack_planes(p, n, planes);
    for (int i = 0; i < 2; i++)
        OCL_CHECK(clEnqueueWriteBuffer(d->queue, d->planes[i], CL_TRUE, 0, size, planes,
                                       0, NULL, NULL));
    bool stable = false;
    while (!stable && n < plan->max_iterations) {
        int steps = steps_until_poll(plan, n);
        cell flags[POLL_STEPS];
        const cell zero = 0;
        cl_event fill_event, read_event; /* the launches between them need no events */
        OCL_CHECK(clEnqueueFillBuffer(d->queue, d->flags, &zero, sizeof zero, 0,
                                      sizeof flags, 0, NULL, &fill_event));
        for (int s = 0; s < steps; s += d->bands.max_steps) {
            int left = steps - s, most = d->bands.max_steps;
            launch_steps(d, d->global, n + s, s, left < most ? left : most);
        }
        OCL_CHECK(clEnqueueReadBuffer(d->queue, d->flags, CL_TRUE, 0, sizeof flags,
                                      flags, 0, NULL, &read_event));
        t->kernel += seconds_between(fill_event, read_event);
        n += steps_to_stable(flags, steps, &stable);
    }
    OCL_CHECK(clEnqueueReadBuffer(d->queue, d->planes[0], CL_TRUE, 0, size, planes, 0,
                                  NULL, NULL));
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
