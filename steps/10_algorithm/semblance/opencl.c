/* opencl.c - the host side of kernel.cl.
 *
 * An OpenCL program creates these objects, in this order:
 *    device   executes kernels                context  holds memory and programs
 *    queue    commands for the device         program  source built for the device
 *    kernel   an entry point of the program   buffer   device memory
 * Then it enqueues commands: write buffers, run the kernel over a range, read buffers.
 */
#include <limits.h>
#include <stdlib.h>

#include "ocl.h"
#include "host.h"
#include "moveout_host.h"
#include "share.h"

/* Buffers of window=moveout. */
enum { INPUT, ROWS, BEST, NUMBERS, MOVEOUT_BUFFERS };

struct search_state {
    const su_gather *g;
    trace *traces;     /* of the current search */
    int lanes;         /* of the device's vectors */
    int chunk;         /* samples that are searched at a time */
    int gpu;           /* the device is a GPU, which picks the best parts itself */
    point *part;       /* [samples][parts]: the best point of each part */
    cell_bound *order; /* all (A, B), highest bound first */
    /* The best point of each sample of a chunk. */
    point best[CHUNK_SAMPLES];
    size_t local;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel bounds, kernel, blocks, pick, sum_points, keep_points;
    cl_mem d_query, d_traces, d_samples, d_order, d_part, d_incumbent;
    cl_mem d_moveout[MOVEOUT_BUFFERS]; /* NULL until they are needed */
    size_t moveout_bytes[MOVEOUT_BUFFERS];
};

/* Enqueues a kernel for n work-items, rounded up to whole groups. */
static cl_event launch(const search_state *s, cl_kernel kernel, size_t n)
{
    cl_event kernel_event;
    size_t global = (n + s->local - 1) / s->local * s->local;
    OCL_CHECK(clEnqueueNDRangeKernel(s->queue, kernel, 1, NULL, &global, &s->local, 0,
                                     NULL, &kernel_event));
    return kernel_event;
}

/* Enqueues the search of the parts first .. end - 1 in the order of their bounds; there
 * may be none. */
static cl_event search_parts(const search_state *s, int first, int end, int prune)
{
    OCL_CHECK(clSetKernelArg(s->kernel, 4, sizeof first, &first));
    OCL_CHECK(clSetKernelArg(s->kernel, 5, sizeof end, &end));
    OCL_CHECK(clSetKernelArg(s->kernel, 6, sizeof prune, &prune));
    if (s->lanes > 1) return launch(s, s->kernel, end > first ? end - first : 1);
    cl_event kernel_event;
    size_t local = SHARERS, global = (end > first ? end - first : 1) * local;
    OCL_CHECK(clEnqueueNDRangeKernel(s->queue, s->kernel, 1, NULL, &global, &local, 0,
                                     NULL, &kernel_event));
    return kernel_event;
}

/* Enqueues the choice of the best part of each sample of a chunk. */
static cl_event launch_pick(const search_state *s, chunk c, int parts)
{
    cl_event pick_event;
    size_t local = PICKERS, global = c.samples * local;
    OCL_CHECK(clSetKernelArg(s->pick, 1, sizeof c, &c));
    OCL_CHECK(clSetKernelArg(s->pick, 3, sizeof parts, &parts));
    OCL_CHECK(clEnqueueNDRangeKernel(s->queue, s->pick, 1, NULL, &global, &local, 0,
                                     NULL, &pick_event));
    return pick_event;
}

