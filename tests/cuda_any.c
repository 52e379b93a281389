/* cuda_any.c - tests __syncthreads_or of cuda_cpu.h: all threads of a block must get
 * the same, correct result in a long sequence of calls. test_cuda_cpu.py builds and
 * runs it.
 */
#include <stdio.h>

#include "cuda_device.h"

enum { CALLS = 60, BLOCKS = 7, THREADS_MAX = 48 };

static unsigned hash(unsigned a, unsigned b, unsigned c)
{
    unsigned h = a * 2654435761u ^ b * 40503u ^ c * 2246822519u;
    return (h ^ h >> 13) * 3266489917u >> 7;
}

/* The predicate of a thread: in a third of the calls it is 0 for all threads, in a
 * third it can be set for a single thread, and in a third for several. */
static int predicate(unsigned block, unsigned call, unsigned thread)
{
    unsigned kind = hash(block, call, 0) % 3;
    if (kind == 0) return 0;
    if (kind == 1) return hash(block, call, 1) % THREADS_MAX == thread ? 256 : 0;
    return hash(block, call, thread + 2) % 4 == 0;
}

__global__ void calls_many(int *results)
{
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    unsigned me = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    for (unsigned call = 0; call < CALLS; call++) {
        int any = __syncthreads_or(predicate(blockIdx.x, call, me));
        results[(blockIdx.x * CALLS + call) * threads + me] = any;
    }
}

/* Returns whether a result is wrong for blocks of this shape. */
static int fails_for(dim3 block)
{
    static int results[BLOCKS * CALLS * THREADS_MAX];
    unsigned threads = block.x * block.y * block.z;
    dim3 blocks = {BLOCKS, 1, 1};
    int *device;
    CUDA_CHECK(cudaMalloc((void **)&device, sizeof results));
    CUDA_LAUNCH(calls_many, blocks, block, 4, device);
    CUDA_CHECK(cudaMemcpy(results, device, sizeof results, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(device));
    for (unsigned b = 0; b < BLOCKS; b++)
        for (unsigned call = 0; call < CALLS; call++) {
            int any = 0;
            for (unsigned t = 0; t < threads; t++) any |= predicate(b, call, t) != 0;
            for (unsigned t = 0; t < threads; t++) {
                int result = results[(b * CALLS + call) * threads + t];
                if ((result != 0) == any) continue;
                printf(
                    "%u threads, block %u, call %u: thread %u gets %d: expected %d\n",
                    threads, b, call, t, result, any);
                return 1;
            }
        }
    return 0;
}

int main(void)
{
    dim3 shape[] = {{8, 3, 2}, {1, 1, 1}, {5, 1, 1}, {48, 1, 1}, {2, 1, 1}};
    int failed = 0;
    for (int i = 0; i < 5; i++) failed |= fails_for(shape[i]);
    return failed;
}
