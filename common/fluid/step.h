/* step.h - one time step: velocity, then the density that it carries.
 *
 * Each half adds sources, lets the field spread (diffuse) and moves it with the flow
 * (advect). Velocity must also stay free of divergence: project finds the pressure
 * whose gradient takes away what there is of it.
 *
 * The fields that end in 0 are the sources on entry. In this program events overwrite
 * cells instead, and sources are 0; with keep they are what the step before left
 * behind, which is a mistake, and worth keeping for comparison with those who made it.
 */
#ifndef STEP_H
#define STEP_H

#include "fluid.h"

/* How fast velocity and density spread. */
typedef struct {
    float visc, diff; /* boxes^2 a unit of time */
    int keep_sources; /* 1: what a step leaves behind is added as a source in the next
                       */
} physics;

static inline void swap(int *a, int *b)
{
    int t = *a;
    *a = *b;
    *b = t;
}

/* x = x0 after dt of spreading at the rate given. */
static inline int diffuse(const setup *s, int wall, int x, int x0, float rate)
{
    float n = (float)longest_side(s->g);
    float a = s->dt * rate * n * n;
    return fluid_solve(wall, x, x0, a, 1 + 6 * a);
}

/* What all solves together took. */
typedef struct {
    long sweeps, direct_solves; /* solves that took none */
} solve_stats;

static inline void project(solve_stats *e, int u, int v, int w, int p, int div)
{
    fluid_divergence(u, v, w, p, div);
    int sweeps = fluid_solve(SCALAR, p, div, 1, 6);
    e->sweeps += sweeps;
    e->direct_solves += sweeps == 0;
    fluid_gradient(u, v, w, p);
}

static inline void velocity_step(const setup *s, float visc, solve_stats *e)
{
    int u = U, v = V, w = W, u0 = U0, v0 = V0, w0 = W0;

    fluid_add(u, u0);
    fluid_add(v, v0);
    fluid_add(w, w0);

    swap(&u, &u0);
    swap(&v, &v0);
    swap(&w, &w0);
    e->sweeps += diffuse(s, ALONG_X, u, u0, visc);
    e->sweeps += diffuse(s, ALONG_Y, v, v0, visc);
    e->sweeps += diffuse(s, ALONG_Z, w, w0, visc);
    project(e, u, v, w, u0, v0);

    swap(&u, &u0);
    swap(&v, &v0);
    swap(&w, &w0);
    fluid_advect(ALONG_X, u, u0, u0, v0, w0);
    fluid_advect(ALONG_Y, v, v0, u0, v0, w0);
    fluid_advect(ALONG_Z, w, w0, u0, v0, w0);
    project(e, u, v, w, u0, v0);
}

static inline void density_step(const setup *s, float diff, solve_stats *e)
{
    int x = DENSITY, x0 = DENSITY0;

    fluid_add(x, x0);

    swap(&x, &x0);
    e->sweeps += diffuse(s, SCALAR, x, x0, diff);

    swap(&x, &x0);
    fluid_advect(SCALAR, x, x0, U, V, W);
}

/* One step of dt. */
static inline void fluid_step(const setup *s, const physics *p, solve_stats *e)
{
    velocity_step(s, p->visc, e);
    density_step(s, p->diff, e);
    if (!p->keep_sources)
        for (int f = U0; f <= DENSITY0; f++) fluid_clear(f);
}

#endif
