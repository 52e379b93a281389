/* stack.c - implements stack.h.
 *
 * All planes are tiles of one large grid, so that the back-end grids them in one call:
 * to the back-end, a visibility in plane k is a visibility whose footprint lies in tile
 * k. A visibility is passed once for each plane that it is spread over.
 */
#include "stack.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parallel.h"

static const double pi = 3.14159265358979323846;

/* phi(x) = exp(beta (sqrt(1 - (2 x / taps)^2) - 1)) for |x| < taps / 2, the exponential
 * of a semicircle (Barnett, Magland and af Klinteberg 2019, SIAM J. Sci. Comput. 41,
 * C479). If the image fills 1 / sigma of the period of the transform, the error is
 *
 *     C exp(-pi taps sqrt(1 - 1 / sigma))  for  beta = 0.98 pi taps (1 - 1 / (2 sigma))
 *
 * (Barnett 2021, Appl. Comput. Harmon. Anal. 51, 1). tests/test_gridding.py measures C:
 * as the root mean square over the image and over all positions in a cell, it is at
 * most 8 for 3 to 9 taps and sigma from 1.25 to 2.5. */
static const double SPREAD_BETA = 0.98, SPREAD_ERROR = 8;

/* The errors in u, v, w and of rounding positions each get this fraction of the
 * accuracy. The four are independent, so their squares add up. */
static const double ERROR_SHARE = 0.5;

/* The largest sigma for u and v, beyond which two more taps cost less than larger FFTs,
 * and for w. */
static const double MAX_SIGMA = 2, MAX_SIGMA_W = 2.5;

enum {
    MAX_TAPS = 9,    /* in w */
    MAX_SIDE = 8192, /* cells per side of the grid of all tiles, unless one tile is
                        larger: 0.5 GiB */
    MAX_PLANES = 65536,
    TABLE = 4096,        /* intervals of the table of correction factors */
    NODES = 64,          /* of the quadrature for the transform of phi */
    COLUMNS_AT_ONCE = 16 /* of the image; their sums stay in the L2 cache */
};

/* Operations for one cell of a short footprint, which fills blocks badly, relative to
 * those of an FFT. Measured once; the choice is not sensitive to it. */
static const double CELL_COST = 40;

typedef int (*back_end)(const problem *p, void *grid, run_times *t);

typedef struct {
    double taps, beta;
} spread;

static double phi(spread s, double x)
{
    double z = 2 * x / s.taps, inside = 1 - z * z;
    return inside > 0 ? exp(s.beta * (sqrt(inside) - 1)) : 0;
}

/* Returns the transform of phi at f cycles per sample. The substitution x = taps / 2
 * sin(angle) makes the integrand smooth and periodic, so that the trapezoidal rule
 * converges exponentially. */
static double transform_of_phi(spread s, double f)
{
    double sum = 0;
    for (int i = 0; i < NODES; i++) {
        double angle = pi * ((i + 0.5) / NODES - 0.5), x = s.taps / 2 * sin(angle);
        sum += exp(s.beta * (cos(angle) - 1)) * cos(2 * pi * f * x) * cos(angle);
    }
    return sum * s.taps / 2 * pi / NODES;
}

/* Returns the smallest sigma with which so many taps reach the error; INFINITY if
 * none does. */
static double sigma_for(double error, double taps)
{
    double exponent = log(SPREAD_ERROR / error) / (pi * taps);
    return exponent < 1 ? 1 / (1 - exponent * exponent) : INFINITY;
}

static spread spread_for(double taps, double sigma)
{
    return (spread){taps, SPREAD_BETA * pi * taps * (1 - 1 / (2 * sigma))};
}

/* Returns the smallest even size >= n whose only prime factors are 2, 3 and 5, for
 * which FFTs are fast. */
static int good_size(double n)
{
    for (int size = 2;; size += 2) {
        int rest = size;
        while (rest % 2 == 0) rest /= 2;
        while (rest % 3 == 0) rest /= 3;
        while (rest % 5 == 0) rest /= 5;
        if (rest == 1 && size >= n) return size;
    }
}

/* A visibility with w >= 0, placed in the tile of plane 0. */
typedef struct {
    footprint at;
    double re, im; /* times weight and exp(2 pi i w middle) */
    double height; /* w, in planes above plane 0 */
} placed;

