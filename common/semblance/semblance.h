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
    point best;   /* the largest semblance; among equals the first in A .. E order */
    float *panel; /* [np[A]][np[B]]: the largest semblance of each (A, B), poisoned by
                     the caller; NULL where it is not wanted */
} search_result;

/* Seconds; every call adds its own. */
typedef struct {
    double init;   /* device set-up, kernel build, allocation, preparation */
    double run;    /* transfers and kernel */
    double kernel; /* the kernel alone, by the device's own clock where it has one */
} run_times;

/* What a back-end keeps from one search to the next. */
typedef struct search_state search_state;

/* Prepares for searches among the traces of *g, which stays where it is until
 * search_end: all that can be paid once is paid here, and the samples are brought to
 * where they are needed. *q is the largest of the queries to come: none will have more
 * traces or more values of a parameter; tau, idt, ns, pitch and group are those of all.
 * What cannot go on ends in fail(), here and below. */
search_state *search_begin(const su_gather *g, const query *q, run_times *t);

/* Searches the np[A] x .. x np[E] points of *q in q->ntraces of the traces: those with
 * the numbers near[0] < near[1] < .. in the gather. */
void search(search_state *s, const query *q, const int *indices, search_result *result,
            run_times *t);

void search_end(search_state *s);

/* Reduces the maxima of parts of the search to *found: part[(ia np[B] + ib) per_ab +
 * i], 0 <= i < per_ab. A part that nobody wrote (NaN) ends in fail(). */
void pick_best(const query *q, const point *part, size_t per_ab, search_result *result);

#ifdef __cplusplus
}
#endif

#endif
