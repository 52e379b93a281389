/* semblance.h - the interface between the front end (main.c) and the back-ends in
 * steps/.
 *
 * The front end owns arguments, input and output. A back-end owns everything that costs
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

/* The largest semblance that a search may return: 1 in exact arithmetic; a thousandth
 * is far more than rounding adds. Results above it, or NaN, are rejected. */
#define MAX_SEMBLANCE 1.001f

typedef struct {
    point best; /* the point with the largest semblance; of equal ones the first in A ..
                   E order */
    float *panel; /* [np[A]][np[B]]: the largest semblance of each (A, B), filled with
                     NaN by the caller; NULL if not wanted */
} search_result;

/* Seconds; each call adds its own. */
typedef struct {
    double init;   /* device setup, kernel compilation, allocation, preparation */
    double run;    /* transfers and kernel */
    double kernel; /* the kernel alone, by the device's clock if it has one */
} run_times;

/* The state that a back-end keeps from one search to the next. */
typedef struct search_state search_state;

/* Prepares searches among the traces of *g, which must not change until search_end():
 * one-time costs are paid here, and the samples are transferred. No later query has
 * more traces or more values of a parameter than *q; tau, idt, ns, pitch and group are
 * those of all queries. Errors end the program by fail(), here and in the functions
 * below. */
search_state *search_begin(const su_gather *g, const query *q, run_times *t);

/* Searches an output trace of one or more samples: for sample k, the np[A] x .. x np[E]
 * points of q[k], whose result is stored in result[k]. All samples use the same
 * q->ntraces traces of the gather, those with the indices indices[0] < indices[1] < ..
 * Only t0, p0, p1 and np differ between the samples; so what depends on the traces
 * alone is done once. */
void search(search_state *s, const query *q, int samples, const int *indices,
            search_result *result, run_times *t);

/* The same for window=moveout: a window consists of the samples at the arrivals of
 * neighbouring t0. q[k], -tau <= k < samples + tau, are consecutive samples of the
 * output trace and tau more on each side, one sample of the traces apart. All have the
 * same np: a point of sample k belongs to the point of the same indices of the others.
 *
 * For a point and a sample k, let S be the sum of the values at the arrivals in the
 * traces, Q the sum of their squares, and K the number of traces that have an arrival,
 * 0 <= x < ns - 1. If q[k].t0 < 0, or if two traces have none, all three are 0. The
 * semblance of the point at sample k is the sum of S^2 over the samples k - tau .. k +
 * tau, divided by the sum of K Q; it is 0 if K Q is 0 at sample k itself. The stack is
 * S / K at sample k.
 *
 * Back-ends that have only window=parallel do not define it: there it is NULL.
 * Otherwise a search has at most 2^31 - 1 points. */
typedef void trace_search(search_state *s, const query *q, int samples,
                          const int *indices, search_result *result, run_times *t);
extern trace_search *search_moveout;

void search_end(search_state *s);

/* Calls f(k, context) for 0 <= k < samples, in any order: what the front end does after
 * a search. The default makes one call after the other; a back-end whose threads would
 * be idle meanwhile shares the calls among them. */
void for_samples(int samples, void (*f)(int k, const void *context),
                 const void *context);

/* Reduces the best points of the parts of a search to *result: part[(ia np[B] + ib)
 * per_ab + i], 0 <= i < per_ab. A part that was never written (NaN) ends the program by
 * fail(). */
void pick_best(const query *q, const point *part, size_t per_ab, search_result *result);

#ifdef __cplusplus
}
#endif

#endif
