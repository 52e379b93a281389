/* opencl.c - the device's side, and the host side of kernel.cl.
 *
 * Every OpenCL program makes the same objects in the same order, the device's first:
 *   device   what computes                 context  the memory and programs it shares
 *   queue    the commands it is given      program  source, built for this device
 *   kernel   one entry point of a program  buffer   memory of the device
 * and then enqueues: write buffers, run kernels over a range, read buffers. No command
 * is waited for here but where device_ended() is told to.
 */
#include <stdlib.h>

#include "ocl.h"
#include "share.h"
#include "sides.h"

/* A piece on its way: its first command and its last. */
typedef struct {
    cl_event kernel, result;
} flight;

struct device {
    const problem *p;
    int degrid;
    cplx *result; /* where results go */

    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem taps, grid, value, of_sort[2];
    int beside; /* its memory is the host's: nothing needs to be copied */
    blocks its;
    int lanes; /* of a work-item */

    flight away[IN_FLIGHT]; /* a ring: `flying` of them from `oldest` on */
    int oldest, flying;
    double clock; /* the device's, see ocl_clock */
};

/* Memory of the device with what lies at `what`: the same memory where that can be,
 * else a copy, which comes in time for what is enqueued after it. */
static cl_mem buffer_of(const device *d, size_t bytes, const void *what)
{
    cl_int err;
    cl_mem_flags same = d->beside ? CL_MEM_USE_HOST_PTR : 0;
    cl_mem buffer = clCreateBuffer(d->context, CL_MEM_READ_WRITE | same, bytes,
                                   d->beside ? (void *)what : NULL, &err);
    OCL_CHECK(err);
    if (!d->beside)
        OCL_CHECK(clEnqueueWriteBuffer(d->queue, buffer, CL_FALSE, 0, bytes, what, 0,
                                       NULL, NULL));
    return buffer;
}

static size_t grid_bytes(const device *d)
{
    return (size_t)d->p->is.size * d->p->is.pitch * sizeof(cplx);
}

static void machine_start(device *d)
{
    cl_int err;
    d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &err);
    OCL_CHECK(err);
    d->queue = clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* A CPU's work-item has a vector register of columns, a GPU's one of 32 that run
     * together. */
    cl_uint native;
    OCL_CHECK(clGetDeviceInfo(d->id,
                              sizeof(real) == sizeof(double)
                                  ? CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE
                                  : CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                              sizeof native, &native, NULL));
    bool gpu = ocl_is_gpu(d->id);
    d->lanes = gpu ? 1 : (int)native;
    d->its.columns = gpu ? 32 : d->lanes;
    /* AVX-512 has twice the registers */
    d->its.rows = native * sizeof(real) == 64 ? 8 : 4;
    /* A GPU's work-item has registers for one block, and nothing to keep for others. */
    int tall = gpu ? 1 : BLOCKS;
    d->its.segment = tall * d->its.rows;
    char options[128];
    snprintf(options, sizeof options,
             REAL_OPTION
             "-D ROWS=%d -D COLUMNS=%d -D LANES=%d -D BLOCKS=%d -D CHUNK=%d",
             d->its.rows, d->its.columns, d->lanes, tall, gpu ? 1 : CHUNK);
    d->program = ocl_build(d->context, d->id, options);
    d->kernel =
        clCreateKernel(d->program, d->degrid ? "degrid" : "grid_segments", &err);
    OCL_CHECK(err);
}

device *device_begin(const problem *p, int degrid, void *result, int host_threads,
                     int *beside)
{
    device *d = allocate(1, sizeof *d, "the device");
    *d = (device){.p = p, .degrid = degrid, .result = result};
    d->id = ocl_device_beside(host_threads, share_cores(), beside);
    d->beside = *beside && !ocl_is_gpu(d->id); /* DEVICE_AS=gpu copies */
    machine_start(d);

    if (degrid)
        d->value = buffer_of(d, p->is.samples * sizeof(cplx), result);
    else
        d->grid = buffer_of(d, grid_bytes(d), result);
    d->clock = ocl_clock(d->queue);
    return d;
}

blocks device_blocks(const device *d)
{
    return d->its;
}

