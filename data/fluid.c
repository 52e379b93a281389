/* fluid.c - makes the event files that the fluid is run and checked on.
 *
 * A recipe is a list of sources and forces; see common/fluid/events.h for what they
 * mean. What is known of the answer beforehand is printed, one fact a line:
 *
 *     total D       density that is in the box in the end: nothing stirs it, and what
 *                   only spreads is neither made nor lost
 *     still         velocity is 0 everywhere
 *     spin          nothing is known but what the equations say
 */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name, *about;
    int steps;
    const char *facts;  /* lines */
    const char *events; /* lines, as they go to the file; NULL: plume() writes them */
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

    /* The same in small: all that can happen in three steps. */
    {"short", "two sources and two forces in three steps", 3, "spin\n",
     "source 60 0\nforce 9 -5 3 0\nforce -4 7 11 1\nsource 45.5 2\n"},

    /* The velocity that clamps at every wall. */
    {"storm", "forces that blow the dye through the box in one step", 3, "spin\n",
     "source 80 0\nforce 300 -260 220 0\nsource 50 1\nforce -310 270 -330 2\n"},

    /* For pictures. */
    {"plume", "dye let in at every step, under a jet that sways as it rises", 150,
     "spin\n", NULL},

    {"still", "one source and no force", 4, "total 100\nstill\n",
     "source 100 0\n"},

    /* For tools that make a program a thousand times slower. */
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
    fail("recipe=%s: not one of%s", name, names);
}

/* A source and a force at every step: the force up along y, swaying along x. */
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
                   {"out", ARG_TEXT, &out, 0, 0, "file of events to write", false},
                   {0}};
    args_parse(argc, argv, table,
               "makes a file of events for the fluid and prints what is known of the\n"
               "answer, one fact a line");
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
