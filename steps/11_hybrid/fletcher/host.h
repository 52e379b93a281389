/* host.h - the loop over the grid, made callable for some of its planes.
 */
#ifndef HOST_H
#define HOST_H

#include "grid.h"

/* p and q, of before and of now. The next step's take the place of those of before. */
extern float *pp, *pc, *qp, *qc;

/* Makes them, all 0. Returns the bytes of all that a step takes. */
size_t host_begin(const grid *g, const float *medium);

/* Adds f to p and q of now at the source. */
void host_source(float f);

/* One step of planes first .. end - 1. The thread that calls this calls meanwhile(),
 * unless it is NULL, after every plane of its tiles. */
void host_planes(int first, int end, void (*poll)(void));

/* What was next is now, what was now is before. */
void host_swap(void);

void host_end(void);

#endif
