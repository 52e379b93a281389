/* dead.h - fill=dead: the dead traces of the input are filled. */
#ifndef DEAD_H
#define DEAD_H

#include "job.h"

/* Makes the dead traces of the input the output traces of r, and `filled` their file.
 */
void dead_begin(request *r, const char *filled);

/* Writes the input with the filled traces of r to the file `whole`. */
void dead_end(const request *r, const char *whole);

#endif
