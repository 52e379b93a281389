/* check_gridding.c - checks a grid or degridded visibilities. The program gridding-
 * check.
 *
 *     gridding-check QUERY oracle=FILE [result=out.npy] [truth=FILE]
 *
 * The oracle is the sum that the query defines, in double precision, cell by cell, from
 * the data of oracle_gridding.c. It shares no code with steps/ and common/gridding.
 * FILE keeps the oracle: an existing FILE is read, and rejected if it belongs to
 * another query or to other visibilities. A result must satisfy:
 *
 *   - Each cell, or degridded visibility, differs from the oracle's by no more than the
 *     rounding error. Let S be the sum of the magnitudes of the m terms. The products
 *     that form a term are off by at most 8 units in the last place (ulp) of its
 *     magnitude. The m roundings of partial sums that are at most S are off by
 *     3 sqrt(m) ulp of S, six times their standard deviation. If terms are alike, so
 *     are their roundings; for this, four times the error of a sum in float is added:
 *     of the sum in the order of the visibilities or, if there are many, of the sum in
 *     the order of their taps. If all numbers are small integers, the result must be
 *     exact. With accuracy=, the sum of the magnitudes of the taps that may be omitted
 *     is added.
 *   - task=image: at the sources and at random pixels of the field, the image differs
 *     from the direct Fourier sum by no more than accuracy= times the sum of the
 *     magnitudes of the visibilities, as the root mean square. Of a small query, so do
 *     all pixels, and none by more than LARGEST_OVER_RMS times that. The image is 0
 *     elsewhere.
 *   - sum(grid) = sum(d sum C). For a degridded grid x: <G v, x> = <v, result>.
 *   - If the visibilities lie on tracks that fill the grid, and support, planes and
 *     oversampling suffice for their w: the image has a peak at each source, within 3 %
 *     of the direct Fourier sum there, and the rms of the difference from that sum at
 *     300 other pixels is below 1e-3 of the peak. Degridding a model of the sources
 *     reproduces their visibilities.
 *
 * Prints key=value lines; the last one is verdict=ok, or verdict=FAIL and the reason.
 * The exit status is 0 only for ok. Times are not checked.
 */
#include "oracle_gridding.h"

#include "verdict.h"

static const char about[] =
    "checks a grid or visibilities against the same sums in double precision\n\n"
    "  gridding-check QUERY oracle=FILE [result=FILE] [truth=FILE]\n\n"
    "QUERY: the arguments of the program. Exit status 0 only for verdict=ok.";

/* Units in the last place: per term, and per sum for each square root of its terms. */
static const double TERM_ULPS = 8, SUM_ULPS = 3;

/* The smallest normal float: the error per term of underflow. */
static const double SMALLEST_FLOAT = 0x1p-126;

/* Largest relative errors of the image and of degridded sources, see above. */
static const double MAX_FLUX_ERROR = 0.03, MAX_IMAGE_RMS = 1e-3,
                    MAX_PREDICTION_ERROR = 0.03;

/* Minimal requirements for the check of the image: number of visibilities, cells per
 * side, oversampling (rounding a position by half a fraction changes the phase of a
 * source), and support for the taper in addition to that for w. PIXELS is the number of
 * random pixels that are compared. */
enum {
    PIXELS = 300,
    MIN_VISIBILITIES = 1000,
    MIN_GRID = 200,
    MIN_OVERSAMPLING = 8,
    TAPER_SUPPORT = 6
};

/* If terms are alike, their roundings are alike, too: this many times the error of a
 * sum in float is permitted. Chosen with a margin, not derived. */
static const double FLOAT_ERRORS = 4;
enum { MANY_TERMS = 10000 }; /* of a cell */

/* Relative error of a sum in double precision, about 45 roundings, and of the
 * comparison of a tap with the limit of accuracy=. Both are far above the rounding of
 * double and far below that of float. */
static const double DOUBLE_ERROR = 1e-14, LIMIT_ERROR = 1e-9;

