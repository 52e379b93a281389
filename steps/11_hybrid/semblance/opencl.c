/* opencl.c - the device's side, with kernel.cl: chunks, in a queue that nobody waits
 * for.
 *
 * Every OpenCL program makes the same objects in the same order, the device's first:
 *   device   what computes                 context  the memory and programs it shares
 *   queue    the commands it is given      program  source, built for this device
 *   kernel   one entry point of a program  buffer   memory of the device
 * and then enqueues: write buffers, run the kernel over a range, read buffers.
 */
#include <stdlib.h>
#include <string.h>

#include "ocl.h"
#include "share.h"
#include "sides.h"

struct device {
    cl_device_id device;
    const work *all; /* the search */
    ranked *bound;   /* [cells], what has come back */
    point *part;     /* [parts], the same, in the order of the search */
    struct {
        chunk is;
        cl_event kernel, back;
    } flight[CHUNKS];
    int started, taken;
    double clock; /* see ocl_clock */
    size_t local, global;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel bounds, kernel;
    cl_mem d_query, d_traces, d_samples, d_bound, d_order, d_room, d_part, d_best;
};

device *device_begin(const su_gather *g, const query *q, int host_threads, int *beside)
{
    cl_int err;

    device *s = allocate(1, sizeof *s, "the device's state");
    s->started = s->taken = 0;
    s->bound = allocate(cells_of(q), sizeof *s->bound, "the device's bounds");
    s->part = allocate(parts_of(q), sizeof *s->part, "the device's parts");

    cl_device_id device = s->device =
        ocl_device_beside(host_threads, share_cores(), beside);
    s->context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    s->queue =
        clCreateCommandQueue(s->context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* One dimension, since the order of the search is not that of A and B. */
    s->local = 1;
    for (int i = 0; i < 3; i++)
        s->local *= q->group[i] ? q->group[i] : ocl_is_gpu(device) ? 4 : 2;
    s->global = (parts_of(q) + s->local - 1) / s->local * s->local;
    size_t items = s->local, most;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most,
                              NULL));
    if (items > most)
        fail("local=: a work-group of %zu, this device takes %zu", items, most);

    /* Of a CPU a core runs one work-item after another: few rooms stay in its cache. */
    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    size_t room_size =
        fit_rooms(&s->global, s->local, room_of(q->ntraces, window_of(q)),
                  ocl_is_gpu(device) ? SIZE_MAX : 64 * (size_t)units);

    /* The source is compiled here, at run time, when the window is known, and how many
     * lanes a vector of this device has: 1 on a GPU. */
    cl_uint width;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width,
                              &width, NULL));
    char options[128];
    snprintf(options, sizeof options,
             "-D WINDOW=%d -D LANES=%u -cl-unsafe-math-optimizations", window_of(q),
             width >= 16  ? 16
             : width >= 8 ? 8
             : width >= 4 ? 4
                          : 1);
    s->program = ocl_build(s->context, device, options);
    s->bounds = clCreateKernel(s->program, "bounds", &err);
    OCL_CHECK(err);
    s->kernel = clCreateKernel(s->program, "search", &err);
    OCL_CHECK(err);

    size_t traces_size = q->ntraces * sizeof(trace);
    ocl_fit_constant(device, sizeof *q + traces_size);
    size_t samples_size = ((g->ntraces - 1) * q->pitch + q->ns) * sizeof(float);
    size_t order_size = cells_of(q) * sizeof *s->bound;
    size_t part_size = parts_of(q) * sizeof *s->part;
    s->d_query = clCreateBuffer(s->context, CL_MEM_READ_ONLY, sizeof *q, NULL, &err);
    OCL_CHECK(err);
    s->d_traces = clCreateBuffer(s->context, CL_MEM_READ_ONLY, traces_size, NULL, &err);
    OCL_CHECK(err);
    /* Where the device has the host's memory, the samples stay where they are. */
    cl_bool shared;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof shared,
                              &shared, NULL));
    s->d_samples = clCreateBuffer(s->context,
                                  CL_MEM_READ_ONLY | (shared ? CL_MEM_USE_HOST_PTR : 0),
                                  samples_size, shared ? g->samples : NULL, &err);
    OCL_CHECK(err);
    s->d_bound = clCreateBuffer(s->context, CL_MEM_READ_WRITE, order_size, NULL, &err);
    OCL_CHECK(err);
    s->d_order = clCreateBuffer(s->context, CL_MEM_READ_WRITE, order_size, NULL, &err);
    OCL_CHECK(err);
    s->d_best = clCreateBuffer(s->context, CL_MEM_READ_WRITE, sizeof(int), NULL, &err);
    OCL_CHECK(err);
    s->d_room = clCreateBuffer(s->context, CL_MEM_READ_WRITE, room_size, NULL, &err);
    OCL_CHECK(err);
    s->d_part = clCreateBuffer(s->context, CL_MEM_READ_WRITE, part_size, NULL, &err);
    OCL_CHECK(err);

    OCL_CHECK(clSetKernelArg(s->kernel, 0, sizeof s->d_query, &s->d_query));
    OCL_CHECK(clSetKernelArg(s->kernel, 1, sizeof s->d_traces, &s->d_traces));
    OCL_CHECK(clSetKernelArg(s->kernel, 2, sizeof s->d_samples, &s->d_samples));
    OCL_CHECK(clSetKernelArg(s->kernel, 3, sizeof s->d_order, &s->d_order));
    OCL_CHECK(clSetKernelArg(s->kernel, 7, sizeof s->d_room, &s->d_room));
    OCL_CHECK(clSetKernelArg(s->kernel, 8, sizeof s->d_part, &s->d_part));
    OCL_CHECK(clSetKernelArg(s->kernel, 9, sizeof s->d_best, &s->d_best));
    OCL_CHECK(clSetKernelArg(s->bounds, 0, sizeof s->d_query, &s->d_query));
    OCL_CHECK(clSetKernelArg(s->bounds, 1, sizeof s->d_traces, &s->d_traces));
    OCL_CHECK(clSetKernelArg(s->bounds, 2, sizeof s->d_samples, &s->d_samples));
    OCL_CHECK(clSetKernelArg(s->bounds, 3, sizeof s->d_bound, &s->d_bound));

    if (!shared)
        OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_samples, CL_TRUE, 0, samples_size,
                                       g->samples, 0, NULL, NULL));
    s->clock = ocl_clock(s->queue);
    return s;
}

