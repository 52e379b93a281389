/* ocl.c - implements ocl.h. */
#define _POSIX_C_SOURCE 200809L

#include "ocl.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

enum {
    DEVICES_MAX = 64,
    PLATFORM_NOT_FOUND = -1001 /* CL_PLATFORM_NOT_FOUND_KHR of cl_ext.h */
};

static const char *error_name(cl_int err)
{
#define NAME(code)                                                                     \
    case code:                                                                         \
        return #code;
    switch (err) {
        NAME(CL_DEVICE_NOT_FOUND)
        NAME(CL_DEVICE_NOT_AVAILABLE)
        NAME(CL_COMPILER_NOT_AVAILABLE)
        NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
        NAME(CL_OUT_OF_RESOURCES)
        NAME(CL_OUT_OF_HOST_MEMORY)
        NAME(CL_PROFILING_INFO_NOT_AVAILABLE)
        NAME(CL_BUILD_PROGRAM_FAILURE)
        NAME(CL_INVALID_VALUE)
        NAME(CL_INVALID_PLATFORM)
        NAME(CL_INVALID_DEVICE)
        NAME(CL_INVALID_CONTEXT)
        NAME(CL_INVALID_QUEUE_PROPERTIES)
        NAME(CL_INVALID_COMMAND_QUEUE)
        NAME(CL_INVALID_MEM_OBJECT)
        NAME(CL_INVALID_BUILD_OPTIONS)
        NAME(CL_INVALID_PROGRAM)
        NAME(CL_INVALID_PROGRAM_EXECUTABLE)
        NAME(CL_INVALID_KERNEL_NAME)
        NAME(CL_INVALID_KERNEL)
        NAME(CL_INVALID_ARG_INDEX)
        NAME(CL_INVALID_ARG_VALUE)
        NAME(CL_INVALID_ARG_SIZE)
        NAME(CL_INVALID_KERNEL_ARGS)
        NAME(CL_INVALID_WORK_DIMENSION)
        NAME(CL_INVALID_WORK_GROUP_SIZE)
        NAME(CL_INVALID_WORK_ITEM_SIZE)
        NAME(CL_INVALID_GLOBAL_OFFSET)
        NAME(CL_INVALID_EVENT_WAIT_LIST)
        NAME(CL_INVALID_OPERATION)
        NAME(CL_INVALID_BUFFER_SIZE)
        NAME(CL_INVALID_GLOBAL_WORK_SIZE)
    case PLATFORM_NOT_FOUND:
        return "CL_PLATFORM_NOT_FOUND_KHR";
    }
#undef NAME
    return "unknown error";
}

void ocl_check(cl_int err, const char *call, const char *file, int line)
{
    if (err != CL_SUCCESS)
        fail("%s:%d: %s: %s (%d)", file, line, call, error_name(err), err);
}

void ocl_args(const char *file, int line, cl_kernel kernel, ...)
{
    va_list arguments; /* size, address, size, address, .., 0 */
    va_start(arguments, kernel);
    size_t bytes;
    for (cl_uint i = 0; (bytes = va_arg(arguments, size_t)) > 0; i++)
        ocl_check(clSetKernelArg(kernel, i, bytes, va_arg(arguments, const void *)),
                  "clSetKernelArg", file, line);
    va_end(arguments);
}

/* Lists the devices of one type of a platform; returns their number, which may be 0. */
static cl_uint list_devices(cl_platform_id platform, cl_device_type type,
                            cl_device_id device[DEVICES_MAX])
{
    cl_uint n = 0;
    cl_int err = clGetDeviceIDs(platform, type, DEVICES_MAX, device, &n);
    if (err == CL_DEVICE_NOT_FOUND) return 0;
    OCL_CHECK(err);
    return n < DEVICES_MAX ? n : DEVICES_MAX;
}

