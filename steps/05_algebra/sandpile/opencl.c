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
    cl_mem in, out;             /* [dim][words_per_row(dim)] */
    cl_mem flags;               /* [POLL_STEPS] */
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
    size_t range[2] = {words_per_row(p->dim), p->dim};
    for (int i = 0; i < 2; i++) {
        d.local[i] = plan->group[i] ? plan->group[i] : i == 0 ? 16 : 4;
        d.global[i] = (range[i] + d.local[i] - 1) / d.local[i] * d.local[i];
    }

    size_t size = p->dim * row_pitch(p->dim);
    d.in = clCreateBuffer(d.context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    d.out = clCreateBuffer(d.context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    d.flags = clCreateBuffer(d.context, CL_MEM_READ_WRITE, POLL_STEPS * sizeof(cell),
                             NULL, &err);
    OCL_CHECK(err);
    OCL_CHECK(clSetKernelArg(d.kernel, 2, sizeof d.flags, &d.flags));
    OCL_CHECK(clSetKernelArg(d.kernel, 4, sizeof p->dim, &p->dim));
    return d;
}

static void device_end(device_state *d)
{
    clReleaseMemObject(d->flags);
    clReleaseMemObject(d->out);
    clReleaseMemObject(d->in);
    clReleaseKernel(d->kernel);
    clReleaseProgram(d->program);
    clReleaseCommandQueue(d->queue);
    clReleaseContext(d->context);
}

/* Enqueues one step, from d->in into d->out, and swaps the two. The step sets
 * d->flags[slot]. */
static cl_event launch_step(device_state *d, int slot)
{
    cl_event done;
    OCL_CHECK(clSetKernelArg(d->kernel, 0, sizeof d->in, &d->in));
    OCL_CHECK(clSetKernelArg(d->kernel, 1, sizeof d->out, &d->out));
    OCL_CHECK(clSetKernelArg(d->kernel, 3, sizeof slot, &slot));
    OCL_CHECK(clEnqueueNDRangeKernel(d->queue, d->kernel, 2, NULL, d->global, d->local,
                                     0, NULL, &done));
    cl_mem swap = d->in;
    d->in = d->out;
    d->out = swap;
    return done;
}

/* Topples an unstable pile of which every cell fits in a byte, from step n on. Returns
 * the number of the last step. */
static int topple_words(pile *p, const run_plan *plan, device_state *d, int n,
                        run_times *t)
{
    size_t pitch = row_pitch(p->dim), size = p->dim * pitch;
    cell8 *packed = allocate(size, sizeof *packed, "the packed grid");

    pile_to_bytes(p, pitch, 0, packed);
    OCL_CHECK(
        clEnqueueWriteBuffer(d->queue, d->in, CL_TRUE, 0, size, packed, 0, NULL, NULL));
    fill_sentinel(p->dim, packed);
    OCL_CHECK(clEnqueueWriteBuffer(d->queue, d->out, CL_TRUE, 0, size, packed, 0, NULL,
                                   NULL));
    bool stable = false;
    while (!stable && n < plan->max_iterations) {
        int steps = steps_until_poll(plan, n);
        cell flags[POLL_STEPS];
        cl_event done[POLL_STEPS];
        const cell zero = 0;
        OCL_CHECK(clEnqueueFillBuffer(d->queue, d->flags, &zero, sizeof zero, 0,
                                      sizeof flags, 0, NULL, NULL));
        for (int s = 0; s < steps; s++) done[s] = launch_step(d, s);
        OCL_CHECK(clEnqueueReadBuffer(d->queue, d->flags, CL_TRUE, 0, sizeof flags,
                                      flags, 0, NULL, NULL));
        for (int s = 0; s < steps; s++) {
            t->kernel += ocl_seconds(done[s]);
            clReleaseEvent(done[s]);
        }
        n += steps_to_stable(flags, steps, &stable);
    }
    OCL_CHECK(
        clEnqueueReadBuffer(d->queue, d->in, CL_TRUE, 0, size, packed, 0, NULL, NULL));
    pile_from_bytes(p, pitch, 0, packed);
    free(packed);
    return n;
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    reject_cpu_options(plan);
    device_state d = device_begin(p, plan);

    double ready = seconds();

    int n = topple_tall(p, plan, 255);
    t->kernel = n > 0 ? seconds() - ready : 0;
    if (n < plan->max_iterations && pile_or(p->grid, p->dim) > 3)
        n = topple_words(p, plan, &d, n, t);
    *p->iterations = n;

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    device_end(&d);
    return 0;
}
