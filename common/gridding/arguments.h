/* arguments.h - the command line of everything that grids: the programs of each step,
 * the checker, the counter. From the words to a problem in three steps: request,
 * observation, problem.
 */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "gridding.h"
#include "sky.h"

typedef struct {
    const char *in;                  /* visibilities; NULL: they are made */
    int visibilities, grid, support; /* numbers, cells a side, cells */
    int oversampling, planes;
    double cell;                /* wavelengths */
    double accuracy;            /* see gridding.h */
    double baseline, frequency; /* extent of the uv plane in metres; Hz */
    bool random;                /* points anywhere, not on tracks */
    bool integer;               /* small integers for taps, visibilities and grid */
    bool double_precision, degrid, strict;
    const char *model; /* what to degrid: sources, noise or FILE.npy */
    int copies, strips[2];
} request;

/* Parses key=value. extra is a table of further keys, ending in {0}. Errors, help and a
 * bare call end the program. */
request request_parse(int argc, char **argv, arg *extra, const char *about);

/* The visibilities whose footprints lie inside the grid, and how many do not. */
typedef struct {
    visibility *d;
    int n, outside;
    double wstep; /* wavelengths from plane to plane */
    double norm;  /* sum of the weights */
    source sources[SOURCES];
    int known; /* of the sources: none where the visibilities come from a file */
} observation;

observation observe(const request *r);
void observation_free(observation *o);

/* Places every visibility and computes the convolution functions. */
problem problem_of(const request *r, const observation *o);
void problem_free(problem *p);

/* The grid [size][pitch][2] that is to be degridded. To be freed. */
double *degridding_model(const request *r, const problem *p);

#endif
