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
} opencl;

static opencl opencl_start(void)
{
    cl_int err;
    opencl cl = {.device = ocl_device()};
    cl.gpu = ocl_is_gpu(cl.device);
    cl.context = clCreateContext(NULL, 1, &cl.device, NULL, NULL, &err);
    OCL_CHECK(err);
    cl.queue =
        clCreateCommandQueue(cl.context, cl.device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);
    cl.program = ocl_build(cl.context, cl.device, REAL_OPTION);
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
 * other devices, which is complete before any command that is enqueued later starts.
 * Without host_data, the buffer has no contents. */
static cl_mem create_buffer(const opencl *cl, size_t bytes, const void *host_data)
{
    cl_int err;
    cl_mem_flags same = host_data && !cl->gpu ? CL_MEM_USE_HOST_PTR : 0;
    cl_mem buffer = clCreateBuffer(cl->context, CL_MEM_READ_WRITE | same, bytes,
                                   same ? (void *)host_data : NULL, &err);
    OCL_CHECK(err);
    if (host_data && cl->gpu)
        OCL_CHECK(clEnqueueWriteBuffer(cl->queue, buffer, CL_FALSE, 0, bytes, host_data,
                                       0, NULL, NULL));
    return buffer;
}

/* Returns the number of bytes available for the copies of the grid. They are one
 * buffer; the table needs memory as well. */
static double memory_for_copies(const opencl *cl, size_t table_size)
{
    cl_ulong global_bytes, max_alloc;
    OCL_CHECK(clGetDeviceInfo(cl->device, CL_DEVICE_GLOBAL_MEM_SIZE,
                              sizeof global_bytes, &global_bytes, NULL));
    OCL_CHECK(clGetDeviceInfo(cl->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE,
                              sizeof max_alloc, &max_alloc, NULL));
    double available = (double)global_bytes - (double)table_size;
    return available < (double)max_alloc ? available : (double)max_alloc;
}

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();

    cplx *table = make_table(p);
    cplx *value = make_values(p);
    opencl cl = opencl_start();
    cl_kernel clear = create_kernel(&cl, "clear");
    cl_kernel grid = create_kernel(&cl, "grid_copies");
    cl_kernel add = create_kernel(&cl, "add_copies");

    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(cl.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units,
                              &units, NULL));
    size_t table_size = table_length(p) * sizeof *table;
    const shape s = make_shape(p, (int)units, memory_for_copies(&cl, table_size));
    t->copies = s.copies;

    size_t footprints_size = s.visibilities * sizeof *p->footprints;
    size_t value_size = s.visibilities * sizeof *value;
    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    cl_mem d_grid = create_buffer(&cl, s.copies * grid_size, NULL);

    double run_start = seconds();

    cl_mem d_table = create_buffer(&cl, table_size, table);
    cl_mem d_footprints = create_buffer(&cl, footprints_size, p->footprints);
    cl_mem d_value = create_buffer(&cl, value_size, value);
    OCL_ARGS(grid, s, d_table, d_footprints, d_value, d_grid);
    OCL_ARGS(clear, d_grid);
    OCL_ARGS(add, s, d_grid);
    size_t all_cells = s.copies * ((size_t)s.size * s.pitch);
    OCL_CHECK(clEnqueueNDRangeKernel(cl.queue, clear, 1, NULL, &all_cells, NULL, 0,
                                     NULL, NULL));
    cl_event grid_event, add_event;
    size_t copies = s.copies, one = 1;
    size_t cells[2] = {s.size, s.size};
    OCL_CHECK(clEnqueueNDRangeKernel(cl.queue, grid, 1, NULL, &copies, &one, 0, NULL,
                                     &grid_event));
    OCL_CHECK(clEnqueueNDRangeKernel(cl.queue, add, 2, NULL, cells, NULL, 0, NULL,
                                     &add_event));
    OCL_CHECK(clEnqueueReadBuffer(cl.queue, d_grid, CL_TRUE, 0, grid_size, result, 0,
                                  NULL, NULL));

    double end = seconds();
    t->init = run_start - start;
    t->run = end - run_start;
    t->kernel = ocl_seconds(grid_event) + ocl_seconds(add_event);

    clReleaseEvent(add_event);
    clReleaseEvent(grid_event);
    clReleaseMemObject(d_grid);
    clReleaseMemObject(d_value);
    clReleaseMemObject(d_footprints);
    clReleaseMemObject(d_table);
    clReleaseKernel(add);
    clReleaseKernel(grid);
    clReleaseKernel(clear);
    opencl_stop(&cl);
    free(value);
    free(table);
    return 0;
}
