/* rows.h - additions to lanes.h for vectors of neighbouring points of a row.
 *
 *   MAD(a, b, c)         a b + c, where a may be a scalar; rounded once if the target
 *                        has a fused operation
 *   STORE(p, v, count)   stores the first `count` lanes of v at p, at most LANES
 *   fetch(p)             hint: the cache line at p will be loaded soon
 *   load(p)              p[0] .. p[LANES - 1], unaligned, in one load (PoCL's vload
 *                        takes a load per two elements)
 */
#ifndef ROWS_H
#define ROWS_H

#include "lanes.h"

#if defined(__OPENCL_C_VERSION__)
#define MAD(a, b, c) fma((lanes)(a), b, c)
#elif defined(__AVX512F__) && LANES == 16
#define MAD(a, b, c)                                                                   \
    ((lanes)__builtin_ia32_vfmaddps512_mask((a) - (lanes){0}, b, c, -1, 4))
#elif defined(__FMA__) && LANES == 8
#define MAD(a, b, c) ((lanes)__builtin_ia32_vfmaddps256((a) - (lanes){0}, b, c))
#elif LANES > 1
#define MAD(a, b, c) multiply_add((a) - (lanes){0}, b, c)
FN lanes multiply_add(lanes a, lanes b, lanes c)
{
#ifdef __FP_FAST_FMAF
    for (int l = 0; l < LANES; l++) c[l] = fmaf(a[l], b[l], c[l]);
    return c;
#else
    return a * b + c;
#endif
}
#elif defined(CUDA_DEVICE_H) || defined(__FMA__) || defined(__FP_FAST_FMAF)
#define MAD(a, b, c) fmaf(a, b, c)
#else
#define MAD(a, b, c) ((a) * (b) + (c))
#endif

#if LANES == 1
#define STORE(address, v, count) ((void)(count), *(address) = (v))
#else
typedef lanes unaligned_lanes
    __attribute__((aligned(4))); /* at any address of a float */
#undef load
#define load(p) (*(GLOBAL const unaligned_lanes *)(p))
#define STORE(address, v, count)                                                       \
    do {                                                                               \
        lanes value = v;                                                               \
        if ((count) >= LANES)                                                          \
            *(GLOBAL unaligned_lanes *)(address) = value;                              \
        else                                                                           \
            for (int l = 0; l < (count); l++) (address)[l] = lane(value, l);           \
    } while (0)
#endif

/* Into the L2 cache; any address is allowed. OpenCL C has no such function for global
 * memory, and that of clang takes a pointer to private memory. */
#if defined(__CUDACC__) || !(defined(__x86_64__) || defined(__aarch64__))
#define fetch(p) ((void)0)
#else
#define fetch(p) __builtin_prefetch((const void *)(size_t)(p), 0, 2)
#endif

/* target_clones chooses a version of a function at program start, before
 * ThreadSanitizer is ready. Builds with ThreadSanitizer therefore have one version
 * only. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer) && !defined(NARROW)
#define NARROW
#endif
#endif

#endif
