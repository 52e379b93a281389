/* arguments.h - the command line of the search. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "line.h"
#include "semblance.h"

/* first, first + step, ..: count values */
typedef struct {
    double first, step;
    int count;
} series;

double series_at(const series *s, int i);

/* The values of A .. E that are searched at a time t0: np from p0 to p1, as in query.h.
 * np is no whole number between two rows of a file. */
typedef struct {
    double t0;
    double p0[5], p1[5], np[5];
} ranges;

/* What is asked, in double, as typed. */
typedef struct {
    series m0, h0; /* metres */
    series t0;     /* seconds; count is 0 where t0= is not given */
    double tau;    /* seconds */
    ranges *row;   /* [rows], t0 rising; one row is for all times */
    int rows;
    double aperture[2]; /* metres: traces that far from the point, in m and in h */
    int group[3];
    const char *in; /* SU file */
    su_order order;
    su_axis axis;
    const char *out, *panel;                    /* of a point, or NULL */
    const char *stack, *coherence, *parameters; /* of a section, or NULL */
} request;

/* Parses either the paper's 20 words (M0 H0 T0 TAU, five times P0 P1 N, FILE), after
 * which key=value may follow, or key=value alone; reads the file of ranges. Errors,
 * help and a bare call end the program. */
request request_parse(int argc, char **argv, const char *about);

/* Whether traces are asked for, not one point. */
static inline bool is_section(const request *r)
{
    return r->stack || r->coherence;
}

/* Where sources and receivers are counted from in a gather for r: whole metres next to
 * those of the first output point, so that coordinates of 6e6 m with centimetres lose
 * nothing as floats. */
typedef struct {
    double source, receiver;
} origin;

origin request_origin(const request *r);

/* Reads the traces as su_line() makes them, from r's origin, their samples as
 * crew_headers() has it; r->axis becomes what it found. Says on stderr how many were
 * dead. fail() with what is wrong with them. */
su_gather request_gather(request *r);

/* Completes r with what the traces of g, which request_gather() read, say: t0= of a
 * section is all that they recorded unless given. fail() where t0 or tau do not fit the
 * traces, or the search overflows a number or the memory. */
void request_fit(request *r, const su_gather *g);

/* The query of a point of r, ntraces of the gather to be filled in. m0 and h0 are
 * counted from r's origin, as the traces of g are. */
query query_at(const request *r, const su_gather *g, double m0, double h0, double t0);

/* As large as any query of r. */
query query_largest(const request *r, const su_gather *g);

/* The window's half width in samples. The thousandth of a sample makes up for 0.005 not
 * being a binary fraction. */
int tau_samples(const request *r, const su_gather *g);

#endif
