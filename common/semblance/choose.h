/* choose.h - the selection of options by live traces that are left out. */
#ifndef CHOOSE_H
#define CHOOSE_H

#include "job.h"

/* Sets the options of r that the command does not set: aperture, tau, weight,
 * refine, average and passes. Prints the SNR of each choice, and the best one, on
 * stderr. */
void choose_options(request *r);

#endif
