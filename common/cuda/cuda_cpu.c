/* cuda_cpu.c - implements cuda_cpu.h. */
#define _POSIX_C_SOURCE 200809L /* barriers */
#include "cuda_cpu.h"

#include <omp.h>
#include <pthread.h>

#include "run.h"

_Thread_local dim3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

enum {
    TEAMS_MAX = 64,
    BLOCK_THREADS_MAX = 1024, /* CUDA's limit */
    SHARED_MAX = 48 * 1024    /* bytes per block, CUDA's limit without an opt-in */
};

/* The threads that run one block at a time. */
typedef struct {
    pthread_barrier_t barrier;
    void *shared[2]; /* shared memory of the current and the next block, alternating */
    int any[3];      /* results of cuda_cpu_barrier_or, rotating */
} team;

static team teams[TEAMS_MAX];
static unsigned team_count, threads; /* threads per block */
static size_t blocks, shared_bytes;

/* State of the calling thread. */
static _Thread_local team *own_team;
static _Thread_local void *block_shared; /* shared memory of its current block */
static _Thread_local int any_index;      /* the next element of any[] */

/* Order of the blocks of this launch: block (first + i step) mod blocks is at position
 * i; step and blocks are coprime. */
static size_t first, step;

static unsigned long environment_number(const char *name, unsigned long fallback,
                                        unsigned long max)
{
    const char *text = getenv(name);
    if (!text || !*text) return fallback;
    return (unsigned long)parse_double(name, text, 1, (double)max);
}

/* Marsaglia's xorshift64 generator. */
static uint64_t random_next(void)
{
    static uint64_t state;
    if (!state)
        state = environment_number("CUDA_CPU_SEED", 1, UINT32_MAX) << 20 | 88172645;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static size_t greatest_common_divisor(size_t a, size_t b)
{
    return b ? greatest_common_divisor(b, a % b) : a;
}

static void shuffle(void)
{
    first = blocks ? random_next() % blocks : 0;
    do step = blocks ? random_next() % blocks : 1;
    while (blocks > 1 && greatest_common_divisor(step, blocks) != 1);
}

unsigned cuda_cpu_begin(dim3 grid, dim3 block, size_t shared)
{
    gridDim = grid;
    blockDim = block;
    blocks = (size_t)grid.x * grid.y * grid.z;
    threads = block.x * block.y * block.z;
    shared_bytes = shared;
    if (threads < 1 || threads > BLOCK_THREADS_MAX || shared > SHARED_MAX)
        fail(
            "kernel launch: %u threads per block, %zu bytes of shared memory: expected "
            "1 to %d threads and at most %d bytes",
            threads, shared, BLOCK_THREADS_MAX, SHARED_MAX);
    team_count = (unsigned)environment_number("CUDA_CPU_BLOCKS", threads > 32 ? 1 : 2,
                                              TEAMS_MAX);
    for (unsigned g = 0; g < team_count; g++) {
        if (pthread_barrier_init(&teams[g].barrier, NULL, threads))
            fail("barrier of %u threads: not enough memory", threads);
        for (int i = 0; i < 2; i++)
            teams[g].shared[i] = allocate(shared, 1, "shared memory");
        memset(teams[g].any, 0, sizeof teams[g].any);
    }
    shuffle();
    omp_set_dynamic(0);
    omp_set_max_active_levels(omp_get_level() + 1);
    return team_count * threads;
}

void cuda_cpu_end(void)
{
    for (unsigned g = 0; g < team_count; g++) {
        pthread_barrier_destroy(&teams[g].barrier);
        for (int i = 0; i < 2; i++) free(teams[g].shared[i]);
    }
}

int cuda_cpu_next_block(size_t turn)
{
    unsigned thread = (unsigned)omp_get_thread_num();
    if ((unsigned)omp_get_num_threads() != team_count * threads)
        fail("%d OpenMP threads: expected %u (is OMP_THREAD_LIMIT set?)",
             omp_get_num_threads(), team_count * threads);
    size_t position = turn * team_count + thread / threads;
    own_team = &teams[thread / threads];
    thread %= threads;
    if (turn == 0) any_index = 0;
    if (position >= blocks) return 0;
    size_t block = (first + position % blocks * step) % blocks;
    threadIdx.x = thread % blockDim.x;
    threadIdx.y = thread / blockDim.x % blockDim.y;
    threadIdx.z = thread / blockDim.x / blockDim.y;
    blockIdx.x = (unsigned)(block % gridDim.x);
    blockIdx.y = (unsigned)(block / gridDim.x % gridDim.y);
    blockIdx.z = (unsigned)(block / gridDim.x / gridDim.y);

    /* After this barrier all threads have left the previous block: fill its shared
     * memory with NaN, for the block after the current one. */
    if (shared_bytes) {
        cuda_cpu_barrier();
        if (thread == 0) memset(own_team->shared[(turn + 1) % 2], 0xff, shared_bytes);
    }
    block_shared = own_team->shared[turn % 2];
    return 1;
}

void *cuda_cpu_shared(void)
{
    return block_shared;
}

/* A block of one thread needs no barrier. */
void cuda_cpu_barrier(void)
{
    if (threads > 1) pthread_barrier_wait(&own_team->barrier);
}

/* After the barrier, all threads have contributed to the current result. A fast thread
 * may already write the next result, but not the one after that, because this takes a
 * further barrier. So three results suffice, and the one after the next can be reset.
 */
int cuda_cpu_barrier_or(int predicate)
{
    if (threads == 1) return predicate != 0;
    int *current = &own_team->any[any_index],
        *after_next = &own_team->any[(any_index + 2) % 3];
    any_index = (any_index + 1) % 3;

    if (predicate) __atomic_store_n(current, 1, __ATOMIC_RELAXED);
    cuda_cpu_barrier();
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0)
        __atomic_store_n(after_next, 0, __ATOMIC_RELAXED);
    return __atomic_load_n(current, __ATOMIC_RELAXED);
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

/* The device has two multiprocessors, so that code for more than one is run. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int device)
{
    (void)what;
    (void)device;
    *value = 2;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    *total = (size_t)memory_limit();
    *available = *total / 2; /* the host's copies need the rest */
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
