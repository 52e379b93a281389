/* opencl.c - the device side, with kernel.cl. Chunks are enqueued without waiting.
 *
 * An OpenCL program creates these objects, in this order:
 *    device   executes kernels                context  holds memory and programs
 *    queue    commands for the device         program  source built for the device
 *    kernel   an entry point of the program   buffer   device memory
 * Then it enqueues commands: write buffers, run the kernel over a range, read buffers.
 */
#include <stdlib.h>
#include <string.h>

#include "ocl.h"
#include "hybrid.h"
#include "sides.h"

struct device {
    cl_device_id device;
    const search_input *input; /* the current search */
    cell_bound *bound;         /* [cells]: results copied back */
    point *part;               /* [parts]: the same, in search order */
    struct {
        device_chunk record;
        cl_event kernel, copied;
    } in_flight[CHUNKS];
    int started, collected;
    double
        clock; /* offset from the device's clock to seconds(), see ocl_clock_offset */
    size_t local, global;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel bounds, kernel;
    cl_mem d_query, d_traces, d_samples, d_bound, d_order, d_workspaces, d_part,
        d_incumbent;
};

device *device_begin(const su_gather *g, const query *q, int host_threads,
                     int *shares_cores)
{
    cl_int err;

    device *s = allocate(1, sizeof *s, "the device's state");
    s->started = s->collected = 0;
    s->bound = allocate(cell_count(q), sizeof *s->bound, "the device's bounds");
    s->part = allocate(part_count(q), sizeof *s->part, "the device's parts");

    cl_device_id device = s->device =
        ocl_device_with_host(host_threads, machine_processors(), shares_cores);
    s->context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    s->queue =
        clCreateCommandQueue(s->context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* One dimension, because parts are searched in the order of their bounds. */
    s->local = 1;
    for (int i = 0; i < 3; i++)
        s->local *= q->group[i] ? q->group[i] : ocl_is_gpu(device) ? 4 : 2;
    s->global = (part_count(q) + s->local - 1) / s->local * s->local;
    size_t items = s->local, max_items;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof max_items,
                              &max_items, NULL));
    if (items > max_items)
        fail("local: work-group of %zu, expected at most %zu on this device", items,
             max_items);

    /* A CPU core runs one work-item after another: few workspaces stay in its cache. */
    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    size_t workspace_size = fit_workspaces(
        &s->global, s->local, workspace_floats(q->ntraces, window_length(q)),
        ocl_is_gpu(device) ? SIZE_MAX : 64 * (size_t)units);

    /* The source is compiled now, at run time, when the window is known, and the number
     * of lanes of the device's vectors (1 on a GPU). */
    cl_uint width;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width,
                              &width, NULL));
    char options[128];
    snprintf(options, sizeof options,
             "-D WINDOW=%d -D LANES=%u -cl-unsafe-math-optimizations", window_length(q),
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
    ocl_check_constant(device, sizeof *q + traces_size);
    size_t samples_size = ((g->ntraces - 1) * q->pitch + q->ns) * sizeof(float);
    size_t order_size = cell_count(q) * sizeof *s->bound;
    size_t part_size = part_count(q) * sizeof *s->part;
    s->d_query = clCreateBuffer(s->context, CL_MEM_READ_ONLY, sizeof *q, NULL, &err);
    OCL_CHECK(err);
    s->d_traces = clCreateBuffer(s->context, CL_MEM_READ_ONLY, traces_size, NULL, &err);
    OCL_CHECK(err);
    /* If host and device share memory, the samples are not copied. */
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
    s->d_incumbent =
        clCreateBuffer(s->context, CL_MEM_READ_WRITE, sizeof(int), NULL, &err);
    OCL_CHECK(err);
    s->d_workspaces =
        clCreateBuffer(s->context, CL_MEM_READ_WRITE, workspace_size, NULL, &err);
    OCL_CHECK(err);
    s->d_part = clCreateBuffer(s->context, CL_MEM_READ_WRITE, part_size, NULL, &err);
    OCL_CHECK(err);

    OCL_CHECK(clSetKernelArg(s->kernel, 0, sizeof s->d_query, &s->d_query));
    OCL_CHECK(clSetKernelArg(s->kernel, 1, sizeof s->d_traces, &s->d_traces));
    OCL_CHECK(clSetKernelArg(s->kernel, 2, sizeof s->d_samples, &s->d_samples));
    OCL_CHECK(clSetKernelArg(s->kernel, 3, sizeof s->d_order, &s->d_order));
    OCL_CHECK(clSetKernelArg(s->kernel, 7, sizeof s->d_workspaces, &s->d_workspaces));
    OCL_CHECK(clSetKernelArg(s->kernel, 8, sizeof s->d_part, &s->d_part));
    OCL_CHECK(clSetKernelArg(s->kernel, 9, sizeof s->d_incumbent, &s->d_incumbent));
    OCL_CHECK(clSetKernelArg(s->bounds, 0, sizeof s->d_query, &s->d_query));
    OCL_CHECK(clSetKernelArg(s->bounds, 1, sizeof s->d_traces, &s->d_traces));
    OCL_CHECK(clSetKernelArg(s->bounds, 2, sizeof s->d_samples, &s->d_samples));
    OCL_CHECK(clSetKernelArg(s->bounds, 3, sizeof s->d_bound, &s->d_bound));

    if (!shared)
        OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_samples, CL_TRUE, 0, samples_size,
                                       g->samples, 0, NULL, NULL));
    s->clock = ocl_clock_offset(s->queue);
    return s;
}

