/* cuda_cpu.c - see cuda_cpu.h. */
#define _POSIX_C_SOURCE 200809L /* barriers */
#include "cuda_cpu.h"

#include <omp.h>
#include <pthread.h>
#include <unistd.h>

#include "run.h"

_Thread_local dim3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

enum { GROUPS = 64 };

/* The threads that run one block at a time. */
typedef struct {
    pthread_barrier_t barrier;
    void *shared[2]; /* of its blocks in turn */
    int found[3];    /* the answers of three calls of cuda_cpu_any in turn */
} group;

static group all[GROUPS];
static unsigned groups, threads; /* threads of a block */
static size_t blocks, shared_bytes;

static _Thread_local group *mine;
static _Thread_local void *here; /* the block's shared memory */
static _Thread_local int turn_of_any;

/* Of this launch: turn i is block (first + i step) mod blocks, step prime to blocks. */
static size_t first, step;

static unsigned long from_environment(const char *name, unsigned long otherwise,
                                      unsigned long most)
{
    const char *text = getenv(name);
    if (!text || !*text) return otherwise;
    return (unsigned long)parse_double(name, text, 1, (double)most);
}

/* Marsaglia's xorshift: any sequence will do that does not look like counting. */
static uint64_t draw(void)
{
    static uint64_t state;
    if (!state)
        state = from_environment("CUDA_CPU_SEED", 1, UINT32_MAX) << 20 | 88172645;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static size_t divisor(size_t a, size_t b)
{
    return b ? divisor(b, a % b) : a;
}

static void shuffle(void)
{
    first = blocks ? draw() % blocks : 0;
    do step = blocks ? draw() % blocks : 1;
    while (blocks > 1 && divisor(step, blocks) != 1);
}

unsigned cuda_cpu_begin(dim3 grid, dim3 block, size_t shared)
{
    gridDim = grid;
    blockDim = block;
    blocks = (size_t)grid.x * grid.y * grid.z;
    threads = block.x * block.y * block.z;
    shared_bytes = shared;
    if (threads < 1 || threads > 1024 || shared > 48 * 1024)
        fail("launch of %u threads a block with %zu shared bytes: expected 1 to 1024 "
             "and at most 48 KiB",
             threads, shared);
    groups =
        (unsigned)from_environment("CUDA_CPU_BLOCKS", threads > 32 ? 1 : 2, GROUPS);
    for (unsigned g = 0; g < groups; g++) {
        if (pthread_barrier_init(&all[g].barrier, NULL, threads))
            fail("a barrier of %u threads: out of memory", threads);
        for (int i = 0; i < 2; i++)
            all[g].shared[i] = allocate(shared, 1, "shared memory");
        memset(all[g].found, 0, sizeof all[g].found);
    }
    shuffle();
    omp_set_dynamic(0);
    omp_set_max_active_levels(omp_get_level() + 1);
    return groups * threads;
}

void cuda_cpu_end(void)
{
    for (unsigned g = 0; g < groups; g++) {
        pthread_barrier_destroy(&all[g].barrier);
        for (int i = 0; i < 2; i++) free(all[g].shared[i]);
    }
}

int cuda_cpu_enter(size_t turn)
{
    unsigned thread = (unsigned)omp_get_thread_num();
    if ((unsigned)omp_get_num_threads() != groups * threads)
        fail("%d threads instead of %u: is OMP_THREAD_LIMIT set?",
             omp_get_num_threads(), groups * threads);
    size_t at = turn * groups + thread / threads;
    mine = &all[thread / threads];
    thread %= threads;
    if (turn == 0) turn_of_any = 0;
    if (at >= blocks) return 0;
    size_t block = (first + at % blocks * step) % blocks;
    threadIdx.x = thread % blockDim.x;
    threadIdx.y = thread / blockDim.x % blockDim.y;
    threadIdx.z = thread / blockDim.x / blockDim.y;
    blockIdx.x = (unsigned)(block % gridDim.x);
    blockIdx.y = (unsigned)(block / gridDim.x % gridDim.y);
    blockIdx.z = (unsigned)(block / gridDim.x / gridDim.y);

    /* When all threads have left the block before, its shared memory becomes that of
     * the block after this one. */
    if (shared_bytes) {
        cuda_cpu_barrier();
        if (thread == 0) memset(mine->shared[(turn + 1) % 2], 0xff, shared_bytes);
    }
    here = mine->shared[turn % 2];
    return 1;
}

void *cuda_cpu_shared(void)
{
    return here;
}

/* A block of one waits for nobody. */
void cuda_cpu_barrier(void)
{
    if (threads > 1) pthread_barrier_wait(&mine->barrier);
}

/* After the barrier all have written this answer; some may have read it and be at the
 * next, but nobody is at the one after that before all have met again. */
int cuda_cpu_any(int wanted)
{
    if (threads == 1) return wanted != 0;
    int *now = &mine->found[turn_of_any],
        *after_next = &mine->found[(turn_of_any + 2) % 3];
    turn_of_any = (turn_of_any + 1) % 3;

    if (wanted) __atomic_store_n(now, 1, __ATOMIC_RELAXED);
    cuda_cpu_barrier();
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0)
        __atomic_store_n(after_next, 0, __ATOMIC_RELAXED);
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

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    return cudaMalloc(p, bytes);
}

cudaError_t cudaFreeHost(void *p)
{
    return cudaFree(p);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind kind, int stream)
{
    (void)stream;
    return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t bytes, size_t rows,
                              enum cudaMemcpyKind kind, int stream)
{
    (void)stream;
    for (size_t row = 0; row < rows; row++)
        cudaMemcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch,
                   bytes, kind);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags)
{
    (void)p, (void)bytes, (void)flags;
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *p)
{
    (void)p;
    return cudaSuccess;
}

cudaError_t cudaMemset(void *p, int byte, size_t bytes)
{
    memset(p, byte, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *p, int byte, size_t bytes, int stream)
{
    (void)stream;
    return cudaMemset(p, byte, bytes);
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
    **event = 0;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, int stream)
{
    (void)stream;
    *event = seconds();
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return *event > 0 ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return cudaEventQuery(event);
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
    return err == cudaErrorNotReady ? "cudaErrorNotReady"
           : err                    ? "cudaErrorMemoryAllocation"
                                    : "cudaSuccess";
}

const char *cudaGetErrorString(cudaError_t err)
{
    return err == cudaErrorNotReady ? "device not ready"
           : err                    ? "out of memory"
                                    : "no error";
}
