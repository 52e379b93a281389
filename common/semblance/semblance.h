/* semblance.h - the contract between the front end (main.c) and the back-ends in
 * steps/.
 *
 * The front end owns arguments, input and output; a back-end owns everything that costs
 * time: memory, devices, transfers, loops.
 */
#ifndef SEMBLANCE_H
#define SEMBLANCE_H

#include "query.h"
#include "run.h"
#include "su.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    point at;     /* the largest semblance; among equals the first in A .. E order */
    float *panel; /* [np[0]][np[1]]: the largest semblance of each (A, B) */
} best;

typedef struct {
    double init;   /* seconds: device set-up, kernel build, allocation, preparation */
    double run;    /* transfers and kernel */
    double kernel; /* the kernel alone, by the device's own clock where it has one */
} run_times;

/* Searches the np[0] x .. x np[4] points of *q on the traces of *g. The caller provides
 * found->panel, poisoned. Returns 0; what cannot go on ends in fail(). */
int search(const su_gather *g, const query *q, best *found, run_times *t);

/* Reduces the maxima of parts of the search to *found: part[(ia np[1] + ib) per_ab +
 * i], 0 <= i < per_ab. A part that nobody wrote (NaN) ends in fail(). */
void pick_best(const query *q, const point *part, size_t per_ab, best *found);

#ifdef __cplusplus
}
#endif

#endif
