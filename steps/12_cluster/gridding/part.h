/* part.h - what a rank computes, as mpi.c calls it.
 *
 * Sources are compiled once more for double (real.h), and what they share needs other
 * names then.
 */
#ifndef PART_H
#define PART_H

#include "host.h"

#if REAL_BYTES == 8
#define grid_bands grid_bands_double
#define degrid_all degrid_all_double
#endif

/* Bands begin .. end - 1 of the grid, of ROWS rows each; o has all visibilities that
 * reach them. */
void grid_bands(const problem *p, const real *taps, const binning *bins, int begin,
                int end, cplx *grid);

/* All visibilities of p; value is in their order. */
void degrid_all(const problem *p, const real *taps, const binning *bins,
                const cplx *grid, cplx *value);

#endif
