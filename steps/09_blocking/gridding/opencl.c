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
    int gpu;
    int rows, columns, lanes, blocks; /* per block; per work-item */
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

    /* A CPU's work-item computes one vector register of columns; a GPU's computes one
     * column of 32, the number of work-items that execute together (a warp). */
    cl_uint native;
    OCL_CHECK(clGetDeviceInfo(cl.device,
                              sizeof(real) == sizeof(double)
                                  ? CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE
                                  : CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                              sizeof native, &native, NULL));
    cl.gpu = ocl_is_gpu(cl.device);
    cl.lanes = cl.gpu ? 1 : (int)native;
    cl.columns = cl.gpu ? 32 : cl.lanes;
    cl.rows = cl.gpu ? 8 : ROWS;
    /* A GPU's work-item has registers for the sums of one block, and no cache of its
     * own. */
    cl.blocks = cl.gpu ? 1 : BLOCKS;
    char options[128];
    snprintf(options, sizeof options,
             REAL_OPTION
             "-D ROWS=%d -D COLUMNS=%d -D LANES=%d -D BLOCKS=%d -D CHUNK=%d",
             cl.rows, cl.columns, cl.lanes, cl.blocks, cl.gpu ? 1 : CHUNK);
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

/* Creates a buffer with the contents of host_data: the same memory on a CPU, a copy on
 * other devices, which is complete before any command that is enqueued later starts. */
static cl_mem create_buffer(const opencl *cl, size_t bytes, const void *host_data)
{
    cl_int err;
    cl_mem_flags same = cl->gpu ? 0 : CL_MEM_USE_HOST_PTR;
    cl_mem buffer = clCreateBuffer(cl->context, CL_MEM_READ_WRITE | same, bytes,
                                   cl->gpu ? NULL : (void *)host_data, &err);
    OCL_CHECK(err);
    if (cl->gpu)
        OCL_CHECK(clEnqueueWriteBuffer(cl->queue, buffer, CL_FALSE, 0, bytes, host_data,
                                       0, NULL, NULL));
    return buffer;
}

/* Waits for the commands before, and makes the buffer's contents available at
 * host_data, with which it was created. */
static void read_buffer(const opencl *cl, cl_mem buffer, size_t bytes, void *host_data)
{
    if (cl->gpu) {
        OCL_CHECK(clEnqueueReadBuffer(cl->queue, buffer, CL_TRUE, 0, bytes, host_data,
                                      0, NULL, NULL));
        return;
    }
    cl_int err;
    void *mapped = clEnqueueMapBuffer(cl->queue, buffer, CL_TRUE, CL_MAP_READ, 0, bytes,
                                      0, NULL, NULL, &err);
    OCL_CHECK(err);
    OCL_CHECK(clEnqueueUnmapMemObject(cl->queue, buffer, mapped, 0, NULL, NULL));
    OCL_CHECK(clFinish(cl->queue));
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
    cl_mem d_grid = create_buffer(&cl, grid_size, result); /* NaN fill */
    OCL_CHECK(clFinish(cl.queue));

    double run_start = seconds();

    bin_visibilities(p, &bins);
    cl_mem d_table = create_buffer(&cl, table_size, table);
    cl_mem d_first = create_buffer(&cl, first_size, bins.first);
    cl_mem d_visibilities = create_buffer(&cl, visibilities_size, bins.visibilities);
    OCL_ARGS(grid, s, d_table, d_first, d_visibilities, d_grid);
    cl_event kernel_event;
    size_t groups = CEIL_DIV(s.size, cl.columns);
    size_t local[2] = {cl.columns / cl.lanes, 1};
    size_t global[2] = {groups * local[0], CEIL_DIV(bins.bands, cl.blocks)};
    OCL_CHECK(clEnqueueNDRangeKernel(cl.queue, grid, 2, NULL, global, local, 0, NULL,
                                     &kernel_event));
    read_buffer(&cl, d_grid, grid_size, result);

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
