/* cuda_sort.h - sorts pairs of integers on the device: on a GPU by the radix sort of
 * NVIDIA's library CUB, on a CPU (cuda_cpu.h) by a kernel with one thread.
 */
#ifndef CUDA_SORT_H
#define CUDA_SORT_H

#include "cuda_device.h"

/* n pairs of a key and a value, on the device. keys[0] and values[0] are sorted into
 * keys[1] and values[1]; their own contents are lost. */
typedef struct {
    unsigned *keys[2], *values[2];
    int n, bits; /* keys are less than 2^bits */
    void *workspace;
    size_t workspace_bytes;
} device_pairs;

/* Sorts by key; pairs with equal keys keep their order. If workspace is NULL, nothing
 * is sorted: the call only stores in workspace_bytes how large it must be. */
static void sort_pairs(device_pairs *p);

#ifdef __CUDACC__
#include <cub/device/device_radix_sort.cuh>

static void sort_pairs(device_pairs *p)
{
    CUDA_CHECK(cub::DeviceRadixSort::SortPairs(p->workspace, p->workspace_bytes,
                                               p->keys[0], p->keys[1], p->values[0],
                                               p->values[1], p->n, 0, p->bits));
}

#else
/* Three counting sorts, each by 11 bits of the keys, beginning with the lowest. */
__global__ void sort_pairs_kernel(unsigned *keys0, unsigned *keys1, unsigned *values0,
                                  unsigned *values1, int n, int bits)
{
    enum { DIGITS = 1 << 11 };
    unsigned *keys[2] = {keys0, keys1}, *values[2] = {values0, values1};
    for (int pass = 0; pass < 3; pass++) {
        const unsigned *from = keys[pass % 2];
        int place[DIGITS + 1] = {0}, known = bits - 11 * pass;
        unsigned mask = known <= 0 ? 0 : known < 11 ? (1u << known) - 1 : DIGITS - 1;
#define DIGIT(key) ((key) >> (11 * pass) & mask)
        for (int i = 0; i < n; i++) place[DIGIT(from[i]) + 1]++;
        for (int d = 0; d < DIGITS; d++) place[d + 1] += place[d];
        for (int i = 0; i < n; i++) {
            int to = place[DIGIT(from[i])]++;
            keys[1 - pass % 2][to] = from[i];
            values[1 - pass % 2][to] = values[pass % 2][i];
        }
#undef DIGIT
    }
}

static void sort_pairs(device_pairs *p)
{
    const dim3 one = {1, 1, 1};
    p->workspace_bytes = 1;
    if (p->workspace)
        CUDA_LAUNCH(sort_pairs_kernel, one, one, 0, p->keys[0], p->keys[1],
                    p->values[0], p->values[1], p->n, p->bits);
}
#endif

#endif
