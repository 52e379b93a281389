/* oracle_fletcher.h - what the wave modelling should give, in double precision: made
 * from the equations and from what the words of a query mean, and from nothing else. It
 * reads the words, makes the rock and the source's signal, derives and goes from step
 * to step by itself.
 *
 * Left out: refusing what cannot be modelled.
 */
#ifndef ORACLE_FLETCHER_H
#define ORACLE_FLETCHER_H

#include "../common/run/run.h"

/* Points to either side that a derivative of order 8 needs, and the layers of each face
 * that stay 0. */
enum { REACH = 4 };

enum { SPEED, ALONG, NEAR, DIP, AZIMUTH, PROPERTIES };
extern const char *const property_name[PROPERTIES];

/* What the words mean. */
typedef struct {
    int n[3], absorb; /* points inside, along x, y, z, and of the band around them */
    double d[3], dt, tmax, sigma;
    int steps;
    const char *snapshots;      /* their folder, or NULL */
    double *inside[PROPERTIES]; /* [nz][ny][nx] */
    bool file[PROPERTIES];      /* it came from one */
} query;

query query_of(int argc, char **argv, arg *extra, const char *about);
size_t points_inside(const query *w);

/* What the equations need of the rock: the axis, and squares of velocities. */
typedef struct {
    double axis[3], vpx2, vpz2, vpn2, vsz2;
} coefficients;

typedef struct {
    const query *w;
    int s[3];          /* points along x, y, z, band and halo included */
    ptrdiff_t step[3]; /* from a point to the next, in elements */
    size_t count;
    coefficients *rock; /* [count]; of the halo nothing */
} space;

space space_of(const query *w);
bool in_halo(const space *a, size_t i);

/* What rounding to float changed of a field so far: its L2 norm, and at most. */
typedef struct {
    double norm, most;
} doubt;

/* p, q, and the snapshots of p. */
size_t fields_of(const query *w);

/* The fields right[fields][count] and their doubts d[fields], from path, which is made
 * if it does not exist; what is returned holds both, and is to be freed. */
double *oracle(const space *a, const char *path, const doubt **d, const double **right);

#endif