/* task=image: all pixels are checked if their direct sums have at most so many terms. A
 * pixel may differ by this multiple of the root mean square that is allowed: chosen
 * with a margin, not derived; errors are largest at the edges of the field. */
static const double MAX_DIRECT_TERMS = 2e8, LARGEST_OVER_RMS = 8;

/* Random pixels lie in this fraction of the image's side; tracks fill the grid if their
 * extent is between these fractions of its side. */
static const double INNER_IMAGE = 0.4, MIN_FILLED = 0.5, MAX_FILLED = 1.2;

/* Returns the rounding unit of the result. The rounding of the oracle itself is one
 * unit of a double. */
static double rounding_unit(const query *q)
{
    return q->double_precision ? 0x1p-52 : 0x1p-24;
}

/* Returns the largest magnitude up to which sums of integers are exact. */
static double exact_limit(const query *q)
{
    return q->double_precision ? 0x1p52 : 0x1p23;
}

/* Returns the permitted error of a sum of m terms whose magnitudes add up to `size`. */
static double error_bound(const query *q, const scene *s, double size, double m)
{
    if (m == 0 || (s->exact && size <= exact_limit(q))) return 0;
    return rounding_unit(q) * (TERM_ULPS + SUM_ULPS * sqrt(m)) * size +
           m * SMALLEST_FLOAT;
}

/* Returns the magnitude of a factor, including the error of the doubles that it was
 * computed from: `rounding` units in their last place. */
static double magnitude(const query *q, double complex x, double rounding)
{
    return cabs(x) + rounding * 0x1p-52 / rounding_unit(q);
}

/* ---- sums in double precision ---------------------------------------------------- */

/* Returns the magnitudes of all taps, in their order. The caller frees them. */
static double *tap_magnitudes(const query *q, const scene *s)
{
    double *size = allocate(s->taps_count, sizeof *size, "sizes of taps");
    for (size_t i = 0; i < s->taps_count; i++)
        size[i] = magnitude(q, s->taps[i], q->integer ? 0 : s->rounding);
    return size;
}

/* Returns the support that the taps of each plane and sign of w need: all taps beyond
 * are smaller than `accuracy` times the plane's largest tap. The caller frees it. */
static long *plane_supports(const query *q, const scene *s)
{
    long width = 2L * q->support + 1, row = width * q->oversampling;
    size_t planes = s->taps_count / (size_t)row;
    long *supports = allocate(planes, sizeof *supports, "supports of planes");
    for (size_t p = 0; p < planes; p++) {
        const double complex *taps = s->taps + (long)p * row;
        double largest = 0;
        for (long i = 0; i < row; i++) largest = fmax(largest, cabs(taps[i]));
        supports[p] = 0;
        for (long i = 0; i < row; i++) {
            long distance = labs(i % width - q->support);
            if (cabs(taps[i]) >= q->accuracy * largest * (1 + LIMIT_ERROR) &&
                distance > supports[p])
                supports[p] = distance;
        }
    }
    return supports;
}

/* An entry of the list of visibilities that is sorted by their taps. In this order,
 * alike terms follow each other, as in programs that sort by plane and fraction. */
typedef struct {
    const double complex *taps_u, *taps_v;
    int number;
} sorted;

