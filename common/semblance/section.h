/* section.h - the production job: whole output traces. */
#ifndef SECTION_H
#define SECTION_H

#include "arguments.h"

/* Computes the traces that r asks for, or those that an earlier run has not completed,
 * and prints a summary. */
void section(request *r);

#endif
