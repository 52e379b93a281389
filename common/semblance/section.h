/* section.h - the production job: whole output traces, in one pass or two. */
#ifndef SECTION_H
#define SECTION_H

#include "survey.h"

/* Computes the traces that r asks for, and prints a summary unless r is a trial. */
void section(request *r);

/* Records the files of a section that is written to `stack` as results: fail() if
 * another argument names one of them. */
void section_name(const char *stack);

/* Removes them. */
void section_remove(const char *stack);

/* Returns the name of a file next to an output file; the caller frees it. */
char *section_file(const char *stack, const char *suffix);

/* Read and write a whole SU file, or end by fail(). */
su_gather section_read(const char *path, su_order order);
void section_write(const char *path, const su_gather *g);

/* Returns the index of r's first output time in the samples of a trace of g. */
int section_first(const request *r, const su_gather *g, const su_trace *t);

/* Returns for each trace of the survey whether it is in an aperture of r's output
 * traces; the caller frees the array. */
bool *section_used(const survey *line, const request *r);

#endif
