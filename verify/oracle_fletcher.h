/* oracle_fletcher.h - an independent implementation of the wave modelling in double
 * precision. It is written from the equations and the documentation of the arguments,
 * and shares no code with the programs that it checks: it parses the arguments,
 * generates the rock and the source's signal, differentiates, and integrates in time by
 * itself.
 *
 * Left out: rejecting models that cannot be computed.
 */
#ifndef ORACLE_FLETCHER_H
#define ORACLE_FLETCHER_H

#include "../common/run/run.h"

/* Points on each side that a derivative of order 8 needs. As many layers on each face
 * of the grid stay 0 (the halo). */
enum { HALF_WIDTH = 4 };

enum { VPZ, EPSILON, DELTA, THETA, PHI, PROPERTIES };
extern const char *const property_name[PROPERTIES];

/* The arguments of a model. */
typedef struct {
    int n[3], absorb; /* points of the inner grid along x, y, z; of the band */
    double d[3], dt, tmax, sigma;
    int steps;
    const char *snapshots;        /* folder, or NULL */
    double *property[PROPERTIES]; /* [nz][ny][nx] */
    bool file[PROPERTIES];        /* whether it was read from a file */
} query;

query query_of(int argc, char **argv, arg *extra, const char *about);
size_t inner_size(const query *w);

/* The coefficients of the equations at one point: the symmetry axis, a unit vector, and
 * squared velocities. */
typedef struct {
    double axis[3], vpx2, vpz2, vpn2, vsz2;
} coefficients;

typedef struct {
    const query *w;
    int s[3];          /* points along x, y, z, including band and halo */
    ptrdiff_t step[3]; /* distance of neighbours along x, y, z, in elements */
    size_t count;
    coefficients *rock; /* [count]; 0 in the halo */
} space;

space space_of(const query *w);
bool is_in_halo(const space *a, size_t i);

/* Effect of rounding a field to float, the largest of all steps so far: L2 norm,
 * maximum, and for each point: the largest effect in it and its neighbours, plus one
 * rounding of the largest term of its derivatives, which may cancel in double precision
 * and not in float. */
typedef struct {
    double norm, max;
    double *local; /* [count] */
} rounding;

/* Returns the number of fields: p, q and the snapshots of p. */
size_t fields_of(const query *w);

/* Returns the fields [fields][count], and the effects of rounding d[fields]. They are
 * read from path, or computed and written there if it does not exist. release_oracle()
 * frees them. */
const double *oracle(const space *a, const char *path, rounding *d);
void release_oracle(const space *a, const double *fields);

#endif
