/* cuda_cpu.c - see cuda_cpu.h. */
#include "cuda_cpu.h"

#include <omp.h>
#include <unistd.h>

#include "run.h"

_Thread_local dim3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
void *cuda_cpu_shared;

static size_t shared_bytes;

/* The answers of three calls of cuda_cpu_any in turn, and which is next. */
static int found[3];
static _Thread_local int turn;

unsigned cuda_cpu_threads(void)
{
    return blockDim.x * blockDim.y * blockDim.z;
}

size_t cuda_cpu_begin(dim3 grid, dim3 block, size_t shared)
{
    gridDim = grid;
    blockDim = block;
    shared_bytes = shared;
    if (cuda_cpu_threads() < 1 || cuda_cpu_threads() > 1024 || shared > 48 * 1024)
        fail("launch of %u threads a block with %zu shared bytes: expected 1 to 1024 "
             "and at most 48 KiB",
             cuda_cpu_threads(), shared);
    free(cuda_cpu_shared);
    cuda_cpu_shared = allocate(shared, 1, "shared memory");
    omp_set_dynamic(0);
    return (size_t)grid.x * grid.y * grid.z;
}

void cuda_cpu_enter(size_t block)
{
    unsigned thread = (unsigned)omp_get_thread_num();
    if ((unsigned)omp_get_num_threads() != cuda_cpu_threads())
        fail("%d threads instead of %u: is OMP_THREAD_LIMIT set?",
             omp_get_num_threads(), cuda_cpu_threads());
    threadIdx.x = thread % blockDim.x;
    threadIdx.y = thread / blockDim.x % blockDim.y;
    threadIdx.z = thread / blockDim.x / blockDim.y;
    blockIdx.x = (unsigned)(block % gridDim.x);
    blockIdx.y = (unsigned)(block / gridDim.x % gridDim.y);
    blockIdx.z = (unsigned)(block / gridDim.x / gridDim.y);
    turn = 0;

    /* A block of one waits for nobody; a barrier would call the system all the same. */
    if (cuda_cpu_threads() == 1) {
        memset(cuda_cpu_shared, 0xff, shared_bytes);
        return;
    }
    /* All threads have left the block before: its shared memory is free. */
#pragma omp barrier
    if (thread == 0) {
        memset(cuda_cpu_shared, 0xff, shared_bytes);
        memset(found, 0, sizeof found);
    }
#pragma omp barrier
}

/* After the barrier all have written this answer; some may have read it and be at the
 * next, but nobody is at the one after that before all have met again. */
int cuda_cpu_any(int wanted)
{
    if (cuda_cpu_threads() == 1) return wanted != 0;
    int *now = &found[turn], *after_next = &found[(turn + 2) % 3];
    turn = (turn + 1) % 3;

    if (wanted) __atomic_store_n(now, 1, __ATOMIC_RELAXED);
#pragma omp barrier
    if (omp_get_thread_num() == 0) __atomic_store_n(after_next, 0, __ATOMIC_RELAXED);
    return __atomic_load_n(now, __ATOMIC_RELAXED);
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    *p = allocate(bytes, 1, "device memory");
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    free(p);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       enum cudaMemcpyKind kind)
{
    (void)kind;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *p, int byte, size_t bytes)
{
    memset(p, byte, bytes);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *devices)
{
    *devices = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    (void)device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

/* A device of two units: enough to have more than one of something. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int device)
{
    (void)what;
    (void)device;
    *value = 2;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *room, size_t *all)
{
    *all = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    *room = *all / 2;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = (cudaEvent_t)allocate(1, sizeof **event, "an event");
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, int stream)
{
    (void)stream;
    *event = seconds();
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t before, cudaEvent_t after)
{
    *ms = (float)((*after - *before) * 1e3);
    return cudaSuccess;
}

const char *cudaGetErrorName(cudaError_t err)
{
    return err ? "cudaErrorMemoryAllocation" : "cudaSuccess";
}

const char *cudaGetErrorString(cudaError_t err)
{
    return err ? "out of memory" : "no error";
}
