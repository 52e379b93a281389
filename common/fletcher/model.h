/* model.h - the model: its command line, its grid and the properties of the rock.
 */
#ifndef MODEL_H
#define MODEL_H

#include "fletcher.h"

enum { VPZ, EPSILON, DELTA, THETA, PHI, PROPERTIES };

typedef struct {
    int n[3];                 /* points of the inner grid along x, y, z */
    int absorb;               /* points of the absorbing band on each face */
    double d[3];              /* distances of points along x, y, z, m */
    double dt;                /* time step, s */
    double tmax;              /* duration, s */
    double sigma;             /* vpz^2 |epsilon - delta| / vsz^2; above 10: vsz is 0 */
    int steps;                /* number of time steps, at least tmax / dt */
    int group[3];             /* work-group size; 0: default */
    double value[PROPERTIES]; /* a property that has no field */
    float *field[PROPERTIES]; /* [nz][ny][nx], or NULL */
    double vpz_max, vsz_max;  /* maxima over the inner grid, m/s */
} model;

/* The rock at one point. */
typedef struct {
    double vpz, vsz; /* velocity of P waves along the axis and of shear waves, m/s */
    double epsilon, delta; /* Thomsen's parameters of anisotropy */
    double theta, phi; /* angle of the axis from z, and its azimuth from x, radians */
} rock;

/* Parses the command line and reads the fields that it names. Calls fail() if the model
 * cannot be computed. extra is a table of further keys, ending in {0}. */
model model_parse(int argc, char **argv, arg *extra, const char *about);
void model_free(model *m);

grid grid_of(const model *m);

/* Returns the rock at point (x, y, z) of the whole grid. Random boundary (Clapp 2009):
 * in the absorbing band the velocities change gradually to random ones, so that
 * reflections are incoherent. Rock in which waves would gain energy from that (epsilon
 * below delta, or vsz above vpz sqrt(1 + 2 delta)) keeps its velocities there. In the
 * halo they are 0. The random number depends on the coordinates only, not on the order
 * of the calls. */
rock rock_at(const model *m, int x, int y, int z);

/* Returns the source's value at step it, 1 .. steps: a Ricker wavelet. */
double source_at(const model *m, int it);

#endif
