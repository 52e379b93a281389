/* part.h - the computation of one rank, as mpi.c calls it.
 *
 * All sources are compiled twice, for float and for double (real.h). The macro below
 * gives the function for double another name.
 */
#ifndef PART_H
#define PART_H

#include "host.h"

#if REAL_BYTES == 8
#define grid_bands grid_bands_double
#endif

/* Grids bands begin .. end - 1, of ROWS rows each. bins has all visibilities that reach
 * them. */
void grid_bands(const problem *p, const real *taps, const binning *bins, int begin,
                int end, cplx *grid);

#endif
