/* moveout_cpu.h - window=moveout on the CPU: the points of a search are distributed
 * among threads. */
#include <string.h>

#include "moveout_host.h"

/* Searches an output trace: each thread takes the next point, and keeps the best ones
 * of all samples. */
static void follow_moveout(search_state *s, const query *q, int samples,
                           const int *indices, search_result *result, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);
    moveout_shape shape = shape_of(samples, q->tau, q->ntraces, LANES);
    float *input = moveout_input(&shape, q, s->traces);
    float *factors = input + INPUT_ROWS * shape.stride;
    int points = point_count(q);
    int *best_number = allocate(samples, sizeof *best_number, "the best points");
    for (int k = 0; k < samples; k++) result[k].best.semblance = -1;

    double ready = seconds();

#pragma omp parallel
    {
        size_t stride = shape.stride;
        float *rows = allocate_untouched((SUM_ROWS + BEST_ROWS + 1) * stride,
                                         sizeof *rows, "the rows of a thread");
        float *best = rows + SUM_ROWS * stride;
        int *numbers = (int *)(best + BEST_ROWS * stride);
        memset(rows, 0, (SUM_ROWS + BEST_ROWS + 1) * stride * sizeof *rows);
        for (size_t k = 0; k < stride; k++) best[SEMBLANCE_ROW * stride + k] = -1;

#pragma omp for schedule(dynamic)
        for (int number = 0; number < points; number++) {
            float fraction[PARAMETERS];
            point_fractions(q, number, fraction);
            for (int block = 0; block < shape.blocks; block++)
                sum_block(&shape, block, input, factors, fraction, s->traces,
                          s->g->samples, q, rows);
            for (int block = 0; block * LANES < samples; block++)
                keep_block(&shape, block, number, rows, best, numbers);
        }

        /* The search keeps the first of several equal points, in any thread. */
#pragma omp critical
        for (int k = 0; k < samples; k++) {
            float semblance = best[SEMBLANCE_ROW * stride + k];
            float gain = semblance - result[k].best.semblance;
            if (gain < 0 || (gain == 0 && numbers[k] > best_number[k])) continue;
            best_number[k] = numbers[k];
            result[k].best.stack = best[STACK_ROW * stride + k];
            result[k].best.semblance = semblance;
        }
        free(rows);
    }

    for (int k = 0; k < samples; k++)
        result[k].best = numbered_point(&q[k], best_number[k], result[k].best.stack,
                                        result[k].best.semblance);

    double end = seconds();
    free(best_number);
    free(input);
    t->init += ready - start;
    t->run += end - ready;
    t->kernel += end - ready;
}
trace_search *search_moveout = follow_moveout;
