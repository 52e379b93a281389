/* step.h - one time step: the velocity, then the density that it transports (J. Stam,
 * Stable Fluids, SIGGRAPH 1999).
 *
 * Each half adds sources, applies diffusion and then advection. `project` makes the
 * velocity free of divergence: it subtracts the gradient of the pressure, which solves
 * a Poisson equation.
 *
 * On entry, the fields whose names end in 0 hold the sources. Events of this program
 * overwrite cells instead, so the sources are 0, and so is the field from which a solve
 * starts (setup.from_zero). Without from_zero they hold what the previous step left
 * there. This reproduces an error of an earlier program, so that results can be
 * compared with it.
 */
#ifndef STEP_H
#define STEP_H

#include "fluid.h"

/* Diffusion coefficients of velocity and density. */
typedef struct {
    float visc, diff; /* box lengths^2 per unit of time */
} physics;

static inline void swap(int *a, int *b)
{
    int t = *a;
    *a = *b;
    *b = t;
}

/* x = x0 after diffusion over dt, by the implicit Euler method. */
static inline int diffuse(const setup *s, int wall, int x, int x0, float rate)
{
    float n = (float)longest_side(s->g);
    float a = s->dt * rate * n * n;
    return fluid_solve(wall, x, x0, a, 1 + 6 * a);
}

/* Totals over all solves. */
typedef struct {
    long sweeps, direct_solves; /* solves without sweeps */
} solve_stats;

static inline void project(solve_stats *e, int u, int v, int w, int p, int div)
{
    fluid_divergence(u, v, w, p, div);
    int sweeps = fluid_pressure(p, div);
    e->sweeps += sweeps;
    e->direct_solves += sweeps == 0;
    fluid_gradient(u, v, w, p);
}

/* Adds the sources x0 to x, unless they are 0. */
static inline void add_sources(const setup *s, int x, int x0)
{
    if (!s->from_zero) fluid_add(x, x0);
}

static inline void velocity_step(const setup *s, float visc, solve_stats *e)
{
    int u = U, v = V, w = W, u0 = U0, v0 = V0, w0 = W0;

    add_sources(s, u, u0);
    add_sources(s, v, v0);
    add_sources(s, w, w0);

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

    add_sources(s, x, x0);

    swap(&x, &x0);
    e->sweeps += diffuse(s, SCALAR, x, x0, diff);

    swap(&x, &x0);
    fluid_advect(SCALAR, x, x0, U, V, W);
}

/* Computes one time step of length dt. */
static inline void fluid_step(const setup *s, const physics *p, solve_stats *e)
{
    velocity_step(s, p->visc, e);
    density_step(s, p->diff, e);
    if (s->from_zero)
        for (int f = U0; f <= DENSITY0; f++) fluid_clear(f);
}

#endif
