/* lanes.h - LANES floats that are added, multiplied and compared like one.
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
 *   unload(p, v)   these = v
 */
#ifndef LANES_H
#define LANES_H

#include "portable.h"

#if !defined(LANES) && defined(__AVX512F__) /* else OpenCL's and CUDA's host says it   \
                                             */
#define LANES 16
#elif !defined(LANES)
#ifdef __AVX__
#define LANES 8
#else
#define LANES 4
#endif
#endif

#if LANES == 1
typedef float lanes;
typedef int mask;
#define each(x)       ((float)(x))
#define lane(v, l)    (*(&(v) + (l)))
#define root(v)       sqrtf(v)
#define pick(m, a, b) ((m) ? (a) : (b))
#define all(m)        (m)
#define load(p)       (*(p))
#define unload(p, v)  (*(p) = (v))

#elif defined(__OPENCL_C_VERSION__)
#define LANES_PASTE(a, n) a##n
#define LANES_OF(a, n)    LANES_PASTE(a, n)
typedef LANES_OF(float, LANES) lanes;
typedef LANES_OF(int, LANES) mask;
#define each(x)           ((lanes)(x))
#define lane(v, l)        (((float *)&(v))[l])
#define root(v)           sqrt(v)
#define pick(m, a, b)     select(b, a, m)
#define load(p)           LANES_OF(vload, LANES)(0, p)
#define unload(p, v)      LANES_OF(vstore, LANES)(v, 0, p)

#else
typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int mask __attribute__((vector_size(4 * LANES)));
typedef float lanes_anywhere __attribute__((vector_size(4 * LANES), aligned(4)));
#define each(x)       ((float)(x) - (lanes){0})
#define lane(v, l)    ((v)[l])
#define pick(m, a, b) ((lanes)(((m) & (mask)(a)) | (~(m) & (mask)(b))))
#define load(p)       ((lanes) * (const lanes_anywhere *)(p))
#define unload(p, v)  (*(lanes_anywhere *)(p) = (lanes_anywhere)(v))
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