static int compare_taps(const void *one, const void *other)
{
    const sorted *a = one, *b = other;
    if (a->taps_u != b->taps_u) return a->taps_u < b->taps_u ? -1 : 1;
    if (a->taps_v != b->taps_v) return a->taps_v < b->taps_v ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

static sorted *sort_by_taps(const scene *s)
{
    sorted *order = allocate((size_t)s->n + 1, sizeof *order, "an order");
    for (int k = 0; k < s->n; k++)
        order[k] = (sorted){s->visibilities[k].taps_u, s->visibilities[k].taps_v, k};
    qsort(order, (size_t)s->n, sizeof *order, compare_taps);
    return order;
}

/* Adds the terms of row v in float, in an order. */
static void sum_in_float(const query *q, const scene *s, const sorted *order, long v,
                         float (*sum)[2])
{
    long width = 2L * q->support + 1;
    memset(sum, 0, (size_t)q->grid * sizeof *sum);
    for (int n = 0; n < s->n; n++) {
        const visibility *vis = &s->visibilities[order[n].number];
        long j = v - vis->row;
        if (j < 0 || j >= width) continue;
        const double complex t = vis->d * vis->taps_v[j];
        for (long i = 0; i < width; i++) {
            const double complex term = t * vis->taps_u[i];
            sum[vis->column + i][0] += (float)creal(term);
            sum[vis->column + i][1] += (float)cimag(term);
        }
    }
}

/* Computes the grid [size][size] row by row, each row in one thread, and the permitted
 * error of each cell. */
static void oracle_gridding(const query *q, const scene *s, double complex *grid,
                            double *bounds)
{
    long size = q->grid, width = 2L * q->support + 1;
    double *sizes = tap_magnitudes(q, s);
    long *supports = plane_supports(q, s);
    sorted *order = sort_by_taps(s);
#pragma omp parallel for schedule(dynamic, 4)
    for (long v = 0; v < size; v++) {
        double(*row)[2] = (double(*)[2])(grid + v * size), *bound = bounds + v * size;
        double *omitted =
            allocate((size_t)size, sizeof *omitted, "bounds of omitted taps");
        double *terms = allocate((size_t)size + 1, sizeof *terms, "a row");
        float(*float_row)[2] =
            allocate(2 * (size_t)size, sizeof *float_row, "a row in float");
        float(*sorted_row)[2] = float_row + size;
        for (long u = 0; u <= size; u++) terms[u] = 0;
        memset(float_row, 0, (size_t)size * sizeof *float_row);
        for (long u = 0; u < size; u++)
            row[u][0] = row[u][1] = bound[u] = omitted[u] = 0;
        for (int k = 0; k < s->n; k++) {
            const visibility *vis = &s->visibilities[k];
            long j = v - vis->row;
            if (j < 0 || j >= width) continue;
            const double complex t = vis->d * vis->taps_v[j];
            const double re = creal(t), im = cimag(t);
            const double scale =
                magnitude(q, vis->d, vis->rounding) * sizes[vis->taps_v - s->taps + j];
            const double(*c)[2] = (const double(*)[2])vis->taps_u;
            const double *size_c = sizes + (vis->taps_u - s->taps);
            const long reach =
                supports[(vis->taps_u - s->taps) / (q->oversampling * width)];
            const bool beyond = labs(j - q->support) > reach;
            for (long i = 0; i < width; i++) {
                const double x = re * c[i][0] - im * c[i][1];
                const double y = im * c[i][0] + re * c[i][1];
                row[vis->column + i][0] += x;
                row[vis->column + i][1] += y;
                float_row[vis->column + i][0] += (float)x;
                float_row[vis->column + i][1] += (float)y;
                bound[vis->column + i] += scale * size_c[i];
                if (beyond || labs(i - q->support) > reach)
                    omitted[vis->column + i] += hypot(x, y);
            }
            terms[vis->column]++;
            terms[vis->column + width]--;
        }
        double m = 0, most = 0;
        for (long u = 0; u < size; u++) most = fmax(most, m += terms[u]);
        bool many = most > MANY_TERMS && !q->double_precision;
        if (many) sum_in_float(q, s, order, v, sorted_row);
        m = 0;
        for (long u = 0; u < size; u++) {
            m += terms[u];
            double float_error =
                hypot(float_row[u][0] - row[u][0], float_row[u][1] - row[u][1]);
            if (many)
                float_error = fmax(float_error, hypot(sorted_row[u][0] - row[u][0],
                                                      sorted_row[u][1] - row[u][1]));
            bound[u] = error_bound(q, s, bound[u], m);
            if (!q->double_precision && bound[u] > 0 && isfinite(float_error))
                bound[u] += FLOAT_ERRORS * float_error;
            bound[u] += omitted[u];
        }
        free(float_row);
        free(omitted);
        free(terms);
    }
    free(order);
    free(supports);
    free(sizes);
}

static void oracle_degridding(const query *q, const scene *s, double complex *value,
                              double *bounds)
{
    long width = 2L * q->support + 1;
    double *sizes = tap_magnitudes(q, s);
#pragma omp parallel for
    for (int k = 0; k < s->n; k++) {
        const visibility *vis = &s->visibilities[k];
        const double *size_u = sizes + (vis->taps_u - s->taps),
                     *size_v = sizes + (vis->taps_v - s->taps);
        double complex sum = 0;
        double scale = 0;
        for (long j = 0; j < width; j++) {
            const double complex *row =
                s->model + (vis->row + j) * q->grid + vis->column;
            double complex along = 0;
            double bound = 0;
            for (long i = 0; i < width; i++) {
                along += row[i] * conj(vis->taps_u[i]);
                bound += magnitude(q, row[i], s->model_rounding) * size_u[i];
            }
            sum += along * conj(vis->taps_v[j]);
            scale += bound * size_v[j];
        }
        value[k] = sum;
        bounds[k] = error_bound(q, s, scale, (double)(width * width));
    }
    free(sizes);
}

/* ---- the oracle's file ----------------------------------------------------------- */

/* The file contains, as float64: the direct sums in up to SOURCES_MADE + PIXELS
 * directions; the grid [size][size][2] or the visibilities [n][2]; and the permitted
 * error of each of them. */
enum { DIRECT = SOURCES_MADE + PIXELS };

/* Identifies a query and its data. */
static uint64_t scene_id(const query *q, const scene *s, bool sky)
{
    size_t cells = (size_t)q->grid * (size_t)q->grid;
    double numbers[] = {s->n,        q->grid,    q->support,
                        q->planes,   q->cell,    q->oversampling,
                        q->accuracy, q->integer, q->double_precision,
                        q->degrid,   sky,        q->image,
                        q->field};
    uint64_t id = digest_update(0, numbers, sizeof numbers);
    for (int k = 0; k < s->n; k++) {
        const visibility *vis = &s->visibilities[k];
        double values[] = {vis->u,      vis->v,        vis->w,
                           vis->weight, creal(vis->d), cimag(vis->d)};
        id = digest_update(id, values, sizeof values);
    }
    id = digest_update(id, s->taps, s->taps_count * sizeof *s->taps);
    return digest_update(id, s->model, s->model ? cells * sizeof *s->model : 0);
}

/* Returns the pixels per side of the computed part of an image. */
static long field_pixels(const query *q)
{
    return 2 * (long)(q->field * q->grid / 2);
}

static bool in_field(const query *q, long x, long y)
{
    long half = field_pixels(q) / 2;
    return x >= -half && x < half && y >= -half && y < half;
}

/* Sets x and y to pixel i, measured from the middle of the image: first the pixels of
 * the sources, then pseudo-random ones. */
static void pick_pixel(const query *q, const scene *s, int i, long *x, long *y)
{
    double side = q->grid * q->cell;
    if (i < s->source_count) {
        *x = lround(s->sky[i].l * side);
        *y = lround(s->sky[i].m * side);
        if (!q->image || in_field(q, *x, *y)) return;
    }
    if (q->image) {
        *x = (long)floor((double)field_pixels(q) * (hash01((uint64_t)i, 11) - 0.5));
        *y = (long)floor((double)field_pixels(q) * (hash01((uint64_t)i, 12) - 0.5));
        return;
    }
    *x = (long)(q->grid * INNER_IMAGE * (hash01((uint64_t)i, 11) - 0.5));
    *y = (long)(q->grid * INNER_IMAGE * (hash01((uint64_t)i, 12) - 0.5));
}

/* Returns the direct Fourier sum over the visibilities in the direction of a pixel. */
static double direct_sum(const query *q, const scene *s, long x, long y)
{
    double side = q->grid * q->cell, l = (double)x / side, m = (double)y / side,
           half = sin(asin(fmin(hypot(l, m), 1)) / 2), n1 = -2 * half * half, sum = 0;
    for (int k = 0; k < s->n; k++) {
        const visibility *vis = &s->visibilities[k];
        double angle = 2 * acos(-1) * (vis->u * l + vis->v * m + vis->w * n1);
        sum += creal(vis->d) * cos(angle) - cimag(vis->d) * sin(angle);
    }
    return sum / s->norm;
}

/* Returns the number of cells or visibilities that have an expected value. */
static size_t result_count(const query *q, const scene *s)
{
    size_t size = (size_t)q->grid;
    if (!q->image) return q->degrid ? (size_t)s->n : size * size;
    size_t pixels = (size_t)field_pixels(q) * (size_t)field_pixels(q);
    return (double)pixels * s->n <= MAX_DIRECT_TERMS ? pixels : 0;
}

/* Returns the contents of the file. Computes and writes them if the file does not
 * exist. */
static double *oracle(const query *q, const scene *s, bool sky, const char *path)
{
    bool kept;
    size_t cells = result_count(q, s), count = DIRECT + 3 * cells;
    double *sums = oracle_open(path, NPY_F8, count, scene_id(q, s, sky), &kept);
    if (kept) return sums;

#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < DIRECT; i++) {
        long x, y;
        pick_pixel(q, s, i, &x, &y);
        sums[i] = q->image || (sky && !q->degrid) ? direct_sum(q, s, x, y) : 0;
    }
    double *pixels = sums + DIRECT;
    long side = field_pixels(q);
#pragma omp parallel for schedule(dynamic, 64)
    for (size_t i = 0; i < (q->image ? cells : 0); i++)
        pixels[i] =
            direct_sum(q, s, (long)i % side - side / 2, (long)i / side - side / 2);
    if (!q->image)
        (q->degrid ? oracle_degridding : oracle_gridding)(
            q, s, (double complex *)(sums + DIRECT), sums + DIRECT + 2 * cells);
    oracle_keep(path, NPY_F8, count, sums);
    return sums;
}