search_state *search_begin(const su_gather *g, const query *q, run_times *t)
{
    double start = seconds();
    cl_int err;

    search_state *s = allocate(1, sizeof *s, "the state of the search");
    if (part_count(q) > INT_MAX)
        fail("np: %zu (A, B, C), expected at most 2^31 - 1", part_count(q));
    *s = (search_state){.g = g};
    s->traces = allocate(q->ntraces, sizeof *s->traces, "the traces");
    s->order = allocate(cell_count(q), sizeof *s->order, "the order of the search");

    cl_device_id device = ocl_device();
    s->context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    s->queue =
        clCreateCommandQueue(s->context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* One dimension, because parts are searched in the order of their bounds. */
    s->local = 1;
    for (int i = 0; i < 3; i++)
        s->local *= q->group[i] ? q->group[i] : ocl_is_gpu(device) ? 4 : 2;
    size_t items = s->local, max_items;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof max_items,
                              &max_items, NULL));
    if (items > max_items)
        fail("local: work-group of %zu, expected at most %zu on this device", items,
             max_items);

    /* The source is compiled now, at run time, when the window is known, and the number
     * of lanes of the device's vectors (1 on a GPU). */
    cl_uint width;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width,
                              &width, NULL));
    s->lanes = width >= 16 ? 16 : width >= 8 ? 8 : width >= 4 ? 4 : 1;
    char options[128];
    snprintf(options, sizeof options,
             "-D WINDOW=%d -D LANES=%d -cl-unsafe-math-optimizations", window_length(q),
             s->lanes);
    s->program = ocl_build(s->context, device, options);
    s->bounds = clCreateKernel(s->program, "bounds", &err);
    OCL_CHECK(err);
    s->kernel = clCreateKernel(s->program, "search", &err);
    OCL_CHECK(err);
    s->blocks = clCreateKernel(s->program, "search_blocks", &err);
    OCL_CHECK(err);
    s->pick = clCreateKernel(s->program, "pick_parts", &err);
    OCL_CHECK(err);
    s->sum_points = clCreateKernel(s->program, "sum_points", &err);
    OCL_CHECK(err);
    s->keep_points = clCreateKernel(s->program, "keep_points", &err);
    OCL_CHECK(err);

    s->gpu = ocl_is_gpu(device);
    s->chunk = chunk_samples(q, s->lanes);
    s->part = allocate(part_capacity(q), sizeof *s->part, "the best of each part");

    size_t traces_size = q->ntraces * sizeof *s->traces;
    size_t queries_size = s->chunk * sizeof *q;
    ocl_check_constant(device, queries_size + traces_size);
    size_t samples_size = ((g->ntraces - 1) * q->pitch + q->ns) * sizeof(float);
    size_t order_size = cell_count(q) * sizeof *s->order;
    size_t part_size = part_capacity(q) * sizeof *s->part + sizeof s->best;
    s->d_query = clCreateBuffer(s->context, CL_MEM_READ_ONLY, queries_size, NULL, &err);
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
    s->d_order = clCreateBuffer(s->context, CL_MEM_READ_WRITE, order_size, NULL, &err);
    OCL_CHECK(err);
    s->d_incumbent =
        clCreateBuffer(s->context, CL_MEM_READ_WRITE, sizeof(int), NULL, &err);
    OCL_CHECK(err);
    s->d_part = clCreateBuffer(s->context, CL_MEM_READ_WRITE, part_size, NULL, &err);
    OCL_CHECK(err);

    OCL_CHECK(clSetKernelArg(s->kernel, 0, sizeof s->d_query, &s->d_query));
    OCL_CHECK(clSetKernelArg(s->kernel, 1, sizeof s->d_traces, &s->d_traces));
    OCL_CHECK(clSetKernelArg(s->kernel, 2, sizeof s->d_samples, &s->d_samples));
    OCL_CHECK(clSetKernelArg(s->kernel, 3, sizeof s->d_order, &s->d_order));
    OCL_CHECK(clSetKernelArg(s->kernel, 7, sizeof s->d_part, &s->d_part));
    OCL_CHECK(clSetKernelArg(s->kernel, 8, sizeof s->d_incumbent, &s->d_incumbent));
    OCL_CHECK(clSetKernelArg(s->bounds, 0, sizeof s->d_query, &s->d_query));
    OCL_CHECK(clSetKernelArg(s->bounds, 1, sizeof s->d_traces, &s->d_traces));
    OCL_CHECK(clSetKernelArg(s->bounds, 2, sizeof s->d_samples, &s->d_samples));
    OCL_CHECK(clSetKernelArg(s->bounds, 3, sizeof s->d_order, &s->d_order));
    OCL_CHECK(clSetKernelArg(s->blocks, 0, sizeof s->d_query, &s->d_query));
    OCL_CHECK(clSetKernelArg(s->blocks, 1, sizeof s->d_traces, &s->d_traces));
    OCL_CHECK(clSetKernelArg(s->blocks, 2, sizeof s->d_samples, &s->d_samples));
    OCL_CHECK(clSetKernelArg(s->blocks, 4, sizeof s->d_part, &s->d_part));
    OCL_CHECK(clSetKernelArg(s->pick, 0, sizeof s->d_query, &s->d_query));
    OCL_CHECK(clSetKernelArg(s->pick, 2, sizeof s->d_part, &s->d_part));

    /* An empty search: many drivers finish compiling a kernel at its first launch. */
    const cl_int zero = 0;
    OCL_CHECK(clEnqueueFillBuffer(s->queue, s->d_query, &zero, sizeof zero, 0,
                                  sizeof *q, 0, NULL, NULL));
    OCL_CHECK(clEnqueueFillBuffer(s->queue, s->d_part, &zero, sizeof zero, 0,
                                  sizeof(point), 0, NULL, NULL));
    clReleaseEvent(launch(s, s->bounds, 1));
    clReleaseEvent(search_parts(s, 0, 0, 0));
    const chunk nothing = {1, 1, 1, {0, 1, 1, 1, 1}};
    const int no_parts = 0;
    OCL_CHECK(clSetKernelArg(s->blocks, 3, sizeof nothing, &nothing));
    OCL_CHECK(clSetKernelArg(s->blocks, 5, sizeof no_parts, &no_parts));
    clReleaseEvent(launch(s, s->blocks, 1));
    if (s->gpu) clReleaseEvent(launch_pick(s, nothing, no_parts));
    OCL_CHECK(clFinish(s->queue));

    double ready = seconds();

    if (!shared)
        OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_samples, CL_TRUE, 0, samples_size,
                                       g->samples, 0, NULL, NULL));

    t->init += ready - start;
    t->run += seconds() - ready;
    return s;
}

