/* ocl.h - OpenCL's chores: choosing a device, building the embedded source, naming
 * errors. Buffers, queues, transfers and launches are in the steps, in plain sight.
 */
#ifndef OCL_H
#define OCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <stddef.h>

/* Ends the program unless call returns CL_SUCCESS: file, line, call and error name. */
#define OCL_CHECK(call) ocl_check((call), #call, __FILE__, __LINE__)
void ocl_check(cl_int err, const char *call, const char *file, int line);

/* The device that DEVICE names: platform:device as `clinfo -l` and `make devices`
 * number them, or gpu, or cpu. Without DEVICE the first GPU of any platform, else the
 * first device. fail() if there is none. */
cl_device_id ocl_device(void);

/* PoCL is to make no more threads than that, unless POCL_MAX_PTHREAD_COUNT says
 * otherwise: to be called before any other OpenCL. */
void ocl_threads(int most);

/* The same device for a program whose host computes beside it, with so many threads
 * on its cores: to be called before any other OpenCL. Where it is made of those cores
 * (*beside, else 0), it has what is left of them, at least one: by ocl_threads where it
 * is PoCL, and others are asked for a sub-device; a driver that knows none gives the
 * whole. A sub-device is never released: PoCL may ask it for something even after the
 * last command has ended. */
cl_device_id ocl_device_beside(int host_threads, int cores, int *beside);

/* Is it a GPU, and how many bytes of local memory has it: 0 if none of its own, but a
 * piece of global memory set aside. DEVICE_AS=gpu or cpu has a device taken for one
 * with or without, so that what is written for GPUs is run and checked on any device.
 */
int ocl_is_gpu(cl_device_id device);
size_t ocl_local_memory(cl_device_id device);

/* fail() unless bytes fit in the device's constant memory. */
void ocl_fit_constant(cl_device_id device, size_t bytes);

/* Builds ocl_source with options. If it does not build, the compiler's log goes to
 * stderr, with the file and line of the kernel's own source, and fail() follows. */
cl_program ocl_build(cl_context context, cl_device_id device, const char *options);

/* kernel.cl of the step with its includes in place, embedded when the binary was made
 * (embed.awk), so that it needs no file when it runs. */
extern const char *const ocl_source[];
extern const size_t ocl_source_lines;

/* Seconds that the command of a finished event took on the device. */
double ocl_seconds(cl_event event);

/* What is to be added to this queue's device's seconds for seconds() of the host, and
 * when, by that, a finished event's command ran. The queue has
 * CL_QUEUE_PROFILING_ENABLE and is waited for. */
double ocl_clock(cl_command_queue queue);
void ocl_span(cl_event event, double clock, double *begin, double *end);

#endif
