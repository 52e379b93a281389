/* check.h - the quality of a job, measured at live traces that are left out and filled
 * like the missing ones. */
#ifndef CHECK_H
#define CHECK_H

#include "survey.h"

/* A live trace that is filled without itself. */
typedef struct {
    int number; /* in the survey */
    position at;
    bool with[3];       /* also left out: traces of its shot, receiver, offset */
    int first, samples; /* output times that are compared */
} tested_trace;

/* Output traces of a job, and the part of the survey that their apertures contain. */
typedef struct {
    const request *r;
    const survey *line;
    const int *output; /* [outputs]: numbers of output traces that are to be filled */
    int outputs;
    int low, high, aperture; /* the first and the last trace in an aperture; the largest
                                number of traces in one */
    const su_gather *part;   /* traces low to high */
    const bool *usable;      /* [line->g.ntraces]: traces in apertures whose samples are
                                those that the pass searches in */
    double visits;           /* samples that a search of one output sample visits */
} check_job;

/* Chooses live traces that resemble the output traces. Stores their number in *count.
 * The caller frees the array. */
tested_trace *check_choose(const check_job *job, int *count);

/* Selects the aperture of c, without the traces that are left out, as survey_select()
 * does. */
int check_select(const check_job *job, const tested_trace *c, int *indices);

/* Returns sample k of the output times of a trace of g, interpolated linearly. */
double check_sample(const request *r, const su_gather *g, const float *data, int k);

/* Sums over the samples that are compared. */
typedef struct {
    double energy;  /* of the live traces, without the mean of each */
    double error;   /* of the filled ones */
    double nearest; /* of the nearest trace that is not left out, shifted and scaled so
                       that it fits best */
} check_sums;

/* Adds to *sums what c contributes. The arrays are [ns], the output times: its samples,
 * the filled ones, and those of the nearest trace. */
void check_compare(const tested_trace *c, int ns, const double *own,
                   const double *filled, const double *nearest, check_sums *sums);

/* Returns the trace of the n indices that is nearest to c. */
int check_nearest(const check_job *job, const tested_trace *c, const int *indices,
                  int n);

/* Prints, as the last lines of a job, the SNR of the filled traces, and a warning if it
 * is low. */
void check_report(const tested_trace *check, int checks, const check_sums *sums);

/* Returns the signal-to-noise ratio in dB. */
double check_snr(double energy, double error);

#endif
