/* profile.h - see profile.c; charging(), charge() and charged() are in fluid.h. */
#ifndef PROFILE_H
#define PROFILE_H

#include "fluid.h"

/* From now on charging(). */
void profile_begin(void);

/* A line per kernel: its share of run seconds, its seconds, its calls. */
void profile_print(double run);

#endif
