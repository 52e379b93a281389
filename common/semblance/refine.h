/* refine.h - the curves of a trace after its search: refine= and average=. */
#ifndef REFINE_H
#define REFINE_H

#include "fill.h"

/* Moves the points that the searches q[samples] have found for the samples of a trace,
 * parameters[samples][PARAMETERS], to a larger semblance if refine= is set; then takes
 * means over time of average=. Stores their semblances in coherence[samples]. Samples
 * without a curve, whose coherence is 0, do not change. */
void refine_trace(const request *r, const aperture *a, const query *q, float *coherence,
                  float *parameters);

#endif
