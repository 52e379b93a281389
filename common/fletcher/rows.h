/* rows.h - additions to lanes.h for vectors of neighbouring points of a row.
 *
 *   MAD(a, b, c)              a b + c; rounded once if the target has a fused operation
 *   STORE(address, v, count)  stores the first `count` lanes of v, at most LANES
 *   load(p)                   p[0] .. p[LANES - 1], unaligned, in one load (PoCL's
 * vload takes a load per two elements)
 */
#ifndef ROWS_H
#define ROWS_H

#include "lanes.h"

#if defined(__OPENCL_C_VERSION__)
#define MAD(a, b, c) fma((lanes)(a), b, c)
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

/* target_clones chooses a version of a function at program start, before
 * ThreadSanitizer is ready. Builds with ThreadSanitizer therefore have one version
 * only. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer) && !defined(NARROW)
#define NARROW
#endif
#endif

#endif
