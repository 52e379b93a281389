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

/* Seconds of the device from the end of one command to the beginning of another. */
static double between(cl_event before, cl_event after)
{
    cl_ulong begin, end;
    OCL_CHECK(clGetEventProfilingInfo(before, CL_PROFILING_COMMAND_END, sizeof begin,
                                      &begin, NULL));
    OCL_CHECK(clGetEventProfilingInfo(after, CL_PROFILING_COMMAND_START, sizeof end,
                                      &end, NULL));
    clReleaseEvent(before);
    clReleaseEvent(after);
    return 1e-9 * (end - begin);
}

int topple(pile *p, const plan *how, run_times *t)
{
    double start = seconds();
    cl_int err;

    for_devices(how);
    int dim = p->dim;
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    int width = width_of(dim);
    size_t size_bits = words_of(p) * sizeof(cell);
    cell *blank = blank_grids(p);
    cell *planes = allocate(words_of(p), sizeof *planes, "the grids in bits");
    size_t slots = (size_t)LOOK * batch;
    cell *bits = allocate(slots, sizeof *bits, "the bits of each step");

    /* PoCL wakes all its threads for a launch, and one has made a step of a small pile
     * before a second is awake. */
    enum { SMALL = 1 << 19 }; /* words */
    if (words_of(p) < SMALL) ocl_threads(1);

    cl_device_id device = ocl_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    cl_command_queue queue =
        clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* How many words a vector has: 1 on a GPU, whose lanes are work-items, and which
     * wants more of them, with fewer rows each. */
    cl_uint lanes;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, sizeof lanes,
                              &lanes, NULL));
    int gpu = ocl_is_gpu(device), run = gpu ? 4 : 64;
    lanes = gpu ? 1 : lanes >= 16 ? 16 : lanes >= 8 ? 8 : lanes >= 4 ? 4 : 1;
    if (width % lanes) lanes = VECTOR;

    /* The global size must be a multiple of the local size: round up. A work-item takes
     * a cell first, of a CPU a row of them, and then a column of bits. */
    int cells_each = gpu ? 1 : dim;
    size_t items[2][3] = {{gpu ? dim : 1, dim, batch},
                          {width / lanes, (dim - 2 + run - 1) / run, batch}};
    size_t local[2][3] = {{gpu ? 32 : 1, gpu ? 1 : 32, 1}, {gpu ? 32 : 1, 1, 1}};
    size_t global[2][3];
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) {
            if (how->group[i] && i < 2) local[k][i] = how->group[i];
            global[k][i] = (items[k][i] + local[k][i] - 1) / local[k][i] * local[k][i];
        }

    /* The source is compiled here, at run time, when shape and device are known. */
    char options[96];
    snprintf(options, sizeof options,
             "-D DIM=%d -D WIDTH=%d -D LANES=%u -D RUN=%d -D CELLS=%d", dim, width,
             lanes, run, cells_each);
    cl_program program = ocl_build(context, device, options);
    cl_kernel kernel[2];
    kernel[0] = clCreateKernel(program, "do_step", &err);
    OCL_CHECK(err);
    kernel[1] = clCreateKernel(program, "do_step_bits", &err);
    OCL_CHECK(err);

    cl_mem d_in = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_out = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_planes = clCreateBuffer(context, CL_MEM_READ_WRITE, size_bits, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_bits =
        clCreateBuffer(context, CL_MEM_READ_WRITE, slots * sizeof *bits, NULL, &err);
    OCL_CHECK(err);
    for (int k = 0; k < 2; k++) {
        OCL_CHECK(clSetKernelArg(kernel[k], 2, sizeof d_bits, &d_bits));
        OCL_CHECK(clSetKernelArg(kernel[k], 4, sizeof batch, &batch));
    }

    /* A group of each, of empty grids: many a driver completes a kernel when it is
     * first run. */
    const cell nothing = 0;
    const int first = 0;
    OCL_CHECK(clEnqueueFillBuffer(queue, d_in, &nothing, sizeof nothing, 0, size, 0,
                                  NULL, NULL));
    OCL_CHECK(clEnqueueFillBuffer(queue, d_planes, &nothing, sizeof nothing, 0,
                                  size_bits, 0, NULL, NULL));
    OCL_CHECK(clSetKernelArg(kernel[0], 0, sizeof d_in, &d_in));
    OCL_CHECK(clSetKernelArg(kernel[0], 1, sizeof d_out, &d_out));
    OCL_CHECK(clSetKernelArg(kernel[1], 0, sizeof d_planes, &d_planes));
    OCL_CHECK(clSetKernelArg(kernel[1], 1, sizeof first, &first));
    for (int k = 0; k < 2; k++) {
        OCL_CHECK(clSetKernelArg(kernel[k], 3, sizeof first, &first));
        OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[k], 3, NULL, local[k], local[k],
                                         0, NULL, NULL));
    }
    OCL_CHECK(clFinish(queue));

    double ready = seconds();
    t->kernel = 0;

    int n = 0, k = 0;
    for (int g = 0; g < batch; g++) bits[g] = pile_bits(p->grid + g * cells, dim);
    cell all = note(p, how, bits, n);
    if (all > 7) {
        OCL_CHECK(clEnqueueWriteBuffer(queue, d_in, CL_FALSE, 0, size, p->grid, 0, NULL,
                                       NULL));
        OCL_CHECK(
            clEnqueueWriteBuffer(queue, d_out, CL_TRUE, 0, size, blank, 0, NULL, NULL));
    }
    while (all > 3 && n < how->max_iterations) {
        /* Once three bits are enough for any cell, the grids are packed. */
        if (all <= 7 && k == 0) {
            if (n)
                OCL_CHECK(clEnqueueReadBuffer(queue, d_in, CL_TRUE, 0, size, p->grid, 0,
                                              NULL, NULL));
            pack_bits(p, n, planes);
            OCL_CHECK(clEnqueueWriteBuffer(queue, d_planes, CL_TRUE, 0, size_bits,
                                           planes, 0, NULL, NULL));
            OCL_CHECK(clSetKernelArg(kernel[1], 0, sizeof d_planes, &d_planes));
            k = 1;
        }
        int steps = how->max_iterations - n < LOOK ? how->max_iterations - n : LOOK;
        size_t found = (size_t)steps * batch * sizeof *bits;
        const cell zero = 0;
        cl_event before, after; /* and no event for each of the launches between */
        OCL_CHECK(clEnqueueFillBuffer(queue, d_bits, &zero, sizeof zero, 0, found, 0,
                                      NULL, &before));
        for (int s = 0; s < steps; s++) {
            int now = n + s;
            if (k == 0) {
                OCL_CHECK(clSetKernelArg(kernel[k], 0, sizeof d_in, &d_in));
                OCL_CHECK(clSetKernelArg(kernel[k], 1, sizeof d_out, &d_out));
                cl_mem other = d_in;
                d_in = d_out;
                d_out = other;
            } else {
                OCL_CHECK(clSetKernelArg(kernel[k], 1, sizeof now, &now));
            }
            OCL_CHECK(clSetKernelArg(kernel[k], 3, sizeof s, &s));
            OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[k], 3, NULL, global[k],
                                             local[k], 0, NULL, NULL));
        }
        OCL_CHECK(clEnqueueReadBuffer(queue, d_bits, CL_TRUE, 0, found, bits, 0, NULL,
                                      &after));
        t->kernel += between(before, after);
        for (int s = 0; s < steps; s++)
            all = note(p, how, bits + (size_t)s * batch, ++n);
    }
    if (k == 0 && n) {
        OCL_CHECK(
            clEnqueueReadBuffer(queue, d_in, CL_TRUE, 0, size, p->grid, 0, NULL, NULL));
    } else if (k) {
        OCL_CHECK(clEnqueueReadBuffer(queue, d_planes, CL_TRUE, 0, size_bits, planes, 0,
                                      NULL, NULL));
        unpack_bits(planes, n, p);
    }

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    clReleaseMemObject(d_bits);
    clReleaseMemObject(d_planes);
    clReleaseMemObject(d_out);
    clReleaseMemObject(d_in);
    clReleaseKernel(kernel[1]);
    clReleaseKernel(kernel[0]);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(bits);
    free(planes);
    free(blank);
    return 0;
}
