/* cuda_any.c - __syncthreads_or of CUDA on the CPU: every thread of a block must be
 * told the same, call after call, however far ahead the first of them runs.
 * sandpile_test.py builds it.
 */
#include <sched.h>
#include <stdio.h>

#include "cuda_device.h"

enum { CALLS = 60, BLOCKS = 7, MOST = 48 };

static unsigned hash(unsigned a, unsigned b, unsigned c)
{
    unsigned h = a * 2654435761u ^ b * 40503u ^ c * 2246822519u;
    return (h ^ h >> 13) * 3266489917u >> 7;
}

/* Some calls are nobody's, some one thread's, some several threads'. */
static int says(unsigned block, unsigned call, unsigned thread)
{
    unsigned kind = hash(block, call, 0) % 3;
    if (kind == 0) return 0;
    if (kind == 1) return hash(block, call, 1) % MOST == thread ? 256 : 0;
    return hash(block, call, thread + 2) % 4 == 0;
}

__global__ void asks(int *told)
{
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    unsigned me = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    for (unsigned call = 0; call < CALLS; call++) {
        if (hash(me, call, blockIdx.x) % 5 == 0) sched_yield();
        int any = __syncthreads_or(says(blockIdx.x, call, me));
        told[(blockIdx.x * CALLS + call) * threads + me] = any;
    }
}

static int wrong(dim3 block)
{
    static int told[BLOCKS * CALLS * MOST];
    unsigned threads = block.x * block.y * block.z;
    dim3 blocks = {BLOCKS, 1, 1};
    CUDA_LAUNCH(asks, blocks, block, 4, told);
    for (unsigned b = 0; b < BLOCKS; b++)
        for (unsigned call = 0; call < CALLS; call++) {
            int any = 0;
            for (unsigned t = 0; t < threads; t++) any |= says(b, call, t) != 0;
            for (unsigned t = 0; t < threads; t++) {
                int said = told[(b * CALLS + call) * threads + t];
                if ((said != 0) == any) continue;
                printf("%u threads, block %u, call %u: thread %u is told %d\n", threads,
                       b, call, t, said);
                return 1;
            }
        }
    return 0;
}

int main(void)
{
    dim3 shape[] = {{8, 3, 2}, {1, 1, 1}, {5, 1, 1}, {48, 1, 1}, {2, 1, 1}};
    int failed = 0;
    for (int i = 0; i < 5; i++) failed |= wrong(shape[i]);
    return failed;
}