/* Reads the best part of each sample of a chunk, which a GPU picks itself; if the
 * device is the host's CPU, a copy of all parts is cheaper than a kernel. */
static void collect(search_state *s, const query *q, const chunk *c,
                    search_result *result, run_times *t)
{
    size_t best_size = c->samples * sizeof(point);
    size_t part_size = best_size * sample_parts(c);
    if (s->gpu) {
        cl_event pick_event = launch_pick(s, *c, sample_parts(c));
        OCL_CHECK(clEnqueueReadBuffer(s->queue, s->d_part, CL_TRUE, part_size,
                                      best_size, s->best, 0, NULL, NULL));
        t->kernel += ocl_seconds(pick_event);
        clReleaseEvent(pick_event);
    }
    if (!s->gpu || !store_best(s->best, c->samples, result)) {
        OCL_CHECK(clEnqueueReadBuffer(s->queue, s->d_part, CL_TRUE, 0, part_size,
                                      s->part, 0, NULL, NULL));
        pick_samples(q, c, s->part, result);
    }
}

/* Searches some samples of the output trace, in blocks. */
static void search_chunk(search_state *s, const query *q, chunk c,
                         search_result *result, run_times *t)
{
    int parts = sample_parts(&c);
    size_t best_size = c.samples * sizeof(point), part_size = best_size * parts;

    size_t items = (size_t)c.blocks * c.np[A] * c.np[B] * c.np[C];

    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_query, CL_FALSE, 0,
                                   c.samples * sizeof *q, q, 0, NULL, NULL));
    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_traces, CL_FALSE, 0,
                                   q->ntraces * sizeof *s->traces, s->traces, 0, NULL,
                                   NULL));
    const cl_uint sentinel = ~0u; /* NaN: a part that is never written is detected */
    OCL_CHECK(clEnqueueFillBuffer(s->queue, s->d_part, &sentinel, sizeof sentinel, 0,
                                  part_size + best_size, 0, NULL, NULL));
    OCL_CHECK(clSetKernelArg(s->blocks, 3, sizeof c, &c));
    OCL_CHECK(clSetKernelArg(s->blocks, 5, sizeof parts, &parts));
    cl_event kernel_event = launch(s, s->blocks, items);

    collect(s, q, &c, result, t);
    t->kernel += ocl_seconds(kernel_event);
    clReleaseEvent(kernel_event);
}