/* Creates a folder and its parents, as PoCL would. Returns false with errno set. */
static bool make_folders(char *path)
{
    for (char *c = path + 1; *c; c++) {
        if (*c != '/') continue;
        *c = '\0';
        bool exists = mkdir(path, 0777) == 0 || errno == EEXIST;
        *c = '/';
        if (!exists) return false;
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/* Writes and removes a file of 64 KiB. Returns false with errno set. */
static bool can_write_in(const char *folder)
{
    static const char content[1 << 16];
    char path[4200];
    snprintf(path, sizeof path, "%s/XXXXXX", folder);
    int fd = mkstemp(path);
    if (fd < 0) return false;
    errno = ENOSPC; /* the reason if only a part is written */
    bool written = write(fd, content, sizeof content) == (ssize_t)sizeof content;
    int error = errno;
    close(fd);
    unlink(path);
    errno = error;
    return written;
}

/* Checks PoCL's cache folder, in which it compiles kernels. If the folder cannot be
 * written, PoCL reports no device or fails to compile, without the reason: this
 * function reports it with fail(). Does nothing for other platforms. */
static void check_pocl_cache(cl_platform_id platform)
{
    char name[256] = "", folder[4096];
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
    if (strcmp(name, "Portable Computing Language")) return;

    const char *set = getenv("POCL_CACHE_DIR"), *cache = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    const char *parent = set ? set : cache ? cache : home ? home : "/tmp";
    const char *rest = set              ? ""
                       : !cache && home ? "/.cache/pocl/kcache"
                                        : "/pocl/kcache";
    if (snprintf(folder, sizeof folder, "%s%s", parent, rest) >= (int)sizeof folder)
        fail("POCL_CACHE_DIR=%.100s...: too long: expected at most %zu characters",
             parent, sizeof folder - 1);
    if (make_folders(folder) && can_write_in(folder)) return;
    const char *reason = strerror(errno);
    if (set)
        fail("POCL_CACHE_DIR=%s: cannot be written: %s (PoCL compiles kernels there)",
             set, reason);
    fail("%s: cannot be written: %s (PoCL compiles kernels there; set POCL_CACHE_DIR "
         "for another folder)",
         folder, reason);
}

cl_device_id ocl_device(void)
{
    static const char no_platform[] =
        "no OpenCL platform: install one (Debian: pocl-opencl-icd for the CPU) or set "
        "OCL_ICD_VENDORS%s";
    cl_platform_id platform[DEVICES_MAX];
    cl_device_id device[DEVICES_MAX];
    cl_uint platforms = 0;
    cl_int err = clGetPlatformIDs(DEVICES_MAX, platform, &platforms);
    if (err == PLATFORM_NOT_FOUND || (err == CL_SUCCESS && platforms == 0))
        fail(no_platform, run_device_hint);
    OCL_CHECK(err);
    if (platforms > DEVICES_MAX) platforms = DEVICES_MAX;

    const char *selector = getenv("DEVICE");
    if (!selector) selector = "";
    char *colon, *end = NULL;
    long p = strtol(selector, &colon, 10),
         d = -1; /* strtol clamps a number that is too large */
    if (colon != selector && *colon == ':') d = strtol(colon + 1, &end, 10);
    if (end && end != colon + 1 && !*end) {
        if (p < 0 || p >= (long)platforms)
            fail("DEVICE=%s: no platform %.*s, there are %u%s", selector,
                 (int)(colon - selector), selector, platforms, run_device_hint);
        cl_uint n = list_devices(platform[p], CL_DEVICE_TYPE_ALL, device);
        if (!n) check_pocl_cache(platform[p]);
        if (d < 0 || d >= (long)n)
            fail("DEVICE=%s: no device %s, platform %ld has %u%s", selector, colon + 1,
                 p, n, run_device_hint);
        return device[d];
    }

    static const struct {
        const char *name;
        cl_device_type type;
    } choice[] = {{"gpu", CL_DEVICE_TYPE_GPU},
                  {"cpu", CL_DEVICE_TYPE_CPU},
                  {"", CL_DEVICE_TYPE_GPU},
                  {"", CL_DEVICE_TYPE_ALL}};
    bool valid = false;
    for (size_t c = 0; c < sizeof choice / sizeof *choice; c++) {
        if (strcmp(selector, choice[c].name)) continue;
        valid = true;
        for (cl_uint i = 0; i < platforms; i++)
            if (list_devices(platform[i], choice[c].type, device)) return device[0];
    }
    for (cl_uint i = 0; i < platforms; i++)
        if (!list_devices(platform[i], CL_DEVICE_TYPE_ALL, device))
            check_pocl_cache(platform[i]);
    if (valid)
        fail("DEVICE=%s: no such device: `make devices` lists all%s", selector,
             run_device_hint);
    fail("DEVICE=%s: expected platform:device as in 0:1, gpu or cpu", selector);
}

static int remaining(int cores, int used)
{
    return cores > used ? cores - used : 1;
}

void ocl_limit_threads(int max_threads)
{
    char threads[16];
    snprintf(threads, sizeof threads, "%d", max_threads);
    setenv("POCL_MAX_PTHREAD_COUNT", threads, 0);
}

cl_device_id ocl_device_with_host(int host_threads, int cores, int *shares_cores)
{
    static cl_device_id part;
    int left = remaining(cores, host_threads);

    /* A sub-device would not suffice: PoCL wakes all its threads for every command,
     * also those outside the sub-device, on the cores of the host's threads. */
    ocl_limit_threads(left);
    cl_device_id device = ocl_device();
    cl_device_type type;
    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL));
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    *shares_cores = (type & CL_DEVICE_TYPE_CPU) != 0;
    if (!*shares_cores || (int)units <= left) return device;

    left = remaining((int)units, host_threads);
    const cl_device_partition_property counts[] = {
        CL_DEVICE_PARTITION_BY_COUNTS, left, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    if (!part && clCreateSubDevices(device, counts, 1, &part, NULL)) return device;
    return part;
}

/* The value of DEVICE_AS: 1 for gpu, 0 for cpu, -1 if it is not set. */
static int device_as(void)
{
    const char *as = getenv("DEVICE_AS");
    if (!as || !*as) return -1;
    if (strcmp(as, "gpu") && strcmp(as, "cpu"))
        fail("DEVICE_AS=%s: expected gpu or cpu", as);
    return *as == 'g';
}

int ocl_is_gpu(cl_device_id device)
{
    if (device_as() >= 0) return device_as();
    cl_device_type type;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL));
    return (type & CL_DEVICE_TYPE_GPU) != 0;
}

