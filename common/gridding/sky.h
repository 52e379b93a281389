/* sky.h - visibilities: six known sources as an array of antennas would see them, at
 * random points for tests, or read from a file.
 */
#ifndef SKY_H
#define SKY_H

#include "run.h"

/* One row of a visibility file: float64 [n][6]. */
typedef struct {
    double u, v, w; /* wavelengths */
    double re, im;
    double weight;
} visibility;

typedef struct {
    double l, m; /* direction cosines from the phase centre */
    double flux;
} source;

enum { SOURCES = 6 };

/* Six sources on pixel centres of an image of size pixels that a grid with cells of
 * cell wavelengths makes, all in its inner third. */
void sky_sources(source s[SOURCES], int size, double cell);

/* What n sources look like at (u, v, w): the sum of flux exp(-2 pi i (u l + v m + w (n
 * - 1))), into re and im. */
void sky_visibility(visibility *d, const source *s, int n);

/* n points of 36 antennas that follow the sky for twelve hours, in the order in which a
 * correlator writes them: all baselines of one time, then of the next. None is farther
 * than extent / 2 wavelengths from the centre. Or anywhere in the square of that
 * extent. re, im are left alone, weight is 1. */
void sky_tracks(visibility *d, int n, double extent);
void sky_random(visibility *d, int n, double extent);

/* A number in 0 .. 1 that depends on nothing but its arguments. */
double sky_hash(unsigned long key, unsigned long which);

#endif
