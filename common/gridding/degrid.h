/* degrid.h - degridding, the adjoint of gridding, in the front end: no step speeds it
 * up.
 */
#ifndef DEGRID_H
#define DEGRID_H

#include "gridding.h"

/* Returns the visibilities [visibilities][2] that the grid predicts: the dot products
 * of the cells of the footprints with the conjugates of the convolution functions. The
 * grid is [size][pitch][2]. The caller frees the result. */
double *degrid(const problem *p, const double *grid);

#endif
