/* sky.c - implements sky.h. The array is invented: antennas in a disc, denser towards
 * its centre, at the latitude of the Murchison Radio-astronomy Observatory. Not
 * simulated: noise, gains, the primary beam, bandwidth.
 */
#include "sky.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

enum { ANTENNAS = 36, BASELINES = ANTENNAS * (ANTENNAS - 1) / 2 };

double sky_hash(unsigned long key, unsigned long which)
{
    return (double)(splitmix64(which + 1, key) >> 11) * 0x1p-53;
}

void sky_sources(source s[SOURCES], int size, double cell)
{
    /* x and y in units of the image's side, and flux */
    static const double positions[SOURCES][3] = {
        {0.11, 0.07, 1.0},   {-0.13, 0.05, 0.9}, {0.03, -0.14, 0.8},
        {-0.06, -0.12, 0.7}, {0.14, 0.11, 0.75}, {-0.13, 0.13, 0.85}};
    for (int i = 0; i < SOURCES; i++) {
        s[i].l = round(positions[i][0] * size) / (size * cell);
        s[i].m = round(positions[i][1] * size) / (size * cell);
        s[i].flux = positions[i][2];
    }
}

void sky_visibility(visibility *d, const source *s, int n)
{
    d->re = d->im = 0;
    for (int i = 0; i < n; i++) {
        double r2 = s[i].l * s[i].l + s[i].m * s[i].m;
        double n1 = -r2 / (1 + sqrt(1 - r2)); /* n - 1 without cancellation */
        double phase = -2 * pi * (d->u * s[i].l + d->v * s[i].m + d->w * n1);
        d->re += s[i].flux * cos(phase);
        d->im += s[i].flux * sin(phase);
    }
}

void sky_tracks(visibility *d, int n, double extent)
{
    const double latitude = -26.7 * pi / 180, declination = -45 * pi / 180;
    double x[ANTENNAS], y[ANTENNAS], z[ANTENNAS]; /* equatorial, wavelengths */
    for (unsigned a = 0; a < ANTENNAS; a++) {
        double radius = extent / 4 * pow(sky_hash(a, 1), 0.8);
        double angle = 2 * pi * sky_hash(a, 2);
        double east = radius * cos(angle), north = radius * sin(angle);
        x[a] = -sin(latitude) * north;
        y[a] = east;
        z[a] = cos(latitude) * north;
    }
    int times = (n + BASELINES - 1) / BASELINES, k = 0;
    for (int t = 0; t < times; t++)
        for (int a = 0; a < ANTENNAS; a++)
            for (int b = a + 1; b < ANTENNAS && k < n; b++, k++) {
                double hour = pi * ((t + 0.5) / times - 0.5);
                double bx = x[b] - x[a], by = y[b] - y[a], bz = z[b] - z[a];
                double meridian = cos(hour) * bx - sin(hour) * by;
                d[k].u = sin(hour) * bx + cos(hour) * by;
                d[k].v = -sin(declination) * meridian + cos(declination) * bz;
                d[k].w = cos(declination) * meridian + sin(declination) * bz;
                d[k].weight = 1;
            }
}

void sky_random(visibility *d, int n, double extent)
{
    for (int k = 0; k < n; k++) {
        unsigned long key = (unsigned long)k;
        d[k].u = extent * (sky_hash(key, 3) - 0.5);
        d[k].v = extent * (sky_hash(key, 4) - 0.5);
        d[k].w = extent * (sky_hash(key, 5) - 0.5);
        d[k].weight = 1;
    }
}
