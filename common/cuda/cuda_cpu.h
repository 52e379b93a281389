/* cuda_cpu.h - the part of CUDA that the steps use, on the CPU: checks kernels without
 * a GPU. What CUDA leaves undefined, or a GPU only may do, happens here or is an error.
 *
 *   threads   The threads of a block are coroutines. Between two barriers they run one
 *             after the other, in another order each time. It is an error if only some
 *             threads of a block reach a barrier, or two threads reach different ones.
 *   blocks    Blocks run concurrently, in another order in each launch. Those of a
 *             cooperative launch run one after the other between two barriers of the
 *             grid. It is an error if only some of them reach such a barrier.
 *   shared    The shared memory of a block holds NaN at first. It ends at a page that
 *             cannot be accessed.
 *   device    Device memory holds NaN at first. It lies between pages that cannot be
 *             accessed, and can be accessed only while a kernel or a copy runs. Its end
 *             is exact, so that memory for an odd number of bytes is not aligned.
 *   host      A kernel argument that is a pointer must point to device memory or to
 *             memory from cudaMallocHost or cudaHostRegister.
 *   constant  Host code that reads a __constant__ variable reads NaN.
 *   stream    Kernels, cudaMemset and asynchronous copies from or to page-locked memory
 *             run when they are enqueued, or as late as CUDA allows: when the host
 *             waits for them, or has asked often enough whether they have completed.
 *   limits    Those of compute capability 7.5, as listed in cuda_cpu.c.
 *   errors    The results of calls and of cudaGetLastError are those of CUDA.
 *
 * ThreadSanitizer detects races between the threads of a block and between blocks.
 *
 * Environment variables:
 *   CUDA_CPU_SEED    1 .. 4294967295, default 1: selects all orders. Commands are late
 *                    if the remainder of a division by 3 is 1, drawn at random if it is
 *                    2, and immediate if it is 0.
 *   CUDA_CPU_BLOCKS  1 .. 64: number of blocks that run at the same time, by default
 *                    the number of processors, but 2 to 16.
 *
 * A single thread of a parallel region may call these functions.
 *
 * Left out: warps and shuffles, streams but one, textures, limits on registers.
 */
#ifndef CUDA_CPU_H
#define CUDA_CPU_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define __global__ static
#define __device__
#define __host__
#define __constant__ static __attribute__((section("cuda_constant")))

typedef struct {
    unsigned x, y, z;
} dim3;

extern _Thread_local dim3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

#define CUDA_CPU_TEXT(line)       #line
#define CUDA_CPU_LINE(file, line) file ":" CUDA_CPU_TEXT(line)
#define __syncthreads()           (void)__syncthreads_or(0)
#define __syncthreads_or(predicate)                                                    \
    cuda_cpu_barrier(CUDA_CPU_LINE(__FILE__, __LINE__), predicate)

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

/* A barrier for the threads of a block, called in that line of the source. Returns the
 * same value to all of them: 1 if at least one predicate is not 0. */
int cuda_cpu_barrier(const char *line, int predicate);
/* A barrier for all threads of a cooperative launch, called in that line. */
void cuda_cpu_grid_barrier(const char *line);
#define CUDA_GRID_SYNC() cuda_cpu_grid_barrier(CUDA_CPU_LINE(__FILE__, __LINE__))
/* The shared memory of the current block. */
void *cuda_cpu_shared(void);
#define CUDA_SHARED(type, name) type *name = (type *)cuda_cpu_shared()

/* A kernel with a copy of its arguments: run(arguments) calls it. `values` points to
 * the arguments, whose kinds are those of __builtin_classify_type. */
typedef struct {
    const char *name;
    void (*run)(void *);
    const void *arguments;
    size_t size;
    struct {
        int kind;
        const void *value;
    } values[16];
} cuda_cpu_kernel;

/* Enqueues a kernel, or sets the error that cudaGetLastError returns. `together`: its
 * blocks may wait for each other, so all must fit on the device at the same time. */
void cuda_cpu_launch(const cuda_cpu_kernel *kernel, dim3 grid, dim3 block,
                     size_t shared, int together);
#define cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared) \
    ((void)(kernel), cuda_cpu_blocks_at_once(blocks, threads, shared))

/* m(n, argument) for each of up to 16 arguments, separated by s(). */
#define CUDA_CPU_EACH(m, s, ...)                                                       \
    CUDA_CPU_17TH(__VA_ARGS__, CUDA_16, CUDA_15, CUDA_14, CUDA_13, CUDA_12, CUDA_11,   \
                  CUDA_10, CUDA_9, CUDA_8, CUDA_7, CUDA_6, CUDA_5, CUDA_4, CUDA_3,     \
                  CUDA_2, CUDA_1, )                                                    \
    (m, s, __VA_ARGS__)

