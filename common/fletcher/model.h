/* model.h - what is modelled: the command line, the grid and the rock. The programs of
 * each step and the checker in verify/ share it.
 */
#ifndef MODEL_H
#define MODEL_H

#include "fletcher.h"

enum { VPZ, EPSILON, DELTA, THETA, PHI, PROPERTIES };

typedef struct {
    int n[3];    /* x, y, z: points inside the absorbing band */
    int absorb;  /* points of the band, on each face */
    double d[3]; /* metres between points */
    double dt;   /* seconds a step */
    double tmax; /* seconds */
    double
        sigma; /* how stiff shear is: the smaller the stiffer; over 10 it is absent */
    int steps; /* that reach tmax */
    int pad;   /* 0: rows and planes as long as their points, and no longer */
    int group[3];
    double value[PROPERTIES]; /* the same everywhere, where there is no */
    float *field[PROPERTIES]; /* [nz][ny][nx] */
    double vpz_max, vsz_max;  /* m/s, of all points inside */
} model;

/* The rock at one point. */
typedef struct {
    double vpz, vsz;       /* m/s, of P waves along the axis and of shear waves */
    double epsilon, delta; /* Thomsen's, of which weak anisotropy has little */
    double theta, phi;     /* radians: the axis's dip from z, and its azimuth from x */
} rock;

/* Parses the command line, reads the fields that it names and refuses what cannot be
 * modelled: fail() says why. extra is a table of further keys, ending in {0}. */
model model_parse(int argc, char **argv, arg *extra, const char *about);
void model_free(model *m);

grid grid_of(const model *m);

/* At point (x, y, z) of the whole grid. In the absorbing band velocities go over to
 * random ones, so that reflections lose their order; in the halo they are 0. The random
 * number belongs to the point: it does not depend on the order in which points are
 * asked for. */
rock rock_at(const model *m, int x, int y, int z);

/* The source's signal at step it, of 1 .. steps. */
double source_at(const model *m, int it);

#endif
