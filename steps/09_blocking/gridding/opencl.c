/* opencl.c - the host side of kernel.cl.
 *
 * Every OpenCL host program creates the same objects, in this order:
 *
 *   device    the processor that computes
 *   context   owns the memory objects and programs of the device
 *   queue     the commands for the device, executed in order
 *   program   source code, compiled for the device
 *   kernel    one entry point of a program
 *   buffer    device memory
 *
 * Then it enqueues commands: write buffers, run a kernel over an index range, read
 * buffers.
 */
#include <stdlib.h>

#include "ocl.h"
#include "host.h"

typedef struct {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    int rows, columns, lanes, vectors, blocks; /* per block; per work-item */
} opencl;

static opencl opencl_start(void)
{
    cl_int err;
    opencl cl = {.device = ocl_device()};
    cl.context = clCreateContext(NULL, 1, &cl.device, NULL, NULL, &err);
    OCL_CHECK(err);
    cl.queue =
        clCreateCommandQueue(cl.context, cl.device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* A CPU's work-item computes cl.vectors registers of columns; a GPU's
     * computes one column of 32, the number of work-items that execute together (a
     * warp). */
    cl_uint native;
    OCL_CHECK(clGetDeviceInfo(cl.device,
                              sizeof(real) == sizeof(double)
                                  ? CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE
                                  : CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                              sizeof native, &native, NULL));
    bool gpu = ocl_is_gpu(cl.device);
    cl.lanes = gpu ? 1 : (int)native;
    cl.vectors = native * sizeof(real) == 64 && !gpu
                     ? 2
                     : 1; /* AVX-512 has 32 vector registers */
    cl.rows = gpu ? 8 : 4;
    cl.columns = gpu ? 32 : cl.vectors * cl.lanes;
    /* A GPU's work-item has registers for the sums of one block, and no cache of its
     * own. */
    cl.blocks = gpu ? 1 : BLOCKS;
    char options[128];
    snprintf(
        options, sizeof options,
        REAL_OPTION
        "-D ROWS=%d -D COLUMNS=%d -D LANES=%d -D VECTORS=%d -D BLOCKS=%d -D CHUNK=%d",
        cl.rows, cl.columns, cl.lanes, cl.vectors, cl.blocks, gpu ? 1 : CHUNK);
    cl.program = ocl_build(cl.context, cl.device, options);
    return cl;
}

static void opencl_stop(opencl *cl)
{
    clReleaseProgram(cl->program);
    clReleaseCommandQueue(cl->queue);
    clReleaseContext(cl->context);
}

static cl_kernel create_kernel(const opencl *cl, const char *name)
{
    cl_int err;
    cl_kernel kernel = clCreateKernel(cl->program, name, &err);
    OCL_CHECK(err);
    return kernel;
}

static cl_mem create_buffer(const opencl *cl, size_t bytes)
{
    cl_int err;
    cl_mem buffer = clCreateBuffer(cl->context, CL_MEM_READ_WRITE, bytes, NULL, &err);
    OCL_CHECK(err);
    return buffer;
}

static void write_buffer(const opencl *cl, cl_mem buffer, size_t bytes,
                         const void *host_data)
{
    OCL_CHECK(clEnqueueWriteBuffer(cl->queue, buffer, CL_FALSE, 0, bytes, host_data, 0,
                                   NULL, NULL));
}

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();
    const shape s = p->dims;

    opencl cl = opencl_start();
    real *table = make_table(p, cl.rows, cl.columns);
    binning bins = allocate_binning(p, cl.rows, cl.columns);
    cl_kernel grid = create_kernel(&cl, "grid_segments");
    t->copies = 1;

    size_t table_size = table_length(p, cl.rows, cl.columns) * sizeof *table;
    size_t first_size = (bins.count + 1) * sizeof *bins.first;
    size_t visibilities_size = s.visibilities * sizeof(sorted_visibility);
    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    cl_mem d_table = create_buffer(&cl, table_size);
    cl_mem d_first = create_buffer(&cl, first_size);
    cl_mem d_visibilities = create_buffer(&cl, visibilities_size);
    cl_mem d_grid = create_buffer(&cl, grid_size);
    write_buffer(&cl, d_grid, grid_size, result); /* NaN fill */
    OCL_CHECK(clFinish(cl.queue));

    double run_start = seconds();

    bin_visibilities(p, &bins);
    write_buffer(&cl, d_table, table_size, table);
    write_buffer(&cl, d_first, first_size, bins.first);
    write_buffer(&cl, d_visibilities, visibilities_size, bins.visibilities);
    OCL_CHECK(clSetKernelArg(grid, 0, sizeof s, &s));
    OCL_CHECK(clSetKernelArg(grid, 1, sizeof d_table, &d_table));
    OCL_CHECK(clSetKernelArg(grid, 2, sizeof d_first, &d_first));
    OCL_CHECK(clSetKernelArg(grid, 3, sizeof d_visibilities, &d_visibilities));
    OCL_CHECK(clSetKernelArg(grid, 4, sizeof d_grid, &d_grid));
    cl_event kernel_event;
    size_t groups = CEIL_DIV(s.size, cl.columns);
    size_t local[2] = {cl.columns / (cl.vectors * cl.lanes), 1};
    size_t global[2] = {groups * local[0], CEIL_DIV(bins.bands, cl.blocks)};
    OCL_CHECK(clEnqueueNDRangeKernel(cl.queue, grid, 2, NULL, global, local, 0, NULL,
                                     &kernel_event));
    OCL_CHECK(clEnqueueReadBuffer(cl.queue, d_grid, CL_TRUE, 0, grid_size, result, 0,
                                  NULL, NULL));

    double end = seconds();
    t->init = run_start - start;
    t->sort = bins.seconds;
    t->run = end - run_start;
    t->kernel = ocl_seconds(kernel_event);

    clReleaseEvent(kernel_event);
    clReleaseMemObject(d_first);
    clReleaseMemObject(d_grid);
    clReleaseMemObject(d_visibilities);
    clReleaseMemObject(d_table);
    clReleaseKernel(grid);
    opencl_stop(&cl);
    free_binning(&bins);
    free(table);
    return 0;
}

