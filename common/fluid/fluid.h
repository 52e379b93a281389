/* fluid.h - the interface between the front end and the back-ends in steps/.
 *
 * The front end parses arguments and events, writes the output and calls the
 * operations of a time step in their order (step.h). A back-end implements these
 * operations: it allocates the fields and owns devices, transfers and loops. Fields are
 * named by their index.
 */
#ifndef FLUID_H
#define FLUID_H

#include "grid.h"
#include "run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The fields, (nx + 2)(ny + 2)(nz + 2) floats each: the velocity along x, y and z in
 * box lengths per unit of time, the density, and a second buffer for each of them
 * (sources, then the other operand of a time step). */
enum { U, V, W, DENSITY, U0, V0, W0, DENSITY0, FIELDS };

typedef struct {
    grid g;
    float dt;         /* time step */
    int sweeps;       /* maximum number of sweeps per solve */
    float tolerance;  /* on the largest change in a sweep; negative: not tested */
    int from_zero;    /* 1: each solve starts from x = 0: a back-end need not clear x */
    int gauss_seidel; /* 1: lexicographic order (Gauss-Seidel); 0: red-black order */
    int group[3];     /* work-items per work-group; 0: chosen by the back-end */
    uint64_t events;  /* digest of the events, which must be the same on all ranks */
} setup;

/* Allocates all fields and sets them to 0. Called first. Calls fail() on any error. */
void fluid_begin(const setup *s);

/* Writes one value of a field. fluid_get waits for all earlier operations and reads a
 * field: dst[k][j][i], with ghost cells, i fastest. */
void fluid_put(int field, int i, int j, int k, float value);
void fluid_get(int field, float *dst);

/* field = 0. With from_zero the front end clears fields only for the next solve. */
void fluid_clear(int field);

/* x += dt s, including ghost cells */
void fluid_add(int x, int s);

/* Relaxes x towards the solution of c x - a (sum of the 6 neighbours) = x0 by red-black
 * Gauss-Seidel sweeps (red cells first), starting from the present x. Returns the
 * number of sweeps. After each sweep the largest change of a cell is compared with the
 * tolerance; a NaN never counts as converged. A back-end may also complete a solve that
 * is limited by a tolerance later; it then returns 0 and calls report_sweeps().
 */
int fluid_solve(int wall, int x, int x0, float a, float c);

/* Solves the pressure equation 6 p - (sum of the 6 neighbours) = div. Returns the
 * number of sweeps; 0 if the back-end has solved it directly. The front end's own
 * function calls fluid_solve(); a back-end that defines this one replaces it. */
int fluid_pressure(int p, int div);

/* Semi-Lagrangian advection: d(p) = d0(q), where q is the point from which the flow (u,
 * v, w) reaches p in dt */
void fluid_advect(int wall, int d, int d0, int u, int v, int w);

/* div = -1/2 (divergence of (u, v, w)) / (cells along the longest side); p = 0 */
void fluid_divergence(int u, int v, int w, int p, int div);

/* (u, v, w) -= 1/2 gradient of p */
void fluid_gradient(int u, int v, int w, int p);

/* Releases everything that fluid_begin allocated. */
void fluid_end(void);

/* ---- services of the front end for back-ends ------------------------------------- */

/* True if kernel times are recorded (profile=1). Otherwise no back-end reads a clock.
 */
bool profiling(void);

/* Adds a duration in seconds, if possible from the device's own clock, to the record of
 * a kernel. The string `kernel` must stay valid. Names of transfers begin with "copy".
 */
void profile_record(const char *kernel, double seconds);
double profiled_seconds(void); /* sum over all kernels, without transfers */

/* Executes a call and, with profile=1, records its duration. */
#define TIMED(kernel, call)                                                            \
    do {                                                                               \
        double timed_ = profiling() ? seconds() : 0;                                   \
        call;                                                                          \
        if (profiling()) profile_record(kernel, seconds() - timed_);                   \
    } while (0)

/* Adds the sweeps of a solve that fluid_solve left unfinished. Called before the next
 * fluid_get returns. */
void report_sweeps(int sweeps);

static inline int longest_side(grid g)
{
    int n = g.nx > g.ny ? g.nx : g.ny;
    return n > g.nz ? n : g.nz;
}

#ifdef __cplusplus
}
#endif

#endif
