/* oracle_gridding.c - implements oracle_gridding.h.
 *
 * Coordinates and phases are computed in long double. Each tap is a sum of cosines over
 * the pixels of half an image: no FFT. Not checked: invalid arguments, which the
 * program rejects; and a coordinate so close to the middle between two fractions that
 * rounding decides, where either is right.
 */
#include "oracle_gridding.h"

#include "verdict.h"

static const long double PI = 3.141592653589793238462643383279502884L;

/* ---- arguments ------------------------------------------------------------------- */

/* The numbers are count, grid, support, oversampling and planes. */
static const struct {
    const char *name;
    query q;
} presets[] = {
    {"small", {NULL, NULL, 3001, 257, 9, 4, 5, .cell = 40}},
    {"default", {NULL, NULL, 200000, 1024, 32, 8, 33, .cell = 10}},
    {"askap", {NULL, NULL, 160000, 4096, 64, 8, 33, .cell = 5, .random = true}},
    {"seed", {NULL, NULL, 3200000, 4096, 64, 8, 33, .cell = 5, .random = true}}};

static query preset_query(const char *preset)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (!strcmp(presets[i].name, preset)) return presets[i].q;
    fail("preset=%s: unknown preset: expected small, default, askap or seed", preset);
}

query query_parse(int argc, char **argv, arg *extra, const char *about)
{
    query q = {.support = -1};
    for (int i = 1; i < argc; i++) /* other keys override the preset in any order */
        if (!strncmp(argv[i], "preset=", 7)) q = preset_query(argv[i] + 7);
    q.model = "sources";
    q.field = 0.5;
    const char *preset = NULL, *uv = NULL, *kernel = "w", *task = "grid",
               *precision = "single";
    double baseline = 2000, frequency = 1.4e9;
    int strict, copies, strips[2];
    enum { NO_LIMIT = 1 << 30 };
    arg table[] = {
        {"preset", ARG_TEXT, &preset, 0, 0, "", 0},
        {"in", ARG_TEXT, &q.in, 0, 0, "", 0},
        {"visibilities", ARG_INT, &q.count, 1, NO_LIMIT, "", 0},
        {"uv", ARG_TEXT, &uv, 0, 0, "", 0},
        {"baseline", ARG_DOUBLE, &baseline, 0, 1e300, "", 0},
        {"frequency", ARG_DOUBLE, &frequency, 0, 1e300, "", 0},
        {"grid", ARG_INT, &q.grid, 1, NO_LIMIT, "", 0},
        {"cell", ARG_DOUBLE, &q.cell, 0, 1e300, "", 0},
        {"support", ARG_INT, &q.support, 0, NO_LIMIT, "", 0},
        {"oversampling", ARG_INT, &q.oversampling, 1, NO_LIMIT, "", 0},
        {"planes", ARG_INT, &q.planes, 1, NO_LIMIT, "", 0},
        {"kernel", ARG_TEXT, &kernel, 0, 0, "", 0},
        {"accuracy", ARG_DOUBLE, &q.accuracy, 0, 1, "", 0},
        {"field", ARG_DOUBLE, &q.field, 0, 1, "", 0},
        {"precision", ARG_TEXT, &precision, 0, 0, "", 0},
        {"task", ARG_TEXT, &task, 0, 0, "", 0},
        {"model", ARG_TEXT, &q.model, 0, 0, "", 0},
        {"strict", ARG_INT, &strict, 0, 1, "", 0},
        {"copies", ARG_INT, &copies, 0, NO_LIMIT, "", 0},
        {"strips", ARG_INTS, strips, 1, NO_LIMIT, "ROWS,COLUMNS", 2},
        {.value = extra},
    };
    strict = copies = strips[0] = strips[1] = 0; /* no result depends on them */
    args_parse(argc, argv, table, about);
    bool sizes = q.support >= 0 && q.oversampling && q.planes;
    if ((!q.count && !q.in) || !q.grid || q.cell <= 0 ||
        (!sizes && strcmp(task, "image")))
        fail("the query is incomplete: expected preset=, or all sizes");
    q.extent = (double)((long double)baseline * frequency / 299792458);
    if (uv) q.random = !strcmp(uv, "random");
    q.integer = !strcmp(kernel, "integer");
    q.double_precision = !strcmp(precision, "double");
    q.degrid = !strcmp(task, "degrid");
    q.image = !strcmp(task, "image");
    return q;
}

