/* opencl.c - the host side of kernel.cl.
 *
 * Every OpenCL program makes the same objects in the same order, the device's first:
 *   device   what computes                 context  the memory and programs it shares
 *   queue    the commands it is given      program  source, built for this device
 *   kernel   one entry point of a program  buffer   memory of the device
 * and then enqueues: write buffers, run the kernel over a range, read buffers.
 */
#include <stdlib.h>

#include "ocl.h"
#include "host.h"

int search(const su_gather *g, const query *q, best *found, run_times *t)
{
    double start = seconds();
    cl_int err;

    trace *traces = prepare(g, q);
    size_t parts = (size_t)q->np[0] * q->np[1] * q->np[2];
    point *part = allocate(parts, sizeof *part, "the best of each (A, B, C)");

    cl_device_id device = ocl_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    cl_command_queue queue =
        clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* The global size must be a multiple of the local size: round up. */
    size_t local[3], global[3];
    for (int i = 0; i < 3; i++)
        local[i] = q->group[i] ? q->group[i] : ocl_is_gpu(device) ? 4 : 2;
    for (int i = 0; i < 3; i++)
        global[i] = (q->np[i] + local[i] - 1) / local[i] * local[i];
    size_t base_size = fit_base(global, local, g->ntraces);

    /* The source is compiled here, at run time, when the window is known. */
    char options[64];
    snprintf(options, sizeof options, "-D WINDOW=%d -cl-unsafe-math-optimizations",
             window_of(q));
    cl_program program = ocl_build(context, device, options);
    cl_kernel kernel = clCreateKernel(program, "search", &err);
    OCL_CHECK(err);

    size_t traces_size = g->ntraces * sizeof *traces;
    size_t samples_size = g->ntraces * g->ns * sizeof(float);
    size_t part_size = parts * sizeof *part;
    cl_mem d_query = clCreateBuffer(context, CL_MEM_READ_ONLY, sizeof *q, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_traces =
        clCreateBuffer(context, CL_MEM_READ_ONLY, traces_size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_samples =
        clCreateBuffer(context, CL_MEM_READ_ONLY, samples_size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_base = clCreateBuffer(context, CL_MEM_READ_WRITE, base_size, NULL, &err);
    OCL_CHECK(err);
    cl_mem d_part = clCreateBuffer(context, CL_MEM_READ_WRITE, part_size, NULL, &err);
    OCL_CHECK(err);

    OCL_CHECK(clSetKernelArg(kernel, 0, sizeof d_query, &d_query));
    OCL_CHECK(clSetKernelArg(kernel, 1, sizeof d_traces, &d_traces));
    OCL_CHECK(clSetKernelArg(kernel, 2, sizeof d_samples, &d_samples));
    OCL_CHECK(clSetKernelArg(kernel, 3, sizeof d_base, &d_base));
    OCL_CHECK(clSetKernelArg(kernel, 4, sizeof d_part, &d_part));

    double ready = seconds();

    OCL_CHECK(
        clEnqueueWriteBuffer(queue, d_query, CL_FALSE, 0, sizeof *q, q, 0, NULL, NULL));
    OCL_CHECK(clEnqueueWriteBuffer(queue, d_traces, CL_FALSE, 0, traces_size, traces, 0,
                                   NULL, NULL));
    OCL_CHECK(clEnqueueWriteBuffer(queue, d_samples, CL_FALSE, 0, samples_size,
                                   g->samples, 0, NULL, NULL));
    const cl_uint poison = ~0u; /* NaN: a part that no work-item writes is found out */
    OCL_CHECK(clEnqueueFillBuffer(queue, d_part, &poison, sizeof poison, 0, part_size,
                                  0, NULL, NULL));
    cl_event done;
    OCL_CHECK(
        clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0, NULL, &done));
    OCL_CHECK(
        clEnqueueReadBuffer(queue, d_part, CL_TRUE, 0, part_size, part, 0, NULL, NULL));

    pick_best(q, part, q->np[2], found);

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    t->kernel = ocl_seconds(done);

    clReleaseEvent(done);
    clReleaseMemObject(d_part);
    clReleaseMemObject(d_base);
    clReleaseMemObject(d_samples);
    clReleaseMemObject(d_traces);
    clReleaseMemObject(d_query);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(part);
    free(traces);
    return 0;
}
