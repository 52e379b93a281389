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

/* The objects of one run, and the range of work-items of a step. */
typedef struct {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem planes, flags;
    size_t global[2], local[2];
} device_state;

/* The work-items take columns of `lanes` words and `rows` rows. The global size must be
 * a multiple of the local size: round up. */
static void choose_range(device_state *d, const run_plan *plan, int dim, int lanes,
                         int rows, bool gpu)
{
    size_t items[2] = {plane_width(dim) / lanes, (dim - 2 + rows - 1) / rows};
    for (int i = 0; i < 2; i++) {
        d->local[i] = plan->group[i] ? plan->group[i] : gpu && i == 0 ? 32 : 1;
        d->global[i] = (items[i] + d->local[i] - 1) / d->local[i] * d->local[i];
    }
}

static cl_mem create_buffer(cl_context context, size_t size)
{
    cl_int err;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    return buffer;
}

/* Enqueues step n; slot is the index of its flag. */
static void launch_step(const device_state *d, const size_t global[2], int n, int slot)
{
    OCL_CHECK(clSetKernelArg(d->kernel, 2, sizeof n, &n));
    OCL_CHECK(clSetKernelArg(d->kernel, 3, sizeof slot, &slot));
    OCL_CHECK(clEnqueueNDRangeKernel(d->queue, d->kernel, 2, NULL, global, d->local, 0,
                                     NULL, NULL));
}

/* Creates the objects for a grid with dim cells per side. */
static device_state device_begin(int dim, const run_plan *plan)
{
    device_state d;
    cl_int err;

    /* PoCL wakes all of its threads for each launch. On a small pile, one thread
     * finishes a step before a second one is awake. SMALL_WORDS is tuned (exercise 2 of
     * the lesson measures it). */
    enum { SMALL_WORDS = 1 << 19 };
    if (total_words(dim) < SMALL_WORDS) ocl_limit_threads(1);

    cl_device_id device = ocl_device();
    d.context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    d.queue = clCreateCommandQueue(d.context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* A GPU gets more work-items with fewer rows each. */
    bool gpu = ocl_is_gpu(device);
    int width = plane_width(dim), lanes = vector_lanes(device, width);
    int rows = gpu ? 4 : 64;
    choose_range(&d, plan, dim, lanes, rows, gpu);

    /* The source is compiled here, at run time, when shape and device are known. */
    char build_options[96];
    snprintf(build_options, sizeof build_options,
             "-D DIM=%d -D WIDTH=%d -D LANES=%d -D RUN=%d", dim, width, lanes, rows);
    d.program = ocl_build(d.context, device, build_options);
    d.kernel = clCreateKernel(d.program, "do_step", &err);
    OCL_CHECK(err);

    size_t planes_size = total_words(dim) * sizeof(cell);
    d.planes = create_buffer(d.context, planes_size);
    d.flags = create_buffer(d.context, POLL_STEPS * sizeof(cell));
    OCL_CHECK(clSetKernelArg(d.kernel, 0, sizeof d.planes, &d.planes));
    OCL_CHECK(clSetKernelArg(d.kernel, 1, sizeof d.flags, &d.flags));

    /* Launch one group on an empty grid: many drivers finish the compilation of a
     * kernel at its first launch. */
    const cell empty = 0;
    OCL_CHECK(clEnqueueFillBuffer(d.queue, d.planes, &empty, sizeof empty, 0,
                                  planes_size, 0, NULL, NULL));
    launch_step(&d, d.local, 0, 0);
    OCL_CHECK(clFinish(d.queue));
    return d;
}

static void device_end(device_state *d)
{
    clReleaseMemObject(d->flags);
    clReleaseMemObject(d->planes);
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
    OCL_CHECK(clEnqueueWriteBuffer(d->queue, d->planes, CL_TRUE, 0, size, planes, 0,
                                   NULL, NULL));
    bool stable = false;
    while (!stable && n < plan->max_iterations) {
        int steps = steps_until_poll(plan, n);
        cell flags[POLL_STEPS];
        const cell zero = 0;
        cl_event fill_event, read_event; /* the launches between them need no events */
        OCL_CHECK(clEnqueueFillBuffer(d->queue, d->flags, &zero, sizeof zero, 0,
                                      sizeof flags, 0, NULL, &fill_event));
        for (int s = 0; s < steps; s++) launch_step(d, d->global, n + s, s);
        OCL_CHECK(clEnqueueReadBuffer(d->queue, d->flags, CL_TRUE, 0, sizeof flags,
                                      flags, 0, NULL, &read_event));
        t->kernel += seconds_between(fill_event, read_event);
        n += steps_to_stable(flags, steps, &stable);
    }
    OCL_CHECK(clEnqueueReadBuffer(d->queue, d->planes, CL_TRUE, 0, size, planes, 0,
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