typedef struct {
    const observation *o;
    int grid, field; /* pixels per side of the image, and of its computed part */
    int size;        /* cells per side of the period of the transform */
    double cell;     /* wavelengths */
    int tile;        /* cells per side of a tile: size, and the cells of footprints that
                        begin before the end of the period and end after it */
    spread uv, w;
    int oversampling; /* convolution functions per cell and axis; 0: each visibility has
                         two functions of its own, for its exact u and v */
    int planes, taps_w;
    double lowest_w, dw;       /* w of plane 0, and between planes; wavelengths */
    double middle, half_range; /* n - 1 in the field is middle +- half_range */
    double scale_of_values; /* of the weighted visibilities, for the range of float */

    placed *sorted; /* [visibilities], by the lowest plane that they touch */
    int *begin;     /* [planes + 1]: the first one in `sorted` of each lowest plane */

    int tiles;        /* tiles per side of the large grid */
    int first, count; /* planes in the large grid */
    size_t *offset;   /* [count + 1]: first entry of each plane in the next two */
    footprint *footprints;
    double (*value)[2];
    float (*cells)[2]; /* the large grid */
    size_t pitch;      /* in cells */

    fftwf_plan row, columns;
    double *scale, *scale_w; /* [field] for l and m, [TABLE + 1] for n - 1: 1 /
                                transform of phi */
    float (*sums)[2];        /* [field columns][field rows]: planes so far */
    double *image;
} stack;

/* Returns n - 1 in direction (l, m), without cancellation; beyond the horizon, its
 * value at the horizon. */
static double n_minus_1(double l, double m)
{
    double r2 = fmin(l * l + m * m, 1);
    return -r2 / (1 + sqrt(1 - r2));
}

/* Chooses taps and planes in w with the smallest number of operations: FFTs of all
 * planes, and updates of cells. */
static void choose_planes(stack *s, double error, double range_w)
{
    double least = INFINITY, side = s->size, planes = 0;
    for (int taps = 3; taps <= MAX_TAPS; taps++) {
        double sigma = sigma_for(error, taps);
        if (sigma > MAX_SIGMA_W) continue;
        double dw = 1 / (2 * sigma * s->half_range);
        double n = ceil(range_w / dw - 0.5) + taps;
        double cost = n * 10 * side * side * log2(side) +
                      (double)s->o->n * taps * CELL_COST * s->uv.taps * s->uv.taps;
        if (cost >= least) continue;
        least = cost;
        planes = n;
        s->taps_w = taps;
        s->dw = dw;
        s->w = spread_for(taps, sigma);
    }
    if (planes > MAX_PLANES)
        fail("task=image: w extends over %g wavelengths: %.3g planes needed: expected "
             "at most %d",
             range_w, planes, MAX_PLANES);
    s->planes = (int)planes;
}

/* Chooses how finely positions in a cell are rounded. A position that is off by a
 * uniformly distributed distance up to h / 2 in u and in v changes the contribution to
 * a pixel by 0.74 h / sigma, as the root mean square over the image. The errors of
 * visibilities at different positions are independent, so that of their sum is smaller
 * by the square root of their number; those at the same position (repeated
 * integrations of a drift scan) add up, so their magnitudes are added first. */
static void choose_oversampling(stack *s, double error)
{
    enum { STEPS = 8 }; /* per cell: positions that round to one step are the same */
    size_t n = (size_t)s->o->n, buckets = 1;
    while (buckets < 4 * n) buckets *= 2;
    double *at = allocate(buckets, sizeof *at, "the positions");
    memset(at, 0, buckets * sizeof *at);
    double sum = 0, squares = 0;
    for (size_t k = 0; k < n; k++) {
        const visibility *d = &s->o->d[k];
        double sign = d->w < 0 ? -1 : 1, size = d->weight * hypot(d->re, d->im);
        double steps = sign * STEPS / s->cell; /* + 0.0: -0 and 0 are one position */
        double place[2] = {floor(d->u * steps + 0.5) + 0.0,
                           floor(d->v * steps + 0.5) + 0.0};
        uint64_t key = splitmix64(digest_update(0, place, sizeof place), 1);
        at[key & (buckets - 1)] += size; /* two places of a bucket: an upper bound */
        sum += size;
    }
    for (size_t i = 0; i < buckets; i++) squares += at[i] * at[i];
    free(at);
    s->scale_of_values = sum > 0 ? sum / (double)s->o->n : 1;
    double sigma = (double)s->size / s->field;
    double needed = sum > 0 ? 0.74 / sigma / error * sqrt(squares) / sum : 1;
    bool exact = 2. * s->o->n <= needed;
    s->oversampling = exact ? 0 : 2 * (int)ceil(needed / 2);
}

