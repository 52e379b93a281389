/* section.h - the real job: whole output traces. */
#ifndef SECTION_H
#define SECTION_H

#include "arguments.h"

/* Fills the traces that r asks for, all at once or what an earlier run has left of
 * them, and prints what was done. */
void section(request *r);

#endif
