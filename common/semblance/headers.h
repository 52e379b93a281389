/* headers.h - the trace headers of a section. */
#ifndef HEADERS_H
#define HEADERS_H

#include "survey.h"

/* Returns the headers of r's output traces, complete except for trid.
 * docs/reference.md has the rule for each field. fail() if the output times do
 * not fit into a header. */
su_header *headers_make(const request *r, const survey *s);

#endif