/* Converts a coordinate to the first cell of its footprint in a tile and the number of
 * its function; own is the number if each visibility has functions of its own. At the
 * pixels of the image, the contribution of a visibility is periodic in u and v, so any
 * coordinate is used modulo the period. Returns the distance of the visibility from the
 * middle of the footprint, in cells. */
static double place(const stack *s, double x, int own, int *first, int *function)
{
    int fractions = s->oversampling ? s->oversampling : 1, half = fractions / 2;
    double cells = fmod(x / s->cell, s->size) + s->size / 2;
    double point = floor(cells * fractions + 0.5) + half;
    double centre = floor(point / fractions);
    double first_cell = fmod(centre - floor(s->uv.taps / 2), s->size);
    *first = (int)(first_cell < 0 ? first_cell + s->size : first_cell);
    *function = s->oversampling ? (int)(point - centre * fractions) : own;
    return cells - centre;
}

static void set_taps(const stack *s, double (*taps)[2], int function, double distance)
{
    int width = (int)s->uv.taps;
    for (int i = 0; i < width; i++) {
        double *tap = taps[(size_t)function * (size_t)width + (size_t)i];
        tap[0] = phi(s->uv, i - width / 2 - distance);
        tap[1] = 0;
    }
}

/* Places the visibilities and sorts them by their lowest plane. Returns the convolution
 * functions, which the caller frees. */
static double *place_visibilities(stack *s)
{
    size_t n = (size_t)s->o->n;
    size_t functions = s->oversampling ? (size_t)s->oversampling : 2 * n;
    double(*taps)[2] =
        allocate(functions * (size_t)s->uv.taps, sizeof *taps, "the functions");
    for (int f = 0; f < s->oversampling; f++)
        set_taps(s, taps, f, (double)(f - s->oversampling / 2) / s->oversampling);

    placed *all = allocate_untouched(n, sizeof *all, "the visibilities");
    int *lowest = allocate_untouched(n, sizeof *lowest, "the planes of visibilities");
    s->sorted = allocate_untouched(n, sizeof *s->sorted, "the sorted visibilities");
    s->begin = allocate((size_t)s->planes + 2, sizeof *s->begin, "the planes");
    memset(s->begin, 0, ((size_t)s->planes + 2) * sizeof *s->begin);
    for (int k = 0; k < s->o->n; k++) {
        /* The image is real: (u, v, w) and its conjugate at (-u, -v, -w) are alike. */
        const visibility *d = &s->o->d[k];
        double sign = d->w < 0 ? -1 : 1, w = sign * d->w;
        placed *to = &all[k];
        double u = place(s, sign * d->u, 2 * k, &to->at.u, &to->at.fu);
        double v = place(s, sign * d->v, 2 * k + 1, &to->at.v, &to->at.fv);
        if (!s->oversampling) {
            set_taps(s, taps, to->at.fu, u);
            set_taps(s, taps, to->at.fv, v);
        }
        to->at.plane = to->at.negative_w = 0;
        double phase = 2 * pi * w * s->middle, c = cos(phase), t = sin(phase);
        double weight = d->weight / s->scale_of_values;
        double re = weight * d->re, im = sign * weight * d->im;
        to->re = re * c - im * t;
        to->im = re * t + im * c;
        to->height = (w - s->lowest_w) / s->dw;
        lowest[k] = (int)fmax(ceil(to->height - 0.5 * s->taps_w), 0);
        s->begin[lowest[k] + 2]++;
    }
    for (int i = 0; i < s->planes; i++) s->begin[i + 2] += s->begin[i + 1];
    for (int k = 0; k < s->o->n; k++) s->sorted[s->begin[lowest[k] + 1]++] = all[k];
    free(lowest);
    free(all);
    return (double *)taps;
}

/* Sets from .. to - 1 to the sorted visibilities that touch a plane. */
static void visibilities_of(const stack *s, int plane, int *from, int *to)
{
    int lowest = plane - s->taps_w + 1;
    *from = s->begin[lowest > 0 ? lowest : 0];
    *to = s->begin[plane + 1];
}

/* Lists the visibilities of the current planes for the back-end; a thread lists those
 * of every threads-th plane. */
