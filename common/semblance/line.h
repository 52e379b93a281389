/* line.h - converts the headers of a survey to positions on a 2-D line.
 *
 * Coordinates stay integers, so nothing is rounded: the origin is subtracted in 64
 * bits, in the unit of the trace. Left out: lines that run obliquely to x and y (rotate
 * them first), coordinates that are angles (refused), and delays that differ between
 * traces.
 */
#ifndef LINE_H
#define LINE_H

#include "su.h"

/* The coordinate that varies along a line. */
typedef enum { SU_AXIS_AUTO, SU_AXIS_X, SU_AXIS_Y } su_axis;

/* A header coordinate or elevation in metres, the nearest double. */
double line_metres(int32_t value, int16_t scale);

/* The coordinates of source and receiver along the line, metres. */
typedef struct {
    double source, receiver;
} trace_ends;

trace_ends line_ends(const su_header *h, su_axis axis);

/* Replaces SU_AXIS_AUTO by the coordinate that varies among sources and receivers.
 * Returns 0, or -1 with a message in why: both vary, neither does, or all traces are
 * dead. */
int su_find_axis(const su_gather *g, su_axis *axis, char why[SU_REASON_SIZE]);

/* Prepares a gather for searches along a line. Returns 0 and in *dead the number of
 * dead traces, or -1 with a message in why; then *g can only be freed.
 * - Dead traces (trid 2) are not changed; the caller must skip them.
 * - SU_AXIS_AUTO is replaced as by su_find_axis().
 * - Sources are counted from `source`, receivers from `receiver`, whole numbers of
 * metres: sy and gy become small integers that a float represents exactly, in units of
 * scalco (1 m if scalco multiplies); sx and gx become 0.
 * - Sample 0 is moved to time 0: samples before it (delrt < 0) are removed; if the
 * recording began later, there are g->first zeros. delrt must be the same in all traces
 * and a whole number of samples. Other header words, such as cdp and offset, are not
 * changed. */
int su_line(su_gather *g, su_axis *axis, double source, double receiver, size_t *dead,
            char why[SU_REASON_SIZE]);

#endif
