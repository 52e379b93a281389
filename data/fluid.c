/* fluid.c - generates the events files for running and checking the fluid.
 *
 * A recipe is a list of sources and forces in the format of common/fluid/events.h. The
 * program prints what is known of the result in advance, one fact per line:
 *
 *     total D       sum of the density at the end; no flow, so diffusion conserves it
 *     still         the velocity is 0 everywhere
 *     spin          nothing is known beyond the equations
 */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name, *about;
    int steps;
    const char *facts;  /* facts, one per line */
    const char *events; /* lines of the events file; NULL: plume() writes them */
} recipe;

// clang-format off
static const recipe recipes[] = {
    {"stir", "dye let in again and again, and stirred one way and then another", 100,
     "spin\n",
     "source 120 0\nforce 8 3 -2 0\n"
     "source 90 4\n"
     "source 150 9\nforce -6 9 4 10\n"
     "source 60 15\nforce 2 -11 6 18\n"
     "source 110 22\n"
     "source 75 30\nforce 10 0.5 -9 33\n"
     "source 140 38\n"
     "source 95 45\nforce -7 -7 7 47\n"
     "source 130 52\n"
     "source 40 60\nforce 0 12 0 63\n"
     "source 105 68\nforce 9 -4 11 71\n"
     "source 85 77\n"
     "source 65 86\nforce -3 6 -10 88\n"
     "source 100 94\n"},

    /* A short version: all kinds of events in three steps. */
    {"short", "two sources and two forces in three steps", 3, "spin\n",
     "source 60 0\nforce 9 -5 3 0\nforce -4 7 11 1\nsource 45.5 2\n"},

    /* Velocities so large that the backtrace is clamped at every wall. */
    {"storm", "forces that blow the dye through the box in one step", 3, "spin\n",
     "source 80 0\nforce 300 -260 220 0\nsource 50 1\nforce -310 270 -330 2\n"},

    /* For pictures. */
    {"plume", "dye let in at every step, under a jet that sways as it rises", 150,
     "spin\n", NULL},

    {"still", "one source and no force", 4, "total 100\nstill\n",
     "source 100 0\n"},

    /* For tools that slow a program down a thousandfold. */
    {"tiny", "a source and a force in one step", 1, "spin\n",
     "source 60 0\nforce 9 -5 3 0\n"},
};
// clang-format on

enum { RECIPES = sizeof recipes / sizeof recipes[0] };

static const recipe *find_recipe(const char *name)
{
    char names[200] = "";
    for (int r = 0; r < RECIPES; r++) {
        if (strcmp(recipes[r].name, name) == 0) return &recipes[r];
        strcat(strcat(names, " "), recipes[r].name);
    }
    fail("recipe=%s: unknown recipe: expected one of%s", name, names);
}

/* Writes a source and a force for every step. The force points up along y and
 * oscillates along x. */
static void plume(FILE *f, int steps)
{
    const double sway = 12, rise = 20, period = 60, two_pi = 6.283185307179586;
    for (int t = 0; t < steps; t++)
        fprintf(f, "source 100 %d\nforce %.4g %g 0 %d\n", t,
                sway * sin(two_pi * t / period), rise, t);
}

int main(int argc, char **argv)
{
    run_name = "fluid-data";
    const char *name = NULL, *out = NULL;
    arg table[] = {{"recipe", ARG_TEXT, &name, 0, 0,
                    "stir, short, storm, plume, still or tiny", false},
                   {"out", ARG_TEXT, &out, 0, 0, "events file to write", false},
                   {0}};
    args_parse(
        argc, argv, table,
        "generates an events file for the fluid and prints what is known of the\n"
        "result in advance, one fact per line");
    if (name == NULL) fail("recipe= is missing");
    if (out == NULL) fail("out= is missing");

    const recipe *r = find_recipe(name);
    FILE *f = result_open(out);
    if (!f) fail("out=%s: cannot be written", out);
    fprintf(f, "# %s\ntime %d\n%s", r->about, r->steps, r->events ? r->events : "");
    if (!r->events) plume(f, r->steps);
    if (result_close(f)) fail("out=%s: cannot be written", out);
    printf("%s", r->facts);
    if (fflush(stdout) != 0) fail("standard output cannot be written");
    return 0;
}
