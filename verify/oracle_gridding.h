/* oracle_gridding.h - an independent implementation of a gridding query: arguments,
 * visibilities, footprints, convolution functions, model. It shares no code with
 * common/gridding and steps/, so that an error there is not repeated here.
 */
#ifndef ORACLE_GRIDDING_H
#define ORACLE_GRIDDING_H

#include "../common/run/run.h"

#include <complex.h>

typedef struct {
    const char *in, *model;
    int count, grid, support, oversampling,
        planes;          /* count: visibilities, without in= */
    double cell, extent; /* wavelengths */
    double accuracy;     /* taps below this fraction of the largest may be 0 */
    double field;        /* part of the side of an image that is computed */
    bool random, integer, double_precision, degrid,
        image; /* double_precision: precision=double */
} query;

enum { SOURCES_MADE = 6 };

/* A source at an integer number of pixels from the middle of the image: x = l cell
 * size. */
typedef struct {
    double l, m, flux;
} source;

/* A visibility whose footprint lies inside the grid. */
typedef struct {
    double u, v, w, weight;
    double complex d;                      /* times its weight */
    double rounding;                       /* error of d, in roundings of a double */
    long column, row;                      /* the first of the footprint */
    const double complex *taps_u, *taps_v; /* [width]: taps of columns and of rows */
} visibility;

typedef struct {
    visibility *visibilities;
    int n;
    double norm; /* sum of the weights */
    source sky[SOURCES_MADE];
    int source_count;     /* 0 if the visibilities come from a file */
    double complex *taps; /* [2][planes][oversampling][width]: w >= 0, w < 0 */
    size_t taps_count;
    double rounding;       /* error of a tap, in roundings of a double */
    double max_phase_step; /* largest phase step at the edge of the image, in cycles per
                              pixel */
    double complex *model; /* [grid][grid]: the grid to degrid, or NULL */
    double model_rounding; /* error of a cell of the model, in roundings of a double */
    bool exact;            /* all factors are integers */
} scene;

/* extra is a table of further keys, ending in {0}, as in request_parse(). */
query query_parse(int argc, char **argv, arg *extra, const char *about);
scene make_scene(const query *q);
void scene_free(scene *s);

/* Returns the taper at x, in units of the image's side from its middle. */
double taper(double x);

/* Returns the visibility of the sources at (u, v, w). */
double complex source_visibility(const source *sky, int source_count, double u,
                                 double v, double w);

/* Returns a pseudo-random number in [0, 1) from two integers. */
double hash01(uint64_t key, uint64_t which);

#endif
