/* cuda_device.cu - see cuda_device.h. */
#include "cuda_device.h"

#include <stdio.h>
#include <stdlib.h>

#include "run.h"

void cuda_check(cudaError_t err, const char *call, const char *file, int line)
{
    if (err != cudaSuccess)
        fail("%s:%d: %s: %s (%s)", file, line, call, cudaGetErrorName(err),
             cudaGetErrorString(err));
}

void cuda_device(void)
{
    int devices = 0, device = 0;
    cudaError_t err = cudaGetDeviceCount(&devices);
    if (err != cudaSuccess || devices == 0)
        fail("no CUDA device: %s", cudaGetErrorString(err));

    const char *wanted = getenv("DEVICE");
    int end = 0;
    if (wanted && sscanf(wanted, "%d%n", &device, &end) == 1 && !wanted[end]) {
        if (device < 0 || device >= devices)
            fail("DEVICE=%s: no such CUDA device, there are %d", wanted, devices);
    }
    CUDA_CHECK(cudaSetDevice(device));
    CUDA_CHECK(cudaFree(NULL));
}

double cuda_seconds(cudaEvent_t before, cudaEvent_t after)
{
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, before, after));
    return milliseconds * 1e-3;
}
