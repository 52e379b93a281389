/* profile.h - control of profile.c. The functions for back-ends are declared in
 * fluid.h. */
#ifndef PROFILE_H
#define PROFILE_H

#include "fluid.h"

/* Starts recording; profiling() is true from now on. */
void profile_begin(void);

/* Prints one line per kernel: percentage of `run` seconds, seconds, number of calls. */
void profile_print(double run);

#endif
