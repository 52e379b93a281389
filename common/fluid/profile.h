/* profile.h - see profile.c; charge() and charged() are in fluid.h. */
#ifndef PROFILE_H
#define PROFILE_H

#include "fluid.h"

/* A line per kernel: its share of run seconds, its seconds, its calls. */
void profile_print(double run);

#endif