static void list_visibilities(void *context, int t, int threads)
{
    const stack *s = context;
    for (int i = t; i < s->count; i += threads) {
        int from, to, plane = s->first + i;
        visibilities_of(s, plane, &from, &to);
        footprint *at = s->footprints + s->offset[i];
        double(*value)[2] = s->value + s->offset[i];
        for (int k = from; k < to; k++, at++, value++) {
            const placed *d = &s->sorted[k];
            double factor = phi(s->w, d->height - plane);
            *at = d->at;
            at->u += i % s->tiles * s->tile;
            at->v += i / s->tiles * s->tile;
            (*value)[0] = factor * d->re;
            (*value)[1] = factor * d->im;
        }
    }
}

/* Grids the current planes. */
static void grid_planes(stack *s, const request *r, const double *taps,
                        back_end grid_on, run_times *t)
{
    s->offset[0] = 0;
    for (int i = 0; i < s->count; i++) {
        int from, to;
        visibilities_of(s, s->first + i, &from, &to);
        s->offset[i + 1] = s->offset[i] + (size_t)(to - from);
    }
    size_t n = s->offset[s->count];
    if (n == 0) { /* back-ends need a visibility */
        memset(s->cells, 0, (size_t)(s->tiles * s->tile) * s->pitch * sizeof *s->cells);
        return;
    }
    s->footprints = allocate_untouched(n, sizeof *s->footprints, "the footprints");
    s->value = allocate_untouched(n, sizeof *s->value, "the weighted visibilities");
    parallel_run(parallel_threads(), list_visibilities, s);
    problem p = {
        .dims = {.visibilities = (int)n,
                 .size = s->tiles * s->tile,
                 .pitch = (int)s->pitch,
                 .width = (int)s->uv.taps,
                 .oversampling = s->oversampling ? s->oversampling : 2 * s->o->n,
                 .planes = 1,
                 .copies = 1,
                 .strips = {1, 1}},
        .footprints = s->footprints,
        .value = (const double *)s->value,
        .taps = taps,
        .copies = r->copies,
        .strips = {r->strips[0], r->strips[1]}};
    run_times once = {0};
    if (grid_on(&p, s->cells, &once)) fail("the gridding failed");
    t->init += once.init;
    t->sort += once.sort;
    t->run += once.run;
    t->kernel += once.kernel;
    t->copies = once.copies;
    free(s->value);
    free(s->footprints);
}

/* Returns the first cell of row v of a tile. */
static float (*tile_row(const stack *s, int tile, int v))[2]
{
    size_t row = (size_t)(tile / s->tiles * s->tile + v);
    return s->cells + row * s->pitch + (size_t)(tile % s->tiles * s->tile);
}

/* Adds a row of a tile to one period of it. Returns whether any cell of it is not 0. */
static bool add_row(const stack *s, const float (*row)[2], float (*sum)[2])
{
    int size = s->size;
    float any = 0;
    for (int i = 0; i < size; i++) {
        any += fabsf(row[i][0]) + fabsf(row[i][1]);
        sum[i][0] += row[i][0];
        sum[i][1] += row[i][1];
    }
    for (int i = size; i < s->tile; i++) {
        any += fabsf(row[i][0]) + fabsf(row[i][1]);
        sum[i - size][0] += row[i][0];
        sum[i - size][1] += row[i][1];
    }
    return any != 0;
}

/* Transforms the rows of all tiles, and keeps the pixels of the field, at the beginning
 * of each row. Rows without visibilities stay 0. */
static void transform_rows(void *context, int t, int threads)
{
    const stack *s = context;
    size_t side = (size_t)s->size, right = (size_t)s->field / 2;
    float(*a)[2] = fftwf_malloc(side * sizeof *a);
    for (int i = t; i < s->count * s->size; i += threads) {
        int tile = i / s->size, v = i % s->size;
        float(*row)[2] = tile_row(s, tile, v);
        memset(a, 0, side * sizeof *a);
        bool any = add_row(s, row, a);
        if (v + s->size < s->tile) any |= add_row(s, tile_row(s, tile, v + s->size), a);
        if (!any) continue;
        fftwf_execute_dft(s->row, a, a);
        memcpy(row, a + side - right, right * sizeof *a);
        memcpy(row + right, a, right * sizeof *a);
    }
    fftwf_free(a);
}

/* Returns n - 1 - middle for a pixel of the field. */
static double pixel_n(const stack *s, int x, int y)
{
    double pixel = 1 / (s->size * s->cell);
    return n_minus_1((x - s->field / 2) * pixel, (y - s->field / 2) * pixel) -
           s->middle;
}

/* Transforms columns, and adds the planes to the image by Horner's rule, from the last
 * to the first: sums = sums exp(2 pi i dw (n - 1 - middle)) + plane. A thread computes
 * every threads-th group of columns. */