int device_min_chunk(const device *s)
{
    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(s->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units,
                              &units, NULL));
    return (int)units * (ocl_is_gpu(s->device) ? 256 : 16);
}

void device_begin_search(device *s, const search_input *input)
{
    s->input = input;
    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_query, CL_FALSE, 0, sizeof *input->q,
                                   input->q, 0, NULL, NULL));
    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_traces, CL_FALSE, 0,
                                   input->q->ntraces * sizeof(trace), input->traces, 0,
                                   NULL, NULL));
    const cl_int zero = 0;
    OCL_CHECK(clEnqueueFillBuffer(s->queue, s->d_incumbent, &zero, sizeof zero, 0,
                                  sizeof zero, 0, NULL, NULL));
}

void device_set_order(device *s, const cell_bound *order)
{
    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_order, CL_FALSE, 0,
                                   cell_count(s->input->q) * sizeof *order, order, 0,
                                   NULL, NULL));
}

/* Enqueues a kernel for `items` work-items and the copy of its results: `bytes` of
 * device_result, from `offset` on, to host_result. The range is rounded up to whole
 * groups, or limited to s->global work-items that process several items each. Until
 * then the results are NaN on the host and on the device, so that missing results and
 * premature reads are detected. */
static void enqueue_chunk(device *s, cl_kernel kernel, size_t items,
                          device_chunk record, cl_mem device_result, size_t offset,
                          size_t bytes, void *host_result)
{
    int slot = s->started++ % CHUNKS;
    size_t global = (items + s->local - 1) / s->local * s->local;
    if (kernel == s->kernel && global > s->global) global = s->global;

    const cl_uint sentinel = ~0u;
    memset(host_result, 0xff, bytes);
    OCL_CHECK(clEnqueueFillBuffer(s->queue, device_result, &sentinel, sizeof sentinel,
                                  offset, bytes, 0, NULL, NULL));
    OCL_CHECK(clEnqueueNDRangeKernel(s->queue, kernel, 1, NULL, &global, &s->local, 0,
                                     NULL, &s->in_flight[slot].kernel));
    OCL_CHECK(clEnqueueReadBuffer(s->queue, device_result, CL_FALSE, offset, bytes,
                                  host_result, 0, NULL, &s->in_flight[slot].copied));
    OCL_CHECK(clFlush(s->queue)); /* otherwise the commands may not start */
    s->in_flight[slot].record = record;
}

void device_bounds(device *s, int first, int end)
{
    cell_bound *host_result = s->bound + first;
    OCL_CHECK(clSetKernelArg(s->bounds, 4, sizeof first, &first));
    OCL_CHECK(clSetKernelArg(s->bounds, 5, sizeof end, &end));
    enqueue_chunk(s, s->bounds, end - first,
                  (device_chunk){first, end, .bounds = host_result}, s->d_bound,
                  first * sizeof *host_result, (end - first) * sizeof *host_result,
                  host_result);
}

void device_parts(device *s, int first, int end, float incumbent)
{
    point *host_result = s->part + first;
    int fixed_incumbent = to_fixed_point(incumbent);
    OCL_CHECK(clSetKernelArg(s->kernel, 4, sizeof first, &first));
    OCL_CHECK(clSetKernelArg(s->kernel, 5, sizeof end, &end));
    OCL_CHECK(clSetKernelArg(s->kernel, 6, sizeof s->input->prune, &s->input->prune));
    OCL_CHECK(clSetKernelArg(s->kernel, 10, sizeof fixed_incumbent, &fixed_incumbent));
    enqueue_chunk(s, s->kernel, end - first,
                  (device_chunk){first, end, .parts = host_result}, s->d_part,
                  first * sizeof *host_result, (end - first) * sizeof *host_result,
                  host_result);
}

int device_poll(const device *s)
{
    cl_int status;
    OCL_CHECK(clGetEventInfo(s->in_flight[s->collected % CHUNKS].copied,
                             CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                             NULL));
    if (status < 0) ocl_check(status, "a chunk on the device", __FILE__, __LINE__);
    return status == CL_COMPLETE;
}

device_chunk device_collect(device *s)
{
    int slot = s->collected++ % CHUNKS;
    device_chunk record = s->in_flight[slot].record;
    OCL_CHECK(clWaitForEvents(1, &s->in_flight[slot].copied));
    ocl_event_span(s->in_flight[slot].kernel, s->clock, &record.began, &record.ended);
    clReleaseEvent(s->in_flight[slot].kernel);
    clReleaseEvent(s->in_flight[slot].copied);
    return record;
}

void device_end(device *s)
{
    clReleaseMemObject(s->d_part);
    clReleaseMemObject(s->d_workspaces);
    clReleaseMemObject(s->d_incumbent);
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
