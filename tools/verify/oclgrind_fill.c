/* oclgrind_fill.c - implements clEnqueueFillBuffer() by clEnqueueWriteBuffer().
 *
 * Oclgrind treats memory that clEnqueueFillBuffer() has written as uninitialized. This
 * library is preloaded before Oclgrind's own, which handles all other calls.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern,
                           size_t pattern_size, size_t offset, size_t size,
                           cl_uint waits, const cl_event *wait, cl_event *event)
{
    char *filled = malloc(size ? size : 1);
    if (!filled) return CL_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i + pattern_size <= size; i += pattern_size)
        memcpy(filled + i, pattern, pattern_size);
    cl_int err = clEnqueueWriteBuffer(queue, buffer, CL_TRUE, offset, size, filled,
                                      waits, wait, event);
    free(filled);
    return err;
}