/* ---- checks ---------------------------------------------------------------------- */

/* Prints a number and compares it with its budget. */
static void check_value(report *rep, const char *what, double found, double budget)
{
    printf("%s=%.4g\n", what, found);
    judge(rep, found, budget, "%s is %.4g, at most %.4g allowed", what, found, budget);
}

/* Returns the candidate's result as doubles, or NULL with the reason in the report. The
 * caller frees it. */
static double complex *read_candidate(report *rep, const query *q, const scene *s,
                                      const char *path)
{
    size_t size = (size_t)q->grid, n = (size_t)s->n;
    npy like = q->degrid  ? (npy){.dims = 2, .shape = {n, 2}}
               : q->image ? (npy){.dims = 2, .shape = {size, size}}
                          : (npy){.dims = 3, .shape = {size, size, 2}};
    like.type = q->double_precision || q->image ? NPY_F8 : NPY_F4;
    npy a = read_result(rep, "result", path, like);
    if (!a.data || like.type == NPY_F8) return a.data;
    size_t count = npy_count(&a);
    double *doubles = allocate(count, sizeof *doubles, "the result");
    for (size_t i = 0; i < count; i++) doubles[i] = npy_element(&a, i);
    free(a.data);
    return (double complex *)doubles;
}

/* Checks all cells or visibilities; the largest error is relative to the permitted
 * one. */