int degridding(const problem *p, const void *model, void *result, run_times *t)
{
    double start = seconds();

    opencl cl = opencl_start();
    real *table = make_table(p, cl.rows, cl.columns);
    binning bins = allocate_binning(p, cl.rows, cl.columns);
    cl_kernel degrid = create_kernel(&cl, "degrid");
    const shape s = p->dims;
    t->copies = 1;

    size_t table_size = table_length(p, cl.rows, cl.columns) * sizeof *table;
    size_t footprints_size = s.visibilities * sizeof *p->footprints;
    size_t value_size = s.visibilities * sizeof(cplx);
    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    cl_mem d_table = create_buffer(&cl, table_size);
    cl_mem d_permutation = create_buffer(&cl, s.visibilities * sizeof(int));
    cl_mem d_footprints = create_buffer(&cl, footprints_size);
    cl_mem d_grid = create_buffer(&cl, grid_size);
    cl_mem d_value = create_buffer(&cl, value_size);

    OCL_CHECK(clSetKernelArg(degrid, 0, sizeof s, &s));
    OCL_CHECK(clSetKernelArg(degrid, 1, sizeof d_table, &d_table));
    OCL_CHECK(clSetKernelArg(degrid, 2, sizeof d_permutation, &d_permutation));
    OCL_CHECK(clSetKernelArg(degrid, 3, sizeof d_footprints, &d_footprints));
    OCL_CHECK(clSetKernelArg(degrid, 4, sizeof d_grid, &d_grid));
    OCL_CHECK(clSetKernelArg(degrid, 5, sizeof d_value, &d_value));

    double run_start = seconds();

    bin_visibilities(p, &bins);
    write_buffer(&cl, d_table, table_size, table);
    write_buffer(&cl, d_permutation, s.visibilities * sizeof *bins.permutation,
                 bins.permutation);
    write_buffer(&cl, d_footprints, footprints_size, p->footprints);
    write_buffer(&cl, d_grid, grid_size, model);
    write_buffer(&cl, d_value, value_size, result); /* NaN fill */
    cl_event kernel_event;
    size_t visibilities = s.visibilities;
    OCL_CHECK(clEnqueueNDRangeKernel(cl.queue, degrid, 1, NULL, &visibilities, NULL, 0,
                                     NULL, &kernel_event));
    OCL_CHECK(clEnqueueReadBuffer(cl.queue, d_value, CL_TRUE, 0, value_size, result, 0,
                                  NULL, NULL));

    double end = seconds();
    t->init = run_start - start;
    t->sort = bins.seconds;
    t->run = end - run_start;
    t->kernel = ocl_seconds(kernel_event);

    clReleaseEvent(kernel_event);
    clReleaseMemObject(d_value);
    clReleaseMemObject(d_grid);
    clReleaseMemObject(d_footprints);
    clReleaseMemObject(d_permutation);
    clReleaseMemObject(d_table);
    clReleaseKernel(degrid);
    opencl_stop(&cl);
    free_binning(&bins);
    free(table);
    return 0;
}
