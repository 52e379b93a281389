/* cuda_device.h - selects a CUDA device, names errors, and defines the two macros with
 * which one cuda.cu compiles as CUDA C with nvcc and as C with gcc (see cuda_cpu.h).
 */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cuda_runtime.h>

/* kernel<<<grid, block, shared bytes>>>(arguments) */
#define CUDA_LAUNCH(kernel, grid, block, shared, ...)                                  \
    kernel<<<(grid), (block), (shared)>>>(__VA_ARGS__)

/* The same as a cooperative launch: all blocks are on the device at the same time, so
 * that they can wait for each other. It fails if they do not fit. */
#define CUDA_LAUNCH_TOGETHER(kernel, grid, block, shared, ...)                         \
    do {                                                                               \
        cudaLaunchAttribute together_;                                                 \
        together_.id = cudaLaunchAttributeCooperative;                                 \
        together_.val.cooperative = 1;                                                 \
        cudaLaunchConfig_t config_ = {(grid), (block), (shared), 0, &together_, 1};    \
        (void)cudaLaunchKernelEx(&config_, kernel, __VA_ARGS__);                       \
    } while (0)

/* Waits until all threads of a cooperative launch have reached this line. What they
 * wrote before can then be read by all. */
#define CUDA_GRID_SYNC() cooperative_groups::this_grid().sync()

/* The shared memory of a block; the launch specifies its size. */
#define CUDA_SHARED(type, name) extern __shared__ type name[]

#else
#include "cuda_cpu.h"
#endif

/* Shared memory that a block can use on every device without an opt-in. */
#define CUDA_SHARED_BYTES (48 * 1024)

/* Number of blocks that a grid can have along y, and along z. */
#define CUDA_GRID_YZ_MAX 65535

#ifdef __cplusplus
extern "C" {
#endif

/* Unless call returns cudaSuccess, fail() with file, line, call and error name. */
#define CUDA_CHECK(call) cuda_check((call), #call, __FILE__, __LINE__)
void cuda_check(cudaError_t err, const char *call, const char *file, int line);

/* Selects the device whose number is in the environment variable DEVICE, or the first;
 * fail() if there is none. Creates the context, so that this time counts as
 * initialization. */
void cuda_device(void);

/* Returns the number of the device's multiprocessors. */
int cuda_multiprocessors(void);

/* Returns the number of threads that the device holds at a time: those of all its
 * multiprocessors. A launch of fewer threads leaves some of it idle. */
int cuda_threads_at_once(void);

/* Returns the bytes of the device's L2 cache, which all multiprocessors share. */
long cuda_l2_cache(void);

/* Page-locks the host memory [memory, memory + bytes), so that copies from and to it
 * need no second copy by the host. If the system refuses, which is no error, copies are
 * only slower. Call cuda_unpin() before the memory is freed. */
void cuda_pin(void *memory, size_t bytes);
void cuda_unpin(void *memory);

/* fail() if a grid has more blocks along y or z than CUDA permits. */
void cuda_check_grid(dim3 grid);

/* Seconds between two recorded events, the second of which has completed. */
double cuda_seconds(cudaEvent_t before, cudaEvent_t after);

#ifdef __cplusplus
}
#endif

#endif
