/* coarse.h - search=coarse: a coarse grid first, then its best point's neighbours. */
#ifndef COARSE_H
#define COARSE_H

#include "semblance.h"

/* Searches some of the points of an output trace (coarse.c says which) by calls of
 * search(), and has the same arguments. */
trace_search search_coarse;

/* Returns a search with the largest number of values, of each parameter, of all
 * searches that search_coarse() makes of *q. */
query coarse_largest(const query *q);

#endif
