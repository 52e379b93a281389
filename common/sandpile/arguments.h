/* arguments.h - the command line of everything that topples: the programs of each step,
 * the checker in verify/ and the counter in tools/measure/.
 */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "sandpile.h"

typedef struct {
    int dim, batch, seed;
    const char *config; /* a name of configurations[], or a .npy file */
    run_plan plan;
} request;

/* Parses key=value. extra is a table of further keys, ending in {0}. Errors, help and a
 * bare call end the program. */
request request_parse(int argc, char **argv, arg *extra, const char *about);

/* The pile that r asks for, its iterations poisoned; fail() with what is wrong. Sets
 * r->dim and r->batch where a file says them, and limits the tiles to the grid. */
pile request_pile(request *r);

/* The sum of all grains of all grids. */
uint64_t pile_grains(const pile *p);
void pile_free(pile *p);

#endif
