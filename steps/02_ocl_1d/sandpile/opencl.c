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
    size_t cells = pile_cells(p), size = cells * sizeof(cell);
    cell *staging = sentinel_grid(p);
    cell *unstable = allocate(cells, sizeof *unstable, "the flags");

    cl_device_id device = ocl_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    cl_command_queue queue =
        clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* The global size must be a multiple of the local size: round up. */
    size_t local = plan->group[0] ? plan->group[0] : 64;
    size_t global = (cells + local - 1) / local * local;

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

    double ready = seconds();
    t->kernel = 0;

    for (int g = 0; g < p->batch; g++) {
        cell *grid = p->grid + g * cells;
        OCL_CHECK(
            clEnqueueWriteBuffer(queue, d_in, CL_FALSE, 0, size, grid, 0, NULL, NULL));
        OCL_CHECK(clEnqueueWriteBuffer(queue, d_out, CL_TRUE, 0, size, staging, 0, NULL,
                                       NULL));

        int n = 0;
        cell flags = pile_or(grid, dim);
        while (n < plan->max_iterations && flags > 3) {
            OCL_CHECK(clSetKernelArg(kernel, 0, sizeof d_in, &d_in));
            OCL_CHECK(clSetKernelArg(kernel, 1, sizeof d_out, &d_out));
            cl_event done;
            OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0,
                                             NULL, &done));

            OCL_CHECK(clEnqueueReadBuffer(queue, d_unstable, CL_TRUE, 0, size, unstable,
                                          0, NULL, NULL));
            flags = pile_or(unstable, dim);
            t->kernel += ocl_seconds(done);
            clReleaseEvent(done);

            cl_mem swap = d_in;
            d_in = d_out;
            d_out = swap;
            n++;
        }
        OCL_CHECK(
            clEnqueueReadBuffer(queue, d_in, CL_TRUE, 0, size, grid, 0, NULL, NULL));
        p->iterations[g] = n;
    }

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
    free(unstable);
    free(staging);
    return 0;
}