static void transform_columns(void *context, int t, int threads)
{
    const stack *s = context;
    size_t side = (size_t)s->size, pixels = (size_t)s->field;
    float(*a)[2] = fftwf_malloc(COLUMNS_AT_ONCE * side * sizeof *a);
    float(*turn)[2] = fftwf_malloc(COLUMNS_AT_ONCE * pixels * sizeof *turn);
    for (int x = t * COLUMNS_AT_ONCE; x < s->field; x += threads * COLUMNS_AT_ONCE) {
        int n = s->field - x < COLUMNS_AT_ONCE ? s->field - x : COLUMNS_AT_ONCE;
        float(*sums)[2] = s->sums + (size_t)x * pixels;
        for (int i = 0; i < n; i++)
            for (int y = 0; y < s->field; y++) {
                double phase = 2 * pi * s->dw * pixel_n(s, x + i, y);
                turn[(size_t)i * pixels + (size_t)y][0] = (float)cos(phase);
                turn[(size_t)i * pixels + (size_t)y][1] = (float)sin(phase);
            }
        for (int plane = s->count - 1; plane >= 0; plane--) {
            for (int v = 0; v < s->size; v++) {
                float(*row)[2] = tile_row(s, plane, v) + x;
                for (int i = 0; i < n; i++)
                    memcpy(a[(size_t)i * side + (size_t)v], row[i], sizeof *row);
            }
            fftwf_execute_dft(s->columns, a, a);
            for (int i = 0; i < n; i++)
                for (int half = 0; half < 2; half++) {
                    size_t y = half ? pixels / 2 : 0;
                    float(*from)[2] =
                        a + (size_t)i * side + (half ? 0 : side - pixels / 2);
                    float(*sum)[2] = sums + (size_t)i * pixels + y;
                    float(*by)[2] = turn + (size_t)i * pixels + y;
                    for (size_t k = 0; k < pixels / 2; k++) {
                        float re = sum[k][0] * by[k][0] - sum[k][1] * by[k][1];
                        float im = sum[k][0] * by[k][1] + sum[k][1] * by[k][0];
                        sum[k][0] = re + from[k][0];
                        sum[k][1] = im + from[k][1];
                    }
                }
        }
    }
    fftwf_free(turn);
    fftwf_free(a);
}

/* Converts the sums to the image: multiplies by exp(2 pi i (n - 1 - middle) w) for
 * plane 0, and divides by the transforms of phi and by the sum of the weights. A thread
 * computes every threads-th row. */
static void correct(void *context, int t, int threads)
{
    const stack *s = context;
    size_t pixels = (size_t)s->field, margin = (size_t)(s->grid / 2 - s->field / 2);
    for (int y = t; y < s->field; y += threads) {
        double *row = s->image + (margin + (size_t)y) * (size_t)s->grid + margin;
        for (int x = 0; x < s->field; x++) {
            double n1 = pixel_n(s, x, y), phase = 2 * pi * s->lowest_w * n1;
            double at = fmax((n1 / s->half_range + 1) / 2 * TABLE, 0);
            int i = at < TABLE - 1 ? (int)at : TABLE - 1;
            double scale =
                s->scale_w[i] + (at - i) * (s->scale_w[i + 1] - s->scale_w[i]);
            scale *= s->scale[x] * s->scale[y] / s->o->norm * s->scale_of_values;
            const float *sum = s->sums[(size_t)x * pixels + (size_t)y];
            row[x] = scale * (sum[0] * cos(phase) - sum[1] * sin(phase));
        }
    }
}

static double *corrections(const stack *s)
{
    double *scale = allocate((size_t)s->field, sizeof *scale, "the corrections");
    for (int x = 0; x < s->field; x++) {
        int k = x - s->field / 2;
        /* Positions are rounded to 1 / oversampling of a cell: on average, that
         * multiplies the image by the transform of a box of this width. */
        double turn = s->oversampling ? pi * k / s->size / s->oversampling : 0;
        double rounded = turn != 0 ? sin(turn) / turn : 1;
        scale[x] =
            (k % 2 ? -1 : 1) / transform_of_phi(s->uv, (double)k / s->size) / rounded;
    }
    return scale;
}

static double *corrections_w(const stack *s)
{
    double *scale = allocate(TABLE + 1, sizeof *scale, "the corrections");
    for (int i = 0; i <= TABLE; i++)
        scale[i] =
            1 / transform_of_phi(s->w, (2. * i / TABLE - 1) * s->half_range * s->dw);
    return scale;
}

