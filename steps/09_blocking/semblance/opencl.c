/* opencl.c - the host side of kernel.cl.
 *
 * An OpenCL program creates these objects, in this order:
 *    device   executes kernels                context  holds memory and programs
 *    queue    commands for the device         program  source built for the device
 *    kernel   an entry point of the program   buffer   device memory
 * Then it enqueues commands: write buffers, run the kernel over a range, read buffers.
 */
#include <stdlib.h>

#include "ocl.h"
#include "host.h"
#include "moveout_host.h"

/* Buffers of window=moveout. */
enum { INPUT, ROWS, BEST, NUMBERS, MOVEOUT_BUFFERS };

struct search_state {
    const su_gather *g;
    trace *traces; /* of the current search */
    int lanes;     /* of the device's vectors */
    int chunk;     /* samples that are searched at a time */
    int gpu;       /* the device is a GPU, which picks the best parts itself */
    point *part;   /* [samples][parts]: the best point of each part */
    /* The best point of each sample of a chunk. */
    point best[CHUNK_SAMPLES];
    size_t local[3];
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel, pick, sum_points, keep_points;
    cl_mem d_query, d_traces, d_samples, d_part;
    cl_mem d_moveout[MOVEOUT_BUFFERS]; /* NULL until they are needed */
    size_t moveout_bytes[MOVEOUT_BUFFERS];
};

search_state *search_begin(const su_gather *g, const query *q, run_times *t)
{
    double start = seconds();
    cl_int err;

    search_state *s = allocate(1, sizeof *s, "the state of the search");
    *s = (search_state){.g = g};
    s->traces = allocate(q->ntraces, sizeof *s->traces, "the traces");

    cl_device_id device = ocl_device();
    s->context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    s->queue =
        clCreateCommandQueue(s->context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

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
    s->kernel = clCreateKernel(s->program, "search", &err);
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
    for (int i = 0; i < 3; i++)
        s->local[i] = q->group[i] ? q->group[i] : s->gpu ? 4 : 2;

    size_t traces_size = q->ntraces * sizeof *s->traces;
    size_t queries_size = s->chunk * sizeof *q;
    ocl_check_constant(device, queries_size + traces_size);
    size_t samples_size = ((g->ntraces - 1) * q->pitch + q->ns) * sizeof(float);
    size_t part_size = part_capacity(q) * sizeof *s->part + sizeof s->best;
    s->d_query = clCreateBuffer(s->context, CL_MEM_READ_ONLY, queries_size, NULL, &err);
    OCL_CHECK(err);
    s->d_traces = clCreateBuffer(s->context, CL_MEM_READ_ONLY, traces_size, NULL, &err);
    OCL_CHECK(err);
    s->d_samples =
        clCreateBuffer(s->context, CL_MEM_READ_ONLY, samples_size, NULL, &err);
    OCL_CHECK(err);
    s->d_part = clCreateBuffer(s->context, CL_MEM_READ_WRITE, part_size, NULL, &err);
    OCL_CHECK(err);

    OCL_CHECK(clSetKernelArg(s->kernel, 0, sizeof s->d_query, &s->d_query));
    OCL_CHECK(clSetKernelArg(s->kernel, 1, sizeof s->d_traces, &s->d_traces));
    OCL_CHECK(clSetKernelArg(s->kernel, 2, sizeof s->d_samples, &s->d_samples));
    OCL_CHECK(clSetKernelArg(s->kernel, 4, sizeof s->d_part, &s->d_part));
    OCL_CHECK(clSetKernelArg(s->pick, 0, sizeof s->d_query, &s->d_query));
    OCL_CHECK(clSetKernelArg(s->pick, 2, sizeof s->d_part, &s->d_part));

    double ready = seconds();

    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_samples, CL_TRUE, 0, samples_size,
                                   g->samples, 0, NULL, NULL));

    t->init += ready - start;
    t->run += seconds() - ready;
    return s;
}

/* Searches some samples of the output trace. */
static void search_chunk(search_state *s, const query *q, int samples,
                         search_result *result, run_times *t)
{
    chunk c = make_chunk(q, samples, s->lanes);
    int parts = sample_parts(&c);
    size_t best_size = samples * sizeof(point), part_size = best_size * parts;

    /* The global size must be a multiple of the local size. */
    size_t items[] = {(size_t)c.np[A] * c.blocks * c.split, c.np[B], c.np[C]};
    size_t global[3];
    for (int i = 0; i < 3; i++)
        global[i] = (items[i] + s->local[i] - 1) / s->local[i] * s->local[i];

    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_query, CL_FALSE, 0,
                                   samples * sizeof *q, q, 0, NULL, NULL));
    const cl_uint sentinel = ~0u; /* NaN: a part that is never written is detected */
    OCL_CHECK(clEnqueueFillBuffer(s->queue, s->d_part, &sentinel, sizeof sentinel, 0,
                                  part_size + best_size, 0, NULL, NULL));
    OCL_CHECK(clSetKernelArg(s->kernel, 3, sizeof c, &c));
    OCL_CHECK(clSetKernelArg(s->kernel, 5, sizeof parts, &parts));
    cl_event kernel_event;
    OCL_CHECK(clEnqueueNDRangeKernel(s->queue, s->kernel, 3, NULL, global, s->local, 0,
                                     NULL, &kernel_event));

    /* If the device is the host's CPU, a copy of all parts is cheaper than a kernel:
     * with the kernel, the job `survey` took 1.2 times as long (PoCL, AMD EPYC). */
    if (s->gpu) {
        size_t pick_local = PICKERS, pick_global = samples * pick_local;
        cl_event pick_event;
        OCL_CHECK(clSetKernelArg(s->pick, 1, sizeof c, &c));
        OCL_CHECK(clSetKernelArg(s->pick, 3, sizeof parts, &parts));
        OCL_CHECK(clEnqueueNDRangeKernel(s->queue, s->pick, 1, NULL, &pick_global,
                                         &pick_local, 0, NULL, &pick_event));
        OCL_CHECK(clEnqueueReadBuffer(s->queue, s->d_part, CL_TRUE, part_size,
                                      best_size, s->best, 0, NULL, NULL));
        t->kernel += ocl_seconds(pick_event);
        clReleaseEvent(pick_event);
    }
    if (!s->gpu || !store_best(s->best, samples, result)) {
        OCL_CHECK(clEnqueueReadBuffer(s->queue, s->d_part, CL_TRUE, 0, part_size,
                                      s->part, 0, NULL, NULL));
        pick_samples(q, &c, s->part, result);
    }

    t->kernel += ocl_seconds(kernel_event);
    clReleaseEvent(kernel_event);
}

void search(search_state *s, const query *q, int samples, const int *indices,
            search_result *result, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);
    size_t traces_size = q->ntraces * sizeof *s->traces;

    double ready = seconds();

    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_traces, CL_FALSE, 0, traces_size,
                                   s->traces, 0, NULL, NULL));
    for (int k = 0; k < samples; k += s->chunk)
        search_chunk(s, q + k, samples - k < s->chunk ? samples - k : s->chunk,
                     result + k, t);

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
    clReleaseMemObject(s->d_samples);
    clReleaseMemObject(s->d_traces);
    clReleaseMemObject(s->d_query);
    clReleaseKernel(s->pick);
    clReleaseKernel(s->kernel);
    clReleaseProgram(s->program);
    clReleaseCommandQueue(s->queue);
    clReleaseContext(s->context);
    free(s->part);
    free(s->traces);
    free(s);
}
