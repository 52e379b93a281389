/* arguments.h - the command line of the programs of each step and of the operation
 * counter. The arguments become a problem in three stages: request, observation,
 * problem.
 */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "gridding.h"
#include "sky.h"

typedef struct {
    const char *in; /* file of visibilities; NULL: they are generated */
    int visibilities, grid, support; /* number, cells per side, cells */
    int oversampling, planes;
    double cell;                /* wavelengths */
    double accuracy;            /* see gridding.h */
    double baseline, frequency; /* extent of the uv plane in metres; Hz */
    bool random;                /* random points instead of tracks */
    bool integer;               /* small integers for taps, visibilities and grid */
    bool double_precision, degrid;
    bool image;   /* task=image: accuracy determines support, oversampling and planes */
    double field; /* computed part of the side of the image, for task=image */
    int strict;   /* 1: visibilities outside the grid are an error */
    const char *model; /* grid to degrid: sources, noise or FILE.npy */
    int copies, strips[2];
} request;

/* Parses key=value; extra is a table of further keys, ending in {0}. Exits the program
 * after an error, a request for help, or a call without arguments. */
request request_parse(int argc, char **argv, arg *extra, const char *about);

/* The visibilities whose footprints lie inside the grid, and the number of others. */
typedef struct {
    visibility *d;
    int n, outside;
    double wstep; /* distance of two w planes, wavelengths */
    double norm;  /* sum of the weights */
    source sources[SOURCES];
    int known; /* number of sources: 0 if the visibilities come from a file */
} observation;

observation observe(const request *r);
void observation_free(observation *o);

/* Returns the cells from one row of a grid to the next. */
int grid_pitch(int size);

/* Places every visibility and computes the convolution functions. */
problem problem_of(const request *r, const observation *o);
void problem_free(problem *p);

/* Returns the grid [size][pitch][2] to degrid; the caller frees it. */
double *degridding_model(const request *r, const problem *p);

#endif
