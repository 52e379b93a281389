/* cuda_cpu.h - the part of CUDA that the steps use, on the CPU: checks kernels without
 * a GPU.
 *
 * Every CUDA thread is an OpenMP thread, so that __syncthreads() is a barrier and
 * ThreadSanitizer detects races. As on a GPU, blocks run concurrently and in no
 * particular order: each launch distributes them in another pseudorandom order over
 * CUDA_CPU_BLOCKS teams of threads (environment variable, 1 to 64; default 2, or 1 for
 * blocks of more than 32 threads). CUDA_CPU_SEED=1 .. selects another sequence of
 * orders. Shared memory is filled with NaN before each block, so that reading an
 * element that the block has not written is noticed. Device memory is host memory,
 * filled with NaN on allocation.
 *
 * A single thread of a parallel region may launch a kernel. Asynchronous calls complete
 * before they return.
 *
 * Left out: speed, streams, warps and shuffles, textures, and CUDA's limits on grids,
 * blocks and constant memory, except for 1024 threads and 48 KiB of shared memory per
 * block.
 */
#ifndef CUDA_CPU_H
#define CUDA_CPU_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define __global__ static
#define __device__
#define __host__
#define __constant__ static

typedef struct {
    unsigned x, y, z;
} dim3;

extern _Thread_local dim3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

#define __syncthreads()             cuda_cpu_barrier()
#define __syncthreads_or(predicate) cuda_cpu_barrier_or(predicate)

static inline unsigned atomicOr(unsigned *p, unsigned bits)
{
    return __atomic_fetch_or(p, bits, __ATOMIC_RELAXED);
}

static inline int atomicMax(int *p, int value)
{
    int old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (old < value && !__atomic_compare_exchange_n(
                              p, &old, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return old;
}

/* A barrier for the threads of a block. */
void cuda_cpu_barrier(void);
/* A barrier that returns the same value to all threads of the block: 1 if at least one
 * predicate is not 0. */
int cuda_cpu_barrier_or(int predicate);

/* Checks and sets gridDim and blockDim; returns the number of threads of all teams
 * together. */
unsigned cuda_cpu_begin(dim3 grid, dim3 block, size_t shared);
/* Sets blockIdx and threadIdx of the calling thread for block number `turn` of its
 * team, counted from 0; returns 0 if the team has no more blocks. All threads of a team
 * must call it: it may contain a barrier. */
int cuda_cpu_next_block(size_t turn);
void cuda_cpu_end(void);
void *cuda_cpu_shared(void);

#define CUDA_LAUNCH(kernel, grid, block, shared, ...)                                  \
    do {                                                                               \
        unsigned threads_ = cuda_cpu_begin(grid, block, shared);                       \
        _Pragma("omp parallel num_threads(threads_)") for (size_t turn_ = 0;           \
                                                           cuda_cpu_next_block(turn_); \
                                                           turn_++)                    \
            kernel(__VA_ARGS__);                                                       \
        cuda_cpu_end();                                                                \
    } while (0)

#define CUDA_SHARED(type, name) type *name = (type *)cuda_cpu_shared()

/* The functions of the CUDA runtime that the steps call. */
typedef enum { cudaSuccess, cudaErrorMemoryAllocation, cudaErrorNotReady } cudaError_t;
typedef double *cudaEvent_t;
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount };
enum cudaMemcpyKind {
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice
};

cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind);
enum { cudaHostRegisterDefault };
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *p);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t bytes, size_t rows,
                              enum cudaMemcpyKind, int stream);
cudaError_t cudaMemset(void *p, int byte, size_t bytes);
cudaError_t cudaGetDeviceCount(int *devices);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr, int device);
cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
cudaError_t cudaGetLastError(void);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventRecord(cudaEvent_t event, int stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t before, cudaEvent_t after);
const char *cudaGetErrorName(cudaError_t err);
const char *cudaGetErrorString(cudaError_t err);
#define cudaMallocHost(p, bytes) cudaMalloc(p, bytes)
#define cudaFreeHost(p)          cudaFree(p)
#define cudaMemcpyAsync(to, from, bytes, kind, stream)                                 \
    ((void)(stream), cudaMemcpy(to, from, bytes, kind))
#define cudaMemsetAsync(p, byte, bytes, stream)                                        \
    ((void)(stream), cudaMemset(p, byte, bytes))
#define cudaMemcpyToSymbol(symbol, from, bytes)                                        \
    (memcpy(&(symbol), from, bytes), cudaSuccess)
#define cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, stream)             \
    ((void)(kind), (void)(stream), memcpy((char *)&(symbol) + (offset), from, bytes),  \
     cudaSuccess)

#endif
