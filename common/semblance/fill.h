/* fill.h - the samples of an output trace, computed along the curves that the searches
 * have found. */
#ifndef FILL_H
#define FILL_H

#include "job.h"

/* The traces of an aperture, relative to the output trace. */
typedef struct {
    int n, capacity;
    double *dm, *dh;    /* [n]: metres */
    const float **data; /* [n][ns]: samples */
    int ns;             /* samples */
    int tau;            /* samples that a window needs on each side of an arrival */
    int half;           /* samples on each side of an arrival that a mean has */
    bool moved;         /* whether the curves are not those of the search */
    double rate;        /* samples per second */
} aperture;

aperture aperture_new(int capacity);
void aperture_free(aperture *a);

/* Makes *a the aperture of the output trace (m, h): n traces of g, whose coordinates
 * are relative to r's origin. */
void aperture_set(aperture *a, const request *r, const su_gather *g, double m, double h,
                  const int *indices, int n);

/* Returns the mean of the traces' samples where the curve of t0 and p[PARAMETERS]
 * crosses them, and of a->half samples on each side, interpolated linearly, and in
 * *used the number of these traces: those in which the window of the search fits. */
double aperture_mean(const aperture *a, double t0, const float *p, int *used);

/* Returns the semblance of the windows around that curve; 0 if more than one of them
 * does not fit. */
double aperture_semblance(const aperture *a, double t0, const float *p);

/* Returns the factor of a sample whose curve has this semblance in so many traces. */
double semblance_weight(double semblance, int traces);

/* Sums over the samples that are searched. */
typedef struct {
    double samples, semblance, weight;
    double energy, steep; /* of the filled samples; of those whose curve is steep */
} fill_sums;

/* Replaces stack[], the window means that the search has found, by the amplitudes that
 * smooth= and weight= select. coherence[] has the semblance of each sample,
 * parameters[][PARAMETERS] its curve. Adds these semblances and their weights to *sums.
 */
void fill_trace(const request *r, const aperture *a, const float *coherence,
                const float *parameters, float *stack, fill_sums *sums);

#endif
