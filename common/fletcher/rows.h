/* rows.h - what lanes.h lacks for lanes that go along a row of a field.
 *
 *   MAD(a, b, c)         a b + c, rounded once where that is one operation
 *   STORE(to, v, count)  v from *to on, as far as the row goes: for `count` points
 *   load(p)              p[0] .. p[LANES - 1], as one load: PoCL's vload goes by pairs
 */
#ifndef ROWS_H
#define ROWS_H

#include "lanes.h"

#if defined(__OPENCL_C_VERSION__)
#define MAD(a, b, c) fma((lanes)(a), b, c)
#elif defined(__CUDACC__) || defined(__FMA__) || defined(__FP_FAST_FMAF)
#define MAD(a, b, c) fmaf(a, b, c)
#else
#define MAD(a, b, c) ((a) * (b) + (c))
#endif

#if LANES == 1
#define STORE(address, v, count) ((void)(count), *(address) = (v))
#else
typedef lanes unaligned_lanes
    __attribute__((aligned(4))); /* not only at multiples of its size */
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

/* Which version of a function this processor takes is asked before ThreadSanitizer is
 * ready: under it there is one. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer) && !defined(NARROW)
#define NARROW
#endif
#endif

#endif
