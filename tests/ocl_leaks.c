/* ocl_leaks.c - a library that is preloaded to count the objects of OpenCL that a
 * program creates and does not release. At the end it prints them on stderr, such as
 * "OpenCL: not released: 2 buffers, 1 events".
 */
#define _GNU_SOURCE              /* RTLD_NEXT */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>

enum { CONTEXTS, QUEUES, PROGRAMS, KERNELS, BUFFERS, EVENTS, KINDS };
static const char *const names[] = {"contexts", "queues",  "programs",
                                    "kernels",  "buffers", "events"};
static atomic_long alive[KINDS];

__attribute__((destructor)) static void print_alive(void)
{
    int found = 0;
    for (int k = 0; k < KINDS; k++)
        if (alive[k])
            fprintf(stderr, "%s %ld %s",
                    found++ ? "," : "OpenCL: not released:", (long)alive[k], names[k]);
    if (found) fputs("\n", stderr);
}

/* Defines the function `name`, which calls the one that it replaces and counts what it
 * creates or releases if that succeeds. */
#define COUNTED(kind, change, succeeds, type, name, parameters, arguments)             \
    type name parameters                                                               \
    {                                                                                  \
        type(*real) parameters;                                                        \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                     \
        type result = real arguments;                                                  \
        if (succeeds) alive[kind] += change;                                           \
        return result;                                                                 \
    }
#define RELEASED(kind, type, name)                                                     \
    COUNTED(kind, -1, result == CL_SUCCESS, cl_int, name, (type object), (object))

COUNTED(CONTEXTS, 1, result, cl_context, clCreateContext,
        (const cl_context_properties *p, cl_uint n, const cl_device_id *devices,
         void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *data,
         cl_int *err),
        (p, n, devices, f, data, err))
RELEASED(CONTEXTS, cl_context, clReleaseContext)
COUNTED(QUEUES, 1, result, cl_command_queue, clCreateCommandQueue,
        (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *err),
        (c, d, p, err))
RELEASED(QUEUES, cl_command_queue, clReleaseCommandQueue)
COUNTED(PROGRAMS, 1, result, cl_program, clCreateProgramWithSource,
        (cl_context c, cl_uint n, const char **text, const size_t *sizes, cl_int *err),
        (c, n, text, sizes, err))
RELEASED(PROGRAMS, cl_program, clReleaseProgram)
COUNTED(KERNELS, 1, result, cl_kernel, clCreateKernel,
        (cl_program p, const char *name, cl_int *err), (p, name, err))
RELEASED(KERNELS, cl_kernel, clReleaseKernel)
COUNTED(BUFFERS, 1, result, cl_mem, clCreateBuffer,
        (cl_context c, cl_mem_flags flags, size_t size, void *host, cl_int *err),
        (c, flags, size, host, err))
RELEASED(BUFFERS, cl_mem, clReleaseMemObject)

#define EVENT(name, parameters, arguments)                                             \
    COUNTED(EVENTS, 1, event &&result == CL_SUCCESS, cl_int, name, parameters,         \
            arguments)
EVENT(clEnqueueNDRangeKernel,
      (cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
       const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
       cl_event *event),
      (q, k, dims, offset, global, local, n, waits, event))
EVENT(clEnqueueReadBuffer,
      (cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t size, void *to,
       cl_uint n, const cl_event *waits, cl_event *event),
      (q, m, block, at, size, to, n, waits, event))
EVENT(clEnqueueWriteBuffer,
      (cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t size,
       const void *from, cl_uint n, const cl_event *waits, cl_event *event),
      (q, m, block, at, size, from, n, waits, event))
EVENT(clEnqueueFillBuffer,
      (cl_command_queue q, cl_mem m, const void *pattern, size_t bytes, size_t at,
       size_t size, cl_uint n, const cl_event *waits, cl_event *event),
      (q, m, pattern, bytes, at, size, n, waits, event))
EVENT(clEnqueueCopyBuffer,
      (cl_command_queue q, cl_mem from, cl_mem to, size_t at, size_t to_at, size_t size,
       cl_uint n, const cl_event *waits, cl_event *event),
      (q, from, to, at, to_at, size, n, waits, event))
EVENT(clEnqueueReadBufferRect,
      (cl_command_queue q, cl_mem m, cl_bool block, const size_t *from,
       const size_t *to_at, const size_t *region, size_t row, size_t slice,
       size_t to_row, size_t to_slice, void *to, cl_uint n, const cl_event *waits,
       cl_event *event),
      (q, m, block, from, to_at, region, row, slice, to_row, to_slice, to, n, waits,
       event))
EVENT(clEnqueueMarkerWithWaitList,
      (cl_command_queue q, cl_uint n, const cl_event *waits, cl_event *event),
      (q, n, waits, event))
COUNTED(EVENTS, 1, event &&result, void *, clEnqueueMapBuffer,
        (cl_command_queue q, cl_mem m, cl_bool block, cl_map_flags flags, size_t at,
         size_t size, cl_uint n, const cl_event *waits, cl_event *event, cl_int *err),
        (q, m, block, flags, at, size, n, waits, event, err))
COUNTED(EVENTS, 1, result == CL_SUCCESS, cl_int, clRetainEvent, (cl_event event),
        (event))
RELEASED(EVENTS, cl_event, clReleaseEvent)
