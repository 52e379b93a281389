/* arguments.h - the command line of the search. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "job.h"

/* Parses either the 20 positional arguments of the paper (M0 H0 T0 TAU, five times
 * P0 P1 N, FILE), which key=value may follow, or key=value alone, and reads the files
 * that options name. Exits the program after an error, a request for help, or a call
 * without arguments. */
request request_parse(int argc, char **argv, const char *about);

#endif
