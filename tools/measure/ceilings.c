/* ceilings.c - measures the peak rates of this CPU: arithmetic, cache and memory
 * bandwidth, gather loads and square roots, each with a loop that does nothing else.
 *
 *     ceilings threads=N      prints ceiling=value unit, one per line
 *
 * Each loop runs on all threads and is timed several times; the highest rate over these
 * repetitions and over the vector supported_widths of the processor is printed. Each
 * loop returns a value that is known in advance and checked, so that a loop that the
 * compiler has optimized away is an error. Left out: store bandwidth, NUMA, and mixes
 * of instructions.
 */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "run.h"

enum {
    CHAINS = 12,    /* independent FMA chains: at least latency (4) x units (2) */
    INDICES = 2048, /* 8 KiB for the gather loop, a quarter of a 32 KiB cache */
    ROOTS = 1024,
    REPETITIONS = 3
};
static const double TIME_MIN = 0.03;    /* seconds of a timed loop */
static const long PASSES_MAX = 1 << 24; /* floats count exactly up to 2^24 */

/* The data of one thread. */
typedef struct {
    long passes;
    volatile float one;   /* 1, but unknown to the compiler */
    uint32_t *words;      /* [count]: words[i] = i */
    size_t count;         /* a multiple of 128 */
    uint32_t *index;      /* [INDICES], each < count */
    float *square, *root; /* [ROOTS]: square[i] = i^2 */
} job;

typedef double loop(const job *);

#define LANES 4
#define TARGET
#include "ceilings_loops.h"
#ifdef __x86_64__
#define LANES  8
#define TARGET __attribute__((target("avx2,fma")))
#include "ceilings_loops.h"
#define LANES 16
#ifdef __clang__
#define TARGET __attribute__((target("avx512f"), min_vector_width(512)))
#else
#define TARGET __attribute__((target("avx512f,prefer-vector-width=512")))
#endif
#include "ceilings_loops.h"
#endif

/* The loops of one vector width. */
typedef struct {
    int lanes;
    loop *fma, *integers, *read, *gather, *roots;
} width;

/* Lists the supported_widths that this processor supports; returns their number. */
static int supported_widths(width found[3])
{
    int n = 0;
    found[n++] = (width){4,          count_by_fma_4, count_by_integers_4,
                         read_all_4, gather_4,       square_roots_4};
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found[n++] = (width){8,          count_by_fma_8, count_by_integers_8,
                             read_all_8, gather_8,       square_roots_8};
    if (__builtin_cpu_supports("avx512f"))
        found[n++] = (width){16,          count_by_fma_16, count_by_integers_16,
                             read_all_16, gather_16,       square_roots_16};
#endif
    return n;
}

static uint32_t random_next(uint32_t *state) /* xorshift */
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Allocates and initializes the data in the calling thread, so that the operating
 * system places the pages on its NUMA node. */
static job job_create(size_t bytes, int thread)
{
    job j = {.one = 1, .count = bytes / 4 / 128 * 128};
    if (j.count < 128) j.count = 128;
    j.words = aligned_alloc(4096, (j.count * 4 + 4095) / 4096 * 4096);
    j.index = aligned_alloc(64, INDICES * 4);
    j.square = aligned_alloc(64, ROOTS * 4);
    j.root = aligned_alloc(64, ROOTS * 4);
    if (!j.words || !j.index || !j.square || !j.root)
        fail("not enough memory for %zu bytes", bytes);
    uint32_t state = 12345 + (uint32_t)thread;
    for (size_t i = 0; i < j.count; i++) j.words[i] = (uint32_t)i;
    for (int i = 0; i < INDICES; i++)
        j.index[i] = random_next(&state) % (uint32_t)j.count;
    for (int i = 0; i < ROOTS; i++) {
        j.square[i] = (float)i * (float)i;
        j.root[i] = 0;
    }
    return j;
}

static void job_free(job *j)
{
    free(j->words);
    free(j->index);
    free(j->square);
    free(j->root);
}

typedef enum { FMA, INTEGER, READ, GATHER, ROOT } kind;

/* The value that the loop must return. */
static double expected(kind k, const job *j, int lanes)
{
    uint32_t sum = 0;
    switch (k) {
    case FMA:
    case INTEGER:
        return (double)j->passes * CHAINS * lanes;
    case READ:
        for (size_t i = 0; i < j->count; i++) sum += (uint32_t)i;
        return (uint32_t)(sum * (uint32_t)j->passes);
    case GATHER:
        for (int i = 0; i < INDICES; i++) sum += j->index[i];
        return (uint32_t)(sum * (uint32_t)j->passes);
    case ROOT:
        return (double)ROOTS * (ROOTS - 1) / 2;
    }
    return NAN;
}

