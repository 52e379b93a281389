/* opencl.c - the device side, with kernel.cl. Batches are enqueued without waiting.
 *
 * An OpenCL program creates these objects, in this order:
 *    device   executes kernels                context  holds memory and programs
 *    queue    commands for the device         program  source built for the device
 *    kernel   an entry point of the program   buffer   device memory
 * Then it enqueues commands: write buffers, run the kernel over a range, read buffers.
 */
#include <stdlib.h>

#include "ocl.h"
#include "sides.h"
#include "share.h"

struct device {
    const search_input *input; /* of the current phase */
    work_kind kind;
    int lanes;                /* of the device's vectors */
    cl_event copied[BATCHES]; /* the results of the batches in flight */
    int started, collected;
    double clock; /* from the device's clock to seconds(): see ocl_clock_offset() */
    size_t local;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel[KINDS];
    cl_mem d_query, d_traces, d_samples, d_order, d_part, d_incumbent;
};

/* Creates a buffer; memory of the host, if it is not NULL, is used as the buffer. */
static cl_mem buffer(const device *d, size_t bytes, void *host)
{
    cl_int err;
    cl_mem_flags use = host ? CL_MEM_USE_HOST_PTR : 0;
    cl_mem b = clCreateBuffer(d->context, CL_MEM_READ_WRITE | use, bytes, host, &err);
    OCL_CHECK(err);
    return b;
}

/* Sets argument n of a kernel. */
#define ARGUMENT(kind, n, value)                                                       \
    OCL_CHECK(clSetKernelArg(d->kernel[kind], n, sizeof(value), &(value)))

device *device_begin(const su_gather *g, const query *q, const search_input *input,
                     int host_threads, device_traits *traits)
{
    cl_int err;
    (void)input;

    device *d = allocate(1, sizeof *d, "the device's state");
    d->started = d->collected = 0;
    cl_device_id device =
        ocl_device_with_host(host_threads, machine_processors(), &traits->shares_cores);
    d->context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    d->queue =
        clCreateCommandQueue(d->context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* One dimension, because parts are searched in the order of their bounds. */
    d->local = 1;
    for (int i = 0; i < 3; i++)
        d->local *= q->group[i] ? q->group[i] : ocl_is_gpu(device) ? 4 : 2;
    size_t items = d->local, max_items;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof max_items,
                              &max_items, NULL));
    if (items > max_items)
        fail("local: work-group of %zu, expected at most %zu on this device", items,
             max_items);
    /* A batch has its cost on a CPU, too: 16 work-items for each core. */
    traits->busy_items = ocl_items_at_once(device) * (ocl_is_gpu(device) ? 1. : 16.);

    /* The source is compiled now, at run time, when the window is known, and the number
     * of lanes of the device's vectors (1 on a GPU). */
    cl_uint width;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width,
                              &width, NULL));
    d->lanes = traits->lanes = width >= 16 ? 16 : width >= 8 ? 8 : width >= 4 ? 4 : 1;
    char options[128];
    snprintf(options, sizeof options,
             "-D WINDOW=%d -D LANES=%d -cl-unsafe-math-optimizations", window_length(q),
             d->lanes);
    d->program = ocl_build(d->context, device, options);
    const char *const name[KINDS] = {"bounds", "search", "search_blocks"};
    for (int kind = 0; kind < KINDS; kind++) {
        d->kernel[kind] = clCreateKernel(d->program, name[kind], &err);
        OCL_CHECK(err);
    }

    size_t queries_size = chunk_samples(q, LANES) * sizeof *q;
    size_t traces_size = q->ntraces * sizeof(trace);
    ocl_check_constant(device, queries_size + traces_size);
    size_t samples_size = ((g->ntraces - 1) * q->pitch + q->ns) * sizeof(float);
    cl_bool shared; /* if host and device share memory, the samples are not copied */
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof shared,
                              &shared, NULL));
    d->d_query = buffer(d, queries_size, NULL);
    d->d_traces = buffer(d, traces_size, NULL);
    d->d_samples = buffer(d, samples_size, shared ? g->samples : NULL);
    d->d_order = buffer(d, cell_count(q) * sizeof(cell_bound), NULL);
    d->d_part = buffer(d, part_capacity(q) * sizeof(point), NULL);
    d->d_incumbent = buffer(d, sizeof(cl_int), NULL);
    if (!shared)
        OCL_CHECK(clEnqueueWriteBuffer(d->queue, d->d_samples, CL_TRUE, 0, samples_size,
                                       g->samples, 0, NULL, NULL));

    for (int kind = 0; kind < KINDS; kind++) {
        ARGUMENT(kind, 0, d->d_query);
        ARGUMENT(kind, 1, d->d_traces);
        ARGUMENT(kind, 2, d->d_samples);
    }
    ARGUMENT(BOUNDS, 5, d->d_order);
    ARGUMENT(NODES, 5, d->d_order);
    ARGUMENT(NODES, 7, d->d_part);
    ARGUMENT(NODES, 8, d->d_incumbent);
    ARGUMENT(BLOCKS, 6, d->d_part);
    d->clock = ocl_clock_offset(d->queue);
    return d;
}

