/* line.h - from the headers of a survey to the line that a search sees.
 *
 * Coordinates stay whole numbers, so nothing is rounded: the origin is subtracted in 64
 * bits, in the trace's own unit. Left out: lines that run across x and y (they are to
 * be rotated before), counit (coordinates are lengths), delays that change.
 */
#ifndef LINE_H
#define LINE_H

#include "su.h"

/* The coordinate that varies along a line. */
typedef enum { SU_AXIS_AUTO, SU_AXIS_X, SU_AXIS_Y } su_axis;

/* What every search along a line needs of a gather that was read. Returns 0 and in
 * *dead how many traces are dead, or -1 with a line in why; then *g is only to be
 * freed.
 * - Dead traces (trid 2) stay as they are, for the caller to pass over.
 * - SU_AXIS_AUTO becomes the coordinate that varies among sources and receivers, and is
 *   refused where both do, or neither.
 * - Sources are counted from `source`, receivers from `receiver`, whole numbers of
 *   metres: sy and gy become small numbers that a float holds, exactly, in units of
 *   scalco (of 1 m, where scalco multiplies); sx and gx become 0.
 * - Sample 0 is at time 0: samples before it (delrt < 0) are removed; where recording
 *   began later, there are g->first zeros. delrt must be the same in all traces and a
 *   whole number of samples.
 * All else of the headers, as cdp and offset, stays. */
int su_line(su_gather *g, su_axis *axis, double source, double receiver, size_t *dead,
            char why[SU_WHY]);

#endif
