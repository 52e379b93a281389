/* words.h - LANES words of bits side by side, which and, or and exclusive or take at
 * once.
 *
 * In C they are a vector of GCC's and clang's kind, in OpenCL C one of OpenCL's. Where
 * LANES is 1 they are a word, as on a GPU, whose lanes are threads: CUDA C.
 *
 *   words               the words
 *   words_at(space, p)  those at p, in that address space, whole vectors from the first
 *                       of an array; they can be assigned to
 *   load_words(p)       p[0] .. p[LANES - 1], whatever p is
 *   put_first(v, w)     the word v, then those of w but the last
 *   put_last(w, v)      the words of w but the first, then v
 *   any_bit(w)          is any bit of them set?
 */
#ifndef WORDS_H
#define WORDS_H

#include "cell.h"
#include "portable.h"

#if !defined(LANES) && defined(__AVX512F__) /* OpenCL's and CUDA's host says it */
#define LANES 16
#elif !defined(LANES) && defined(__AVX__)
#define LANES 8
#elif !defined(LANES)
#define LANES 4
#endif

/* name16, and WORDS_16(k): 16 numbers from k on. */
#define WORDS_PASTE(a, n) a##n
#define WORDS_OF(a, n)    WORDS_PASTE(a, n)
#define WORDS_4(k)        (k), (k) + 1, (k) + 2, (k) + 3
#define WORDS_8(k)        WORDS_4(k), WORDS_4((k) + 4)
#define WORDS_16(k)       WORDS_8(k), WORDS_8((k) + 8)
#define WORDS_FROM(k)     WORDS_OF(WORDS_, LANES)(k)

#if LANES == 1
typedef cell words;
#define words_at(space, p) (*(p))
#define load_words(p)      (*(p))
#define put_first(v, w)    (v)
#define put_last(w, v)     (v)
#define any_bit(w)         ((w) != 0)

#elif defined(__OPENCL_C_VERSION__)
typedef WORDS_OF(uint, LANES) words;
#define words_at(space, p) (*(space words *)(p))
#define load_words(p)      WORDS_OF(vload, LANES)(0, p)
#define all_words(v)       ((words)(v))
#define any_bit(w)         any((w) != 0)
#ifdef __clang__ /* PoCL's, too, where shuffle2 becomes eight instructions for one */
#define words_from(v, w, k) __builtin_shufflevector(v, w, WORDS_FROM(k))
#else
#define words_from(v, w, k) shuffle2(v, w, (words)(WORDS_FROM(k)))
#endif

#else
typedef cell words __attribute__((vector_size(4 * LANES), may_alias));
typedef cell words_anywhere
    __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#define words_at(space, p)  (*(words *)(p))
#define load_words(p)       ((words) * (const words_anywhere *)(p))
#define all_words(v)        ((words){0} + (v))
#define words_from(v, w, k) ((words)__builtin_shufflevector(v, w, WORDS_FROM(k)))
FN int any_bit(words w)
{
    cell bits = 0;
    for (int l = 0; l < LANES; l++) bits |= w[l];
    return bits != 0;
}
#endif

#if LANES > 1
#define put_first(v, w) words_from(all_words(v), w, LANES - 1)
#define put_last(w, v)  words_from(w, all_words(v), 1)
#endif

#endif
