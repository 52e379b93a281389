/* bitplanes.h - a vector of LANES words, 32 bits each, for computing with bit planes.
 * The operators &, | and ^ act on all 32 LANES bits at once (bit-slicing).
 *
 * In C, bitvec is a GCC or clang vector; in OpenCL C, it is an OpenCL vector. If LANES
 * is 1, as on a GPU, whose lanes are its threads, it is a single word (CUDA C).
 *
 *   bitvec                the type
 *   bitvec_at(space, p)   the vector at p in address space `space`, as an lvalue;
 *                         p must be aligned to the vector
 *   bitvec_load(p)        p[0] .. p[LANES - 1]; p need not be aligned
 *   shift_in_first(v, w)  the word v, then w without its last word
 *   shift_in_last(w, v)   w without its first word, then the word v
 *   bitvec_any(w)         nonzero if any bit is set
 */
#ifndef BITPLANES_H
#define BITPLANES_H

#include "cell.h"
#include "portable.h"

#if !defined(LANES) && defined(__AVX512F__) /* OpenCL and CUDA host code defines it */
#define LANES 16
#elif !defined(LANES) && defined(__AVX__)
#define LANES 8
#elif !defined(LANES)
#define LANES 4
#endif

/* BITVEC_CONCAT(name, LANES), and BITVEC_16(k): the 16 indices k .. k + 15. */
#define BITVEC_PASTE(a, n)  a##n
#define BITVEC_CONCAT(a, n) BITVEC_PASTE(a, n)
#define BITVEC_4(k)         (k), (k) + 1, (k) + 2, (k) + 3
#define BITVEC_8(k)         BITVEC_4(k), BITVEC_4((k) + 4)
#define BITVEC_16(k)        BITVEC_8(k), BITVEC_8((k) + 8)
#define BITVEC_INDICES(k)   BITVEC_CONCAT(BITVEC_, LANES)(k)

#if LANES == 1
typedef cell bitvec;
#define bitvec_at(space, p)  (*(p))
#define bitvec_load(p)       (*(p))
#define shift_in_first(v, w) (v)
#define shift_in_last(w, v)  (v)
#define bitvec_any(w)        ((w) != 0)

#elif defined(__OPENCL_C_VERSION__)
typedef BITVEC_CONCAT(uint, LANES) bitvec;
#define bitvec_at(space, p) (*(space bitvec *)(p))
#define bitvec_load(p)      BITVEC_CONCAT(vload, LANES)(0, p)
#define bitvec_fill(v)      ((bitvec)(v))
#define bitvec_any(w)       any((w) != 0)
#ifdef __clang__ /* includes PoCL, which compiles shuffle2 to eight instructions       \
                    instead of one */
#define bitvec_window(v, w, k) __builtin_shufflevector(v, w, BITVEC_INDICES(k))
#else
#define bitvec_window(v, w, k) shuffle2(v, w, (bitvec)(BITVEC_INDICES(k)))
#endif

#else
typedef cell bitvec __attribute__((vector_size(4 * LANES), may_alias));
typedef cell bitvec_unaligned
    __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#define bitvec_at(space, p) (*(bitvec *)(p))
#define bitvec_load(p)      ((bitvec) * (const bitvec_unaligned *)(p))
#define bitvec_fill(v)      ((bitvec){0} + (v))
#ifdef __clang__ /* which has no __builtin_shuffle; gcc 11 has no other */
#define bitvec_window(v, w, k)                                                         \
    ((bitvec)__builtin_shufflevector(v, w, BITVEC_INDICES(k)))
#else
#define bitvec_window(v, w, k)                                                         \
    __builtin_shuffle((bitvec)(v), (bitvec)(w), (bitvec){BITVEC_INDICES(k)})
#endif
FN int bitvec_any(bitvec w)
{
    cell or_lanes = 0;
    for (int l = 0; l < LANES; l++) or_lanes |= w[l];
    return or_lanes != 0;
}
#endif

#if LANES > 1
#define shift_in_first(v, w) bitvec_window(bitvec_fill(v), w, LANES - 1)
#define shift_in_last(w, v)  bitvec_window(w, bitvec_fill(v), 1)
#endif

#endif