/* Sets the sizes that follow from the accuracy and from the visibilities. */
static stack make_stack(const request *r, const observation *o)
{
    stack s = {.o = o, .grid = r->grid, .field = (int)(r->field * r->grid / 2) * 2};
    double error = ERROR_SHARE * r->accuracy;
    int taps = 3;
    while (sigma_for(error, taps) > MAX_SIGMA) taps += 2;
    s.size = good_size(sigma_for(error, taps) * fmax(s.field, taps));
    s.cell = r->cell * r->grid / s.size;
    s.tile = s.size + taps - 1;
    s.uv = spread_for(taps, (double)s.size / s.field);
    double edge = s.field / 2 / (s.size * s.cell);
    s.half_range = -n_minus_1(edge, edge) / 2;
    s.middle = -s.half_range;
    double low = INFINITY, high = 0;
    for (int k = 0; k < o->n; k++) {
        low = fmin(low, fabs(o->d[k].w));
        high = fmax(high, fabs(o->d[k].w));
    }
    choose_planes(&s, error, high - low);
    s.lowest_w = low - (0.5 * s.taps_w - 0.5) * s.dw;
    choose_oversampling(&s, error);
    int most = MAX_SIDE / s.tile > 1 ? MAX_SIDE / s.tile : 1;
    s.tiles = (int)ceil(sqrt(s.planes));
    if (s.tiles > most) s.tiles = most;
    s.pitch = (size_t)grid_pitch(s.tiles * s.tile);
    return s;
}

static void make_plans(stack *s)
{
    int side = s->size;
    fftwf_complex *a = fftwf_malloc(COLUMNS_AT_ONCE * (size_t)side * sizeof *a);
    s->row = fftwf_plan_dft_1d(side, a, a, FFTW_BACKWARD, FFTW_ESTIMATE);
    s->columns = fftwf_plan_many_dft(1, &side, COLUMNS_AT_ONCE, a, NULL, 1, side, a,
                                     NULL, 1, side, FFTW_BACKWARD, FFTW_ESTIMATE);
    fftwf_free(a);
    if (!s->row || !s->columns) fail("FFTW: no plan for transforms of %d points", side);
}

/* Returns the image from the sums over planes. */
static double *finish_image(stack *s, run_times *t)
{
    double start = seconds();
    size_t pixels = (size_t)s->grid * (size_t)s->grid;
    s->image = allocate_untouched(pixels, sizeof *s->image, "the image");
    memset(s->image, 0, pixels * sizeof *s->image);
    s->scale = corrections(s);
    s->scale_w = corrections_w(s);
    parallel_run(parallel_threads(), correct, s);
    free(s->scale_w);
    free(s->scale);
    t->image += seconds() - start;
    return s->image;
}

double *stack_image(const request *r, const observation *o, back_end grid_on,
                    run_times *t, double *updates)
{
    double start = seconds();
    stack s = make_stack(r, o);
    double *taps = place_visibilities(&s);
    size_t side = (size_t)(s.tiles * s.tile), pixels = (size_t)s.field;
    s.offset =
        allocate((size_t)s.tiles * (size_t)s.tiles + 1, sizeof *s.offset, "offsets");
    s.cells = allocate_untouched(side * s.pitch, sizeof *s.cells, "the grids");
    s.sums = allocate(pixels * pixels, sizeof *s.sums, "the image");
    memset(s.sums, 0, pixels * pixels * sizeof *s.sums);
    make_plans(&s);
    int threads = parallel_threads(), batch = s.tiles * s.tiles;
    t->init += seconds() - start;
    for (s.first = (s.planes - 1) / batch * batch; s.first >= 0; s.first -= batch) {
        s.count = s.planes - s.first < batch ? s.planes - s.first : batch;
        grid_planes(&s, r, taps, grid_on, t);
        if (run_rank) continue;
        double transform = seconds();
        parallel_run(threads, transform_rows, &s);
        parallel_run(threads, transform_columns, &s);
        t->image += seconds() - transform;
    }
    *updates = (double)o->n * s.taps_w * s.uv.taps * s.uv.taps;

    double *image = run_rank ? NULL : finish_image(&s, t);
    fftwf_destroy_plan(s.row);
    fftwf_destroy_plan(s.columns);
    fftwf_cleanup();
    free(s.sums);
    free(s.cells);
    free(s.offset);
    free(s.begin);
    free(s.sorted);
    free(taps);
    return image;
}
