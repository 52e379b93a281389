/* opencl_guard.c - a library that is preloaded to find wrong accesses of OpenCL kernels
 * on a CPU, whose memory AddressSanitizer does not check.
 *
 * A buffer ends at a page that cannot be accessed, and another such page is before it.
 * A buffer without initial values is filled with NaN. Two environment variables replace
 * what the device reports: OPENCL_LANES its vector width, in floats, and
 * OPENCL_UNIFIED=0 that it shares the memory of the host. Without shared memory,
 * programs copy.
 *
 * Left out: shared virtual memory, and buffers for which the program passes the memory,
 * as it does where memory is shared.
 */
#define _GNU_SOURCE              /* RTLD_NEXT */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
    char *pages;
    size_t bytes;
} mapping;

static void CL_CALLBACK release(cl_mem buffer, void *data)
{
    (void)buffer;
    mapping *m = data;
    munmap(m->pages, m->bytes);
    free(m);
}

/* Returns the function `name` of the OpenCL library, which this library replaces. */
static void *original(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                      cl_int *err)
{
    cl_mem (*create)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
    *(void **)&create = original("clCreateBuffer");
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (size + page - 1) / page * page;
    mapping *m = size && !(flags & CL_MEM_USE_HOST_PTR) ? malloc(sizeof *m) : NULL;
    if (!m) return create(context, flags, size, host, err);
    *m = (mapping){NULL, used + 2 * page};
    m->pages = mmap(NULL, m->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m->pages == MAP_FAILED ||
        mprotect(m->pages + page, used, PROT_READ | PROT_WRITE))
        abort();
    char *start = m->pages + page + used - size;
    if (flags & CL_MEM_COPY_HOST_PTR)
        memcpy(start, host, size);
    else
        memset(start, 0xff, size);
    flags &= ~(cl_mem_flags)(CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR);
    cl_mem buffer = create(context, flags | CL_MEM_USE_HOST_PTR, size, start, err);
    if (!buffer)
        release(NULL, m);
    else if (clSetMemObjectDestructorCallback(buffer, release, m))
        abort();
    return buffer;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size,
                       void *value, size_t *needed)
{
    cl_int (*get)(cl_device_id, cl_device_info, size_t, void *, size_t *);
    *(void **)&get = original("clGetDeviceInfo");
    const char *lanes = getenv("OPENCL_LANES");
    cl_int err = get(device, what, size, value, needed);
    const char *unified = getenv("OPENCL_UNIFIED");
    if (!err && value && unified && what == CL_DEVICE_HOST_UNIFIED_MEMORY)
        *(cl_bool *)value = (cl_bool)atoi(unified);
    if (err || !lanes || !value) return err;
    cl_uint width = (cl_uint)atoi(lanes);
    if (what == CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT ||
        what == CL_DEVICE_NATIVE_VECTOR_WIDTH_INT)
        *(cl_uint *)value = width;
    if (what == CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE)
        *(cl_uint *)value = width > 1 ? width / 2 : 1;
    return err;
}
