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

/* The bands into which a grid is divided. */
typedef struct {
    int rows;      /* own rows of a band */
    int max_steps; /* steps per launch */
    int tile_rows; /* rows that compute all steps while they are in a cache */
    int count;     /* bands per grid */
    size_t size;   /* bytes of a band, including ghost rows */
    bool fits;     /* in local memory */
} band_shape;

/* The minimum number of rows of a band on a CPU. */
enum { MIN_ROWS = 256 };

/* Chooses the bands for the inner rows of a grid. A GPU needs many narrow bands. A CPU
 * gets one band per thread, but of at most L2_BYTES and at least MIN_ROWS rows, because
 * shorter bands compute too many ghost rows redundantly; and it computes more steps per
 * launch, because each launch wakes its threads. L2_BYTES, L1_BYTES, MIN_ROWS and
 * max_steps are tuned; the sizes lie below those of the L2 and L1 caches of the CPUs
 * used. */
static band_shape choose_bands(cl_device_id device, int inner_rows, int width)
{
    enum { L2_BYTES = 512 * 1024, L1_BYTES = 32 * 1024 };
    size_t row_size = row_pitch(width) * sizeof(cell);
    bool gpu = ocl_is_gpu(device);
    cl_uint units;
    cl_ulong local_bytes;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local_bytes,
                              &local_bytes, NULL));

    band_shape b;
    int even_rows = (inner_rows + (int)units - 1) / (int)units;
    int max_rows = L2_BYTES / row_size;
    b.rows = even_rows > max_rows ? max_rows : even_rows;
    if (b.rows < MIN_ROWS) b.rows = MIN_ROWS;
    if (gpu) b.rows = 8;
    b.max_steps = gpu ? 8 : 128;
    /* On a GPU a tile has all rows of the band (rows + 2 max_steps) and the shift of
     * max_steps. */
    b.tile_rows = gpu ? b.rows + 3 * b.max_steps : (int)(L1_BYTES / row_size);
    b.count = (inner_rows + b.rows - 1) / b.rows;
    b.size = (b.rows + 2 * b.max_steps) * row_size;
    b.fits = b.size <= local_bytes;
    return b;
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();
    cl_int err;

    reject_cpu_options(plan);
    int dim = p->dim;
    int batch = p->batch;
    size_t cells = pile_cells(p), size = cells * batch * sizeof(cell);
    int mirror = find_mirror(p), side = stored_side(dim, mirror),
        width = plane_width(side);
    size_t planes_size = total_words(p, side) * sizeof(cell);
    cell *staging = sentinel_grids(p);
    cell *planes = allocate(total_words(p, side), sizeof *planes, "the bit planes");
    size_t slots = (size_t)POLL_STEPS * batch;
    cell *flags = allocate(slots, sizeof *flags, "the flags of each step");

    /* A second thread of PoCL would only wait: it delays each launch. */
    if (batch == 1 && side - 2 <= MIN_ROWS) ocl_limit_threads(1);
    cl_device_id device = ocl_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    cl_command_queue queue =
        clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    int gpu = ocl_is_gpu(device);
    cl_uint lanes = vector_lanes(device, width);

    band_shape bands = choose_bands(device, side - 2, width);

    /* The global size must be a multiple of the local size: round up. A work-item
     * computes cells at first (one on a GPU, a row on a CPU), and later a group
     * computes a band. */
    int cells_per_item = gpu ? 1 : dim;
    size_t words = width < 32 ? width : 32;
    size_t local[2][3] = {{gpu ? 32 : 1, gpu ? 1 : 32, 1},
                          {gpu ? words : 1, gpu ? 256 / words : 1, 1}};
    size_t global[2][3] = {{gpu ? dim : 1, dim, batch}, {1, bands.count, batch}};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++)
            if (plan->group[i]) local[k][i] = plan->group[i];
        global[0][i] = (global[0][i] + local[0][i] - 1) / local[0][i] * local[0][i];
        global[1][i] *= local[1][i];
    }

    /* The source is compiled here, at run time, when shape and device are known. */
    char build_options[160];
    snprintf(build_options, sizeof build_options,
             "-D DIM=%d -D SIDE=%d -D WIDTH=%d -D MIRROR=%d -D LANES=%u -D STEPS=%d "
             "-D ROWS=%d -D TILE=%d -D CELLS=%d%s",
             dim, side, width, mirror, lanes, bands.max_steps, bands.rows,
             bands.tile_rows, cells_per_item, bands.fits ? "" : " -D LOCAL=__global");
    cl_program program = ocl_build(context, device, build_options);
    cl_kernel kernel[2];
    kernel[0] = clCreateKernel(program, "do_step", &err);
    OCL_CHECK(err);
    kernel[1] = clCreateKernel(program, "do_steps_planes", &err);
    OCL_CHECK(err);

    cl_mem d_in = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_out = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_planes[2];
    for (int i = 0; i < 2; i++) {
        d_planes[i] =
            clCreateBuffer(context, CL_MEM_READ_WRITE, planes_size, NULL, &err);
        OCL_CHECK(err);
    }
    size_t workspace_size =
        bands.fits ? sizeof(cell) : bands.size * bands.count * batch;
    cl_mem d_workspace =
        clCreateBuffer(context, CL_MEM_READ_WRITE, workspace_size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_flags =
        clCreateBuffer(context, CL_MEM_READ_WRITE, slots * sizeof *flags, NULL, &err);
    OCL_CHECK(err);
    for (int k = 0; k < 2; k++) {
        OCL_CHECK(clSetKernelArg(kernel[k], 2, sizeof d_flags, &d_flags));
        OCL_CHECK(clSetKernelArg(kernel[k], 4, sizeof batch, &batch));
    }
    int workspace_stride = bands.fits ? 0 : bands.size / sizeof(cell);
    OCL_CHECK(clSetKernelArg(kernel[1], 7, bands.fits ? bands.size : sizeof d_workspace,
                             bands.fits ? NULL : &d_workspace));
    OCL_CHECK(clSetKernelArg(kernel[1], 8, sizeof workspace_stride, &workspace_stride));

    /* Launch one group of each kernel on empty grids: many drivers finish the
     * compilation of a kernel at its first launch. */
    const cell empty = 0;
    const int first_step = 0, one_step = 1;
    OCL_CHECK(
        clEnqueueFillBuffer(queue, d_in, &empty, sizeof empty, 0, size, 0, NULL, NULL));
    OCL_CHECK(clEnqueueFillBuffer(queue, d_planes[0], &empty, sizeof empty, 0,
                                  planes_size, 0, NULL, NULL));
    OCL_CHECK(clSetKernelArg(kernel[0], 0, sizeof d_in, &d_in));
    OCL_CHECK(clSetKernelArg(kernel[0], 1, sizeof d_out, &d_out));
    OCL_CHECK(clSetKernelArg(kernel[1], 0, sizeof *d_planes, &d_planes[0]));
    OCL_CHECK(clSetKernelArg(kernel[1], 1, sizeof *d_planes, &d_planes[1]));
    OCL_CHECK(clSetKernelArg(kernel[1], 5, sizeof first_step, &first_step));
    OCL_CHECK(clSetKernelArg(kernel[1], 6, sizeof one_step, &one_step));
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
            pack_planes(p, mirror, n, planes);
            for (int i = 0; i < 2; i++)
                OCL_CHECK(clEnqueueWriteBuffer(queue, d_planes[i], CL_TRUE, 0,
                                               planes_size, planes, 0, NULL, NULL));
            k = 1;
        }
        int steps = plan->max_iterations - n < POLL_STEPS ? plan->max_iterations - n
                                                          : POLL_STEPS;
        size_t flags_size = (size_t)steps * batch * sizeof *flags;
        const cell zero = 0;
        cl_event fill_event, read_event; /* the launches between them need no events */
        OCL_CHECK(clEnqueueFillBuffer(queue, d_flags, &zero, sizeof zero, 0, flags_size,
                                      0, NULL, &fill_event));
        for (int s = 0, launch_steps; s < steps; s += launch_steps) {
            cl_mem *d_from = k ? &d_planes[0] : &d_in,
                   *d_to = k ? &d_planes[1] : &d_out;
            OCL_CHECK(clSetKernelArg(kernel[k], 0, sizeof *d_from, d_from));
            OCL_CHECK(clSetKernelArg(kernel[k], 1, sizeof *d_to, d_to));
            OCL_CHECK(clSetKernelArg(kernel[k], 3, sizeof s, &s));
            launch_steps = k == 0                        ? 1
                           : steps - s < bands.max_steps ? steps - s
                                                         : bands.max_steps;
            if (k) {
                int step_number = n + s;
                OCL_CHECK(
                    clSetKernelArg(kernel[k], 5, sizeof step_number, &step_number));
                OCL_CHECK(
                    clSetKernelArg(kernel[k], 6, sizeof launch_steps, &launch_steps));
            }
            OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[k], 3, NULL, global[k],
                                             local[k], 0, NULL, NULL));
            cl_mem swap = *d_from;
            *d_from = *d_to;
            *d_to = swap;
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
        OCL_CHECK(clEnqueueReadBuffer(queue, d_planes[0], CL_TRUE, 0, planes_size,
                                      planes, 0, NULL, NULL));
        unpack_planes(planes, mirror, n, p);
    }

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;

    clReleaseMemObject(d_flags);
    clReleaseMemObject(d_workspace);
    clReleaseMemObject(d_planes[1]);
    clReleaseMemObject(d_planes[0]);
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
