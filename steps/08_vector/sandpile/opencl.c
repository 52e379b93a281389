/* opencl.c - the host code for kernel.cl.
 *
 * Every OpenCL program creates the same objects in the same order:
 *   device    the hardware that computes
 *   context   the memory and programs that devices share
 *   queue     the commands for one device, in order
 *   program   source code, built for this device
 *   kernel    one entry point of a program
 *   buffer    memory of the device
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

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();
    cl_int err;

    reject_cpu_options(plan);
    int dim = p->dim;
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    int width = plane_width(dim);
    size_t planes_size = total_words(p) * sizeof(cell);
    cell *staging = sentinel_grids(p);
    cell *planes = allocate(total_words(p), sizeof *planes, "the bit planes");
    size_t slots = (size_t)POLL_STEPS * batch;
    cell *flags = allocate(slots, sizeof *flags, "the flags of each step");

    /* PoCL wakes all of its threads for each launch. On a small pile, one thread
     * finishes a step before a second one is awake. SMALL_WORDS is tuned (exercise 6 of
     * the lesson measures it). */
    enum { SMALL_WORDS = 1 << 19 }; /* in all grids */
    if (total_words(p) < SMALL_WORDS) ocl_limit_threads(1);

    cl_device_id device = ocl_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    cl_command_queue queue =
        clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* A GPU gets more work-items with fewer rows each. */
    int gpu = ocl_is_gpu(device), run = gpu ? 4 : 64;
    cl_uint lanes = vector_lanes(device, width);

    /* The global size must be a multiple of the local size: round up. A work-item
     * computes cells at first (one on a GPU, a row on a CPU), and later a column of
     * words. */
    int cells_per_item = gpu ? 1 : dim;
    size_t items[2][3] = {{gpu ? dim : 1, dim, batch},
                          {width / lanes, (dim - 2 + run - 1) / run, batch}};
    size_t local[2][3] = {{gpu ? 32 : 1, gpu ? 1 : 32, 1}, {gpu ? 32 : 1, 1, 1}};
    size_t global[2][3];
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) {
            if (plan->group[i] && i < 2) local[k][i] = plan->group[i];
            global[k][i] = (items[k][i] + local[k][i] - 1) / local[k][i] * local[k][i];
        }

    /* The source is compiled here, at run time, when shape and device are known. */
    char build_options[96];
    snprintf(build_options, sizeof build_options,
             "-D DIM=%d -D WIDTH=%d -D LANES=%u -D RUN=%d -D CELLS=%d", dim, width,
             lanes, run, cells_per_item);
    cl_program program = ocl_build(context, device, build_options);
    cl_kernel kernel[2];
    kernel[0] = clCreateKernel(program, "do_step", &err);
    OCL_CHECK(err);
    kernel[1] = clCreateKernel(program, "do_step_planes", &err);
    OCL_CHECK(err);

    cl_mem d_in = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_out = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_planes =
        clCreateBuffer(context, CL_MEM_READ_WRITE, planes_size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_flags =
        clCreateBuffer(context, CL_MEM_READ_WRITE, slots * sizeof *flags, NULL, &err);
    OCL_CHECK(err);
    for (int k = 0; k < 2; k++) {
        OCL_CHECK(clSetKernelArg(kernel[k], 2, sizeof d_flags, &d_flags));
        OCL_CHECK(clSetKernelArg(kernel[k], 4, sizeof batch, &batch));
    }

    /* Launch one group of each kernel on empty grids: many drivers finish the
     * compilation of a kernel at its first launch. */
    const cell empty = 0;
    const int first_step = 0;
    OCL_CHECK(
        clEnqueueFillBuffer(queue, d_in, &empty, sizeof empty, 0, size, 0, NULL, NULL));
    OCL_CHECK(clEnqueueFillBuffer(queue, d_planes, &empty, sizeof empty, 0, planes_size,
                                  0, NULL, NULL));
    OCL_CHECK(clSetKernelArg(kernel[0], 0, sizeof d_in, &d_in));
    OCL_CHECK(clSetKernelArg(kernel[0], 1, sizeof d_out, &d_out));
    OCL_CHECK(clSetKernelArg(kernel[1], 0, sizeof d_planes, &d_planes));
    OCL_CHECK(clSetKernelArg(kernel[1], 1, sizeof first_step, &first_step));
    for (int k = 0; k < 2; k++) {
        OCL_CHECK(clSetKernelArg(kernel[k], 3, sizeof first_step, &first_step));
        OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[k], 3, NULL, local[k], local[k],
                                         0, NULL, NULL));
    }
    OCL_CHECK(clFinish(queue));

    double ready = seconds();
    t->kernel = 0;

    int n = 0, k = 0;
    for (int g = 0; g < batch; g++) flags[g] = pile_or(p->grid + g * cells, dim);
    cell any_flags = record_finished(p, plan, flags, n);
    if (any_flags > 7) {
        OCL_CHECK(clEnqueueWriteBuffer(queue, d_in, CL_FALSE, 0, size, p->grid, 0, NULL,
                                       NULL));
        OCL_CHECK(clEnqueueWriteBuffer(queue, d_out, CL_TRUE, 0, size, staging, 0, NULL,
                                       NULL));
    }
    while (any_flags > 3 && n < plan->max_iterations) {
        /* Once every cell fits in three bits, pack the grids into bit planes. */
        if (any_flags <= 7 && k == 0) {
            if (n)
                OCL_CHECK(clEnqueueReadBuffer(queue, d_in, CL_TRUE, 0, size, p->grid, 0,
                                              NULL, NULL));
            pack_planes(p, n, planes);
            OCL_CHECK(clEnqueueWriteBuffer(queue, d_planes, CL_TRUE, 0, planes_size,
                                           planes, 0, NULL, NULL));
            OCL_CHECK(clSetKernelArg(kernel[1], 0, sizeof d_planes, &d_planes));
            k = 1;
        }
        int steps = plan->max_iterations - n < POLL_STEPS ? plan->max_iterations - n
                                                          : POLL_STEPS;
        size_t flags_size = (size_t)steps * batch * sizeof *flags;
        const cell zero = 0;
        cl_event fill_event, read_event; /* the launches between them need no events */
        OCL_CHECK(clEnqueueFillBuffer(queue, d_flags, &zero, sizeof zero, 0, flags_size,
                                      0, NULL, &fill_event));
        for (int s = 0; s < steps; s++) {
            int step_number = n + s;
            if (k == 0) {
                OCL_CHECK(clSetKernelArg(kernel[k], 0, sizeof d_in, &d_in));
                OCL_CHECK(clSetKernelArg(kernel[k], 1, sizeof d_out, &d_out));
                cl_mem swap = d_in;
                d_in = d_out;
                d_out = swap;
            } else {
                OCL_CHECK(
                    clSetKernelArg(kernel[k], 1, sizeof step_number, &step_number));
            }
            OCL_CHECK(clSetKernelArg(kernel[k], 3, sizeof s, &s));
            OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[k], 3, NULL, global[k],
                                             local[k], 0, NULL, NULL));
        }
        OCL_CHECK(clEnqueueReadBuffer(queue, d_flags, CL_TRUE, 0, flags_size, flags, 0,
                                      NULL, &read_event));
        t->kernel += seconds_between(fill_event, read_event);
        for (int s = 0; s < steps; s++)
            any_flags = record_finished(p, plan, flags + (size_t)s * batch, ++n);
    }
    if (k == 0 && n) {
        OCL_CHECK(
            clEnqueueReadBuffer(queue, d_in, CL_TRUE, 0, size, p->grid, 0, NULL, NULL));
    } else if (k) {
        OCL_CHECK(clEnqueueReadBuffer(queue, d_planes, CL_TRUE, 0, planes_size, planes,
                                      0, NULL, NULL));
        unpack_planes(planes, n, p);
    }

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    clReleaseMemObject(d_flags);
    clReleaseMemObject(d_planes);
    clReleaseMemObject(d_out);
    clReleaseMemObject(d_in);
    clReleaseKernel(kernel[1]);
    clReleaseKernel(kernel[0]);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(flags);
    free(planes);
    free(staging);
    return 0;
}
