/* arguments.c - implements arguments.h. */
#include "arguments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_MAX = 1280 }; /* (SIDE_MAX + 2)^3 < 2^31 */

request request_parse(int argc, char **argv, arg *extra, const char *about)
{
    request r = {.n = 42, .steps = -1, .dt = 0.1, .diff = 1e-4, .visc = 1e-4};
    const char *solver = "rb", *compat = "none";

    arg table[] = {
        {"events", ARG_TEXT, &r.events, 0, 0, "text file of sources and forces", 0},
        {"n", ARG_INT, &r.n, 1, SIDE_MAX, "cells along each side", 0},
        {"nx", ARG_INT, &r.side[0], 0, SIDE_MAX, "cells along x; 0: n", 0},
        {"ny", ARG_INT, &r.side[1], 0, SIDE_MAX, "cells along y; 0: n", 0},
        {"nz", ARG_INT, &r.side[2], 0, SIDE_MAX, "cells along z; 0: n", 0},
        {"steps", ARG_INT, &r.steps, -1, 1e6,
         "time steps; -1: as in the events file, else 100", 0},
        {"dt", ARG_DOUBLE, &r.dt, 0, 1e30, "time step", 0},
        {"diff", ARG_DOUBLE, &r.diff, 0, 1e30, "diffusion coefficient of the density",
         0},
        {"visc", ARG_DOUBLE, &r.visc, 0, 1e30,
         "viscosity: diffusion coefficient of the velocity", 0},
        {"sweeps", ARG_INT, &r.sweeps, 0, 10000,
         "iterations per solve; 0: until no cell changes by 1e-7, at most 20", 0},
        {"solver", ARG_TEXT, &solver, 0, 0, "rb (red-black) or gs (Gauss-Seidel)", 0},
        {"compat", ARG_TEXT, &compat, 0, 0,
         "minho: the fields of a step are sources of the next; or none", 0},
        {ARG_LOCAL(r.group)},
        {.value = extra},
    };
    args_parse(argc, argv, table, about);

    r.gauss_seidel = parse_choice("solver", solver, "rb", "gs");
    r.keep_sources = parse_choice("compat", compat, "none", "minho");
    if (!r.events) fail("events= is missing (help lists the keys)");
    name_input("events", r.events);
    return r;
}

setup make_setup(const request *r)
{
    int side[3];
    for (int i = 0; i < 3; i++) side[i] = r->side[i] ? r->side[i] : r->n;
    setup s = {.g = {side[0], side[1], side[2]},
               .dt = (float)r->dt,
               .sweeps = r->sweeps ? r->sweeps : SWEEPS,
               .tolerance = r->sweeps ? -1 : TOLERANCE,
               .from_zero = !r->keep_sources,
               .gauss_seidel = r->gauss_seidel};
    memcpy(s.group, r->group, sizeof s.group);

    double n = longest_side(s.g);
    double largest = r->dt * n * fmax(1, fmax(r->diff, r->visc) * n);
    if (!(largest < 1e30))
        fail("dt=%g diff=%g visc=%g: too large (dt n max(1, diff n, visc n) is %g): "
             "expected less than 1e30",
             r->dt, r->diff, r->visc, largest);
    return s;
}

physics make_physics(const request *r)
{
    return (physics){(float)r->visc, (float)r->diff};
}

int step_count(const request *r, const event_list *events)
{
    return r->steps >= 0 ? r->steps : events->steps >= 0 ? events->steps : STEPS;
}
