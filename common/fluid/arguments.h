/* arguments.h - the command line of everything that computes: the programs of each step
 * and the checker in verify/.
 */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "events.h"
#include "step.h"

/* As typed. */
typedef struct {
    int n, side[3]; /* inner cells: of all sides; of each, 0 where it is n */
    int steps;      /* -1: what the events file says, or else STEPS */
    double dt, diff, visc;
    int sweeps; /* exactly so many a solve; 0: until the tolerance is met */
    bool gauss_seidel, keep;
    int group[3];
    const char *events; /* file */
} request;

enum { SWEEPS = 20, STEPS = 100 };
#define TOLERANCE 1e-7f

/* Parses key=value; extra is a table of further keys, ending in {0}. Errors, help and a
 * bare call end the program. */
request request_parse(int argc, char **argv, arg *extra, const char *about);

/* What back-ends are told, and what a step is; fail() where dt, diff or visc are too
 * large for a float to hold what is made of them. */
setup setup_of(const request *r);
physics physics_of(const request *r);

int steps_of(const request *r, const event_list *events);

#endif
