/* ocl.h - selects an OpenCL device, builds the embedded kernels, names errors and reads
 * profiling clocks. Buffers, queues, transfers and launches are part of the lessons, in
 * each step's opencl.c.
 */
#ifndef OCL_H
#define OCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <stddef.h>

/* Unless call returns CL_SUCCESS, fail() with file, line, call and error name. */
#define OCL_CHECK(call) ocl_check((call), #call, __FILE__, __LINE__)
void ocl_check(cl_int err, const char *call, const char *file, int line);

/* Sets all arguments of a kernel in the order of its parameters: OCL_ARGS(kernel, a, b)
 * passes the variables a and b. A buffer is a cl_mem. At most 12 arguments. */
#define OCL_ARGS(kernel, ...)                                                          \
    ocl_args(__FILE__, __LINE__, kernel,                                               \
             OCL_ARGS_OF(__VA_ARGS__, OCL_12, OCL_11, OCL_10, OCL_9, OCL_8, OCL_7,     \
                         OCL_6, OCL_5, OCL_4, OCL_3, OCL_2, OCL_1, 0)(__VA_ARGS__),    \
             (size_t)0)
void ocl_args(const char *file, int line, cl_kernel kernel, ...);

/* Selects the macro for the number of arguments. */
#define OCL_ARGS_OF(a, b, c, d, e, f, g, h, i, j, k, l, macro, ...) macro

/* Each variable becomes its size and its address. */
#define OCL_1(a)       sizeof(a), (const void *)&(a)
#define OCL_2(a, ...)  OCL_1(a), OCL_1(__VA_ARGS__)
#define OCL_3(a, ...)  OCL_1(a), OCL_2(__VA_ARGS__)
#define OCL_4(a, ...)  OCL_1(a), OCL_3(__VA_ARGS__)
#define OCL_5(a, ...)  OCL_1(a), OCL_4(__VA_ARGS__)
#define OCL_6(a, ...)  OCL_1(a), OCL_5(__VA_ARGS__)
#define OCL_7(a, ...)  OCL_1(a), OCL_6(__VA_ARGS__)
#define OCL_8(a, ...)  OCL_1(a), OCL_7(__VA_ARGS__)
#define OCL_9(a, ...)  OCL_1(a), OCL_8(__VA_ARGS__)
#define OCL_10(a, ...) OCL_1(a), OCL_9(__VA_ARGS__)
#define OCL_11(a, ...) OCL_1(a), OCL_10(__VA_ARGS__)
#define OCL_12(a, ...) OCL_1(a), OCL_11(__VA_ARGS__)

/* Returns the device that the environment variable DEVICE selects: platform:device as
 * numbered by `clinfo -l` and `make devices`, or gpu, or cpu. Without DEVICE, returns
 * the first GPU of any platform, else the first device. fail() if there is none. */
cl_device_id ocl_device(void);

/* Limits the threads of PoCL to max_threads, unless POCL_MAX_PTHREAD_COUNT is set. Must
 * be called before any other OpenCL function. */
void ocl_limit_threads(int max_threads);

/* Returns the same device as ocl_device(), for a program whose host computes at the
 * same time on host_threads of its cores. Must be called before any other OpenCL
 * function. *shares_cores becomes 1 if the device consists of these cores, else 0. In
 * the first case the device is limited to the remaining cores, at least one: PoCL by
 * ocl_limit_threads(), other drivers by a sub-device; a driver without sub-devices
 * returns the whole device. A sub-device is never released, because PoCL may access it
 * after its last command has ended. */
cl_device_id ocl_device_with_host(int host_threads, int cores, int *shares_cores);

/* ocl_is_gpu() returns whether the device is a GPU. ocl_local_memory() returns its
 * bytes of local memory, or 0 if it emulates local memory in global memory. The
 * environment variable DEVICE_AS=gpu or cpu overrides both properties, so that code for
 * GPUs can be run and checked on any device. */
int ocl_is_gpu(cl_device_id device);
size_t ocl_local_memory(cl_device_id device);

/* Returns the largest number of work-items of a work-group. */
size_t ocl_group_limit(cl_device_id device);

/* Returns the number of work-items that the device runs at a time: one in each compute
 * unit, or about 2,048 in those of a GPU, which OpenCL cannot tell exactly. */
size_t ocl_items_at_once(cl_device_id device);

/* Returns the bytes of the cache that all compute units of a GPU share; for a CPU, also
 * one that is taken for a GPU, those of a core's L2 cache. */
size_t ocl_shared_cache(cl_device_id device);

/* fail() if the device has less than `bytes` of constant memory. */
void ocl_check_constant(cl_device_id device, size_t bytes);

/* Builds ocl_source with options. On errors, prints the compiler's log on stderr, which
 * names file and line of the original source, and calls fail(). */
cl_program ocl_build(cl_context context, cl_device_id device, const char *options);

/* The step's kernel.cl with its headers, embedded by embed.awk when the program is
 * built, so that the program needs no file at run time. */
extern const char *const ocl_source[];
extern const size_t ocl_source_lines;

/* Execution time of the command of a finished event on the device, in seconds. */
double ocl_seconds(cl_event event);

/* Measures the offset between the device's profiling clock and the host's seconds().
 * The queue needs CL_QUEUE_PROFILING_ENABLE; the function waits until it is empty. */
double ocl_clock_offset(cl_command_queue queue);

/* Converts begin and end of a finished event's command to the host's clock. */
void ocl_event_span(cl_event event, double offset, double *begin, double *end);

#endif
