/* arguments.h - the command line of the programs of each step. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "events.h"
#include "step.h"

/* The arguments as the user typed them. */
typedef struct {
    int n, side[3]; /* inner cells along all sides; along x, y, z, 0: n */
    int steps;      /* -1: as in the events file, else STEPS */
    double dt, diff, visc;
    int sweeps; /* iterations per solve; 0: until the tolerance is met */
    bool gauss_seidel, keep_sources;
    int group[3];
    const char *events; /* path */
} request;

enum { SWEEPS = 20, STEPS = 100 };
#define TOLERANCE 1e-7f

/* Parses key=value; extra is a table of further keys, ending in {0}. Exits the program
 * after an error, a request for help, or a call without arguments. */
request request_parse(int argc, char **argv, arg *extra, const char *about);

/* Parameters of the back-ends, and of a time step; fail() if the products of dt, diff
 * or visc that the program computes may overflow a float. */
setup make_setup(const request *r);
physics make_physics(const request *r);

int step_count(const request *r, const event_list *events);

#endif
