/* lanes.h - short vectors, with the same names in C, OpenCL C and CUDA C.
 *
 * A `lanes` has LANES floats (or doubles, if LANE is double and LANE_BYTES is 8; these
 * have no comparisons), which +, - and * treat element by element. In C it is a vector
 * type of GCC and clang, in OpenCL C a vector type. If LANES is 1 it is a scalar, as in
 * CUDA C, because the lanes of a GPU are its threads.
 *
 *   lanes, mask    the vector, and the result of a comparison of two
 *   each(x)        a vector with x in every lane
 *   lane(v, l)     lane l of the variable v, an lvalue
 *   root(v)        square roots
 *   whole(v)       converts to integers, as a mask has: rounds towards 0
 *   real(i)        converts integers to floats
 *   minus(i, n)    subtracts an integer from integers, modulo 2^32
 *   permute(v, i)  lane l is lane i[l] of v, 0 <= i[l] < LANES
 *   load_at(p, i)  lane l is p[i[l]]
 *   pick(m, a, b)  selects a in the lanes where m holds, else b
 *   all(m)         whether m holds in every lane
 *   load(p)        the vector p[0] .. p[LANES - 1]
 *   unload(p, v)   stores it
 *   keep(v)        makes gcc keep v in a register instead of loading it for each use
 */
#ifndef LANES_H
#define LANES_H

#include "portable.h"

#ifndef LANE
#define LANE       float
#define LANE_BYTES 4
#endif

/* OpenCL's host passes -D LANES, and CUDA's source defines it. */
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
#define whole(v)      ((int)(v))
#define real(i)       ((float)(i))
#define minus(i, n)   ((int)((unsigned)(i) - (unsigned)(n)))
#define permute(v, i) (v)
#define load_at(p, i) ((p)[i])
#define pick(m, a, b) ((m) ? (a) : (b))
#undef all /* a macro of PoCL */
#define all(m)       (m)
#define load(p)      (*(p))
#define unload(p, v) (void)(*(p) = (v))

#elif defined(__OPENCL_C_VERSION__)
#define LANES_PASTE(a, n) a##n
#define LANES_OF(a, n)    LANES_PASTE(a, n)
#define LANES_OF_LANE(a)  LANES_OF(a, LANES)
typedef LANES_OF_LANE(LANE) lanes;
typedef LANES_OF(int, LANES) mask;
#define each(x)           ((lanes)(x))
#define lane(v, l)        (((LANE *)&(v))[l])
#define root(v)           sqrt(v)
#define whole(v)          LANES_OF(convert_int, LANES)(v)
#define real(i)           LANES_OF(convert_float, LANES)(i)
#define minus(i, n)       LANES_OF(as_int, LANES)(LANES_OF(as_uint, LANES)(i) - (n))
/* PoCL's shuffle() goes through memory, and its macro all() branches for each lane. */
#if defined(__AVX512DQ__) && LANES == 16
#define permute(v, i) as_float16(__builtin_ia32_permvarsf512(v, i))
#undef all
#define all(m) (__builtin_ia32_cvtd2mask512(m) == 0xffff)
#elif defined(__AVX2__) && LANES == 8
#define permute(v, i) as_float8(__builtin_ia32_permvarsf256(v, i))
#undef all
#define all(m) (__builtin_ia32_movmskps256(as_float8(m)) == 0xff)
#else
#define permute(v, i) shuffle(v, LANES_OF(as_uint, LANES)(i))
#endif
#define pick(m, a, b) select(b, a, m)
#define load(p)       LANES_OF(vload, LANES)(0, p)
#define unload(p, v)  LANES_OF(vstore, LANES)(v, 0, p)

#else
typedef LANE lanes __attribute__((vector_size(LANE_BYTES * LANES)));
typedef LANE lanes_unaligned
    __attribute__((vector_size(LANE_BYTES * LANES), aligned(LANE_BYTES)));
#define each(x)       ((LANE)(x) - (lanes){0})
#define lane(v, l)    ((v)[l])
#define pick(m, a, b) ((lanes)(((m) & (mask)(a)) | (~(m) & (mask)(b))))
#define load(p)       ((lanes) * (const lanes_unaligned *)(p))
#define unload(p, v)  (void)(*(lanes_unaligned *)(p) = (lanes_unaligned)(v))
#if LANE_BYTES == 4
typedef int mask __attribute__((vector_size(4 * LANES)));
typedef unsigned unsigned_mask __attribute__((vector_size(4 * LANES)));
#define whole(v)    __builtin_convertvector(v, mask)
#define real(i)     __builtin_convertvector(i, lanes)
#define minus(i, n) ((mask)((unsigned_mask)(i) - (unsigned)(n)))
#ifndef __clang__
#define permute(v, i) __builtin_shuffle(v, i)
#elif defined(__AVX512F__) && LANES == 16
#define permute(v, i) ((lanes)__builtin_ia32_permvarsf512(v, i))
#elif defined(__AVX2__) && LANES == 8
#define permute(v, i) ((lanes)__builtin_ia32_permvarsf256(v, i))
#else
FN lanes permute(lanes v, mask i)
{
    lanes permuted;
    for (int l = 0; l < LANES; l++) permuted[l] = v[i[l]];
    return permuted;
}
#endif
FN int all(mask m)
{
#if defined(__AVX512DQ__) && LANES == 16
    return __builtin_ia32_cvtd2mask512(m) == 0xffff;
#elif defined(__AVX__) && LANES == 8
    return __builtin_ia32_movmskps256((lanes)m) == 255;
#else
    int all_lanes = -1;
    for (int l = 0; l < LANES; l++) all_lanes &= m[l];
    return all_lanes;
#endif
}
FN lanes root(lanes v)
{
#if defined(__AVX512F__) && LANES == 16 && defined(__clang__)
    return __builtin_ia32_sqrtps512(v, 4); /* 4: the usual rounding */
#elif defined(__AVX512F__) && LANES == 16
    return __builtin_ia32_sqrtps512_mask(v, v, -1, 4);
#else
    for (int l = 0; l < LANES; l++) v[l] = sqrtf(v[l]);
    return v;
#endif
}
#endif
#endif

#if LANES > 1 && LANE_BYTES == 4
FN lanes load_at(GLOBAL const LANE *p, mask i)
{
#if defined(__AVX512F__) && LANES == 16 && !defined(__OPENCL_C_VERSION__)
    return (lanes)__builtin_ia32_gathersiv16sf(each(0), p, i, -1, 4);
#else
    lanes v;
    for (int l = 0; l < LANES; l++) lane(v, l) = p[((const int *)&i)[l]];
    return v;
#endif
}
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                 \
    !defined(__CUDACC__)
#define keep(v) __asm__("" : "+v"(v))
#else
#define keep(v) ((void)0)
#endif

#endif