static void check_numbers(report *rep, const query *q, const double complex *found,
                          const double complex *expected, const double *bounds,
                          size_t count)
{
    size_t worst = 0;
    double bound = -1, distance = 0, size = 0, largest = 0;
    for (size_t i = 0; i < count && !isnan(bound); i++) {
        double d = cabs(found[i] - expected[i]), fraction = d <= 0 ? 0 : d / bounds[i];
        distance += d;
        size += cabs(expected[i]);
        largest = fmax(largest, cabs(expected[i]));
        if (fraction <= bound) continue; /* false for NaN */
        bound = fraction;
        worst = i;
    }
    for (size_t i = 0; i < count; i++) count_value(rep, bounds[i] > largest);
    printf("L1=%.4g\noff=%.4g\n", size > 0 ? distance / size : distance, bound);
    char where[64];
    if (q->degrid)
        snprintf(where, sizeof where, "visibility %zu", worst);
    else
        snprintf(where, sizeof where, "row %zu, column %zu", worst / (size_t)q->grid,
                 worst % (size_t)q->grid);
    judge(rep, bound, 1, "%s: (%.9g, %.9g): expected (%.9g, %.9g) +- %.2g", where,
          creal(found[worst]), cimag(found[worst]), creal(expected[worst]),
          cimag(expected[worst]), bounds[worst]);
}

