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
 *   bitvec_window(v, w, k) words k .. k + LANES - 1 of v followed by w; k is a constant
 *   bitvec_any(w)         nonzero if any bit is set
 *   xor3(a, b, c)         a ^ b ^ c: the sum of a full adder
 *   majority(a, b, c)     the bits that are set in at least two of a, b, c: its carry
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
typedef int bitvec_ints __attribute__((vector_size(4 * LANES)));
typedef cell bitvec_unaligned
    __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#define bitvec_at(space, p) (*(bitvec *)(p))
#define bitvec_load(p)      ((bitvec) * (const bitvec_unaligned *)(p))
#define bitvec_fill(v)      ((bitvec){0} + (v))
#if defined(__AVX512F__) && LANES == 16 && !defined(__clang__)
#define bitvec_window(v, w, k) /* gcc compiles a shuffle to a slower instruction */    \
    ((bitvec)__builtin_ia32_alignd512_mask((bitvec_ints)(w), (bitvec_ints)(v), k,      \
                                           (bitvec_ints){0}, (unsigned short)-1))
#elif defined(__clang__) /* which has no __builtin_shuffle; gcc 11 has no other */
#define bitvec_window(v, w, k)                                                         \
    ((bitvec)__builtin_shufflevector(v, w, BITVEC_INDICES(k)))
#else
#define bitvec_window(v, w, k)                                                         \
    __builtin_shuffle((bitvec)(v), (bitvec)(w), (bitvec){BITVEC_INDICES(k)})
#endif
FN int bitvec_any(bitvec w)
{
#if defined(__AVX512F__) && LANES == 16 && !defined(__clang__)
    return __builtin_ia32_ptestmd512((bitvec_ints)w, (bitvec_ints)w,
                                     (unsigned short)-1) != 0;
#else
    cell or_lanes = 0;
    for (int l = 0; l < LANES; l++) or_lanes |= w[l];
    return or_lanes != 0;
#endif
}
#endif

#if LANES > 1
#define shift_in_first(v, w) bitvec_window(bitvec_fill(v), w, LANES - 1)
#define shift_in_last(w, v)  bitvec_window(w, bitvec_fill(v), 1)
#endif

/* AVX-512 has one instruction for any logical function of three bits. Bit 4 a + 2 b + c
 * of its constant is f(a, b, c). Compilers do not find it for sums whose parts are used
 * twice. */
#if defined(__AVX512F__) && LANES == 16
#ifdef __OPENCL_C_VERSION__
#define bitvec_int(v) as_int16(v)
#define bitvec_of(v)  as_uint16(v)
#else
#define bitvec_int(v) ((bitvec_ints)(v))
#define bitvec_of(v)  ((bitvec)(v))
#endif
#define bitvec_logic(a, b, c, f)                                                       \
    bitvec_of(__builtin_ia32_pternlogd512_mask(bitvec_int(a), bitvec_int(b),           \
                                               bitvec_int(c), f, (unsigned short)-1))
#define xor3(a, b, c)     bitvec_logic(a, b, c, 0x96)
#define majority(a, b, c) bitvec_logic(a, b, c, 0xe8)
#else
#define xor3(a, b, c) ((a) ^ (b) ^ (c))
FN bitvec majority(bitvec a, bitvec b, bitvec c)
{
    return (a & b) | (c & (a ^ b));
}
#endif

#endif
