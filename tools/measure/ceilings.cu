/* ceilings.cu - measures the peak rates of this GPU; ceilings.c does so for the CPU.
 *
 *     ceilings-cuda           prints ceiling=value unit, one per line
 *
 * Measured are multiply-adds in registers, and reading data that fit into the
 * second-level cache and data that do not. Each kernel is timed several times with the
 * device's clock; the highest rate is printed. Each kernel returns a value that is
 * known in advance and checked.
 */
#include <stdint.h>
#include <stdlib.h>

#include "cuda_device.h"
#include "run.h"

enum { CHAINS = 16, BLOCK = 256, REPETITIONS = 10 };

/* Each thread counts to `passes` in CHAINS independent sums: x = x one + one. *wrong
 * counts the threads with a wrong sum. */
__global__ void count_by_fma(int passes, float one, unsigned *wrong)
{
    float x[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; c++) x[c] = 0;
#pragma unroll 4
    for (int n = 0; n < passes; n++) {
#pragma unroll
        for (int c = 0; c < CHAINS; c++) x[c] = fmaf(x[c], one, one);
    }
    float sum = 0;
#pragma unroll
    for (int c = 0; c < CHAINS; c++) sum += x[c];
    if (sum != (float)CHAINS * (float)passes) atomicAdd(wrong, 1u);
}

/* Loads 16 bytes, bypassing the first-level cache. volatile keeps the compiler from
 * removing repeated loads of the same bytes. */
__device__ static uint4 load(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

/* Adds all integers in v[vectors] `passes` times to *total, modulo 2^32. `vectors` must
 * be a multiple of four times the number of threads in the grid. */
__global__ void read_all(const uint4 *v, size_t vectors, int passes, unsigned *total)
{
    size_t threads = (size_t)gridDim.x * blockDim.x;
    size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    for (int n = 0; n < passes; n++)
        for (size_t i = first; i < vectors; i += 4 * threads) {
            uint4 a = load(v + i), b = load(v + i + threads);
            uint4 c = load(v + i + 2 * threads), d = load(v + i + 3 * threads);
            sum += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
            sum += c.x + c.y + c.z + c.w + d.x + d.y + d.z + d.w;
        }
    atomicAdd(total, sum);
}

__global__ void fill(unsigned *word, size_t words)
{
    size_t threads = (size_t)gridDim.x * blockDim.x;
    size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (size_t i = first; i < words; i += threads) word[i] = (unsigned)i;
}

/* Copies a value to the host and sets it to 0 on the device. */
static unsigned fetch_and_clear(unsigned *d_value)
{
    unsigned value = 0;
    CUDA_CHECK(cudaMemcpy(&value, d_value, sizeof value, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemset(d_value, 0, sizeof value));
    return value;
}

static double fma_rate(unsigned blocks, unsigned *d_value, cudaEvent_t before,
                       cudaEvent_t after)
{
    const int passes = 1 << 14; /* CHAINS * passes is exact in float */
    double highest = 0;
    for (int r = 0; r < REPETITIONS; r++) {
        CUDA_CHECK(cudaEventRecord(before, 0));
        CUDA_LAUNCH(count_by_fma, blocks, BLOCK, 0, passes, 1.0f, d_value);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(after, 0));
        CUDA_CHECK(cudaEventSynchronize(after));
        double rate =
            2.0 * CHAINS * passes * BLOCK * blocks / cuda_seconds(before, after);
        unsigned wrong = fetch_and_clear(d_value);
        if (wrong) fail("internal error: fma: %u threads computed a wrong sum", wrong);
        if (rate > highest) highest = rate;
    }
    return highest * 1e-9;
}

/* The rate of reading: data of at most `bytes`, repeated until `total` bytes are read.
 */
static double read_rate(size_t bytes, double total, unsigned blocks, unsigned *d_value,
                        cudaEvent_t before, cudaEvent_t after)
{
    size_t step = 4 * (size_t)blocks * BLOCK; /* vectors, see read_all */
    size_t vectors = bytes / sizeof(uint4) / step * step;
    if (!vectors) vectors = step;
    size_t words = 4 * vectors;
    int passes = (int)(total / (4.0 * (double)words)) + 1;

    uint4 *d_data;
    CUDA_CHECK(cudaMalloc((void **)&d_data, vectors * sizeof *d_data));
    CUDA_LAUNCH(fill, blocks, BLOCK, 0, (unsigned *)d_data, words);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());

    unsigned pass_sum = 0; /* 0 + 1 + .. + (words - 1), modulo 2^32 */
    for (size_t i = 0; i < words; i++) pass_sum += (unsigned)i;
    double highest = 0;
    for (int r = 0; r < REPETITIONS; r++) {
        CUDA_CHECK(cudaEventRecord(before, 0));
        CUDA_LAUNCH(read_all, blocks, BLOCK, 0, d_data, vectors, passes, d_value);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(after, 0));
        CUDA_CHECK(cudaEventSynchronize(after));
        double rate = 4.0 * (double)words * passes / cuda_seconds(before, after);
        if (fetch_and_clear(d_value) != pass_sum * (unsigned)passes)
            fail("internal error: reading %zu words: wrong sum", words);
        if (rate > highest) highest = rate;
    }
    CUDA_CHECK(cudaFree(d_data));
    return highest * 1e-9;
}

int main(void)
{
    run_name = "ceilings-cuda";
    cuda_device();
    int device = 0, processors = 0, l2 = 0;
    size_t unused = 0, memory = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    CUDA_CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
    CUDA_CHECK(cudaMemGetInfo(&unused, &memory));

    cudaEvent_t before, after;
    CUDA_CHECK(cudaEventCreate(&before));
    CUDA_CHECK(cudaEventCreate(&after));
    unsigned *d_value;
    CUDA_CHECK(cudaMalloc((void **)&d_value, sizeof *d_value));
    fetch_and_clear(d_value); /* sets it to 0 */

    unsigned blocks = 8 * (unsigned)processors;
    size_t beyond = l2 > 0 ? 16 * (size_t)l2 : (size_t)512 << 20;
    if (beyond < (size_t)512 << 20) beyond = (size_t)512 << 20;
    if (beyond > unused / 2) beyond = unused / 2;

    printf("fma=%.4g GFLOP/s\n", fma_rate(blocks, d_value, before, after));
    /* Fewer blocks: one step of all threads, 64 bytes each, must fit into the cache. */
    if (l2 > 0)
        printf("l2=%.4g GB/s\n",
               read_rate((size_t)l2 / 2, 8e9, blocks / 4, d_value, before, after));
    printf("dram=%.4g GB/s\n", read_rate(beyond, 4e9, blocks, d_value, before, after));

    cudaFree(d_value);
    cudaEventDestroy(after);
    cudaEventDestroy(before);
    return 0;
}
