/* ceilings_loops.h - the loops of ceilings.c for vectors of LANES floats, which are
 * plain C: the compiler turns operators on vector types into instructions, those that
 * TARGET allows it. Included once for each width, and under a name of its own each
 * time.
 *
 * The empty asm statements make no code. They say that memory, or a register, may have
 * changed, so that no pass over the data can be left out or merged with the next.
 */
#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define FLOATS      JOIN(floats, LANES)
#define INTS        JOIN(ints, LANES)

typedef float FLOATS __attribute__((vector_size(4 * LANES)));
typedef uint32_t INTS __attribute__((vector_size(4 * LANES)));

/* CHAINS sums that do not wait for each other, each counting to passes with x = x a +
 * b, a = b = 1. Returns the sum over chains and lanes: passes CHAINS LANES. */
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

/* Reads words [0, count) passes times; returns their sum, modulo 2^32, over all. */
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

/* Loads words[index[i]], i in [0, indices), passes times; returns the sum, modulo 2^32.
 * Where the processor has a gather instruction the compiler may take it. */
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

/* Square roots of ROOTS squares, passes times; returns the sum of the last ones. */
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