/* ---- the sky --------------------------------------------------------------------- */

double hash01(uint64_t key, uint64_t which)
{
    return ldexp((double)(random_bits(which + 1, key) >> 11), -53);
}

/* Returns a pseudo-random integer from low to low + count - 1. */
static double random_integer(uint64_t key, uint64_t which, int low, int count)
{
    return low + floor(count * hash01(key, which));
}

static void place_sources(const query *q, source sky[SOURCES_MADE])
{
    static const struct {
        double x, y, flux;
    } positions[SOURCES_MADE] = {{0.11, 0.07, 1},    {-0.13, 0.05, 0.9},
                                 {0.03, -0.14, 0.8}, {-0.06, -0.12, 0.7},
                                 {0.14, 0.11, 0.75}, {-0.13, 0.13, 0.85}};
    double side = q->grid * q->cell;
    for (int i = 0; i < SOURCES_MADE; i++)
        sky[i] = (source){round(positions[i].x * q->grid) / side,
                          round(positions[i].y * q->grid) / side, positions[i].flux};
}

/* Returns the phase, in cycles, of a source between the origin and (u, v, w). 1 - n is
 * computed without cancellation, from the angle to the phase center. */
static long double phase_cycles(const source *src, double u, double v, double w)
{
    long double l = src->l, m = src->m;
    long double half = sinl(asinl(hypotl(l, m)) / 2);
    return u * l + v * m - w * 2 * half * half;
}

static double complex phasor(long double turn)
{
    long double angle = 2 * PI * (turn - floorl(turn));
    return (double)cosl(angle) + I * (double)sinl(angle);
}

double complex source_visibility(const source *sky, int source_count, double u,
                                 double v, double w)
{
    double complex sum = 0;
    for (int i = 0; i < source_count; i++)
        sum += sky[i].flux * phasor(-phase_cycles(&sky[i], u, v, w));
    return sum;
}

/* Sets (u, v, w) for baseline `pair` of 36 antennas at an hour angle: the projections
 * of the baseline on the axes u, v and w of the observed direction. */
static void track_point(visibility *s, int pair, long double hour, double extent)
{
    int a = 0, left = pair;
    while (left >= 35 - a) left -= 35 - a++;
    int ends[2] = {a, a + 1 + left};
    long double east = 0, north = 0;
    for (int i = 0; i < 2; i++) {
        uint64_t key = (uint64_t)ends[i];
        long double radius = extent / 4 * powl(hash01(key, 1), 0.8L);
        long double bearing = 2 * PI * hash01(key, 2);
        east += (i ? 1 : -1) * radius * cosl(bearing);
        north += (i ? 1 : -1) * radius * sinl(bearing);
    }
    const long double latitude = -26.7L * PI / 180, declination = -45 * PI / 180;
    const long double sin_latitude = sinl(latitude), cos_latitude = cosl(latitude),
                      sin_declination = sinl(declination),
                      cos_declination = cosl(declination), sin_hour = sinl(hour),
                      cos_hour = cosl(hour);
    s->u = (double)(cos_hour * east - sin_hour * sin_latitude * north);
    s->v = (double)(sin_declination * sin_hour * east +
                    (sin_declination * cos_hour * sin_latitude +
                     cos_declination * cos_latitude) *
                        north);
    s->w = (double)(-cos_declination * sin_hour * east +
                    (sin_declination * cos_latitude -
                     cos_declination * cos_hour * sin_latitude) *
                        north);
}

