/* sky.h - simulated visibilities: six known sources, observed by an array of antennas
 * or, for tests, at random points.
 */
#ifndef SKY_H
#define SKY_H

#include "run.h"

/* A row of a visibility file: float64 [n][6]. */
typedef struct {
    double u, v, w; /* wavelengths */
    double re, im;
    double weight;
} visibility;

typedef struct {
    double l, m; /* direction cosines from the phase center */
    double flux;
} source;

enum { SOURCES = 6 };

/* Sets six sources on pixel centres, in the inner third of an image of size x size
 * pixels. The grid has cells of `cell` wavelengths. */
void sky_sources(source s[SOURCES], int size, double cell);

/* Sets re and im to the visibility of n sources at (u, v, w): the sum of flux exp(-2 pi
 * i (u l + v m + w (n - 1))). */
void sky_visibility(visibility *d, const source *s, int n);

/* sky_tracks() sets n points (u, v, w) of 36 antennas that track the sky for twelve
 * hours, in the order in which a correlator writes them: all baselines of one time,
 * then of the next. No point is farther than extent / 2 wavelengths from the centre.
 * sky_random() draws the points in a cube of side `extent`. Both set weight to 1 and
 * leave re and im unchanged. */
void sky_tracks(visibility *d, int n, double extent);
void sky_random(visibility *d, int n, double extent);

/* Returns a number in [0, 1) that depends only on the arguments. */
double sky_hash(unsigned long key, unsigned long which);

#endif
