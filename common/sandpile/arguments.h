/* arguments.h - the command line of the programs of each step and of the operation
 * counter in tools/measure/.
 */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "sandpile.h"

typedef struct {
    int dim, batch, seed;
    const char *config; /* a name of configurations[], or a .npy file */
    run_plan plan;
} request;

/* Parses key=value; extra is a table of further keys, ending in {0}. Exits the program
 * after an error, a request for help, or a call without arguments. */
request request_parse(int argc, char **argv, arg *extra, const char *about);

/* Creates the requested grids; iterations is not yet initialized (all bits 1). fail()
 * if the file is invalid. Sets r->dim and r->batch from a file, and limits the tiles to
 * the grid. */
pile request_pile(request *r);

/* The sum of all grains of all grids. */
uint64_t pile_grains(const pile *p);
void pile_free(pile *p);

#endif
