/* query.h - what the search is asked and what it answers, as C, OpenCL C and CUDA C see
 * it: members of four bytes only, so that the layout is the same everywhere.
 */
#ifndef QUERY_H
#define QUERY_H

/* The parameters of the traveltime operator, in the order of the arrays below. */
enum { A, B, C, D, E, PARAMETERS };

/* The moveout of a reflection around the output point (m0, h0, t0), with dm = m - m0
 * and dh = h - h0 the displacements of a trace in midpoint and half-offset: t^2 = (t0 +
 * A dm + B dh)^2 + C dh^2 + D dm^2 + E dh dm Value i of parameter k (A .. E are 0 .. 4)
 * is p0[k] + (i / np[k]) (p1[k] - p0[k]), 0 <= i < np[k]: p1 itself is not searched. */
typedef struct {
    float m0, h0; /* metres */
    float t0;     /* seconds */
    float idt;    /* samples a second */
    int tau;      /* half window in samples, 0 .. 100: the window holds 2 tau + 1 */
    int ns;       /* samples a trace */
    int pitch;    /* samples of a trace begin so many floats after those before it */
    int ntraces;  /* that the search takes */
    float p0[PARAMETERS], p1[PARAMETERS]; /* A, B in s/m; C, D, E in s^2/m^2 */
    int np[PARAMETERS];
    int group[3]; /* work-items a group; 0 where the back-end is to choose */
} query;

/* One point of the search and what it scored. */
typedef struct {
    float a, b, c, d, e;
    float stack;     /* mean amplitude in the window along the moveout */
    float semblance; /* 0 .. 1 */
} point;

/* Samples in a window, and room for them. An OpenCL program is built when tau is known,
 * with -D WINDOW; C and CUDA are compiled before, and leave room for any. */
#ifdef WINDOW
#define MAX_WINDOW       WINDOW
#define window_length(q) WINDOW
#else
#define MAX_WINDOW       201
#define window_length(q) (2 * (q)->tau + 1)
#endif

#endif
