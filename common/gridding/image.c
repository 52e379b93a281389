/* image.c - implements image.h. */
#include "image.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parallel.h"

static const double pi = 3.14159265358979323846;

/* Shape of the taper. The first zero of its transform is at sqrt(1 + (TAPER_BETA /
 * pi)^2) = 3.2 cells, so that 7 taps suffice for w = 0. */
#define TAPER_BETA (3 * pi)

/* The image is not divided by a smaller taper, which would amplify errors. Grey levels
 * of the picture, as fractions of the peak. Chosen, not derived. */
static const double MIN_TAPER = 0.01, BLACK = -0.05, WHITE = 0.5;

/* Returns I0(x), the modified Bessel function of order 0, as its power series. */
static double bessel(double x)
{
    double sum = 1, term = 1;
    for (int k = 1; term > 1e-17 * sum; k++) {
        term *= x / (2 * k) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

/* Returns the Kaiser-Bessel window, whose transform is nearly as narrow as a window of
 * finite extent allows. */
double taper(double x)
{
    const double beta = TAPER_BETA;
    double inside = 1 - 4 * x * x;
    return inside > 1e-12 ? bessel(beta * sqrt(inside)) / bessel(beta) : 0;
}

typedef struct {
    const npy *grid;
    double norm;
    fftw_complex *half;   /* [size][size / 2 + 1] in FFTW's order: the zero is first */
    double *sums, *image; /* [size][size]: in FFTW's order, and with the zero in the
                             middle */
    double *axis;         /* [size]: the taper */
} transform;

/* Sets every threads-th row of the half grid to the mean of each cell and the conjugate
 * of its mirror image, which has the transform's real part as its transform. */
static void make_half(void *context, int t, int threads)
{
    const transform *a = context;
    size_t n = a->grid->shape[0], middle = n / 2;
    for (size_t v = (size_t)t; v < n; v += (size_t)threads)
        for (size_t u = 0; u <= n / 2; u++) {
            size_t cell = (v + middle) % n * n + (u + middle) % n;
            size_t mirror = (n - v + middle) % n * n + (n - u + middle) % n;
            double *to = a->half[v * (n / 2 + 1) + u];
            to[0] = npy_element(a->grid, 2 * cell) + npy_element(a->grid, 2 * mirror);
            to[1] = npy_element(a->grid, 2 * cell + 1) -
                    npy_element(a->grid, 2 * mirror + 1);
        }
}

/* Divides every threads-th row of the image by the taper and by the sum of the
 * weights. */
static void divide_by_taper(void *context, int t, int threads)
{
    const transform *a = context;
    size_t n = a->grid->shape[0], middle = n - n / 2;
    for (size_t y = (size_t)t; y < n; y += (size_t)threads)
        for (size_t x = 0; x < n; x++) {
            double taper_xy = a->axis[y] * a->axis[x];
            double sum = a->sums[(y + middle) % n * n + (x + middle) % n] / 2;
            a->image[y * n + x] = taper_xy > MIN_TAPER ? sum / taper_xy / a->norm : 0;
        }
}

double *dirty_image(const npy *grid, double norm)
{
    size_t n = grid->shape[0];
    int size = (int)n, threads = parallel_threads();
    transform a = {.grid = grid, .norm = norm};
    a.half = allocate_untouched(n * (n / 2 + 1), sizeof *a.half, "half the grid");
    a.sums = allocate_untouched(n * n, sizeof *a.sums, "the transform");
    a.image = allocate_untouched(n * n, sizeof *a.image, "the image");
    a.axis = allocate(n, sizeof *a.axis, "the taper");
    for (int x = 0; x < size; x++) a.axis[x] = taper((double)(x - size / 2) / size);

    if (fftw_init_threads()) fftw_plan_with_nthreads(threads);
    fftw_plan plan = fftw_plan_dft_c2r_2d(size, size, a.half, a.sums, FFTW_ESTIMATE);
    if (!plan) fail("FFTW: no plan for a transform of %d x %d points", size, size);
    parallel_run(threads, make_half, &a);
    fftw_execute(plan);
    parallel_run(threads, divide_by_taper, &a);
    fftw_destroy_plan(plan);
    fftw_cleanup_threads();
    free(a.axis);
    free(a.sums);
    free(a.half);
    return a.image;
}

void model_grid(double *grid, int size, int pitch, double cell, const source *s, int n)
{
    memset(grid, 0, (size_t)size * (size_t)pitch * 2 * sizeof *grid);
    double(*axis)[2] = allocate((size_t)size, sizeof *axis, "the model");
    for (int k = 0; k < n; k++) {
        double flux = s[k].flux / taper(s[k].l * cell) / taper(s[k].m * cell);
        for (int u = 0; u < size; u++) {
            double phase = -2 * pi * s[k].l * cell * (u - size / 2);
            axis[u][0] = flux * cos(phase);
            axis[u][1] = flux * sin(phase);
        }
        for (int v = 0; v < size; v++) {
            double phase = -2 * pi * s[k].m * cell * (v - size / 2);
            double re = cos(phase), im = sin(phase);
            double *row = grid + (size_t)v * (size_t)pitch * 2;
            for (int u = 0; u < size; u++) {
                row[2 * u] += re * axis[u][0] - im * axis[u][1];
                row[2 * u + 1] += re * axis[u][1] + im * axis[u][0];
            }
        }
    }
    free(axis);
}

double direct_sum(const visibility *d, int n, double norm, double l, double m)
{
    double r2 = l * l + m * m, n1 = -r2 / (1 + sqrt(1 - r2)), sum = 0;
    for (int k = 0; k < n; k++) {
        double phase = 2 * pi * (d[k].u * l + d[k].v * m + d[k].w * n1);
        sum += d[k].weight * (d[k].re * cos(phase) - d[k].im * sin(phase));
    }
    return sum / norm;
}

void image_write(const char *path, const double *image, int size)
{
    size_t n = (size_t)size;
    double peak = 0;
    for (size_t i = 0; i < n * n; i++) peak = fmax(peak, image[i]);
    double black = BLACK * peak, white = WHITE * peak;

    unsigned char *grey = allocate(n, n, "the picture");
    unsigned char *to = grey;
    for (int y = size - 1; y >= 0; y--) /* north is up */
        for (int x = 0; x < size; x++) {
            double shade = (image[(size_t)y * n + (size_t)x] - black) / (white - black);
            *to++ = (unsigned char)(255 * fmin(fmax(shade, 0), 1));
        }
    png_write(path, size, size, 1, grey);
    free(grey);
}