static int make_visibilities(const query *q, scene *s)
{
    enum { PAIRS = 36 * 35 / 2 };
    int n = q->count, times = (n + PAIRS - 1) / PAIRS;
    s->visibilities = allocate((size_t)n, sizeof *s->visibilities, "the visibilities");
    s->source_count = SOURCES_MADE;
#pragma omp parallel for
    for (int k = 0; k < n; k++) {
        uint64_t key = (uint64_t)k;
        visibility *vis = &s->visibilities[k];
        *vis = (visibility){.weight = 1};
        if (q->random) {
            vis->u = (hash01(key, 3) - 0.5) * q->extent;
            vis->v = (hash01(key, 4) - 0.5) * q->extent;
            vis->w = (hash01(key, 5) - 0.5) * q->extent;
        } else {
            track_point(vis, k % PAIRS, PI * (k / PAIRS + 0.5L) / times - PI / 2,
                        q->extent);
        }
        if (q->integer) {
            vis->d = random_integer(key, 6, -4, 9) + I * random_integer(key, 7, -4, 9);
            continue;
        }
        vis->d = source_visibility(s->sky, s->source_count, vis->u, vis->v, vis->w);
        for (int i = 0; i < s->source_count; i++) {
            const source *src = &s->sky[i];
            double n1 = src->l * src->l + src->m * src->m;
            vis->rounding +=
                2 * (double)PI * src->flux *
                (1 + fabs(vis->u * src->l) + fabs(vis->v * src->m) + fabs(vis->w) * n1);
        }
    }
    return n;
}

static int read_visibilities(const query *q, scene *s)
{
    npy a = npy_load(NULL, q->in);
    if (a.type > NPY_F8 || a.dims != 2 || a.shape[1] != 6)
        fail("%s: wrong type or shape: expected floats of shape (n, 6)", q->in);
    s->visibilities = allocate(a.shape[0], sizeof *s->visibilities, "the visibilities");
    for (size_t k = 0; k < a.shape[0]; k++) {
        double x[6];
        for (size_t i = 0; i < 6; i++) x[i] = npy_element(&a, 6 * k + i);
        s->visibilities[k] =
            (visibility){.u = x[0], .v = x[1], .w = x[2], .weight = x[5]};
        s->visibilities[k].d = x[5] * x[3] + I * (x[5] * x[4]);
    }
    free(a.data);
    return (int)a.shape[0];
}

/* ---- convolution functions ------------------------------------------------------- */

/* Returns the modified Bessel function of order 0: the mean of cosh(x cos t) over t. */
static double bessel0(double x)
{
    enum { INTERVALS = 64 };
    long double sum = 0;
    for (int i = 0; i < INTERVALS; i++)
        sum += coshl(x * cosl(PI * (i + 0.5L) / INTERVALS));
    return (double)(sum / INTERVALS);
}

double taper(double x)
{
    const double beta = (double)(3 * PI);
    if (fabs(x) >= 0.5) return 0;
    return bessel0(beta * sqrt((1 - 2 * x) * (1 + 2 * x))) / bessel0(beta);
}

/* Computes the taps. Tap i of fraction f is the transform of the image taper(x) exp(-i
 * pi w (x / cell)^2) at i - support - (f - oversampling / 2) / oversampling cells: a
 * sum over the pixels of the image, 2048 or 8 per tap if that is more. The image is
 * even, so twice the sum over half of them suffices. */
