/* mute.h - mute=: early samples that are not used. */
#ifndef MUTE_H
#define MUTE_H

#include "survey.h"

/* Sets the muted samples of the traces of *g, which begins with trace `first` of s, to
 * 0. */
void mute_input(const request *r, su_gather *g, const survey *s, int first);

/* Returns the number of samples at the start of an output trace with half-offset h that
 * are muted. */
int mute_output(const request *r, const su_gather *g, double h);

#endif
