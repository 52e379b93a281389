/* opencl.c - the host side of kernel.cl.
 *
 * Every OpenCL program makes the same objects in the same order, the device's first:
 *   device   what computes                 context  the memory and programs it shares
 *   queue    the commands it is given      program  source, built for this device
 *   kernel   one entry point of a program  buffer   memory of the device
 * and then enqueues: write buffers, run the kernel over a range, read buffers.
 */
#include <stdlib.h>

#include "ocl.h"
#include "host.h"

int topple(pile *p, const plan *how, run_times *t)
{
    double start = seconds();
    cl_int err;

    for_devices(how);
    int dim = p->dim;
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    size_t size4 = words_of(p) * sizeof(cell);
    cell *blank = blank_grids(p);
    size_t slots = (size_t)LOOK * batch;
    cell *bits = allocate(slots, sizeof *bits, "the bits of each step");

    cl_device_id device = ocl_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    cl_command_queue queue =
        clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* The global size must be a multiple of the local size: round up. */
    size_t local[3] = {16, 4, 1}, global[3] = {dim, dim, batch};
    for (int i = 0; i < 3; i++) {
        if (how->group[i]) local[i] = how->group[i];
        if (i == 2) local[i] = 1; /* a group collects for one grid */
        global[i] = (global[i] + local[i] - 1) / local[i] * local[i];
    }

    /* The source is compiled here, at run time, when the shape is known. */
    shape of = shape_of(dim);
    char options[96];
    snprintf(options, sizeof options, "-D DIM=%d -D WORDS=%d -D LAST=0x%xu", of.dim,
             of.words, of.last);
    cl_program program = ocl_build(context, device, options);
    cl_kernel wide = clCreateKernel(program, "do_step", &err), kernel = wide;
    OCL_CHECK(err);
    cl_kernel narrow = clCreateKernel(program, "do_step4", &err);
    OCL_CHECK(err);

    cl_mem d_in = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_out = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_bits =
        clCreateBuffer(context, CL_MEM_READ_WRITE, slots * sizeof *bits, NULL, &err);
    OCL_CHECK(err);
    for (int k = 0; k < 2; k++) {
        cl_kernel one = k ? narrow : wide;
        OCL_CHECK(clSetKernelArg(one, 2, sizeof d_bits, &d_bits));
        OCL_CHECK(clSetKernelArg(one, 4, sizeof batch, &batch));
    }

    double ready = seconds();
    t->kernel = 0;

    OCL_CHECK(
        clEnqueueWriteBuffer(queue, d_in, CL_FALSE, 0, size, p->grid, 0, NULL, NULL));
    OCL_CHECK(
        clEnqueueWriteBuffer(queue, d_out, CL_TRUE, 0, size, blank, 0, NULL, NULL));

    int n = 0;
    for (int g = 0; g < batch; g++) bits[g] = pile_bits(p->grid + g * cells, dim);
    cell all = note(p, how, bits, n);
    bool bytes = false;
    while (all > 3 && n < how->max_iterations) {
        /* Once all cells fit, four share a word, in the same buffers. */
        if (all <= 255 && !bytes) {
            OCL_CHECK(clEnqueueReadBuffer(queue, d_in, CL_TRUE, 0, size, p->grid, 0,
                                          NULL, NULL));
            bytes = true;
            pack_words(p, blank);
            OCL_CHECK(clEnqueueWriteBuffer(queue, d_in, CL_TRUE, 0, size4, blank, 0,
                                           NULL, NULL));
            blank_words(p, blank);
            OCL_CHECK(clEnqueueWriteBuffer(queue, d_out, CL_TRUE, 0, size4, blank, 0,
                                           NULL, NULL));
            kernel = narrow;
            global[0] = (of.words + local[0] - 1) / local[0] * local[0];
            size_t runs = (dim - 2 + RUN - 1) / RUN;
            global[1] = (runs + local[1] - 1) / local[1] * local[1];
        }
        int steps = how->max_iterations - n < LOOK ? how->max_iterations - n : LOOK;
        size_t found = (size_t)steps * batch * sizeof *bits;
        const cell zero = 0;
        OCL_CHECK(clEnqueueFillBuffer(queue, d_bits, &zero, sizeof zero, 0, found, 0,
                                      NULL, NULL));
        cl_event done[LOOK];
        for (int s = 0; s < steps; s++) {
            OCL_CHECK(clSetKernelArg(kernel, 0, sizeof d_in, &d_in));
            OCL_CHECK(clSetKernelArg(kernel, 1, sizeof d_out, &d_out));
            OCL_CHECK(clSetKernelArg(kernel, 3, sizeof s, &s));
            OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0,
                                             NULL, &done[s]));
            cl_mem other = d_in;
            d_in = d_out;
            d_out = other;
        }
        OCL_CHECK(
            clEnqueueReadBuffer(queue, d_bits, CL_TRUE, 0, found, bits, 0, NULL, NULL));
        for (int s = 0; s < steps; s++) {
            all = note(p, how, bits + (size_t)s * batch, ++n);
            t->kernel += ocl_seconds(done[s]);
            clReleaseEvent(done[s]);
        }
    }
    OCL_CHECK(clEnqueueReadBuffer(queue, d_in, CL_TRUE, 0, bytes ? size4 : size,
                                  bytes ? blank : p->grid, 0, NULL, NULL));
    if (bytes) unpack_words(p, blank);

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    clReleaseMemObject(d_bits);
    clReleaseMemObject(d_out);
    clReleaseMemObject(d_in);
    clReleaseKernel(narrow);
    clReleaseKernel(wide);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(bits);
    free(blank);
    return 0;
}