static void compute_taps(const query *q, scene *s, double wmax)
{
    /* Pixels that are added before they are added to the sum. A sum of n numbers has a
     * rounding error of about 0.3 sqrt(n) units in its last place. One sum of 1024
     * pixels would be wrong by 10, as much as the check permits; sums of 32 sums of 32
     * are wrong by 2. */
    enum { BLOCK = 32 };
    long width = 2L * q->support + 1, over = q->oversampling, pixels = 2048;
    while (pixels < 8 * width) pixels *= 2;
    long fine = pixels * over, half = pixels / 2;
    double *cosine = allocate((size_t)fine, sizeof *cosine, "cosines");
#pragma omp parallel for
    for (long k = 0; k < fine; k++) cosine[k] = (double)cosl(2 * PI * k / fine);
    double *window = allocate((size_t)half, sizeof *window, "the taper");
#pragma omp parallel for
    for (long j = 0; j < half; j++)
        window[j] = (j ? 2 : 1) * taper((double)j / pixels) / pixels;

    double chirp = wmax / q->cell / q->cell; /* of the last plane */
    double sum = 0;
    for (long j = 0; j < half; j++) sum += window[j];
    /* A phase is at most pi chirp / 4 and is rounded about three times; the mean over
     * the taper is a third of that. The rest of a term is rounded like any number. */
    s->rounding = sum / 2 * (1 + chirp);
    s->max_phase_step = chirp / 2;
#pragma omp parallel for schedule(dynamic)
    for (long plane = 0; plane < q->planes; plane++) {
        double complex *image = allocate((size_t)half, sizeof *image, "an image");
        long double strength =
            plane ? (long double)wmax / q->cell / q->cell * plane / (q->planes - 1) : 0;
        for (long j = 0; j < half; j++) {
            long double x = (long double)j / pixels;
            image[j] = window[j] * phasor(-strength * x * x / 2);
        }
        double complex *tap = s->taps + plane * over * width;
        for (long f = 0; f < over; f++)
            for (long i = 0; i < width; i++) {
                long step = labs((i - q->support) * over - (f - over / 2)) % fine;
                double complex sum_of_blocks = 0;
                for (long j = 0, k = 0; j < half; j += BLOCK) {
                    double re = 0, im = 0;
                    for (long l = j; l < j + BLOCK; l++) {
                        re += creal(image[l]) * cosine[k];
                        im += cimag(image[l]) * cosine[k];
                        k += step;
                        if (k >= fine) k -= fine;
                    }
                    sum_of_blocks += re + I * im;
                }
                *tap++ = sum_of_blocks;
            }
        free(image);
    }
    free(window);
    free(cosine);
}

static void make_taps(const query *q, scene *s, double wmax)
{
    size_t count =
        (size_t)q->planes * (size_t)q->oversampling * (2 * (size_t)q->support + 1);
    s->taps_count = 2 * count;
    s->taps = allocate(s->taps_count, sizeof *s->taps, "the taps");
    if (q->integer)
        for (size_t i = 0; i < count; i++)
            s->taps[i] = random_integer(2 * i, 9, -6, 13) +
                         I * random_integer(2 * i + 1, 9, -6, 13);
    else
        compute_taps(q, s, wmax);
    for (size_t i = 0; i < count; i++) s->taps[count + i] = conj(s->taps[i]);
}

/* ---- footprints ------------------------------------------------------------------ */

/* Rounds a coordinate to the nearest oversampled point, f - oversampling / 2 fractions
 * from the middle of a cell. Sets f and the first cell of the footprint around that
 * cell. */
static bool locate(const query *q, double x, long *first, long *f)
{
    long over = q->oversampling;
    long double point = floorl((long double)x * over / q->cell + 0.5L);
    if (!(fabsl(point) < 1e12L)) return false;
    long from_edge = (long)point + (q->grid / 2) * over + over / 2;
    if (from_edge < 0) return false;
    *f = from_edge % over;
    *first = from_edge / over - q->support;
    return *first >= 0 && *first + 2 * q->support < q->grid;
}

static void locate_all(const query *q, scene *s, int all)
{
    long width = 2L * q->support + 1, over = q->oversampling;
    double wmax = 0;
    for (int k = 0; k < all; k++) wmax = fmax(wmax, fabs(s->visibilities[k].w));
    if (q->planes == 1) wmax = 0;
    if (!q->image) make_taps(q, s, wmax);
    for (int k = 0; k < all; k++) {
        visibility vis = s->visibilities[k];
        long fu, fv, plane = 0;
        if (q->image) { /* an image is the sum of all visibilities, without taps */
            s->norm += vis.weight;
            s->visibilities[s->n++] = vis;
            continue;
        }
        if (!locate(q, vis.u, &vis.column, &fu) || !locate(q, vis.v, &vis.row, &fv))
            continue;
        if (wmax > 0)
            plane = (long)floorl(fabsl(vis.w) * (q->planes - 1) / wmax + 0.5L);
        if (vis.w < 0) plane += q->planes;
        vis.taps_u = s->taps + (plane * over + fu) * width;
        vis.taps_v = s->taps + (plane * over + fv) * width;
        s->norm += vis.weight;
        s->visibilities[s->n++] = vis;
    }
    if (!s->n || !(s->norm > 0))
        fail("no visibility to grid: expected that the program rejects this query");
}

