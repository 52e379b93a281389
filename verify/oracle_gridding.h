/* oracle_gridding.h - what a query of gridding asks for, read anew: the words, the
 * visibilities and where they fall, the convolution functions, the model. Nothing here
 * is taken from common/gridding or steps/, so that no mistake is shared.
 */
#ifndef ORACLE_GRIDDING_H
#define ORACLE_GRIDDING_H

#include "../common/run/run.h"

#include <complex.h>

typedef struct {
    const char *in, *model;
    int made, grid, support, oversampling, planes; /* made: visibilities, without in= */
    double cell, extent;                           /* wavelengths */
    double accuracy; /* taps under this part of the largest may be 0 */
    bool random, integer, wide, degrid; /* wide: precision=double */
} question;

enum { SOURCES_MADE = 6 };

/* One of the sky's, at whole pixels from the middle of the image: x = l cell size. */
typedef struct {
    double l, m, flux;
} light;

/* A visibility whose footprint lies inside the grid. */
typedef struct {
    double u, v, w, weight;
    double complex d;                    /* times its weight */
    double doubt;                        /* of d, in roundings of a double */
    long column, row;                    /* the first of the footprint */
    const double complex *across, *down; /* [width]: the taps of its columns and rows */
} sight;

typedef struct {
    sight *at;
    int n;
    double norm; /* sum of the weights */
    light sky[SOURCES_MADE];
    int lights;           /* 0 where visibilities come from a file */
    double complex *taps; /* [2][planes][oversampling][width]: w >= 0, w < 0 */
    size_t taps_count;
    double doubt;          /* of a tap, in roundings of a double */
    double steepest;       /* of the planes' phases: cycles a pixel at the edge */
    double complex *model; /* [grid][grid] of what is degridded, or NULL */
    double model_doubt;    /* of a cell of it, in roundings of a double */
    bool whole;            /* everything that is multiplied is a whole number */
} scene;

/* extra as request_parse has it: further keys, ending in {0}. */
question question_parse(int argc, char **argv, arg *extra, const char *about);
scene scene_of(const question *q);
void scene_free(scene *s);

/* The taper at x, in parts of the image's side from its middle. */
double taper_at(double x);

/* What the lights look like at (u, v, w). */
double complex seen_at(const light *sky, int lights, double u, double v, double w);

/* A number in 0 .. 1 of two whole ones. */
double drawn(uint64_t key, uint64_t which);

#endif
