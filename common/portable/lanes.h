/* lanes.h - LANES floats that are added, multiplied and compared like one. (Or doubles,
 * where LANE says so and LANE_BYTES is 8; these are not compared.)
 *
 * In C they are a vector of GCC's and clang's kind, in OpenCL C one of OpenCL's. Where
 * LANES is 1 they are a float, as on a GPU, whose lanes are threads: CUDA C.
 *
 *   lanes, mask    the floats, and what comparing them gives
 *   each(x)        x in every lane
 *   lane(v, l)     lane l of the variable v; it can be assigned to
 *   root(v)        square roots
 *   pick(m, a, b)  a where the comparison m holds, else b
 *   all(m)         does it hold in every lane?
 *   load(p)        p[0] .. p[LANES - 1]
 *   unload(p, v)   writes them
 *   stream(p, v)   writes them past the caches, where p is a multiple of their size
 *   streamed()     before anybody may read what was
 *   keep(v)        v stays in a register: gcc would load it again wherever an operation
 *                  can have an operand in memory
 */
#ifndef LANES_H
#define LANES_H

#include "portable.h"

#ifndef LANE
#define LANE       float
#define LANE_BYTES 4
#endif

/* Else OpenCL's and CUDA's host says it. */
#if !defined(LANES) && defined(__OPENCL_C_VERSION__)
#define LANES 4
#elif !defined(LANES) && defined(__AVX512F__)
#define LANES (64 / LANE_BYTES)
#elif !defined(LANES)
#ifdef __AVX__
#define LANES (32 / LANE_BYTES)
#else
#define LANES (16 / LANE_BYTES)
#endif
#endif

#if LANES == 1
typedef LANE lanes;
typedef int mask;
#define each(x)       ((LANE)(x))
#define lane(v, l)    (*(&(v) + (l)))
#define root(v)       sqrtf(v)
#define pick(m, a, b) ((m) ? (a) : (b))
#define all(m)        (m)
#define load(p)       (*(p))
#define unload(p, v)  (void)(*(p) = (v))

#elif defined(__OPENCL_C_VERSION__)
#define LANES_PASTE(a, n) a##n
#define LANES_OF(a, n)    LANES_PASTE(a, n)
#define LANES_OF_LANE(a)  LANES_OF(a, LANES)
typedef LANES_OF_LANE(LANE) lanes;
typedef LANES_OF(int, LANES) mask;
#define each(x)           ((lanes)(x))
#define lane(v, l)        (((LANE *)&(v))[l])
#define root(v)           sqrt(v)
#define pick(m, a, b)     select(b, a, m)
#define load(p)           LANES_OF(vload, LANES)(0, p)
#define unload(p, v)      LANES_OF(vstore, LANES)(v, 0, p)

#else
typedef LANE lanes __attribute__((vector_size(LANE_BYTES * LANES)));
typedef LANE lanes_anywhere
    __attribute__((vector_size(LANE_BYTES * LANES), aligned(LANE_BYTES)));
#define each(x)       ((LANE)(x) - (lanes){0})
#define lane(v, l)    ((v)[l])
#define pick(m, a, b) ((lanes)(((m) & (mask)(a)) | (~(m) & (mask)(b))))
#define load(p)       ((lanes) * (const lanes_anywhere *)(p))
#define unload(p, v)  (void)(*(lanes_anywhere *)(p) = (lanes_anywhere)(v))
#if LANE_BYTES == 4
typedef int mask __attribute__((vector_size(4 * LANES)));
FN int all(mask m)
{
#if defined(__AVX__) && LANES == 8
    return __builtin_ia32_movmskps256((lanes)m) == 255;
#else
    int both = -1;
    for (int l = 0; l < LANES; l++) both &= m[l];
    return both;
#endif
}
FN lanes root(lanes v)
{
    for (int l = 0; l < LANES; l++) v[l] = sqrtf(v[l]);
    return v;
}
#endif
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                 \
    !defined(__CUDACC__)
#define keep(v) __asm__("" : "+v"(v))
#else
#define keep(v) ((void)0)
#endif

#if !defined(__x86_64__) || defined(__CUDACC__) || LANES == 1
#define stream(p, v) unload(p, v)
#define streamed()   ((void)0)
#else
#define streamed() __builtin_ia32_sfence()
#ifdef __clang__
#define stream(p, v) __builtin_nontemporal_store(v, (GLOBAL lanes *)(p))
#else
typedef long long words_of_lanes __attribute__((vector_size(LANE_BYTES * LANES)));
#if defined(__AVX512F__) && LANE_BYTES * LANES == 64
#define STREAM __builtin_ia32_movntdq512
#elif defined(__AVX__) && LANE_BYTES * LANES == 32
#define STREAM __builtin_ia32_movntdq256
#else
#define STREAM __builtin_ia32_movntdq
#endif
#define stream(p, v) STREAM((words_of_lanes *)(p), (words_of_lanes)(v))
#endif
#endif

#endif
