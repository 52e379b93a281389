/* oracle_semblance.h - a semblance query for the checker: arguments and SU file, read
 * without any code of common/semblance and common/su.
 */
#ifndef ORACLE_SEMBLANCE_H
#define ORACLE_SEMBLANCE_H

#include "../common/run/run.h"

enum { A, B, C, D, E, PARAMETERS, WINDOW_MAX = 201 };

/* Times are relative to the shot; sample k of a trace is k / idt seconds after it. */
typedef struct {
    double m0, h0, t0, tau;                /* as typed */
    double p0[PARAMETERS], p1[PARAMETERS]; /* value i is p0 + i / np (p1 - p0) */
    int np[PARAMETERS];
    int half; /* half window, in samples */
    int traces,
        ns; /* of the search: traces that are not dead, samples from time 0 on */
    double dt, idt;          /* microseconds; samples per second */
    double *dm, *dh;         /* [traces]: midpoint - m0, half-offset - h0, in metres */
    float *sample;           /* [traces][ns] */
    double max_parameter[5]; /* the largest |value| of a parameter's range */
    double max_sample;       /* the largest |sample| */
} problem;

/* Reads a query and the additional arguments of the table `extra`, as for args_parse().
 * Errors end the program. */
problem problem_read(int argc, char **argv, arg *extra, const char *about);
void problem_free(problem *p);

#endif
