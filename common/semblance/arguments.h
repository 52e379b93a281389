/* arguments.h - the command line of everything that searches: the programs of each step
 * and the checker in verify/.
 */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "line.h"
#include "semblance.h"

/* A query in double, as typed; query_of makes the float one. */
typedef struct {
    double m0, h0, t0, tau; /* metres, metres, seconds, seconds */
    double p0[5], p1[5];
    int np[5];
    int group[3];
    const char *in; /* SU file */
    su_order order;
    su_axis axis;
} request;

/* Parses either the paper's 20 words (M0 H0 T0 TAU, five times P0 P1 N, FILE), after
 * which key=value may follow, or key=value alone. extra is a table of further keys,
 * ending in {0}. Errors, help and a bare call end the program. */
request request_parse(int argc, char **argv, arg *extra, const char *about);

/* Where sources and receivers are counted from in a gather for r: whole metres next to
 * those of the output point, so that coordinates of 6e6 m with centimetres lose nothing
 * as floats. */
typedef struct {
    double source, receiver;
} origin;

origin origin_of(const request *r);

/* Reads the traces as su_line() makes them, from r's origin; says on stderr how many
 * were dead. fail() with what is wrong with them. */
su_gather request_gather(const request *r);

/* The query of r on the traces of g, which request_gather() read: m0 and h0 are counted
 * from r's origin too. fail() where t0 or tau do not fit the traces, or the search
 * overflows a number or the memory. */
query query_of(const request *r, const su_gather *g);

/* The window's half width in samples. The thousandth of a sample makes up for 0.005 not
 * being a binary fraction. */
int tau_samples(const request *r, const su_gather *g);

#endif
