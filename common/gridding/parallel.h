/* parallel.h - threads for the front end, which is compiled without OpenMP. */
#ifndef PARALLEL_H
#define PARALLEL_H

/* Returns OMP_NUM_THREADS if it is set, otherwise the number of cores that the process
 * may use. */
int parallel_threads(void);

/* Calls body(context, t, threads) for t = 0 .. threads - 1, each in a thread of its
 * own, and returns when all have returned. If a thread cannot be created, the calling
 * thread does its part. */
void parallel_run(int threads, void (*body)(void *context, int t, int threads),
                  void *context);

/* Returns the first of n items of thread t, which are consecutive; t = threads returns
 * n. */
static inline int parallel_part(int n, int t, int threads)
{
    return (int)((long long)n * t / threads);
}

#endif