size_t ocl_items_at_once(cl_device_id device)
{
    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    return ocl_is_gpu(device) ? (size_t)units * 2048 : units;
}

size_t ocl_shared_cache(cl_device_id device)
{
    cl_device_type type;
    cl_ulong bytes;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL));
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof bytes,
                              &bytes, NULL));
    return type & CL_DEVICE_TYPE_GPU ? (size_t)bytes : (size_t)machine_l2_cache();
}

size_t ocl_group_limit(cl_device_id device)
{
    size_t limit;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof limit,
                              &limit, NULL));
    return limit;
}

size_t ocl_local_memory(cl_device_id device)
{
    cl_device_local_mem_type type;
    cl_ulong bytes;
    OCL_CHECK(
        clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_TYPE, sizeof type, &type, NULL));
    OCL_CHECK(
        clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof bytes, &bytes, NULL));
    bool dedicated = device_as() < 0 ? type == CL_LOCAL : device_as();
    return dedicated ? (size_t)bytes : 0;
}

void ocl_check_constant(cl_device_id device, size_t bytes)
{
    cl_ulong available;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE,
                              sizeof available, &available, NULL));
    if (bytes > available)
        fail("constant memory: too small for %zu bytes: this device has %llu", bytes,
             (unsigned long long)available);
}

cl_program ocl_build(cl_context context, cl_device_id device, const char *options)
{
    cl_int err;
    cl_program program = clCreateProgramWithSource(
        context, (cl_uint)ocl_source_lines, (const char **)ocl_source, NULL, &err);
    OCL_CHECK(err);
    err = clBuildProgram(program, 1, &device, options, NULL, NULL);
    if (err == CL_BUILD_PROGRAM_FAILURE) {
        cl_platform_id platform;
        OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform,
                                  &platform, NULL));
        check_pocl_cache(platform);

        size_t size = 0;
        OCL_CHECK(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                        &size));
        char *log = allocate(size + 1, 1, "the build log");
        OCL_CHECK(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size,
                                        log, NULL));
        log[size] = '\0';
        fprintf(stderr, "%s\n", log);
        free(log);
        fail("the kernel does not build with options %s: see the compiler's log above",
             options);
    }
    OCL_CHECK(err);
    return program;
}

static cl_ulong event_nanoseconds(cl_event event, cl_profiling_info moment)
{
    cl_ulong ns;
    OCL_CHECK(clGetEventProfilingInfo(event, moment, sizeof ns, &ns, NULL));
    return ns;
}

double ocl_seconds(cl_event event)
{
    return (double)(event_nanoseconds(event, CL_PROFILING_COMMAND_END) -
                    event_nanoseconds(event, CL_PROFILING_COMMAND_START)) *
           1e-9;
}

double ocl_clock_offset(cl_command_queue queue)
{
    /* A marker completes between two readings of the host's clock. The attempt with the
     * shortest interval between them has the smallest error. */
    enum { ATTEMPTS = 9 };
    double shortest = INFINITY, offset = 0;
    for (int i = 0; i < ATTEMPTS; i++) {
        cl_event marker;
        OCL_CHECK(clFinish(queue));
        double before = seconds();
        OCL_CHECK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker));
        OCL_CHECK(clWaitForEvents(1, &marker));
        double after = seconds();
        if (after - before < shortest) {
            shortest = after - before;
            offset = (before + after) / 2 -
                     (double)event_nanoseconds(marker, CL_PROFILING_COMMAND_END) * 1e-9;
        }
        OCL_CHECK(clReleaseEvent(marker));
    }
    return offset;
}

void ocl_event_span(cl_event event, double offset, double *begin, double *end)
{
    *begin =
        (double)event_nanoseconds(event, CL_PROFILING_COMMAND_START) * 1e-9 + offset;
    *end = (double)event_nanoseconds(event, CL_PROFILING_COMMAND_END) * 1e-9 + offset;
}