int device_fill(const device *s)
{
    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(s->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units,
                              &units, NULL));
    return (int)units * (ocl_is_gpu(s->device) ? 256 : 16);
}

void device_search(device *s, const work *all)
{
    s->all = all;
    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_query, CL_FALSE, 0, sizeof *all->q,
                                   all->q, 0, NULL, NULL));
    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_traces, CL_FALSE, 0,
                                   all->q->ntraces * sizeof(trace), all->traces, 0,
                                   NULL, NULL));
    const cl_int none = 0;
    OCL_CHECK(clEnqueueFillBuffer(s->queue, s->d_best, &none, sizeof none, 0,
                                  sizeof none, 0, NULL, NULL));
}

void device_order(device *s, const ranked *order)
{
    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_order, CL_FALSE, 0,
                                   cells_of(s->all->q) * sizeof *order, order, 0, NULL,
                                   NULL));
}

/* Enqueues a kernel for `items` work-items, rounded up to whole groups, or for fewer
 * that take more than one part each; and reads what it wrote, `bytes` from `from` on,
 * to `to`. What is there until then is NaN, here and on the device: a result that
 * nobody wrote, or that was read too soon, is found out. */
static void start(device *s, cl_kernel kernel, size_t items, chunk is, cl_mem written,
                  size_t from, size_t bytes, void *to)
{
    int slot = s->started++ % CHUNKS;
    size_t global = (items + s->local - 1) / s->local * s->local;
    if (kernel == s->kernel && global > s->global) global = s->global;

    const cl_uint poison = ~0u;
    memset(to, 0xff, bytes);
    OCL_CHECK(clEnqueueFillBuffer(s->queue, written, &poison, sizeof poison, from,
                                  bytes, 0, NULL, NULL));
    OCL_CHECK(clEnqueueNDRangeKernel(s->queue, kernel, 1, NULL, &global, &s->local, 0,
                                     NULL, &s->flight[slot].kernel));
    OCL_CHECK(clEnqueueReadBuffer(s->queue, written, CL_FALSE, from, bytes, to, 0, NULL,
                                  &s->flight[slot].back));
    OCL_CHECK(clFlush(s->queue)); /* or it may lie there until somebody waits */
    s->flight[slot].is = is;
}

void device_bounds(device *s, int first, int end)
{
    ranked *to = s->bound + first;
    OCL_CHECK(clSetKernelArg(s->bounds, 4, sizeof first, &first));
    OCL_CHECK(clSetKernelArg(s->bounds, 5, sizeof end, &end));
    start(s, s->bounds, end - first, (chunk){first, end, .bounds = to}, s->d_bound,
          first * sizeof *to, (end - first) * sizeof *to, to);
}

void device_parts(device *s, int first, int end, float least)
{
    point *to = s->part + first;
    int known = counts_of(least);
    OCL_CHECK(clSetKernelArg(s->kernel, 4, sizeof first, &first));
    OCL_CHECK(clSetKernelArg(s->kernel, 5, sizeof end, &end));
    OCL_CHECK(clSetKernelArg(s->kernel, 6, sizeof s->all->prune, &s->all->prune));
    OCL_CHECK(clSetKernelArg(s->kernel, 10, sizeof known, &known));
    start(s, s->kernel, end - first, (chunk){first, end, .parts = to}, s->d_part,
          first * sizeof *to, (end - first) * sizeof *to, to);
}

int device_ended(const device *s)
{
    cl_int status;
    OCL_CHECK(clGetEventInfo(s->flight[s->taken % CHUNKS].back,
                             CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                             NULL));
    if (status < 0) ocl_check(status, "a chunk on the device", __FILE__, __LINE__);
    return status == CL_COMPLETE;
}

chunk device_take(device *s)
{
    int slot = s->taken++ % CHUNKS;
    chunk is = s->flight[slot].is;
    OCL_CHECK(clWaitForEvents(1, &s->flight[slot].back));
    ocl_span(s->flight[slot].kernel, s->clock, &is.began, &is.ended);
    clReleaseEvent(s->flight[slot].kernel);
    clReleaseEvent(s->flight[slot].back);
    return is;
}

void device_end(device *s)
{
    clReleaseMemObject(s->d_part);
    clReleaseMemObject(s->d_room);
    clReleaseMemObject(s->d_best);
    clReleaseMemObject(s->d_order);
    clReleaseMemObject(s->d_bound);
    clReleaseMemObject(s->d_samples);
    clReleaseMemObject(s->d_traces);
    clReleaseMemObject(s->d_query);
    clReleaseKernel(s->kernel);
    clReleaseKernel(s->bounds);
    clReleaseProgram(s->program);
    clReleaseCommandQueue(s->queue);
    clReleaseContext(s->context);
    free(s->part);
    free(s->bound);
    free(s);
}