/* ---- the model ------------------------------------------------------------------- */

static void read_model(const query *q, scene *s)
{
    size_t size = (size_t)q->grid, cells = size * size;
    npy a = npy_load("model", q->model);
    if (a.type > NPY_F8 || a.dims != 3 || npy_count(&a) != 2 * cells)
        fail("model=%s: wrong type or shape: expected floats of the shape of the grid",
             q->model);
    for (size_t i = 0; i < cells; i++)
        s->model[i] = npy_element(&a, 2 * i) + I * npy_element(&a, 2 * i + 1);
    free(a.data);
}

/* Computes the grid whose image is the given sources: per source a plane wave over the
 * grid, divided by the taper. The pixel of a source is an integer, so the phase is an
 * integer number of 1 / size cycles. */
static void make_source_model(const query *q, scene *s)
{
    long size = q->grid, middle = size / 2;
    source sky[SOURCES_MADE];
    place_sources(q, sky);
    double complex *phasors = allocate((size_t)size, sizeof *phasors, "phasors");
    for (long i = 0; i < size; i++) phasors[i] = phasor((long double)i / size);
    for (int k = 0; k < SOURCES_MADE; k++) {
        long x = lround(sky[k].l * q->cell * (double)size);
        long y = lround(sky[k].m * q->cell * (double)size);
        double strength = sky[k].flux / taper((double)x / (double)size) /
                          taper((double)y / (double)size);
        s->model_rounding += 8 * strength * (double)(labs(x) + labs(y) + 1);
        for (long v = 0; v < size; v++)
            for (long u = 0; u < size; u++) {
                long turn = (x * (u - middle) + y * (v - middle)) % size;
                s->model[v * size + u] +=
                    strength * conj(phasors[turn < 0 ? turn + size : turn]);
            }
    }
    free(phasors);
}

static void make_model(const query *q, scene *s)
{
    size_t cells = (size_t)q->grid * (size_t)q->grid;
    bool sources = !strcmp(q->model, "sources");
    s->model = allocate(cells, sizeof *s->model, "the model");
    memset(s->model, 0, cells * sizeof *s->model);
    if (sources && !q->integer)
        make_source_model(q, s);
    else if (!sources && strcmp(q->model, "noise"))
        read_model(q, s);
    else
        for (size_t i = 0; i < cells; i++)
            s->model[i] = q->integer ? random_integer(2 * i, 8, -4, 9) +
                                           I * random_integer(2 * i + 1, 8, -4, 9)
                                     : 2 * hash01(2 * i, 8) - 1 +
                                           I * (2 * hash01(2 * i + 1, 8) - 1);
}

/* ---- the scene ------------------------------------------------------------------- */

static bool is_integer(double complex x)
{
    return creal(x) == rint(creal(x)) && cimag(x) == rint(cimag(x));
}

scene make_scene(const query *q)
{
    scene s = {.exact = q->integer};
    place_sources(q, s.sky);
    int all = q->in ? read_visibilities(q, &s) : make_visibilities(q, &s);
    locate_all(q, &s, all);
    if (q->degrid) make_model(q, &s);
    for (int k = 0; s.exact && k < s.n; k++) s.exact = is_integer(s.visibilities[k].d);
    size_t cells = q->degrid ? (size_t)q->grid * (size_t)q->grid : 0;
    for (size_t i = 0; s.exact && i < cells; i++) s.exact = is_integer(s.model[i]);
    return s;
}

void scene_free(scene *s)
{
    free(s->visibilities);
    free(s->taps);
    free(s->model);
}
