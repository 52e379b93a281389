/* fluid.h - the contract between the front end and the back-ends in steps/.
 *
 * The front end owns arguments, events, output and the order in which a time step does
 * things (step.h). A back-end owns the fields and everything that costs time: memory,
 * devices, transfers, loops. It is told what to do to which field.
 */
#ifndef FLUID_H
#define FLUID_H

#include "grid.h"
#include "run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The fields, each of (nx + 2)(ny + 2)(nz + 2) floats: velocity along x, y, z in boxes
 * a unit of time, and density; and four more for what is being made from them. */
enum { U, V, W, DENSITY, U0, V0, W0, DENSITY0, FIELDS };

typedef struct {
    grid g;
    float dt;         /* time step */
    int sweeps;       /* of a solve, at most */
    float tolerance;  /* a solve ends when no cell moves more; negative: never */
    int gauss_seidel; /* 1: cells in the order of their index, not by colour */
    int group[3];     /* work-items a group; 0 where the back-end is to choose */
} setup;

/* Before all else; all fields are 0 afterwards. What cannot go on ends in fail(). */
void fluid_begin(const setup *s);

/* Values from and to the host. fluid_get waits for all that was asked before:
 * to[k][j][i] with ghosts, i next in memory. */
void fluid_put(int field, int i, int j, int k, float value);
void fluid_get(int field, float *to);

/* field = 0 */
void fluid_clear(int field);

/* x += dt s, ghosts too */
void fluid_add(int x, int s);

/* Relaxes x towards the solution of c x - a (sum of the 6 neighbours) = x0, red cells
 * and then black cells in each sweep, starting from what x is. Returns the sweeps done:
 * the tolerance is tested after each, and a NaN is never within it. A back-end may
 * solve the pressure's equation outright where a tolerance ends it, and returns 0. It
 * may also put off a solve that a tolerance ends, and return 0 until swept(). */
int fluid_solve(int wall, int x, int x0, float a, float c);

/* d(p) = d0(where the flow (u, v, w) came from that is at p now) */
void fluid_advect(int wall, int d, int d0, int u, int v, int w);

/* div = -1/2 (divergence of (u, v, w)) / the longest side of g in cells; p = 0 */
void fluid_divergence(int u, int v, int w, int p, int div);

/* (u, v, w) -= 1/2 gradient of p */
void fluid_gradient(int u, int v, int w, int p);

/* Gives all back. */
void fluid_end(void);

/* ---- what the front end offers to back-ends ----------------------------------------
 */

/* Whether anybody asks what kernels cost (profile=1): if not, nobody stops to look at a
 * clock. */
bool profiling(void);

/* Books seconds, by the device's own clock where it has one, on a kernel, by its name,
 * which must live on. Transfers have names that begin with copy. */
void profile_record(const char *kernel, double seconds);
double profiled_seconds(void); /* all that was booked on kernels so far */

/* Runs a call and books it. */
#define TIMED(kernel, call)                                                            \
    do {                                                                               \
        double timed_ = profiling() ? seconds() : 0;                                   \
        call;                                                                          \
        if (profiling()) profile_record(kernel, seconds() - timed_);                   \
    } while (0)

/* The sweeps of a solve that was put off; before the next fluid_get returns. */
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
