/* ocl_fail.c - simulates a device that runs out of resources (LD_PRELOAD): the kernel
 * launch with the number OCL_FAIL and all later ones fail. Without OCL_FAIL it prints
 * the number of launches on stderr.
 */
#define _GNU_SOURCE              /* RTLD_NEXT */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_long kernels;

__attribute__((destructor)) static void print_count(void)
{
    if (!getenv("OCL_FAIL") && kernels) fprintf(stderr, "kernels=%ld\n", kernels);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                              const size_t *offset, const size_t *global,
                              const size_t *local, cl_uint waits, const cl_event *wait,
                              cl_event *event)
{
    const char *first_failing = getenv("OCL_FAIL");
    long number = ++kernels;
    if (first_failing && number >= atol(first_failing)) return CL_OUT_OF_RESOURCES;
    cl_int (*real)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                   const size_t *, cl_uint, const cl_event *, cl_event *);
    void *found = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    memcpy(&real, &found, sizeof real);
    return real(queue, kernel, dims, offset, global, local, waits, wait, event);
}
