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

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();
    cl_int err;

    reject_cpu_options(plan);
    int dim = p->dim;
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    cell *staging = sentinel_grids(p);
    cell *unstable = allocate(cells * batch, sizeof *unstable, "the flags");
    cell *flags = allocate(batch, sizeof *flags, "the flags of each grid");

    cl_device_id device = ocl_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    cl_command_queue queue =
        clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* The global size must be a multiple of the local size: round up. */
    size_t local[3] = {16, 4, 1}, global[3] = {dim, dim, batch};
    for (int i = 0; i < 3; i++) {
        if (plan->group[i]) local[i] = plan->group[i];
        global[i] = (global[i] + local[i] - 1) / local[i] * local[i];
    }

    cl_program program = ocl_build(context, device, "");
    cl_kernel kernel = clCreateKernel(program, "do_step", &err);
    OCL_CHECK(err);

    cl_mem d_in = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_out = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_unstable = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    OCL_CHECK(clSetKernelArg(kernel, 2, sizeof d_unstable, &d_unstable));
    OCL_CHECK(clSetKernelArg(kernel, 3, sizeof dim, &dim));
    OCL_CHECK(clSetKernelArg(kernel, 4, sizeof batch, &batch));

    double ready = seconds();
    t->kernel = 0;

    OCL_CHECK(
        clEnqueueWriteBuffer(queue, d_in, CL_FALSE, 0, size, p->grid, 0, NULL, NULL));
    OCL_CHECK(
        clEnqueueWriteBuffer(queue, d_out, CL_TRUE, 0, size, staging, 0, NULL, NULL));

    int n = 0;
    for (int g = 0; g < batch; g++) flags[g] = pile_or(p->grid + g * cells, dim);
    while (record_finished(p, plan, flags, n) > 3 && n < plan->max_iterations) {
        OCL_CHECK(clSetKernelArg(kernel, 0, sizeof d_in, &d_in));
        OCL_CHECK(clSetKernelArg(kernel, 1, sizeof d_out, &d_out));
        cl_event done;
        OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0, NULL,
                                         &done));

        OCL_CHECK(clEnqueueReadBuffer(queue, d_unstable, CL_TRUE, 0, size, unstable, 0,
                                      NULL, NULL));
        for (int g = 0; g < batch; g++) flags[g] = pile_or(unstable + g * cells, dim);
        t->kernel += ocl_seconds(done);
        clReleaseEvent(done);

        cl_mem swap = d_in;
        d_in = d_out;
        d_out = swap;
        n++;
    }
    OCL_CHECK(
        clEnqueueReadBuffer(queue, d_in, CL_TRUE, 0, size, p->grid, 0, NULL, NULL));

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    clReleaseMemObject(d_unstable);
    clReleaseMemObject(d_out);
    clReleaseMemObject(d_in);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(flags);
    free(unstable);
    free(staging);
    return 0;
}