static double total(const double *a, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += a[i];
    return sum;
}

/* Checks that d is at most `bound`, which is 0 if everything is exact. Prints d /
 * bound. */
static void check_fraction(report *rep, const char *what, double d, double bound)
{
    check_value(rep, what, d == 0 ? 0 : d / bound, 1);
}

/* Checks sum(grid) = sum(d sum C): no visibility is lost or counted twice. */
static void check_sum(report *rep, const query *q, const scene *s,
                      const double complex *grid, const double *bounds)
{
    size_t cells = (size_t)q->grid * (size_t)q->grid;
    long double complex sum = 0;
    for (size_t i = 0; i < cells; i++) sum += grid[i];
    for (int k = 0; k < s->n; k++) {
        double complex u = 0, v = 0;
        for (int i = 0; i <= 2 * q->support; i++) {
            u += s->visibilities[k].taps_u[i];
            v += s->visibilities[k].taps_v[i];
        }
        sum -= s->visibilities[k].d * u * v;
    }
    check_fraction(rep, "sum", (double)cabsl(sum), total(bounds, cells));
}

/* Checks <G v, x> = <v, result>, with G v from the oracle's own gridding. */
static void check_adjoint(report *rep, const query *q, const scene *s,
                          const double complex *result, const double *bounds)
{
    size_t cells = (size_t)q->grid * (size_t)q->grid;
    double complex *grid = allocate(cells, sizeof *grid, "the adjoint's grid");
    double *bound_of_cell =
        allocate(cells, sizeof *bound_of_cell, "the adjoint's bounds");
    query exactly = *q; /* the oracle adds in double precision and omits no tap */
    exactly.double_precision = true;
    exactly.accuracy = 0;
    oracle_gridding(&exactly, s, grid, bound_of_cell);
    long double complex sum = 0;
    double bound = 0;
    for (size_t i = 0; i < cells; i++) {
        sum += grid[i] * conj(s->model[i]);
        if (!s->exact)
            bound += fmax(DOUBLE_ERROR * cabs(grid[i]), bound_of_cell[i]) *
                     cabs(s->model[i]);
    }
    for (int k = 0; k < s->n; k++) {
        sum -= s->visibilities[k].d * conj(result[k]);
        bound += cabs(s->visibilities[k].d) *
                 (bounds[k] + (s->exact ? 0 : DOUBLE_ERROR * cabs(result[k])));
    }
    check_fraction(rep, "adjoint", (double)cabsl(sum), bound);
    free(bound_of_cell);
    free(grid);
}

/* Computes pixels x - reach .. x + reach, y - reach .. y + reach of the image by a
 * direct transform, first along u, then along v. */
