/* pass.h - one pass over output traces. */
#ifndef PASS_H
#define PASS_H

#include "fill.h"
#include "survey.h"

typedef struct {
    int number;     /* 1; 2: the live traces; 3: the residual (section.c) */
    const int *own; /* [traces]: number of a trace that is left out of the aperture
                       of each output trace; or NULL */
    const su_gather *base; /* traces that are added to the result, or NULL */
    const int *predicted;  /* [predicted_count]: traces of the input from which
                              predictions were subtracted; or NULL */
    int predicted_count;
    const su_gather *predictions; /* [predicted_count], for check= */
    bool last;                    /* prints the summary */
} pass;

/* Sums over the passes of a section. */
typedef struct {
    fill_sums filled; /* of the first pass */
    run_times time;
    double searched; /* seconds in transfers and search() */
} pass_totals;

/* Computes the traces that r asks for, or those that an earlier run has not completed.
 * The last pass prints the summary. */
void pass_execute(request *r, const pass *p, pass_totals *total);

#endif
