/* criterion.h - the ranges of A to E, the window and the aperture of a section, from
 * properties of the survey. */
#ifndef CRITERION_H
#define CRITERION_H

#include "survey.h"

/* Returns z = 4 / v^2 of an event at half-offset h and time t, for the smallest or the
 * largest velocity. Its time at offset 0 is found by iteration. */
double moveout_at(const request *r, double h, double t, bool largest);

/* Sets r's aperture, if it is not set, from the distances between shots and between
 * receivers. Needs the headers only. */
void criterion_aperture(request *r, const survey *s);

/* Sets r's rows, and tau, average and period if they are not set, from velocity=, dip=
 * and the traces of *g, which are those of s from number `first` on. Prints them as one
 * line on stderr, and writes ranges_out=. */
void criterion_ranges(request *r, const su_gather *g, const survey *s, int first);

#endif
