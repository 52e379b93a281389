/* opencl.c - the host side of kernel.cl.
 *
 * Every OpenCL program makes the same objects in the same order, the device's first:
 *   device   what computes                 context  the memory and programs it shares
 *   queue    the commands it is given      program  source, built for this device
 *   kernel   one entry point of a program  buffer   memory of the device
 * and then enqueues: write buffers, run kernels over a range, read buffers.
 */
#include <stdlib.h>

#include "ocl.h"
#include "host.h"

typedef struct {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
} machine;

static machine machine_start(void)
{
    cl_int err;
    machine m = {.device = ocl_device()};
    m.context = clCreateContext(NULL, 1, &m.device, NULL, NULL, &err);
    OCL_CHECK(err);
    m.queue =
        clCreateCommandQueue(m.context, m.device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);
    m.program = ocl_build(m.context, m.device, REAL_OPTION);
    return m;
}

static void machine_stop(machine *m)
{
    clReleaseProgram(m->program);
    clReleaseCommandQueue(m->queue);
    clReleaseContext(m->context);
}

static cl_kernel kernel_of(const machine *m, const char *name)
{
    cl_int err;
    cl_kernel kernel = clCreateKernel(m->program, name, &err);
    OCL_CHECK(err);
    return kernel;
}

static cl_mem buffer_of(const machine *m, size_t bytes)
{
    cl_int err;
    cl_mem buffer = clCreateBuffer(m->context, CL_MEM_READ_WRITE, bytes, NULL, &err);
    OCL_CHECK(err);
    return buffer;
}

static void write_to(const machine *m, cl_mem buffer, size_t bytes, const void *from)
{
    OCL_CHECK(clEnqueueWriteBuffer(m->queue, buffer, CL_FALSE, 0, bytes, from, 0, NULL,
                                   NULL));
}

/* The bytes that all copies of the grid may take: they are one buffer, and the table is
 * there too. */
static double room_for_copies(const machine *m, size_t table_size)
{
    cl_ulong all, largest;
    OCL_CHECK(
        clGetDeviceInfo(m->device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof all, &all, NULL));
    OCL_CHECK(clGetDeviceInfo(m->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest,
                              &largest, NULL));
    double rest = (double)all - (double)table_size;
    return rest < (double)largest ? rest : (double)largest;
}

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();

    cplx *table = table_of(p);
    cplx *value = values_of(p);
    machine m = machine_start();
    cl_kernel clear = kernel_of(&m, "clear");
    cl_kernel grid = kernel_of(&m, "grid_copies");
    cl_kernel add = kernel_of(&m, "add_copies");

    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(m.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units,
                              &units, NULL));
    size_t table_size = table_count(p) * sizeof *table;
    shape s = shape_of(p, (int)units, room_for_copies(&m, table_size));
    t->copies = s.copies;

    /* The paper's strips on a GPU: one row high, a fifth of a row wide. */
    size_t room;
    OCL_CHECK(clGetKernelWorkGroupInfo(grid, m.device, CL_KERNEL_WORK_GROUP_SIZE,
                                       sizeof room, &room, NULL));
    if (ocl_is_gpu(m.device))
        cut(&s, p, s.width, 5, room);
    else
        cut(&s, p, 4, 1, room);

    size_t at_size = s.samples * sizeof *p->at;
    size_t value_size = s.samples * sizeof *value;
    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    cl_mem d_table = buffer_of(&m, table_size);
    cl_mem d_at = buffer_of(&m, at_size);
    cl_mem d_value = buffer_of(&m, value_size);
    cl_mem d_grid = buffer_of(&m, s.copies * grid_size);

    OCL_CHECK(clSetKernelArg(grid, 0, sizeof s, &s));
    OCL_CHECK(clSetKernelArg(grid, 1, sizeof d_table, &d_table));
    OCL_CHECK(clSetKernelArg(grid, 2, sizeof d_at, &d_at));
    OCL_CHECK(clSetKernelArg(grid, 3, sizeof d_value, &d_value));
    OCL_CHECK(clSetKernelArg(grid, 4, sizeof d_grid, &d_grid));
    OCL_CHECK(clSetKernelArg(clear, 0, sizeof d_grid, &d_grid));
    OCL_CHECK(clSetKernelArg(add, 0, sizeof s, &s));
    OCL_CHECK(clSetKernelArg(add, 1, sizeof d_grid, &d_grid));

    double ready = seconds();

    write_to(&m, d_table, table_size, table);
    write_to(&m, d_at, at_size, p->at);
    write_to(&m, d_value, value_size, value);
    size_t all_cells = s.copies * ((size_t)s.size * s.pitch);
    OCL_CHECK(clEnqueueNDRangeKernel(m.queue, clear, 1, NULL, &all_cells, NULL, 0, NULL,
                                     NULL));
    cl_event gridded, added;
    size_t global[3] = {s.copies, s.strips[0], s.strips[1]};
    size_t local[3] = {1, s.strips[0], s.strips[1]};
    size_t cells[2] = {s.size, s.size};
    OCL_CHECK(clEnqueueNDRangeKernel(m.queue, grid, 3, NULL, global, local, 0, NULL,
                                     &gridded));
    OCL_CHECK(
        clEnqueueNDRangeKernel(m.queue, add, 2, NULL, cells, NULL, 0, NULL, &added));
    OCL_CHECK(clEnqueueReadBuffer(m.queue, d_grid, CL_TRUE, 0, grid_size, result, 0,
                                  NULL, NULL));

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    t->kernel = ocl_seconds(gridded) + ocl_seconds(added);

    clReleaseEvent(added);
    clReleaseEvent(gridded);
    clReleaseMemObject(d_grid);
    clReleaseMemObject(d_value);
    clReleaseMemObject(d_at);
    clReleaseMemObject(d_table);
    clReleaseKernel(add);
    clReleaseKernel(grid);
    clReleaseKernel(clear);
    machine_stop(&m);
    free(value);
    free(table);
    return 0;
}

