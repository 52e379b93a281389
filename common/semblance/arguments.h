/* arguments.h - the command line of the search. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "line.h"
#include "semblance.h"

/* The values first, first + step, ..: count of them. */
typedef struct {
    double first, step;
    int count;
} series;

double series_at(const series *s, int i);

/* The values of A .. E that are searched at a time t0: np from p0 to p1, as in query.h.
 * np is not a whole number between two rows of a file. */
typedef struct {
    double t0;
    double p0[5], p1[5], np[5];
} ranges;

/* The arguments, in double, as typed. */
typedef struct {
    series m0, h0; /* metres */
    series t0;     /* seconds; count is 0 if t0= is not given */
    double tau;    /* seconds */
    ranges *row;   /* [rows], t0 increasing; a single row is valid for all times */
    int rows;
    double aperture[2]; /* metres: largest distance of a trace from the point, in m and
                           in h */
    int group[3];
    const char *in; /* SU file */
    su_order order;
    su_axis axis;
    const char *out, *panel;                    /* for one point, or NULL */
    const char *stack, *coherence, *parameters; /* for a section, or NULL */
} request;

/* Parses either the paper's 20 arguments (M0 H0 T0 TAU, five times P0 P1 N, FILE),
 * which key=value may follow, or key=value alone; reads the file of ranges. Errors,
 * help and a call without arguments end the program. */
request request_parse(int argc, char **argv, const char *about);

/* Returns whether whole traces are requested, not one point. */
static inline bool is_section(const request *r)
{
    return r->stack || r->coherence;
}

/* The origin of the source and receiver coordinates in a gather for r: whole metres
 * next to the source and the receiver of the first output point. Relative to it,
 * coordinates of 6e6 m with centimetres are exact floats. */
typedef struct {
    double source, receiver;
} origin;

origin request_origin(const request *r);

/* Reads the traces with proc_read_headers() and prepares them with su_line(), relative
 * to r's origin; r->axis becomes the axis that was found. Reports the number of dead
 * traces on stderr. Ends by fail() if the traces cannot be used. */
su_gather request_gather(request *r);

/* Completes r from the traces of g, which request_gather() has read: without t0=, a
 * section covers the whole recording. Ends by fail() if t0 or tau do not fit the
 * traces, or if the search is too large for its counters or the memory. */
void request_fit(request *r, const su_gather *g);

/* Returns the query for one point of r; the caller sets ntraces. m0 and h0 are relative
 * to r's origin, like the traces of g. */
query query_at(const request *r, const su_gather *g, double m0, double h0, double t0);

/* Returns a query that is as large as any query of r. */
query query_largest(const request *r, const su_gather *g);

/* Returns the half window in samples. A thousandth of a sample is added, because 0.005
 * is not a binary fraction. */
int tau_samples(const request *r, const su_gather *g);

#endif
