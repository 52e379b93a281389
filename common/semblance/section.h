/* section.h - the production job: whole output traces. */
#ifndef SECTION_H
#define SECTION_H

#include "survey.h"

/* One pass over output traces. */
typedef struct {
    int number;       /* 1; 2: the live traces; 3: the residual (passes.c) */
    const int *own;   /* [traces]: number of a trace that is left out of the aperture of
                         each output trace; or NULL */
    const char *live; /* SU file of the predictions that were subtracted from traces
                         predicted[predicted_count] of the input; or NULL */
    const int *predicted;
    int predicted_count;
    bool last;        /* prints the summary */
    const char *base; /* SU file whose traces are added to the result; or NULL */
} pass;

void section_pass(request *r, const pass *p);

/* Executes the passes that r asks for. */
void section_passes(request *r);

/* Fills the dead traces of the input (dead.c). */
void section_dead(request *r);

/* Returns the name of a file next to an output file; the caller frees it. */
char *section_file(const char *stack, const char *suffix);

/* Reads a whole SU file, or ends by fail(). */
su_gather section_read(const char *path, su_order order);

/* Returns the index of r's first output time in the samples of a trace of g. */
int section_first(const request *r, const su_gather *g, const su_trace *t);

/* Returns for each trace of the survey whether it is in an aperture of r's output
 * traces; the caller frees the array. */
bool *section_used(const survey *line, const request *r);

/* Computes the traces that r asks for, or those that an earlier run has not completed,
 * and prints a summary. */
void section(request *r);

#endif
