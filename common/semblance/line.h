/* line.h - converts the headers of a survey to positions on a 2-D line.
 *
 * Along x or y, coordinates stay integers, so nothing is rounded: the origin is
 * subtracted in 64 bits, in the unit of the trace. On a line that is oblique to x and
 * y, positions are rounded to millimetres. Left out: crooked lines, coordinates that
 * are angles (both are refused), and delays that differ between traces.
 */
#ifndef LINE_H
#define LINE_H

#include "su.h"

/* The coordinate that varies along a line, or both. */
typedef enum { SU_AXIS_AUTO, SU_AXIS_X, SU_AXIS_Y, SU_AXIS_OBLIQUE } su_axis;

/* The direction of a line. The position of a source or receiver is its x or y, or the
 * distance from (x0, y0) along an oblique line, metres. */
typedef struct {
    su_axis kind;
    /* An oblique line has these, too: */
    double x0, y0; /* the first source, metres */
    double ux, uy; /* unit vector along the line */
    double
        farthest; /* metres: largest distance of a source or receiver from the line */
} line_axis;

/* A header coordinate or elevation in metres, the nearest double. */
double line_metres(int32_t value, int16_t scale);

/* The coordinates of source and receiver along the line, metres. */
typedef struct {
    double source, receiver;
} trace_ends;

trace_ends line_ends(const su_header *h, const line_axis *axis);

/* The coordinates of source and receiver across the line, metres, and the reverse of
 * line_ends() and line_across(): x and y of a place. */
trace_ends line_across(const su_header *h, const line_axis *axis);
void line_place(const line_axis *axis, double along, double across, double *x,
                double *y);

/* Replaces SU_AXIS_AUTO by the coordinate that varies among sources and receivers, or,
 * if both do, by the straight line that is closest to them (least squares). Returns 0,
 * or -1 with a message in why: the line is not straight, no coordinate varies, or no
 * trace has data. Up to STRAIGHT of the length of a line, its sources and receivers may
 * be away from it, and along it, at most CROOKED of the traces may have a distance
 * between source and receiver that differs from the true one by more than STRAIGHT. */
int su_find_axis(const su_gather *g, line_axis *axis, char why[SU_REASON_SIZE]);

/* Compares the header word offset with the distance of source and receiver along the
 * line, in the traces that have data and an offset that is not 0. Returns 0, or -1 with
 * a message in why if they differ in most of these traces, which are at least half of
 * all. The tolerance is 1 m plus a tenth of the larger value.
 * Stores in *count in how many traces they differ, and in *first the index of the first
 * of these. */
int su_check_offsets(const su_gather *g, const line_axis *axis, size_t *count,
                     size_t *first, char why[SU_REASON_SIZE]);

/* Prepares a gather for searches along a line. Returns 0 and in *dead the number of
 * dead traces, or -1 with a message in why; then *g can only be freed.
 * - Dead traces (trid 2) and auxiliary ones are not changed; the caller must skip them.
 *   The others must have one kind of data (trid; 0 counts as 1).
 * - SU_AXIS_AUTO is replaced as by su_find_axis().
 * - Sources are counted from `source`, receivers from `receiver`, whole numbers of
 * metres: sy and gy become small integers that a float represents exactly, in units of
 * scalco (1 m if scalco multiplies; 1 mm on an oblique line); sx and gx become 0.
 * - Sample 0 is moved to time 0: samples before it (delrt < 0) are removed; if the
 * recording began later, there are g->first zeros. su_delay() must be the same in all
 * traces and a whole number of samples. Other header words, such as cdp and offset, are
 * not changed. */
int su_line(su_gather *g, line_axis *axis, double source, double receiver, size_t *dead,
            char why[SU_REASON_SIZE]);

#endif
