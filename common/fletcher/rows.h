/* rows.h - additions to lanes.h for vectors of neighbouring points of a row.
 *
 *   MAD(a, b, c)         a b + c, where a may be a scalar; rounded once if the target
 *                        has a fused operation
 *   nearby(p, k)         p[k] .. p[k + LANES - 1] for a constant k, -LANES < k < LANES.
 *                        With 16 lanes, unaligned loads cross cache lines, so the lanes
 *                        are taken from two loads at multiples of LANES from p
 *   fetch(p)             hint: the cache line at p will be loaded soon
 *   load(p)              p[0] .. p[LANES - 1], unaligned, in one load (PoCL's vload
 *                        takes a load per two elements)
 *   unload(p, v)         stores v there, in one store (PoCL's vstore takes three)
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

#if LANES > 1
typedef lanes unaligned_lanes __attribute__((aligned(4))); /* anywhere */
#undef load
#undef unload
#define load(p)      (*(GLOBAL const unaligned_lanes *)(p))
#define unload(p, v) (void)(*(GLOBAL unaligned_lanes *)(p) = (v))
#endif

/* Into the L2 cache; any address is allowed. OpenCL C has no such function for global
 * memory, and that of clang takes a pointer to private memory. */
#if defined(__CUDACC__) || !(defined(__x86_64__) || defined(__aarch64__))
#define fetch(p) ((void)0)
#else
#define fetch(p) __builtin_prefetch((const void *)(size_t)(p), 0, 2)
#endif

/* Lanes k .. k + 15 of the vectors at p and p + 16, one after the other. Clang needs
 * one instruction for integers, but two for floats: a copy, and a permutation. */
#if LANES == 16 && (defined(__clang__) || defined(__OPENCL_C_VERSION__))
typedef mask unaligned_mask __attribute__((aligned(4), may_alias));
#define LOAD_MASK(p) (*(GLOBAL const unaligned_mask *)(p))
#ifdef __OPENCL_C_VERSION__
#define AS_LANES(m) as_float16(m)
#else
#define AS_LANES(m) ((lanes)(m))
#endif
#define ACROSS(p, k)                                                                   \
    AS_LANES(__builtin_shufflevector(LOAD_MASK(p), LOAD_MASK((p) + 16), k, (k) + 1,    \
                                     (k) + 2, (k) + 3, (k) + 4, (k) + 5, (k) + 6,      \
                                     (k) + 7, (k) + 8, (k) + 9, (k) + 10, (k) + 11,    \
                                     (k) + 12, (k) + 13, (k) + 14, (k) + 15))
#elif LANES == 16 && defined(__AVX512F__)
#define ACROSS(p, k)                                                                   \
    ((lanes)__builtin_ia32_alignd512_mask((mask)load((p) + 16), (mask)load(p), k,      \
                                          (mask){0}, -1))
#endif

#ifdef ACROSS
#define nearby(p, k) ((k) < 0 ? ACROSS((p)-16, (k)&15) : ACROSS(p, (k)&15))
#else
#define nearby(p, k) load((p) + (k))
#endif

#endif
