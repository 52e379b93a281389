/* section.h - the production job: whole output traces. */
#ifndef SECTION_H
#define SECTION_H

#include "arguments.h"

/* One pass over output traces. */
typedef struct {
    int number;       /* 1; 2: the live traces; 3: the residual (passes.c) */
    const int *own;   /* [traces]: number of a trace that is left out of the aperture of
                         each output trace; or NULL */
    bool last;        /* prints the summary */
    const char *base; /* SU file whose traces are added to the result; or NULL */
} pass;

void section_pass(request *r, const pass *p);

/* Executes two passes (passes.c). */
void section_passes(request *r);

/* Fills the dead traces of the input (dead.c). */
void section_dead(request *r);

/* Returns the name of a file next to r's output file. */
char *work_file(const request *r, const char *suffix);

/* Computes the traces that r asks for, or those that an earlier run has not completed,
 * and prints a summary. */
void section(request *r);

#endif
