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
    size_t packed_size = total_words(p) * sizeof(cell);
    cell *staging = sentinel_grids(p);
    size_t slots = (size_t)POLL_STEPS * batch;
    cell *flags = allocate(slots, sizeof *flags, "the flags of each step");

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
        if (i == 2) local[i] = 1; /* a group sets flags of one grid only */
        global[i] = (global[i] + local[i] - 1) / local[i] * local[i];
    }

    /* The source is compiled here, at run time, when the shape is known. */
    grid_shape shape = make_shape(dim);
    char build_options[96];
    snprintf(build_options, sizeof build_options, "-D DIM=%d -D WORDS=%d -D LAST=0x%xu",
             shape.dim, shape.words, shape.last_mask);
    cl_program program = ocl_build(context, device, build_options);
    cl_kernel cell_kernel = clCreateKernel(program, "do_step", &err),
              kernel = cell_kernel;
    OCL_CHECK(err);
    cl_kernel packed_kernel = clCreateKernel(program, "do_step4", &err);
    OCL_CHECK(err);

    cl_mem d_in = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_out = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_flags =
        clCreateBuffer(context, CL_MEM_READ_WRITE, slots * sizeof *flags, NULL, &err);
    OCL_CHECK(err);
    for (int k = 0; k < 2; k++) {
        cl_kernel each_kernel = k ? packed_kernel : cell_kernel;
        OCL_CHECK(clSetKernelArg(each_kernel, 2, sizeof d_flags, &d_flags));
        OCL_CHECK(clSetKernelArg(each_kernel, 4, sizeof batch, &batch));
    }

    double ready = seconds();
    t->kernel = 0;

    OCL_CHECK(
        clEnqueueWriteBuffer(queue, d_in, CL_FALSE, 0, size, p->grid, 0, NULL, NULL));
    OCL_CHECK(
        clEnqueueWriteBuffer(queue, d_out, CL_TRUE, 0, size, staging, 0, NULL, NULL));

    int n = 0;
    for (int g = 0; g < batch; g++) flags[g] = pile_or(p->grid + g * cells, dim);
    cell any_flags = record_finished(p, plan, flags, n);
    bool packed = false;
    while (any_flags > 3 && n < plan->max_iterations) {
        /* Once all cells fit in a byte, pack four into a word, in the same buffers. */
        if (any_flags <= 255 && !packed) {
            OCL_CHECK(clEnqueueReadBuffer(queue, d_in, CL_TRUE, 0, size, p->grid, 0,
                                          NULL, NULL));
            packed = true;
            pack_words(p, staging);
            OCL_CHECK(clEnqueueWriteBuffer(queue, d_in, CL_TRUE, 0, packed_size,
                                           staging, 0, NULL, NULL));
            sentinel_words(p, staging);
            OCL_CHECK(clEnqueueWriteBuffer(queue, d_out, CL_TRUE, 0, packed_size,
                                           staging, 0, NULL, NULL));
            kernel = packed_kernel;
            global[0] = (shape.words + local[0] - 1) / local[0] * local[0];
            global[1] = (dim - 2 + local[1] - 1) / local[1] * local[1];
        }
        int steps = plan->max_iterations - n < POLL_STEPS ? plan->max_iterations - n
                                                          : POLL_STEPS;
        size_t flags_size = (size_t)steps * batch * sizeof *flags;
        const cell zero = 0;
        OCL_CHECK(clEnqueueFillBuffer(queue, d_flags, &zero, sizeof zero, 0, flags_size,
                                      0, NULL, NULL));
        cl_event done[POLL_STEPS];
        for (int s = 0; s < steps; s++) {
            OCL_CHECK(clSetKernelArg(kernel, 0, sizeof d_in, &d_in));
            OCL_CHECK(clSetKernelArg(kernel, 1, sizeof d_out, &d_out));
            OCL_CHECK(clSetKernelArg(kernel, 3, sizeof s, &s));
            OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0,
                                             NULL, &done[s]));
            cl_mem swap = d_in;
            d_in = d_out;
            d_out = swap;
        }
        OCL_CHECK(clEnqueueReadBuffer(queue, d_flags, CL_TRUE, 0, flags_size, flags, 0,
                                      NULL, NULL));
        for (int s = 0; s < steps; s++) {
            any_flags = record_finished(p, plan, flags + (size_t)s * batch, ++n);
            t->kernel += ocl_seconds(done[s]);
            clReleaseEvent(done[s]);
        }
    }
    OCL_CHECK(clEnqueueReadBuffer(queue, d_in, CL_TRUE, 0, packed ? packed_size : size,
                                  packed ? staging : p->grid, 0, NULL, NULL));
    if (packed) unpack_words(p, staging);

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    clReleaseMemObject(d_flags);
    clReleaseMemObject(d_out);
    clReleaseMemObject(d_in);
    clReleaseKernel(packed_kernel);
    clReleaseKernel(cell_kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(flags);
    free(staging);
    return 0;
}
