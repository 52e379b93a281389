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
    int gpu = ocl_is_gpu(device);
    lanes = gpu ? 1 : lanes >= 16 ? 16 : lanes >= 8 ? 8 : lanes >= 4 ? 4 : 1;
    if (width % lanes) lanes = VECTOR;

    /* A band of a group: many for a GPU, which are narrow; of a CPU one for each
     * thread, but none longer than what its cache holds, and for more steps: a launch
     * wakes its threads. */
    enum { CACHE = 512 * 1024 };
    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    int even = (dim - 2 + (int)units - 1) / (int)units;
    int least = 128, most = CACHE / (pitch_of(width) * sizeof(cell));
    int rows = even > most ? most : even;
    if (rows < least) rows = least;
    if (gpu) rows = 8;
    int steps_most = gpu ? 8 : 64;
    /* Rows that make all their steps in turn: what the nearest cache holds, or all. */
    enum { NEAREST = 32 * 1024 };
    int tile = NEAREST / (pitch_of(width) * sizeof(cell));
    if (gpu) tile = rows + 3 * steps_most;
    size_t band_size = (rows + 2 * steps_most) * pitch_of(width) * sizeof(cell);
    int bands = (dim - 2 + rows - 1) / rows;
    cl_ulong near;
    OCL_CHECK(
        clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof near, &near, NULL));
    bool fits = band_size <= near;

    /* The global size must be a multiple of the local size: round up. A work-item takes
     * a cell first, of a CPU a row of them, and then a group a band. */
    int cells_each = gpu ? 1 : dim;
    size_t local[2][3] = {{gpu ? 32 : 1, gpu ? 1 : 32, 1},
                          {gpu ? 32 : 1, gpu ? 8 : 1, 1}};
    size_t global[2][3] = {{gpu ? dim : 1, dim, batch}, {1, bands, batch}};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++)
            if (how->group[i]) local[k][i] = how->group[i];
        global[0][i] = (global[0][i] + local[0][i] - 1) / local[0][i] * local[0][i];
        global[1][i] *= local[1][i];
    }

    /* The source is compiled here, at run time, when shape and device are known. */
    char options[160];
    snprintf(options, sizeof options,
             "-D DIM=%d -D WIDTH=%d -D LANES=%u -D STEPS=%d -D ROWS=%d -D TILE=%d "
             "-D CELLS=%d%s",
             dim, width, lanes, steps_most, rows, tile, cells_each,
             fits ? "" : " -D LOCAL=__global");
    cl_program program = ocl_build(context, device, options);
    cl_kernel kernel[2];
    kernel[0] = clCreateKernel(program, "do_step", &err);
    OCL_CHECK(err);
    kernel[1] = clCreateKernel(program, "do_steps_bits", &err);
    OCL_CHECK(err);

    cl_mem d_in = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_out = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_planes[2];
    for (int i = 0; i < 2; i++) {
        d_planes[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, size_bits, NULL, &err);
        OCL_CHECK(err);
    }
    size_t all_bands = fits ? sizeof(cell) : band_size * bands * batch;
    cl_mem d_room = clCreateBuffer(context, CL_MEM_READ_WRITE, all_bands, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_bits =
        clCreateBuffer(context, CL_MEM_READ_WRITE, slots * sizeof *bits, NULL, &err);
    OCL_CHECK(err);
    for (int k = 0; k < 2; k++) {
        OCL_CHECK(clSetKernelArg(kernel[k], 2, sizeof d_bits, &d_bits));
        OCL_CHECK(clSetKernelArg(kernel[k], 4, sizeof batch, &batch));
    }
    int apart = fits ? 0 : band_size / sizeof(cell);
    OCL_CHECK(clSetKernelArg(kernel[1], 7, fits ? band_size : sizeof d_room,
                             fits ? NULL : &d_room));
    OCL_CHECK(clSetKernelArg(kernel[1], 8, sizeof apart, &apart));

    /* A group of each, of empty grids: many a driver completes a kernel when it is
     * first run. */
    const cell nothing = 0;
    const int first = 0, one = 1;
    OCL_CHECK(clEnqueueFillBuffer(queue, d_in, &nothing, sizeof nothing, 0, size, 0,
                                  NULL, NULL));
    OCL_CHECK(clEnqueueFillBuffer(queue, d_planes[0], &nothing, sizeof nothing, 0,
                                  size_bits, 0, NULL, NULL));
    OCL_CHECK(clSetKernelArg(kernel[0], 0, sizeof d_in, &d_in));
    OCL_CHECK(clSetKernelArg(kernel[0], 1, sizeof d_out, &d_out));
    OCL_CHECK(clSetKernelArg(kernel[1], 0, sizeof *d_planes, &d_planes[0]));
    OCL_CHECK(clSetKernelArg(kernel[1], 1, sizeof *d_planes, &d_planes[1]));
    OCL_CHECK(clSetKernelArg(kernel[1], 5, sizeof first, &first));
    OCL_CHECK(clSetKernelArg(kernel[1], 6, sizeof one, &one));
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
            for (int i = 0; i < 2; i++)
                OCL_CHECK(clEnqueueWriteBuffer(queue, d_planes[i], CL_TRUE, 0,
                                               size_bits, planes, 0, NULL, NULL));
            k = 1;
        }
        int steps = how->max_iterations - n < LOOK ? how->max_iterations - n : LOOK;
        size_t found = (size_t)steps * batch * sizeof *bits;
        const cell zero = 0;
        cl_event before, after; /* and no event for each of the launches between */
        OCL_CHECK(clEnqueueFillBuffer(queue, d_bits, &zero, sizeof zero, 0, found, 0,
                                      NULL, &before));
        for (int s = 0, made; s < steps; s += made) {
            cl_mem *d_from = k ? &d_planes[0] : &d_in,
                   *d_to = k ? &d_planes[1] : &d_out;
            OCL_CHECK(clSetKernelArg(kernel[k], 0, sizeof *d_from, d_from));
            OCL_CHECK(clSetKernelArg(kernel[k], 1, sizeof *d_to, d_to));
            OCL_CHECK(clSetKernelArg(kernel[k], 3, sizeof s, &s));
            made = k == 0 ? 1 : steps - s < steps_most ? steps - s : steps_most;
            if (k) {
                int now = n + s;
                OCL_CHECK(clSetKernelArg(kernel[k], 5, sizeof now, &now));
                OCL_CHECK(clSetKernelArg(kernel[k], 6, sizeof made, &made));
            }
            OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[k], 3, NULL, global[k],
                                             local[k], 0, NULL, NULL));
            cl_mem other = *d_from;
            *d_from = *d_to;
            *d_to = other;
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
        OCL_CHECK(clEnqueueReadBuffer(queue, d_planes[0], CL_TRUE, 0, size_bits, planes,
                                      0, NULL, NULL));
        unpack_bits(planes, n, p);
    }

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    clReleaseMemObject(d_bits);
    clReleaseMemObject(d_room);
    clReleaseMemObject(d_planes[1]);
    clReleaseMemObject(d_planes[0]);
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
