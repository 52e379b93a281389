/* taps.c - implements taps.h. */
#include "taps.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>

#include "image.h"

static const double pi = 3.14159265358979323846;

/* Pixels of the image in the sum for a tap: enough that the footprint is at most an
 * eighth of the period of the transform. Chosen, not derived. */
enum { MIN_PIXELS = 2048, PIXELS_PER_TAP = 8 };

double *w_taps(int planes, int oversampling, int width, double chirp)
{
    /* The integral over the image is a sum over this many pixels. */
    int points = MIN_PIXELS;
    while (points < PIXELS_PER_TAP * width) points *= 2;
    int length = points * oversampling, support = width / 2;
    fftw_complex *a = allocate((size_t)length, sizeof *a, "a convolution function");
    fftw_plan plan = fftw_plan_dft_1d(length, a, a, FFTW_FORWARD, FFTW_ESTIMATE);
    if (!plan) fail("FFTW: no plan for a transform of %d points", length);
    double *window = allocate((size_t)points, sizeof *window, "the taper");
    for (int m = 0; m < points; m++)
        window[m] = taper((double)(m - points / 2) / points) / points;

    double *taps = allocate((size_t)planes * (size_t)oversampling * (size_t)width,
                            2 * sizeof *taps, "the convolution functions");
    double *tap = taps;
    for (int plane = 0; plane < planes; plane++) {
        for (int k = 0; k < length; k++) a[k][0] = a[k][1] = 0;
        for (int m = 0; m < points; m++) {
            int k = (m - points / 2 + length) % length;
            double x = (double)(m - points / 2) / points;
            double phase = -pi * plane * chirp * x * x;
            a[k][0] = window[m] * cos(phase);
            a[k][1] = window[m] * sin(phase);
        }
        fftw_execute(plan);
        for (int f = 0; f < oversampling; f++)
            for (int i = 0; i < width; i++) {
                int k = (i - support) * oversampling - (f - oversampling / 2);
                k = (k + length) % length;
                *tap++ = a[k][0];
                *tap++ = a[k][1];
            }
    }
    fftw_destroy_plan(plan);
    fftw_cleanup();
    free(window);
    free(a);
    return taps;
}

double *integer_taps(int planes, int oversampling, int width)
{
    size_t count = (size_t)planes * (size_t)oversampling * (size_t)width * 2;
    double *taps = allocate(count, sizeof *taps, "the convolution functions");
    for (size_t i = 0; i < count; i++) taps[i] = floor(13 * sky_hash(i, 9)) - 6;
    return taps;
}
