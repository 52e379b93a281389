/* cuda_device.cu - implements cuda_device.h. */
#include "cuda_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

void cuda_check(cudaError_t err, const char *call, const char *file, int line)
{
    if (err != cudaSuccess)
        fail("%s:%d: %s: %s (%s)", file, line, call, cudaGetErrorName(err),
             cudaGetErrorString(err));
}

void cuda_device(void)
{
#ifdef __CUDACC__ /* or else a kernel is loaded at its first launch, in Time_run */
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
#endif
    int devices = 0;
    cudaError_t err = cudaGetDeviceCount(&devices);
    if (err != cudaSuccess || devices == 0)
        fail("no CUDA device: %s%s", cudaGetErrorString(err), run_device_hint);

    /* DEVICE may hold a value for OpenCL (gpu, cpu or platform:device): use the first.
     */
    const char *selector = getenv("DEVICE");
    bool number = selector && *selector && strcmp(selector, "gpu") &&
                  strcmp(selector, "cpu") && !strchr(selector, ':');
    char *end = NULL;
    long device = number ? strtol(selector, &end, 10) : 0; /* clamped if too large */
    if (number && (end == selector || *end))
        fail("DEVICE=%s: expected the number of a CUDA device, or gpu", selector);
    if (device < 0 || device >= devices)
        fail("DEVICE=%s: no such CUDA device, there are %d%s", selector, devices,
             run_device_hint);
    CUDA_CHECK(cudaSetDevice((int)device));
    CUDA_CHECK(cudaFree(NULL));
}

/* Returns an attribute of the selected device. */
static int attribute(enum cudaDeviceAttr which)
{
    int device, value;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
    return value;
}

int cuda_multiprocessors(void)
{
    return attribute(cudaDevAttrMultiProcessorCount);
}

int cuda_threads_at_once(void)
{
    return cuda_multiprocessors() * attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
}

long cuda_l2_cache(void)
{
    return attribute(cudaDevAttrL2CacheSize);
}

void cuda_pin(void *memory, size_t bytes)
{
    if (cudaHostRegister(memory, bytes, cudaHostRegisterDefault) != cudaSuccess)
        cudaGetLastError(); /* or else the next check of a launch would report it */
}

void cuda_unpin(void *memory)
{
    if (cudaHostUnregister(memory) != cudaSuccess) cudaGetLastError();
}

void cuda_check_grid(dim3 grid)
{
    if (grid.y > CUDA_GRID_YZ_MAX || grid.z > CUDA_GRID_YZ_MAX)
        fail("local: %u x %u blocks along y and z: expected at most %d along each, "
             "with more threads",
             grid.y, grid.z, CUDA_GRID_YZ_MAX);
}

double cuda_seconds(cudaEvent_t before, cudaEvent_t after)
{
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, before, after));
    return milliseconds * 1e-3;
}
