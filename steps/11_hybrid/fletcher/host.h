/* host.h - the update of a range of planes by the host's threads (cpu.c). */
#ifndef HOST_H
#define HOST_H

#include "grid.h"

/* p and q of the previous step (pp, qp) and of the current step (pc, qc). An update
 * overwrites the previous fields with the next ones. */
extern float *pp, *pc, *qp, *qc;

/* Allocates the fields and clears them. Returns the bytes of all arrays that a step
 * uses. */
size_t host_begin(const grid *g, const float *medium);

/* Adds f to the current p and q at the source. */
void host_source(float f);

/* Updates planes first .. end - 1. The calling thread calls poll(), unless it is NULL,
 * after each two planes of its tiles. */
void host_planes(int first, int end, void (*poll)(void));

/* Ends the step: the next fields become the current ones, and the current ones the
 * previous ones. */
void host_swap(void);

void host_end(void);

#endif
