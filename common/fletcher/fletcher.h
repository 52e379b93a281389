/* fletcher.h - the contract between the front end (main.c) and the back-ends in steps/:
 * the five drivers of the paper, under the names that it gives them.
 *
 * The front end owns arguments, the medium, the source's signal, the loop over time,
 * input and output; a back-end owns everything that costs time: memory, devices,
 * transfers, loops over the grid.
 */
#ifndef FLETCHER_H
#define FLETCHER_H

#include "grid.h"
#include "run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the wave fields p and q of now and before, all 0. medium holds FIELDS fields,
 * each field_size(g) after the one before it; it stays where it is until Finalize.
 * Returns the bytes of all fields that a step takes, those of the
 * medium included. */
size_t Initialize(const grid *g, const float *medium);

/* Adds f to p and q of now at the source. */
void InsertSource(float f);

/* The fields of before become those of the next step, at all points but the halo.
 * Returns seconds when it is done: those of the kernels alone, by the device's own
 * clock where it has one. */
double Propagate(void);

/* What was next is now, what was now is before. p and q get a copy of the fields of
 * now, laid out as a medium's; NULL where they are not wanted. */
void UpdatePointers(float *p, float *q);

void Finalize(void);

#ifdef __cplusplus
}
#endif

#endif
