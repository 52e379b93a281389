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

typedef struct {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem in, out, unstable;   /* [dim][dim] */
    size_t local[2], global[2]; /* work-items per group, and in total, along x and y */
} device_state;

static device_state device_begin(const pile *p, const run_plan *plan)
{
    device_state d;
    cl_int err;

    cl_device_id device = ocl_device();
    d.context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    d.queue = clCreateCommandQueue(d.context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);
    d.program = ocl_build(d.context, device, "");
    d.kernel = clCreateKernel(d.program, "do_step", &err);
    OCL_CHECK(err);

    /* The global size must be a multiple of the local size: round up. */
    for (int i = 0; i < 2; i++) {
        d.local[i] = plan->group[i] ? plan->group[i] : i == 0 ? 16 : 4;
        d.global[i] = (p->dim + d.local[i] - 1) / d.local[i] * d.local[i];
    }

    size_t size = pile_cells(p) * sizeof(cell);
    d.in = clCreateBuffer(d.context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    d.out = clCreateBuffer(d.context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    d.unstable = clCreateBuffer(d.context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    OCL_CHECK(clSetKernelArg(d.kernel, 2, sizeof d.unstable, &d.unstable));
    OCL_CHECK(clSetKernelArg(d.kernel, 3, sizeof p->dim, &p->dim));
    return d;
}

static void device_end(device_state *d)
{
    clReleaseMemObject(d->unstable);
    clReleaseMemObject(d->out);
    clReleaseMemObject(d->in);
    clReleaseKernel(d->kernel);
    clReleaseProgram(d->program);
    clReleaseCommandQueue(d->queue);
    clReleaseContext(d->context);
}

/* Enqueues one step, from d->in into d->out, and swaps the two. */
static cl_event launch_step(device_state *d)
{
    cl_event done;
    OCL_CHECK(clSetKernelArg(d->kernel, 0, sizeof d->in, &d->in));
    OCL_CHECK(clSetKernelArg(d->kernel, 1, sizeof d->out, &d->out));
    OCL_CHECK(clEnqueueNDRangeKernel(d->queue, d->kernel, 2, NULL, d->global, d->local,
                                     0, NULL, &done));
    cl_mem swap = d->in;
    d->in = d->out;
    d->out = swap;
    return done;
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    reject_cpu_options(plan);
    size_t size = pile_cells(p) * sizeof(cell);
    cell *staging = sentinel_grid(p);
    cell *unstable = allocate(pile_cells(p), sizeof *unstable, "the flags");
    device_state d = device_begin(p, plan);

    double ready = seconds();
    t->kernel = 0;

    OCL_CHECK(
        clEnqueueWriteBuffer(d.queue, d.in, CL_FALSE, 0, size, p->grid, 0, NULL, NULL));
    OCL_CHECK(
        clEnqueueWriteBuffer(d.queue, d.out, CL_TRUE, 0, size, staging, 0, NULL, NULL));
    int n = 0;
    cell or_values = pile_or(p->grid, p->dim);
    while (n < plan->max_iterations && or_values > 3) {
        cl_event done = launch_step(&d);
        OCL_CHECK(clEnqueueReadBuffer(d.queue, d.unstable, CL_TRUE, 0, size, unstable,
                                      0, NULL, NULL));
        or_values = pile_or(unstable, p->dim);
        t->kernel += ocl_seconds(done);
        clReleaseEvent(done);
        n++;
    }
    OCL_CHECK(
        clEnqueueReadBuffer(d.queue, d.in, CL_TRUE, 0, size, p->grid, 0, NULL, NULL));
    *p->iterations = n;

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    device_end(&d);
    free(unstable);
    free(staging);
    return 0;
}