static void image_around(const query *q, const scene *s, const double complex *grid,
                         long x, long y, int reach, double image[5][5])
{
    long size = q->grid, middle = size / 2;
    double complex *phasors = allocate((size_t)size, sizeof *phasors, "phasors");
    for (long i = 0; i < size; i++)
        phasors[i] = cexp(2 * I * acos(-1) * (double)i / (double)size);
#define PHASOR(a, b) phasors[((a) * (b) % size + size) % size]
    for (int a = -reach; a <= reach; a++) {
        double complex sum[5] = {0};
        for (long v = 0; v < size; v++) {
            double complex along = 0;
            for (long u = 0; u < size; u++)
                along += grid[v * size + u] * PHASOR(u - middle, x + a);
            for (int b = -reach; b <= reach; b++)
                sum[b + reach] += along * PHASOR(v - middle, y + b);
        }
        for (int b = -reach; b <= reach; b++)
            image[b + reach][a + reach] =
                creal(sum[b + reach]) / taper((double)(x + a) / (double)size) /
                taper((double)(y + b) / (double)size) / s->norm;
    }
#undef PHASOR
    free(phasors);
}

/* Checks that the image has a peak at each source, as high as the direct sum there. */
static void check_image(report *rep, const query *q, const scene *s,
                        const double complex *grid, const double *direct)
{
    double flux = 0, square = 0, peak = 0;
    int peaks = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : peaks, square)                \
    reduction(max : flux, peak)
    for (int i = 0; i < DIRECT; i++) {
        double image[5][5];
        long x, y;
        int reach = i < s->source_count ? 2 : 0;
        pick_pixel(q, s, i, &x, &y);
        image_around(q, s, grid, x, y, reach, image);
        double here = image[reach][reach];
        if (i >= s->source_count) {
            square += (here - direct[i]) * (here - direct[i]);
            continue;
        }
        bool highest = true;
        for (int b = 0; b < 5; b++)
            for (int a = 0; a < 5; a++) highest &= here >= image[b][a];
        peaks += highest;
        flux = fmax(flux, fabs(here / direct[i] - 1));
        peak = fmax(peak, direct[i]);
    }
    printf("peaks=%d of %d\n", peaks, s->source_count);
    check_value(rep, "peaks_missed", s->source_count - peaks, 0);
    check_value(rep, "flux", flux, MAX_FLUX_ERROR);
    check_value(rep, "image_rms", sqrt(square / (DIRECT - s->source_count)) / peak,
                MAX_IMAGE_RMS);
}

/* Checks an image of task=image. direct: the sums at DIRECT pixels, then those at the
 * `pixels` pixels of the field, if there are so few that they were computed. */
static void check_field(report *rep, const query *q, const scene *s,
                        const double *image, const double *direct, size_t pixels)
{
    double square = 0, size = 0, outside = 0, peak = 0, all = 0, largest = 0, power = 0;
    long side = field_pixels(q);
    for (int i = 0; i < DIRECT; i++) {
        long x, y;
        pick_pixel(q, s, i, &x, &y);
        double d = image[(y + q->grid / 2) * q->grid + x + q->grid / 2] - direct[i];
        square += d * d;
        peak = fmax(peak, fabs(direct[i]));
        power += direct[i] * direct[i];
    }
    if (peak == 0) peak = 1; /* all visibilities are 0 */
    for (int k = 0; k < s->n; k++) size += cabs(s->visibilities[k].d);
    for (long y = 0; y < q->grid; y++)
        for (long x = 0; x < q->grid; x++)
            if (!in_field(q, x - q->grid / 2, y - q->grid / 2))
                outside = fmax(outside, fabs(image[y * q->grid + x]));
    for (size_t i = 0; i < pixels; i++) {
        long x = (long)i % side - side / 2, y = (long)i / side - side / 2;
        double d =
            image[(y + q->grid / 2) * q->grid + x + q->grid / 2] - direct[DIRECT + i];
        all += d * d;
        largest = isfinite(d) ? fmax(largest, fabs(d)) : INFINITY;
    }
    double allowed = q->accuracy * size / s->norm / peak;
    /* An image of zeros would pass, though not all visibilities are 0. */
    count_value(rep, power > 0 && allowed * peak >= sqrt(power / DIRECT));
    check_value(rep, "image_rms", sqrt(square / DIRECT) / peak, allowed);
    check_value(rep, "field_rms", pixels ? sqrt(all / (double)pixels) / peak : 0,
                allowed);
    check_value(rep, "field_largest", largest / peak, LARGEST_OVER_RMS * allowed);
    check_value(rep, "outside_field", outside, 0);
}

