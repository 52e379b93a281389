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
 *   word_of(w, l)       word l of the variable w; it can be assigned to
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

#if LANES == 1
typedef cell words;
#define words_at(space, p) (*(p))
#define load_words(p)      (*(p))
#define word_of(w, l)      (*(&(w) + (l)))
#define any_bit(w)         ((w) != 0)

#elif defined(__OPENCL_C_VERSION__)
#define WORDS_PASTE(a, n)  a##n
#define WORDS_OF(a, n)     WORDS_PASTE(a, n)
typedef WORDS_OF(uint, LANES) words;
#define words_at(space, p) (*(space words *)(p))
#define load_words(p)      WORDS_OF(vload, LANES)(0, p)
#define word_of(w, l)      (((uint *)&(w))[l])
#define any_bit(w)         any((w) != 0)

#else
typedef cell words __attribute__((vector_size(4 * LANES), may_alias));
typedef cell words_anywhere
    __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#define words_at(space, p) (*(words *)(p))
#define load_words(p)      ((words) * (const words_anywhere *)(p))
#define word_of(w, l)      ((w)[l])
FN int any_bit(words w)
{
    cell bits = 0;
    for (int l = 0; l < LANES; l++) bits |= w[l];
    return bits != 0;
}
#endif

#endif
