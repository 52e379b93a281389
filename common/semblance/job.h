/* job.h - the job that a command asks for: the options, the places and times of its
 * output, and the queries of its searches. */
#ifndef JOB_H
#define JOB_H

#include "line.h"
#include "semblance.h"

enum { POINTS_MAX = 1000000000 }; /* output points: an int counts them */

/* The values first, first + step, ..: count of them. */
typedef struct {
    double first, step;
    int count;
} series;

typedef struct {
    double low, high;
} interval;

double series_at(const series *s, int i);
interval series_ends(const series *s);

/* A midpoint and a half-offset, in metres. */
typedef struct {
    double m, h;
} position;

/* The search ranges of A .. E at time t0 and half-offset h0: np values from p0 to p1,
 * as in query.h. Between two rows of a file np is interpolated and not a whole number.
 */
typedef struct {
    double t0, h0;
    double p0[5], p1[5], np[5];
} ranges;

/* A row of velocity=: at time t0 of offset 0, velocities are low to high, in m/s. */
typedef struct {
    double t0, low, high;
} velocity_row;

/* A row of mute=: traces of this offset, in metres, are muted before this time. */
typedef struct {
    double offset, time;
} mute_row;

/* The windows of a search (semblance.h), its points (coarse.c), and the amplitude of a
 * filled sample (fill.c), in the order of the choices of window=, search=, smooth= and
 * weight=. */
typedef enum { WINDOW_PARALLEL, WINDOW_MOVEOUT } window_choice;
typedef enum { SEARCH_FULL, SEARCH_COARSE } search_choice;
typedef enum { SMOOTH_CENTRE, SMOOTH_WINDOW } smooth_choice;
typedef enum { WEIGHT_SEMBLANCE, WEIGHT_NONE } weight_choice;

/* The options in double precision, as the user typed them, and what follows from them
 * and from the traces. */
typedef struct {
    series m0, h0;       /* metres: output traces are all combinations */
    position *positions; /* [position_count]: output traces instead, or NULL */
    int position_count;
    series t0;   /* seconds; count is 0 if t0= is not set */
    double tau;  /* seconds */
    ranges *row; /* [rows], with increasing t0 for each h0, which increases, too; a
                    single time, or a single half-offset, applies to all */
    int rows;
    bool by_offset;         /* whether rows depend on the half-offset */
    velocity_row *velocity; /* [velocities]: the rows follow from these (criterion.c) */
    int velocities;
    mute_row *mute; /* [mutes]: table of mute= (mute.c) */
    int mutes;
    double stretch;  /* mute=: limit of the stretch, or 0 */
    interval filled; /* half-offsets of the traces that can be filled, or low > high */
    double dip, period;     /* s/m; s; NaN: not set */
    const char *ranges_out; /* file for the rows, or NULL */
    double
        aperture[2]; /* metres: maximum distance of a trace from the point in m and h */
    int passes;      /* 1; 2: a residual pass (section.c) */
    bool fill;       /* fill=dead (dead.c): the dead traces are the output traces */
    int *dead;       /* [dead_count]: traces that count as dead, or NULL */
    int dead_count;
    window_choice window;
    search_choice search;
    bool choose; /* options that are not set are chosen (choose.c) */
    bool check;  /* live traces are left out and filled (check.c) */
    bool passes_set, weight_set,
        refine_set; /* whether the command sets these options */
    bool trial;     /* of choose=: the files are not those that the command names */
    bool silent;    /* in a later pass, whose messages would be those of the first */
    bool reported;  /* what survey_gather() prints */
    bool refine;    /* curves between the points of the grid (refine.c) */
    double average; /* seconds before and after a sample; NaN: not set */
    smooth_choice smooth;
    weight_choice weight;
    int group[3];
    uint64_t digest; /* of the options that request_hash() does not have as values */
    const char *in;  /* SU file */
    su_order order;
    bool skip_bad; /* bad=skip */
    line_axis axis;
    bool any_offset;         /* offset=ignore: it may contradict the positions */
    const char *out, *panel; /* for a point, or NULL */
    const char *stack, *coherence, *parameters; /* for a section, or NULL */
} request;

void request_free(request *r);

/* Prints "NAME: message" on stderr, in the first process only, and not if r is silent.
 */
__attribute__((format(printf, 2, 3))) void request_note(const request *r,
                                                        const char *format, ...);

/* The output traces of r: their number, which may be larger than an int until
 * request_fit() has checked it, the midpoint and half-offset of one of them, and the
 * smallest and largest half-offset. */
double request_trace_count(const request *r);
int request_traces(const request *r);
position request_position(const request *r, int i);
interval request_offsets(const request *r);

/* Makes these positions the output traces of r. */
void request_set_positions(request *r, position *positions, int count);

/* True if whole traces are requested, not one point. */
static inline bool is_section(const request *r)
{
    return r->stack || r->coherence;
}

/* The origin of source and receiver coordinates in a gather for r: whole metres close
 * to the first output point, so that floats hold coordinates of 6e6 m with centimetres
 * exactly. */
typedef struct {
    double source, receiver;
} origin;

origin request_origin(const request *r);

/* Returns the position of a trace of a gather for r. */
position request_place(const request *r, const su_header *t);

/* Completes r from the traces of g, which survey_gather() has read: without t0=, a
 * section covers all recorded times. fail() if t0 does not fit the traces. Calls
 * request_check_search() unless the ranges follow from velocity=. */
void request_fit(request *r, const su_gather *g);

/* fail() if the ranges do not cover t0 and h0, if tau does not fit the traces, or if
 * the search is too large to be counted or for the memory. */
void request_check_search(const request *r, const su_gather *g);

/* Returns a digest of all options that the result depends on, and of what has been
 * chosen or derived for those that are not set. */
uint64_t request_hash(const request *r);

/* Returns the query for one point of r, without ntraces. Its m0 and h0 are relative to
 * r's origin, as the traces of g are. */
query query_at(const request *r, const su_gather *g, double m0, double h0, double t0);

/* Returns a query with the maximum size of all queries of r. */
query query_largest(const request *r, const su_gather *g);

/* Returns the half width of the window, and over how many samples before and after each
 * one average= takes means. */
int tau_samples(const request *r, const su_gather *g);
int average_samples(const request *r);

#endif
