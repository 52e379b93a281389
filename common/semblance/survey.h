/* survey.h - the traces of a gather where they lie on the line, and which are near. */
#ifndef SURVEY_H
#define SURVEY_H

#include "arguments.h"

typedef struct {
    double m, h; /* midpoint and half-offset, metres */
    int number;  /* in the gather, from 0 */
    int cdp;     /* as its header has it */
} trace_place;

typedef struct {
    su_gather g;
    trace_place *places; /* [live], by midpoint: the traces that are not dead */
    int live;
} survey;

/* Reads the traces that r names, as request_gather() has it, and completes r by
 * request_fit(). */
survey survey_read(request *r);
void survey_free(survey *s);

/* The gather's traces in r's aperture around (m, h): how many. Their numbers, rising,
 * go to near, which has room for all. */
int survey_select(const survey *s, const request *r, double m, double h, int *indices);

/* The trace nearest to (m, h). */
const trace_place *survey_nearest(const survey *s, double m, double h);

#endif