int degridding(const problem *p, const void *model, void *result, run_times *t)
{
    double start = seconds();

    cplx *table = table_of(p);
    machine m = machine_start();
    cl_kernel degrid = kernel_of(&m, "degrid");
    const shape s = p->is;
    t->copies = 1;

    size_t table_size = table_count(p) * sizeof *table;
    size_t at_size = s.samples * sizeof *p->at;
    size_t value_size = s.samples * sizeof(cplx);
    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    cl_mem d_table = buffer_of(&m, table_size);
    cl_mem d_at = buffer_of(&m, at_size);
    cl_mem d_grid = buffer_of(&m, grid_size);
    cl_mem d_value = buffer_of(&m, value_size);

    OCL_CHECK(clSetKernelArg(degrid, 0, sizeof s, &s));
    OCL_CHECK(clSetKernelArg(degrid, 1, sizeof d_table, &d_table));
    OCL_CHECK(clSetKernelArg(degrid, 2, sizeof d_at, &d_at));
    OCL_CHECK(clSetKernelArg(degrid, 3, sizeof d_grid, &d_grid));
    OCL_CHECK(clSetKernelArg(degrid, 4, sizeof d_value, &d_value));

    double ready = seconds();

    write_to(&m, d_table, table_size, table);
    write_to(&m, d_at, at_size, p->at);
    write_to(&m, d_grid, grid_size, model);
    write_to(&m, d_value, value_size, result); /* the poison */
    cl_event done;
    size_t samples = s.samples;
    OCL_CHECK(clEnqueueNDRangeKernel(m.queue, degrid, 1, NULL, &samples, NULL, 0, NULL,
                                     &done));
    OCL_CHECK(clEnqueueReadBuffer(m.queue, d_value, CL_TRUE, 0, value_size, result, 0,
                                  NULL, NULL));

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    t->kernel = ocl_seconds(done);

    clReleaseEvent(done);
    clReleaseMemObject(d_value);
    clReleaseMemObject(d_grid);
    clReleaseMemObject(d_at);
    clReleaseMemObject(d_table);
    clReleaseKernel(degrid);
    machine_stop(&m);
    free(table);
    return 0;
}
