/* fluid_passes.c - tests that the workers of a pass (block.h) do not depend on each
 * other.
 *
 * Between two barriers, workers may run in any order. So the workers of each phase run
 * one after the other, upwards and downwards, for all numbers of planes and of workers:
 * each order must give the bytes, and the flags, of sweeps over the whole box. Compiled
 * with the sources of a step that has block.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "strip.h"
#include "block.h"

enum { DEPTH = 4, MOST_PLANES = 70 };

/* Executes sweeps 0 .. sweeps - 1 of a box, in one pass unless workers is 0. */
static void execute(equation e, grid g, int workers, int downwards, int sweeps,
                    int *flags)
{
    memset(flags, 0, DEPTH * sizeof *flags);
    for (int phase = 0; phase < 2 && workers; phase++)
        for (int n = 0; n < workers; n++)
            relax_pass(e, g, downwards ? workers - 1 - n : n, workers, phase, 0, sweeps,
                       flags);
    for (int h = 0; h < 2 * sweeps && !workers; h++)
        for (int k = 1; k <= g.nz; k++) {
            part plane = {k, 1, g.ny};
            if (relax_rows(e, g, h, plane, !flags[h / 2])) flags[h / 2] = 1;
        }
}

int main(void)
{
    int passed = 0, failed = 0;
    for (int nz = 1; nz <= MOST_PLANES; nz++) {
        grid g = {3, 2, nz};
        size_t bytes = field_size(g) * sizeof(float);
        float *initial = malloc(bytes), *x0 = malloc(bytes), *expected = malloc(bytes),
              *x = malloc(bytes);
        for (size_t c = 0; c < field_size(g); c++) {
            initial[c] = (float)rand() / RAND_MAX;
            x0[c] = (float)rand() / RAND_MAX;
        }
        for (int threads = 1; threads <= MOST_PLANES / 6; threads++) {
            int workers = worker_count(g, threads);
            if (workers < threads) break;
            for (int sweeps = 1; sweeps <= pass_depth(g, workers, DEPTH); sweeps++) {
                int flags[2][DEPTH];
                equation e = {expected, x0, 0, SCALAR, 1, 1 / 6.f, 0.01f};
                memcpy(expected, initial, bytes);
                execute(e, g, 0, 0, sweeps, flags[0]);
                for (int downwards = 0; downwards < 2; downwards++) {
                    e.x = x;
                    memcpy(x, initial, bytes);
                    execute(e, g, workers, downwards, sweeps, flags[1]);
                    if (!memcmp(x, expected, bytes) &&
                        !memcmp(flags[0], flags[1], sizeof *flags)) {
                        passed++;
                        continue;
                    }
                    failed++;
                    printf("%d planes, %d workers %s, %d sweeps: differs\n", nz,
                           workers, downwards ? "downwards" : "upwards", sweeps);
                }
            }
        }
        free(initial);
        free(x0);
        free(expected);
        free(x);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