/* Work of one pass: operations, bytes, loads or roots. */
static double work_per_pass(kind k, const job *j, int lanes)
{
    return k <= INTEGER  ? 2.0 * CHAINS * lanes
           : k == READ   ? 4.0 * (double)j->count
           : k == GATHER ? INDICES
                         : ROOTS;
}

/* Time of `passes` passes of the loop on all threads, from the first start to the last
 * end, in seconds. */
static double timed(loop *f, kind k, int lanes, job *jobs, int threads, long passes)
{
    double begin = 0, end = 0;
    int wrong = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
    {
        job *j = &jobs[omp_get_thread_num()];
        j->passes = passes;
#pragma omp barrier
#pragma omp master
        begin = seconds();
        double result = f(j);
#pragma omp barrier
#pragma omp master
        end = seconds();
        wrong += !(result == expected(k, j, lanes));
    }
    if (wrong)
        fail("internal error: a loop of %d lanes (kind %d) returns a wrong value",
             lanes, k);
    return end - begin;
}

/* The highest rate of a loop, in 1e9 per second, on `bytes` of data per thread. */
static double peak_rate(kind k, size_t bytes, int threads)
{
    job *jobs = allocate((size_t)threads, sizeof *jobs, "the threads' data");
#pragma omp parallel num_threads(threads)
    jobs[omp_get_thread_num()] = job_create(bytes, omp_get_thread_num());

    width w[3];
    int n = supported_widths(w);
    double highest = 0;
    for (int i = 0; i < n; i++) {
        loop *const loops[] = {w[i].fma, w[i].integers, w[i].read, w[i].gather,
                               w[i].roots};
        loop *f = loops[k];
        long passes = 1;
        double t;
        while ((t = timed(f, k, w[i].lanes, jobs, threads, passes)) < TIME_MIN &&
               passes < PASSES_MAX)
            passes *= 2;
        for (int r = 0; r < REPETITIONS; r++) {
            double repeated = timed(f, k, w[i].lanes, jobs, threads, passes);
            if (repeated < t) t = repeated;
        }
        double rate =
            (double)passes * work_per_pass(k, &jobs[0], w[i].lanes) * threads / t;
        if (rate > highest) highest = rate;
    }
    for (int i = 0; i < threads; i++) job_free(&jobs[i]);
    free(jobs);
    return highest * 1e-9;
}

/* The size of a cache, or a typical size if the system does not report it. */
static size_t cache_size(int name, size_t typical)
{
    long bytes = sysconf(name);
    return bytes > 0 ? (size_t)bytes : typical;
}

int main(int argc, char **argv)
{
    run_name = "ceilings";
    int threads = 1;
    arg table[] = {
        {"threads", ARG_INT, &threads, 1, 4096, "number of threads", 0},
        {0},
    };
    args_parse(argc, argv, table, "measures the peak rates of this CPU");

    size_t l1 = cache_size(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
    size_t l2 = cache_size(_SC_LEVEL2_CACHE_SIZE, 1 << 20);
    size_t l3 = cache_size(_SC_LEVEL3_CACHE_SIZE, 0);
    size_t largest = l3 > l2 ? l3 : l2;

    printf("fma=%.4g GFLOP/s\n", peak_rate(FMA, 0, threads));
    printf("integer=%.4g GOP/s\n", peak_rate(INTEGER, 0, threads));
    printf("l1=%.4g GB/s\n", peak_rate(READ, l1 / 2, threads));
    printf("l2=%.4g GB/s\n", peak_rate(READ, l2 / 2, threads));
    /* A quarter of the third level, which other processes may use as well. Not measured
     * if this is no more than the second level. */
    if (l3 / 4 / (size_t)threads > l2)
        printf("l3=%.4g GB/s\n", peak_rate(READ, l3 / 4 / (size_t)threads, threads));
    printf("dram=%.4g GB/s\n", peak_rate(READ, 4 * largest / (size_t)threads, threads));
    printf("gather_l1=%.4g Gload/s\n", peak_rate(GATHER, l1 / 2, threads));
    printf("gather_l2=%.4g Gload/s\n", peak_rate(GATHER, l2 / 2, threads));
    printf("sqrt=%.4g Groot/s\n", peak_rate(ROOT, 0, threads));
    return 0;
}
