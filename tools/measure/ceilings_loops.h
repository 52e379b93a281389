/* ceilings_loops.h - the loops of ceilings.c for vectors of LANES floats, written with
 * the vector types of gcc and clang; TARGET selects the instruction set. Included once
 * per width; the functions' names end in the width.
 *
 * The empty asm statements generate no instruction. They tell the compiler that memory
 * may have changed, so that it can neither remove nor merge passes over the data.
 */
#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define FLOATS      JOIN(floats, LANES)
#define INTS        JOIN(ints, LANES)

typedef float FLOATS __attribute__((vector_size(4 * LANES)));
typedef uint32_t INTS __attribute__((vector_size(4 * LANES)));

/* Counts to `passes` in each lane of CHAINS independent sums: x = x a + b, where a = b
 * = 1. Returns the sum over all chains and lanes: passes * CHAINS * LANES. */
static TARGET double JOIN(count_by_fma, LANES)(const job *j)
{
    FLOATS a = (FLOATS){0} + (float)j->one, b = a, x[CHAINS];
    for (int c = 0; c < CHAINS; c++) x[c] = (FLOATS){0};
    for (long n = 0; n < j->passes; n++) {
#pragma GCC unroll 16
        for (int c = 0; c < CHAINS; c++) x[c] = x[c] * a + b;
    }
    double sum = 0;
    for (int c = 0; c < CHAINS; c++)
        for (int i = 0; i < LANES; i++) sum += (double)x[c][i];
    return sum;
}

/* Counts like count_by_fma, with integers: x = (x + a) ^ b, where a = 1 and b = 0. */
static TARGET double JOIN(count_by_integers, LANES)(const job *j)
{
    INTS a = (INTS){0} + (uint32_t)j->one, b = (INTS){0} + (uint32_t)(j->one - 1);
    INTS x[CHAINS];
    for (int c = 0; c < CHAINS; c++) x[c] = (INTS){0};
    for (long n = 0; n < j->passes; n++) {
#pragma GCC unroll 16
        for (int c = 0; c < CHAINS; c++) x[c] = (x[c] + a) ^ b;
    }
    double sum = 0;
    for (int c = 0; c < CHAINS; c++)
        for (int i = 0; i < LANES; i++) sum += (double)x[c][i];
    return sum;
}

/* Reads words[0 .. count - 1] `passes` times; returns the sum of all, modulo 2^32. */
static TARGET double JOIN(read_all, LANES)(const job *j)
{
    const INTS *v = (const INTS *)j->words;
    long vectors = (long)(j->count / LANES);
    INTS sum[8];
    for (int c = 0; c < 8; c++) sum[c] = (INTS){0};
    for (long n = 0; n < j->passes; n++) {
        __asm__ volatile("" ::: "memory");
        for (long i = 0; i < vectors; i += 8)
#pragma GCC unroll 8
            for (int c = 0; c < 8; c++) sum[c] += v[i + c];
    }
    uint32_t total = 0;
    for (int c = 0; c < 8; c++)
        for (int i = 0; i < LANES; i++) total += sum[c][i];
    return total;
}

/* Loads words[index[i]] for all i, `passes` times; returns the sum of all, modulo 2^32.
 * The compiler may use gather instructions. */
static TARGET double JOIN(gather, LANES)(const job *j)
{
    const uint32_t *words = j->words, *index = j->index;
    uint32_t total = 0;
    for (long n = 0; n < j->passes; n++) {
        __asm__ volatile("" ::: "memory");
        uint32_t sum = 0;
        for (size_t i = 0; i < INDICES; i++) sum += words[index[i]];
        total += sum;
    }
    return total;
}

/* Computes the square roots of ROOTS squares `passes` times; returns the sum of the
 * last pass. */
static TARGET double JOIN(square_roots, LANES)(const job *j)
{
    float *restrict root = j->root;
    const float *restrict square = j->square;
    for (long n = 0; n < j->passes; n++) {
        __asm__ volatile("" ::: "memory");
        for (int i = 0; i < ROOTS; i++) root[i] = sqrtf(square[i]);
    }
    double sum = 0;
    for (int i = 0; i < ROOTS; i++) sum += (double)root[i];
    return sum;
}

#undef FLOATS
#undef INTS
#undef JOIN
#undef JOIN_
#undef LANES
#undef TARGET
