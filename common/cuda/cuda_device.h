/* cuda_device.h - CUDA's chores: choosing a device, naming errors, and the two words
 * that make one cuda.cu both CUDA C for nvcc and C for gcc (see cuda_cpu.h).
 */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#ifdef __CUDACC__
#include <cuda_runtime.h>

/* kernel<<<grid, block, shared bytes>>>(arguments) */
#define CUDA_LAUNCH(kernel, grid, block, shared, ...)                                  \
    kernel<<<(grid), (block), (shared)>>>(__VA_ARGS__)

/* The shared memory of a block, whose size the launch gives. */
#define CUDA_SHARED(type, name) extern __shared__ type name[]

#else
#include "cuda_cpu.h"
#endif

/* Shared memory that a block may have on any device without asking for more. */
#define CUDA_SHARED_BYTES (48 * 1024)

#ifdef __cplusplus
extern "C" {
#endif

/* Ends the program unless call returns cudaSuccess: file, line, call and error name. */
#define CUDA_CHECK(call) cuda_check((call), #call, __FILE__, __LINE__)
void cuda_check(cudaError_t err, const char *call, const char *file, int line);

/* Selects the device that DEVICE numbers, or the first; fail() if there is none. The
 * context is made here, so that initialisation pays for it and no kernel does. */
void cuda_device(void);

/* Seconds between two recorded events, the second of which has come to pass. */
double cuda_seconds(cudaEvent_t before, cudaEvent_t after);

#ifdef __cplusplus
}
#endif

#endif