/* Checks that degridding a model of the sources reproduces their visibilities. */
static void check_prediction(report *rep, const scene *s, const double complex *result)
{
    double square = 0, power = 0;
    for (int k = 0; k < s->n; k++) {
        const visibility *vis = &s->visibilities[k];
        double complex seen =
            source_visibility(s->sky, s->source_count, vis->u, vis->v, vis->w);
        square += pow(cabs(result[k] - seen), 2);
        power += pow(cabs(seen), 2);
    }
    check_value(rep, "predicted", sqrt(square / power), MAX_PREDICTION_ERROR);
}

/* Reads the sources of a visibility file, as its generator printed them. */
static void read_truth(const char *path, scene *s)
{
    FILE *file = fopen(path, "r");
    if (!file) fail("truth=%s: cannot be read", path);
    s->source_count = 0;
    source *to = s->sky;
    while (s->source_count < SOURCES_MADE &&
           fscanf(file, "%lf %lf %lf", &to->l, &to->m, &to->flux) == 3) {
        s->source_count++;
        to++;
    }
    fclose(file);
    if (!s->source_count)
        fail("truth=%s: no source: expected lines of l, m, flux", path);
}

/* Returns whether the image can be checked. The support must grow with w, and the phase
 * at the edge of the image may change by at most a quarter of a cycle from one plane to
 * the next. */
static bool has_sky(const query *q, const scene *s)
{
    bool filled = q->in || (q->extent > MIN_FILLED * q->grid * q->cell &&
                            q->extent < MAX_FILLED * q->grid * q->cell);
    return !q->integer && !q->random && q->planes > 1 && s->source_count && filled &&
           s->n >= MIN_VISIBILITIES && q->grid >= MIN_GRID &&
           q->oversampling >= MIN_OVERSAMPLING &&
           q->support >= TAPER_SUPPORT + s->max_phase_step &&
           q->planes - 1 >= s->max_phase_step;
}

int main(int argc, char **argv)
{
    run_name = "gridding-check";
    const char *path = NULL, *found = NULL, *truth = NULL;
    arg extra[] = {
        {"oracle", ARG_TEXT, &path, 0, 0,
         ".npy of the oracle; computed if it does not exist", 0},
        {"result", ARG_TEXT, &found, 0, 0, ".npy written by the program", 0},
        {"truth", ARG_TEXT, &truth, 0, 0, "sources of the file: l m flux, one per line",
         0},
        {0},
    };
    query q = query_parse(argc, argv, extra, about);
    if (!path) fail("oracle= is missing");
    scene s = make_scene(&q);
    if (truth) read_truth(truth, &s);

    bool sky = has_sky(&q, &s);
    double *sums = oracle(&q, &s, sky, path);
    report rep = NOTHING_DIFFERS;
    double complex *result = read_candidate(&rep, &q, &s, found);
    size_t cells = result_count(&q, &s);
    const double complex *expected = (const double complex *)(sums + DIRECT);
    const double *bounds = sums + DIRECT + 2 * cells;
    if (result && q.image)
        check_field(&rep, &q, &s, (const double *)result, sums, cells);
    else if (result)
        check_numbers(&rep, &q, result, expected, bounds, cells);
    if (result && q.degrid)
        check_adjoint(&rep, &q, &s, result, bounds);
    else if (result && !q.image)
        check_sum(&rep, &q, &s, result, bounds);
    if (result && sky && !q.degrid && !q.image) check_image(&rep, &q, &s, result, sums);
    if (result && sky && q.degrid && !strcmp(q.model, "sources"))
        check_prediction(&rep, &s, result);
    int status = verdict(&rep, found);

    free(result);
    oracle_free(sums);
    scene_free(&s);
    return status;
}
