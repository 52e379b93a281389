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
    int rows, columns, lanes, wide, blocks; /* of a block; of a work-item */
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

    /* A CPU's work-item has vector registers of columns, a GPU's one of 32 that run
     * together. */
    cl_uint native;
    OCL_CHECK(clGetDeviceInfo(m.device,
                              sizeof(real) == sizeof(double)
                                  ? CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE
                                  : CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                              sizeof native, &native, NULL));
    bool gpu = ocl_is_gpu(m.device);
    m.lanes = gpu ? 1 : (int)native;
    m.wide = native * sizeof(real) == 64 && !gpu ? 2 : 1; /* twice the registers */
    m.rows = 4;
    m.columns = gpu ? 32 : m.wide * m.lanes;
    /* A GPU's work-item has registers for one block, and nothing to keep for others. */
    m.blocks = gpu ? 1 : BLOCKS;
    char options[128];
    snprintf(options, sizeof options,
             REAL_OPTION
             "-D ROWS=%d -D COLUMNS=%d -D LANES=%d -D WIDE=%d -D BLOCKS=%d -D CHUNK=%d",
             m.rows, m.columns, m.lanes, m.wide, m.blocks, gpu ? 1 : CHUNK);
    m.program = ocl_build(m.context, m.device, options);
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

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();
    const shape s = p->is;

    machine m = machine_start();
    real *table = table_of(p, m.rows, m.columns);
    sorted o = sorted_for(p, m.rows, m.columns);
    cl_kernel grid = kernel_of(&m, "grid_segments");
    t->copies = 1;

    size_t table_size = table_count(p, m.rows, m.columns) * sizeof *table;
    size_t first_size = (o.bins + 1) * sizeof *o.first;
    size_t samples_size = s.samples * sizeof(sample);
    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    cl_mem d_table = buffer_of(&m, table_size);
    cl_mem d_first = buffer_of(&m, first_size);
    cl_mem d_samples = buffer_of(&m, samples_size);
    cl_mem d_grid = buffer_of(&m, grid_size);
    write_to(&m, d_grid, grid_size, result); /* the poison */
    OCL_CHECK(clFinish(m.queue));

    double ready = seconds();

    sort(p, &o);
    write_to(&m, d_table, table_size, table);
    write_to(&m, d_first, first_size, o.first);
    write_to(&m, d_samples, samples_size, o.samples);
    OCL_CHECK(clSetKernelArg(grid, 0, sizeof s, &s));
    OCL_CHECK(clSetKernelArg(grid, 1, sizeof d_table, &d_table));
    OCL_CHECK(clSetKernelArg(grid, 2, sizeof d_first, &d_first));
    OCL_CHECK(clSetKernelArg(grid, 3, sizeof d_samples, &d_samples));
    OCL_CHECK(clSetKernelArg(grid, 4, sizeof d_grid, &d_grid));
    cl_event done;
    size_t groups = BINS_OF(s.size, m.columns);
    size_t local[2] = {m.columns / (m.wide * m.lanes), 1};
    size_t global[2] = {groups * local[0], BINS_OF(o.bands, m.blocks)};
    OCL_CHECK(
        clEnqueueNDRangeKernel(m.queue, grid, 2, NULL, global, local, 0, NULL, &done));
    OCL_CHECK(clEnqueueReadBuffer(m.queue, d_grid, CL_TRUE, 0, grid_size, result, 0,
                                  NULL, NULL));

    double end = seconds();
    t->init = ready - start;
    t->sort = o.seconds;
    t->run = end - ready;
    t->kernel = ocl_seconds(done);

    clReleaseEvent(done);
    clReleaseMemObject(d_first);
    clReleaseMemObject(d_grid);
    clReleaseMemObject(d_samples);
    clReleaseMemObject(d_table);
    clReleaseKernel(grid);
    machine_stop(&m);
    sorted_free(&o);
    free(table);
    return 0;
}

int degridding(const problem *p, const void *model, void *result, run_times *t)
{
    double start = seconds();

    machine m = machine_start();
    real *table = table_of(p, m.rows, m.columns);
    sorted o = sorted_for(p, m.rows, m.columns);
    cl_kernel degrid = kernel_of(&m, "degrid");
    const shape s = p->is;
    t->copies = 1;

    size_t table_size = table_count(p, m.rows, m.columns) * sizeof *table;
    size_t at_size = s.samples * sizeof *p->at;
    size_t value_size = s.samples * sizeof(cplx);
    size_t grid_size = (size_t)s.size * s.pitch * sizeof(cplx);
    cl_mem d_table = buffer_of(&m, table_size);
    cl_mem d_from = buffer_of(&m, s.samples * sizeof(int));
    cl_mem d_at = buffer_of(&m, at_size);
    cl_mem d_grid = buffer_of(&m, grid_size);
    cl_mem d_value = buffer_of(&m, value_size);

    OCL_CHECK(clSetKernelArg(degrid, 0, sizeof s, &s));
    OCL_CHECK(clSetKernelArg(degrid, 1, sizeof d_table, &d_table));
    OCL_CHECK(clSetKernelArg(degrid, 2, sizeof d_from, &d_from));
    OCL_CHECK(clSetKernelArg(degrid, 3, sizeof d_at, &d_at));
    OCL_CHECK(clSetKernelArg(degrid, 4, sizeof d_grid, &d_grid));
    OCL_CHECK(clSetKernelArg(degrid, 5, sizeof d_value, &d_value));

    double ready = seconds();

    sort(p, &o);
    write_to(&m, d_table, table_size, table);
    write_to(&m, d_from, s.samples * sizeof *o.from, o.from);
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
    t->sort = o.seconds;
    t->run = end - ready;
    t->kernel = ocl_seconds(done);

    clReleaseEvent(done);
    clReleaseMemObject(d_value);
    clReleaseMemObject(d_grid);
    clReleaseMemObject(d_at);
    clReleaseMemObject(d_from);
    clReleaseMemObject(d_table);
    clReleaseKernel(degrid);
    machine_stop(&m);
    sorted_free(&o);
    free(table);
    return 0;
}