#define CUDA_CPU_17TH(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, ...) q

#define CUDA_1(m, s, a)       m(1, a)
#define CUDA_2(m, s, a, ...)  m(2, a) s() CUDA_1(m, s, __VA_ARGS__)
#define CUDA_3(m, s, a, ...)  m(3, a) s() CUDA_2(m, s, __VA_ARGS__)
#define CUDA_4(m, s, a, ...)  m(4, a) s() CUDA_3(m, s, __VA_ARGS__)
#define CUDA_5(m, s, a, ...)  m(5, a) s() CUDA_4(m, s, __VA_ARGS__)
#define CUDA_6(m, s, a, ...)  m(6, a) s() CUDA_5(m, s, __VA_ARGS__)
#define CUDA_7(m, s, a, ...)  m(7, a) s() CUDA_6(m, s, __VA_ARGS__)
#define CUDA_8(m, s, a, ...)  m(8, a) s() CUDA_7(m, s, __VA_ARGS__)
#define CUDA_9(m, s, a, ...)  m(9, a) s() CUDA_8(m, s, __VA_ARGS__)
#define CUDA_10(m, s, a, ...) m(10, a) s() CUDA_9(m, s, __VA_ARGS__)
#define CUDA_11(m, s, a, ...) m(11, a) s() CUDA_10(m, s, __VA_ARGS__)
#define CUDA_12(m, s, a, ...) m(12, a) s() CUDA_11(m, s, __VA_ARGS__)
#define CUDA_13(m, s, a, ...) m(13, a) s() CUDA_12(m, s, __VA_ARGS__)
#define CUDA_14(m, s, a, ...) m(14, a) s() CUDA_13(m, s, __VA_ARGS__)
#define CUDA_15(m, s, a, ...) m(15, a) s() CUDA_14(m, s, __VA_ARGS__)
#define CUDA_16(m, s, a, ...) m(16, a) s() CUDA_15(m, s, __VA_ARGS__)

#define CUDA_CPU_COMMA()      ,
#define CUDA_CPU_SEMICOLON()  ;
#define CUDA_CPU_COPY(n, a)   __auto_type argument_##n = (a)
#define CUDA_CPU_MEMBER(n, a) __typeof__(argument_##n) member_##n
#define CUDA_CPU_NAME(n, a)   argument_##n
#define CUDA_CPU_PASS(n, a)   arguments_->member_##n

