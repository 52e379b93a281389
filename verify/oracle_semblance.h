/* oracle_semblance.h - a semblance query as the checker understands it: the words and
 * the SU file, read without any code of common/semblance and common/su.
 */
#ifndef ORACLE_SEMBLANCE_H
#define ORACLE_SEMBLANCE_H

#include "../common/run/run.h"

enum { PARAMETERS = 5, WINDOW_MAX = 201 };

/* Times count from 0, the shot; sample k of a trace is k / idt seconds after it. */
typedef struct {
    double m0, h0, t0, tau;                /* as typed */
    double p0[PARAMETERS], p1[PARAMETERS]; /* value i is p0 + i / np (p1 - p0) */
    int np[PARAMETERS];
    int half;         /* samples of a window on either side of its middle */
    int traces, ns;   /* those that are searched: alive, from time 0 on */
    double dt, idt;   /* microseconds; samples a second */
    double *dm, *dh;  /* [traces]: midpoint - m0, half-offset - h0, in metres */
    float *sample;    /* [traces][ns] */
    double widest[5]; /* the largest |value| of a parameter's range */
    double loudest;   /* the largest |sample| */
} problem;

/* What a query and further words, a table as args_parse() takes, ask for; errors end
 * the program. */
problem problem_read(int argc, char **argv, arg *extra, const char *about);
void problem_free(problem *p);

#endif