void device_load(device *d, const real *taps, const sorted *o, const cplx *model)
{
    const shape s = d->p->is;
    size_t n = s.samples;
    d->taps = buffer_of(
        d, table_count(d->p, d->its.rows, d->its.columns) * sizeof *taps, taps);
    if (d->degrid) {
        d->of_sort[0] = buffer_of(d, n * sizeof *o->from, o->from);
        d->of_sort[1] = buffer_of(d, n * sizeof *d->p->at, d->p->at);
        d->grid = buffer_of(d, grid_bytes(d), model);
    } else {
        d->of_sort[0] = buffer_of(d, (o->bins + 1) * sizeof *o->first, o->first);
        d->of_sort[1] = buffer_of(d, n * sizeof *o->samples, o->samples);
    }

    cl_uint k = 0;
    OCL_CHECK(clSetKernelArg(d->kernel, k++, sizeof s, &s));
    if (!d->degrid) OCL_CHECK(clSetKernelArg(d->kernel, k++, sizeof o->all, &o->all));
    OCL_CHECK(clSetKernelArg(d->kernel, k++, sizeof d->taps, &d->taps));
    for (int i = 0; i < 2; i++)
        OCL_CHECK(clSetKernelArg(d->kernel, k++, sizeof(cl_mem), &d->of_sort[i]));
    OCL_CHECK(clSetKernelArg(d->kernel, k++, sizeof d->grid, &d->grid));
    if (d->degrid)
        OCL_CHECK(clSetKernelArg(d->kernel, k++, sizeof d->value, &d->value));
}

/* Part of a result to where results go, of so many rows and bytes a row, pitch bytes
 * apart: it is read, or, where it is there already, asked for. */
static void bring(device *d, cl_mem from, const size_t corner[3], const size_t part[3],
                  size_t pitch, flight *f)
{
    if (!d->beside) {
        OCL_CHECK(clEnqueueReadBufferRect(d->queue, from, CL_FALSE, corner, corner,
                                          part, pitch, 0, pitch, 0, d->result, 0, NULL,
                                          &f->result));
        return;
    }
    cl_int err;
    void *there = clEnqueueMapBuffer(
        d->queue, from, CL_FALSE, CL_MAP_READ, corner[1] * pitch + corner[0],
        (part[1] - 1) * pitch + part[0], 0, NULL, &f->result, &err);
    OCL_CHECK(err);
    OCL_CHECK(clEnqueueUnmapMemObject(d->queue, from, there, 0, NULL, NULL));
}

/* The kernel starts at the piece's own cells or visibilities: a range has an offset. */
static void start_grid(device *d, piece at, flight *f)
{
    const shape s = d->p->is;
    size_t rows = at.row + at.rows < s.size ? at.rows : s.size - at.row;
    size_t columns = at.column + at.columns < s.size ? at.columns : s.size - at.column;
    size_t local[2] = {d->its.columns / d->lanes, 1};
    size_t first[2] = {at.column / d->lanes, at.row / d->its.segment};
    size_t items[2] = {BINS_OF(columns, d->its.columns) * local[0],
                       BINS_OF(rows, d->its.segment)};
    OCL_CHECK(clEnqueueNDRangeKernel(d->queue, d->kernel, 2, first, items, local, 0,
                                     NULL, &f->kernel));

    size_t corner[3] = {at.column * sizeof(cplx), at.row, 0};
    size_t part[3] = {columns * sizeof(cplx), rows, 1};
    bring(d, d->grid, corner, part, s.pitch * sizeof(cplx), f);
}

static void start_degrid(device *d, piece at, flight *f)
{
    int all = d->p->is.samples;
    size_t first = at.row;
    size_t items = at.row + at.rows < all ? at.rows : all - at.row;
    OCL_CHECK(clEnqueueNDRangeKernel(d->queue, d->kernel, 1, &first, &items, NULL, 0,
                                     NULL, &f->kernel));
    size_t corner[3] = {first * sizeof(cplx), 0, 0};
    size_t part[3] = {items * sizeof(cplx), 1, 1};
    bring(d, d->value, corner, part, all * sizeof(cplx), f);
}

void device_start(device *d, piece at)
{
    flight *f = &d->away[(d->oldest + d->flying++) % IN_FLIGHT];
    (d->degrid ? start_degrid : start_grid)(d, at, f);
    OCL_CHECK(clFlush(d->queue));
}

int device_ended(device *d, int wait, double *began, double *ended)
{
    flight *f = &d->away[d->oldest];
    cl_int status;
    if (wait) OCL_CHECK(clWaitForEvents(1, &f->result));
    OCL_CHECK(clGetEventInfo(f->result, CL_EVENT_COMMAND_EXECUTION_STATUS,
                             sizeof status, &status, NULL));
    if (status < 0) OCL_CHECK(status);
    if (status != CL_COMPLETE) return 0;

    double unused;
    ocl_span(f->kernel, d->clock, began, &unused);
    ocl_span(f->result, d->clock, &unused, ended);
    clReleaseEvent(f->kernel);
    clReleaseEvent(f->result);
    d->oldest = (d->oldest + 1) % IN_FLIGHT;
    d->flying--;
    return 1;
}

void device_end(device *d)
{
    for (int i = 0; i < 2; i++) clReleaseMemObject(d->of_sort[i]);
    if (d->degrid) clReleaseMemObject(d->value);
    clReleaseMemObject(d->grid);
    clReleaseMemObject(d->taps);
    clReleaseKernel(d->kernel);
    clReleaseProgram(d->program);
    clReleaseCommandQueue(d->queue);
    clReleaseContext(d->context);
    free(d);
}