#define CUDA_CPU_VALUE(n, a)                                                           \
    {                                                                                  \
        __builtin_classify_type(argument_##n), &argument_##n                           \
    }

/* A kernel may run after the function that launches it has returned. So the launch
 * copies the arguments, and a nested function, or a block in clang (-fblocks), passes
 * them to the kernel. */
#ifdef __BLOCKS__
/* The beginning of a block, as its binary interface defines it; what the block captures
 * comes after it. */
typedef struct {
    void *isa;
    int flags, reserved;
    void (*run)(void *);
    struct {
        unsigned long reserved, size;
    } * descriptor;
} cuda_cpu_block;
#define CUDA_CPU_KERNEL(kernel, ...)                                                   \
    struct arguments_ copy_ = values_;                                                 \
    void (^run_)(void) = ^{                                                            \
      const struct arguments_ *arguments_ = &copy_;                                    \
      kernel(CUDA_CPU_EACH(CUDA_CPU_PASS, CUDA_CPU_COMMA, __VA_ARGS__));               \
    };                                                                                 \
    const cuda_cpu_block *literal_ = (const cuda_cpu_block *)(const void *)run_;       \
    cuda_cpu_kernel kernel_ = {                                                        \
        #kernel,                                                                       \
        literal_->run,                                                                 \
        literal_,                                                                      \
        literal_->descriptor->size,                                                    \
        {CUDA_CPU_EACH(CUDA_CPU_VALUE, CUDA_CPU_COMMA, __VA_ARGS__)}}
#else
#define CUDA_CPU_KERNEL(kernel, ...)                                                   \
    auto void run_(void *);                                                            \
    void run_(void *copy_)                                                             \
    {                                                                                  \
        const struct arguments_ *arguments_ = (const struct arguments_ *)copy_;        \
        kernel(CUDA_CPU_EACH(CUDA_CPU_PASS, CUDA_CPU_COMMA, __VA_ARGS__));             \
    }                                                                                  \
    cuda_cpu_kernel kernel_ = {                                                        \
        #kernel,                                                                       \
        run_,                                                                          \
        &values_,                                                                      \
        sizeof values_,                                                                \
        {CUDA_CPU_EACH(CUDA_CPU_VALUE, CUDA_CPU_COMMA, __VA_ARGS__)}}
#endif

#define CUDA_LAUNCH(kernel, grid, block, shared, ...)                                  \
    CUDA_CPU_LAUNCH(0, kernel, grid, block, shared, __VA_ARGS__)
#define CUDA_LAUNCH_TOGETHER(kernel, grid, block, shared, ...)                         \
    CUDA_CPU_LAUNCH(1, kernel, grid, block, shared, __VA_ARGS__)
#define CUDA_CPU_LAUNCH(together, kernel, grid, block, shared, ...)                    \
    do {                                                                               \
        CUDA_CPU_EACH(CUDA_CPU_COPY, CUDA_CPU_SEMICOLON, __VA_ARGS__);                 \
        struct arguments_ {                                                            \
            CUDA_CPU_EACH(CUDA_CPU_MEMBER, CUDA_CPU_SEMICOLON, __VA_ARGS__);           \
        } values_ = {CUDA_CPU_EACH(CUDA_CPU_NAME, CUDA_CPU_COMMA, __VA_ARGS__)};       \
        CUDA_CPU_KERNEL(kernel, __VA_ARGS__);                                          \
        cuda_cpu_launch(&kernel_, grid, block, shared, together);                      \
    } while (0)

/* The functions of the CUDA runtime that the steps call, and their errors: name, CUDA's
 * number, text. */
#define CUDA_CPU_ERRORS(error)                                                         \
    error(cudaSuccess, 0, "no error") error(cudaErrorInvalidValue, 1,                  \
                                            "invalid argument")                        \
        error(cudaErrorMemoryAllocation, 2, "out of memory") error(                    \
            cudaErrorInvalidConfiguration, 9,                                          \
            "invalid configuration argument") error(cudaErrorInvalidPitchValue, 12,    \
                                                    "invalid pitch argument")          \
            error(cudaErrorInvalidSymbol, 13, "invalid device symbol") error(          \
                cudaErrorInvalidDevice, 101,                                           \
                "invalid device ordinal") error(cudaErrorInvalidResourceHandle, 400,   \
                                                "invalid resource handle")             \
                error(cudaErrorNotReady, 600, "device not ready") error(               \
                    cudaErrorIllegalAddress, 700,                                      \
                    "an illegal memory access was encountered")                        \
                    error(                                                             \
                        cudaErrorHostMemoryAlreadyRegistered, 712,                     \
                        "part or all of the requested memory range is already mapped") \
                        error(cudaErrorHostMemoryNotRegistered, 713,                   \
                              "pointer does not correspond to a registered memory "    \
                              "region") error(cudaErrorCooperativeLaunchTooLarge, 720, \
                                              "too many blocks in cooperative launch")
#define CUDA_CPU_ERROR(name, number, text) name = number,
typedef enum { CUDA_CPU_ERRORS(CUDA_CPU_ERROR) } cudaError_t;
typedef struct cuda_cpu_event *cudaEvent_t;
enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount,
    cudaDevAttrMaxThreadsPerMultiProcessor,
    cudaDevAttrL2CacheSize
};
enum cudaMemcpyKind {
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice
};
enum { cudaHostRegisterDefault };

cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *p);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind, int stream);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t bytes, size_t rows,
                              enum cudaMemcpyKind, int stream);
cudaError_t cudaMemset(void *p, int byte, size_t bytes);
#define cudaMemsetAsync(p, byte, bytes, stream)                                        \
    ((void)(stream), cudaMemset(p, byte, bytes))
#define cudaMemcpyToSymbol(symbol, from, bytes)                                        \
    cuda_cpu_copy_to_symbol(&(symbol), sizeof(symbol), from, bytes, 0, 1)
#define cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, stream)             \
    ((void)(kind), (void)(stream),                                                     \
     cuda_cpu_copy_to_symbol(&(symbol), sizeof(symbol), from, bytes, offset, 0))
cudaError_t cuda_cpu_copy_to_symbol(void *symbol, size_t size, const void *from,
                                    size_t bytes, size_t offset, int wait);
cudaError_t cuda_cpu_blocks_at_once(int *blocks, int threads, size_t shared);
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

#endif