/* Enqueues a copy to the device, without waiting. */
static void write_buffer(const device *d, cl_mem to, const void *from, size_t bytes)
{
    OCL_CHECK(
        clEnqueueWriteBuffer(d->queue, to, CL_FALSE, 0, bytes, from, 0, NULL, NULL));
}

void device_begin_phase(device *d, const search_input *in, work_kind kind)
{
    d->input = in;
    d->kind = kind;
    write_buffer(d, d->d_query, in->q, in->device.samples * sizeof *in->q);
    write_buffer(d, d->d_traces, in->traces, in->q->ntraces * sizeof *in->traces);
    if (kind == NODES)
        write_buffer(d, d->d_order, in->order, cell_count(in->q) * sizeof *in->order);
    const cl_int zero = 0;
    OCL_CHECK(clEnqueueFillBuffer(d->queue, d->d_incumbent, &zero, sizeof zero, 0,
                                  sizeof zero, 0, NULL, NULL));
    ARGUMENT(NODES, 6, in->prune);
    ARGUMENT(BLOCKS, 5, in->device);
}

/* The range is rounded up to whole work-groups. Until the kernel writes them, the
 * results are NaN, so that missing ones are detected. */
void device_start(device *d, int first, int end, float incumbent)
{
    int kind = d->kind, group_per_part = kind == NODES && d->lanes == 1;
    size_t local = group_per_part ? SHARERS : d->local, items = end - first;
    if (group_per_part) items *= SHARERS;
    if (kind == BLOCKS) items *= d->input->device.blocks;
    size_t global = (items + local - 1) / local * local;
    size_t size =
        kind == BOUNDS ? sizeof(cell_bound) : d->input->device.samples * sizeof(point);
    size_t from = first * size, bytes = (end - first) * size;
    char *host = kind == BOUNDS ? (char *)d->input->order : (char *)d->input->part;
    cl_mem result = kind == BOUNDS ? d->d_order : d->d_part;

    ARGUMENT(kind, 3, first);
    ARGUMENT(kind, 4, end);
    if (kind == NODES) ARGUMENT(kind, 9, incumbent);
    const cl_uint sentinel = ~0u;
    OCL_CHECK(clEnqueueFillBuffer(d->queue, result, &sentinel, sizeof sentinel, from,
                                  bytes, 0, NULL, NULL));
    OCL_CHECK(clEnqueueNDRangeKernel(d->queue, d->kernel[kind], 1, NULL, &global,
                                     &local, 0, NULL, NULL));
    OCL_CHECK(clEnqueueReadBuffer(d->queue, result, CL_FALSE, from, bytes, host + from,
                                  0, NULL, &d->copied[d->started++ % BATCHES]));
    OCL_CHECK(clFlush(d->queue)); /* otherwise the commands may not start */
}

int device_poll(const device *d)
{
    cl_int status;
    OCL_CHECK(clGetEventInfo(d->copied[d->collected % BATCHES],
                             CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                             NULL));
    if (status < 0) ocl_check(status, "a batch on the device", __FILE__, __LINE__);
    return status == CL_COMPLETE;
}

double device_collect(device *d)
{
    double began, ended;
    cl_event event = d->copied[d->collected++ % BATCHES];
    OCL_CHECK(clWaitForEvents(1, &event));
    ocl_event_span(event, d->clock, &began, &ended);
    clReleaseEvent(event);
    return ended;
}

void device_end(device *d)
{
    cl_mem memory[] = {d->d_query, d->d_traces, d->d_samples,
                       d->d_order, d->d_part,   d->d_incumbent};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        clReleaseMemObject(memory[i]);
    for (int kind = 0; kind < KINDS; kind++) clReleaseKernel(d->kernel[kind]);
    clReleaseProgram(d->program);
    clReleaseCommandQueue(d->queue);
    clReleaseContext(d->context);
    free(d);
}
