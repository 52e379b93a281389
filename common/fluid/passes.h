/* passes.h - a solve in passes of several sweeps, for back-ends that detect convergence
 * only after a pass, when its field has been overwritten.
 *
 * The number of sweeps is predicted from earlier solves. All but the last of the
 * predicted sweeps are executed in passes, the following ones one by one. If one of the
 * sweeps of a pass has already converged, the solve is repeated from its initial
 * values, up to that sweep.
 */
#ifndef PASSES_H
#define PASSES_H

#include "fluid.h"

/* The sweeps of the latest solve of each kind, and of the latest of all, with its a. 0:
 * none. */
typedef struct {
    int sweeps[ALONG_Z + 1][FIELDS], latest;
    float a;
} sweep_record;

static inline int predict_sweeps(const sweep_record *r, int wall, int x, float a)
{
    int sweeps = r->sweeps[wall][x];
    return !sweeps && a == r->a ? r->latest : sweeps;
}

static inline void record_sweeps(sweep_record *r, int wall, int x, float a, int sweeps)
{
    r->sweeps[wall][x] = r->latest = sweeps;
    r->a = a;
}

/* Executes sweeps `first` to first + sweeps - 1 of a solve in one pass. Returns the
 * number of sweeps, from the first of the solve, after which it has converged; 0: it
 * has not. */
typedef int pass_function(const void *solve, int first, int sweeps);

/* Solves in passes of at most `depth` sweeps; restore() writes the initial values.
 * Returns the number of sweeps. */
static inline int solve_by_passes(const setup *s, int predicted, int depth,
                                  pass_function *relax, void restore(const void *solve),
                                  const void *solve)
{
    int in_passes = s->tolerance < 0 ? s->sweeps : predicted - 1, done = 0, last = 0;
    while (done < s->sweeps && !last) {
        int batch = in_passes - done < depth ? in_passes - done : depth;
        if (batch < 1) batch = 1;
        last = relax(solve, done, batch);
        done += batch;
    }
    if (!last || last == done) return done;
    restore(solve);
    for (done = 0; done < last; done += depth)
        relax(solve, done, last - done < depth ? last - done : depth);
    return last;
}

#endif
