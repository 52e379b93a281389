/* race.c - data races that ThreadSanitizer must find: race [FAULT [FAULT]]. One
 * argument: the threads add to a shared integer; two: to a shared vector; none: they do
 * neither.
 */
#ifdef __AVX__
typedef int vector __attribute__((vector_size(64)));
#else
typedef int vector __attribute__((vector_size(16)));
#endif

int main(int argc, char **argv)
{
    int sum = 0, safe = 0;
    vector sums = {0};
    (void)argv;
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) {
        if (argc == 2) sum += i;
        if (argc == 3) sums += i;
#pragma omp atomic
        safe += i;
    }
#pragma omp parallel num_threads(4)
    {
        if (safe == 0) sum = 1;
#pragma omp barrier
#pragma omp single
        safe = 0;
    }
    return sum + sums[0] == 1;
}