/* Searches one sample of the output trace. */
static void search_sample(search_state *s, const query *q, search_result *result,
                          run_times *t)
{
    prepare_sample(q, s->traces);
    size_t traces_size = q->ntraces * sizeof *s->traces;
    size_t order_size = cell_count(q) * sizeof *s->order;
    size_t part_size = (part_count(q) + 1) * sizeof *s->part; /* and the best one */
    const chunk c = make_chunk(q, 1, s->lanes);

    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_query, CL_FALSE, 0, sizeof *q, q, 0,
                                   NULL, NULL));
    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_traces, CL_FALSE, 0, traces_size,
                                   s->traces, 0, NULL, NULL));
    const cl_uint sentinel = ~0u; /* NaN: a part that is never written is detected */
    OCL_CHECK(clEnqueueFillBuffer(s->queue, s->d_part, &sentinel, sizeof sentinel, 0,
                                  part_size, 0, NULL, NULL));
    const cl_int zero = 0;
    OCL_CHECK(clEnqueueFillBuffer(s->queue, s->d_incumbent, &zero, sizeof zero, 0,
                                  sizeof zero, 0, NULL, NULL));

    /* The panel needs every (A, B), so nothing may be pruned. */
    int prune = !result->panel;
    cl_event events[3];
    int event_count = 0;
    size_t cells = cell_count(q);
    if (prune) {
        events[event_count++] = launch(s, s->bounds, cells);
        OCL_CHECK(clEnqueueReadBuffer(s->queue, s->d_order, CL_TRUE, 0, order_size,
                                      s->order, 0, NULL, NULL));
        qsort(s->order, cells, sizeof *s->order, by_bound);
    } else {
        for (size_t n = 0; n < cells; n++) s->order[n] = (cell_bound){NO_BOUND, (int)n};
    }
    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_order, CL_FALSE, 0, order_size,
                                   s->order, 0, NULL, NULL));

    /* The (A, B) with the highest bound comes first and gives the first incumbent. */
    events[event_count++] = search_parts(s, 0, q->np[C], prune);
    if (cells > 1)
        events[event_count++] = search_parts(s, q->np[C], (int)part_count(q), prune);
    collect(s, q, &c, result, t);
    while (event_count > 0) {
        t->kernel += ocl_seconds(events[--event_count]);
        clReleaseEvent(events[event_count]);
    }
}

void search(search_state *s, const query *q, int samples, const int *indices,
            search_result *result, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);

    double ready = seconds();

    for (int first = 0; first < samples; first += s->chunk) {
        int n = samples - first < s->chunk ? samples - first : s->chunk;
        chunk c = make_chunk(q + first, n, s->lanes);
        if (n == 1)
            search_sample(s, &q[first], &result[first], t);
        else
            search_chunk(s, q + first, c, result + first, t);
    }

    double end = seconds();
    t->init += ready - start;
    t->run += end - ready;
}

#include "moveout_opencl.h"

void search_end(search_state *s)
{
    for (int i = 0; i < MOVEOUT_BUFFERS; i++)
        if (s->d_moveout[i]) clReleaseMemObject(s->d_moveout[i]);
    clReleaseKernel(s->keep_points);
    clReleaseKernel(s->sum_points);
    clReleaseMemObject(s->d_part);
    clReleaseMemObject(s->d_incumbent);
    clReleaseMemObject(s->d_order);
    clReleaseMemObject(s->d_samples);
    clReleaseMemObject(s->d_traces);
    clReleaseMemObject(s->d_query);
    clReleaseKernel(s->pick);
    clReleaseKernel(s->blocks);
    clReleaseKernel(s->kernel);
    clReleaseKernel(s->bounds);
    clReleaseProgram(s->program);
    clReleaseCommandQueue(s->queue);
    clReleaseContext(s->context);
    free(s->order);
    free(s->part);
    free(s->traces);
    free(s);
}
