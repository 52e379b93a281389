/* survey.h - the positions of the traces on the line, and the selection of an aperture.
 */
#ifndef SURVEY_H
#define SURVEY_H

#include "job.h"

typedef struct {
    double m, h; /* midpoint and half-offset, metres */
    int number;  /* index in the gather */
} trace_place;

typedef struct {
    su_gather g;
    su_header *header;   /* [g.ntraces]: as in the file */
    trace_place *places; /* [live], sorted by midpoint: the traces with data */
    int live;
} survey;

/* Reads the traces, relative to r's origin (see su_line()), with samples as
 * proc_read_headers() provides them. Sets r->axis. Reports once, on stderr, how many
 * traces are dead, auxiliary or have another offset than the positions, and the
 * direction of an oblique line. Stores a copy of the headers of the file in *header,
 * unless header is NULL. fail() if the traces are invalid, or contradict offset=check.
 */
su_gather survey_gather(request *r, su_header **header);

/* Reads the traces of r with survey_gather() and completes r with request_fit(). */
survey survey_read(request *r);
void survey_free(survey *s);

/* Returns the trid of the live traces, of which 0 counts as 1. */
int16_t survey_kind(const survey *s);

/* Prints on stderr how many live traces of `part`, which begins with trace `first` of
 * the file, are all zero, and how many spikes there are: samples of more than SPIKE
 * times their neighbours and the median of the largest amplitudes of the traces. */
enum { SPIKE = 10 };
void survey_report(const request *r, const su_gather *part, int first);

/* In these functions, used[i] is whether trace i of *part is in an aperture; others
 * have no influence. */

/* Returns the mean of each trace of *part, 0 of a dead one, if these constant offsets
 * have much of the energy of the live traces, and says so on stderr; otherwise NULL.
 * The caller frees the array. */
float *survey_offset(const request *r, const su_gather *part, const bool *used);

/* Subtracts offset[i] from the recorded samples of trace i, unless offset is NULL. All
 * processes call it; it returns when all of them have read the samples as they were. */
void survey_subtract(su_gather *part, const float *offset);

/* Returns the exponent of the power of two by which the samples of the live traces of
 * *part must be multiplied so that their squares and the sums of these are floats with
 * full precision; 0 if they are as they are. */
int survey_scale(const su_gather *part, const bool *used);

/* Multiplies these samples by 2^exponent, which is exact, except that samples become 0
 * which are smaller than 3e-24 of the largest one. All processes call it, with the same
 * exponent; it returns when all of them have read the samples as they were. */
void survey_rescale(su_gather *part, int exponent);

/* fail() if the input file has become shorter. */
void survey_check_input(const request *r, const survey *s);

/* Selects the traces in r's aperture around (m, h). Stores their indices in the gather,
 * in increasing order, and returns their number; indices must hold all traces. */
int survey_select(const survey *s, const request *r, double m, double h, int *indices);

#endif
