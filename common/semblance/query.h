/* query.h - the input and the output of a search, the same in C, OpenCL C and CUDA C:
 * all members have four bytes, so the layout is the same everywhere.
 */
#ifndef QUERY_H
#define QUERY_H

/* The parameters of the traveltime operator, in the order of the arrays below. */
enum { A, B, C, D, E, PARAMETERS };

/* A search around the output point (m0, h0, t0). The traveltime operator, of the
 * finite-offset CRS type, with dm = m - m0 and dh = h - h0 for a trace of midpoint m
 * and half-offset h:
 *
 *     t^2 = (t0 + A dm + B dh)^2 + C dh^2 + D dm^2 + E dh dm
 *
 * Value i of parameter k is p0[k] + (i / np[k]) (p1[k] - p0[k]), 0 <= i < np[k]; p1
 * itself is not among them. */
typedef struct {
    float m0, h0; /* metres */
    float t0;     /* seconds */
    float idt;    /* samples per second, 1 / dt */
    int tau;      /* half window in samples, 0 .. 100: a window has 2 tau + 1 */
    int ns;       /* samples per trace */
    int pitch;    /* floats from the samples of one trace to those of the next */
    int ntraces;  /* traces of the search */
    float p0[PARAMETERS], p1[PARAMETERS]; /* A, B in s/m; C, D, E in s^2/m^2 */
    int np[PARAMETERS];
    int group[3]; /* work-items per group; 0: the back-end chooses */
} query;

/* One point of the search and its result. */
typedef struct {
    float a, b, c, d, e;
    float stack;     /* mean amplitude of all windows */
    float semblance; /* 0 .. 1 */
} point;

/* Length of a window, and the largest length. An OpenCL program is compiled when the
 * window is known, with -D WINDOW; C and CUDA are compiled earlier, for windows of up
 * to 2 * 100 + 1 samples. */
#ifdef WINDOW
#define MAX_WINDOW       WINDOW
#define window_length(q) WINDOW
#else
#define MAX_WINDOW       201
#define window_length(q) (2 * (q)->tau + 1)
#endif

#endif
