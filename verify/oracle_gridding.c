/* oracle_gridding.c - see oracle_gridding.h. Coordinates and phases are worked out in
 * long double. Taps are sums of cosines over the pixels of half an image, one by one:
 * no Fourier transform. Left out: judging words, which the program does; a coordinate
 * that lies within its rounding of the middle between two fractions, where either is
 * right.
 */
#include "oracle_gridding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const long double PI = 3.141592653589793238462643383279502884L;

/* ---- words ----------------------------------------------------------------------- */

/* A preset fills in what no key says. */
static void fill_in(question *q, const char *preset, const char **uv)
{
    static const struct {
        const char *name, *uv;
        int made, grid, support, oversampling, planes;
        double cell;
    } all[] = {{"small", "tracks", 3001, 257, 9, 4, 5, 40},
               {"default", "tracks", 200000, 1024, 32, 8, 33, 10},
               {"askap", "random", 160000, 4096, 64, 8, 33, 5},
               {"seed", "random", 3200000, 4096, 64, 8, 33, 5}};
    size_t i = 0;
    while (i < 4 && strcmp(all[i].name, preset)) i++;
    if (i == 4) fail("preset=%s: unknown", preset);
    if (!*uv) *uv = all[i].uv;
    if (q->made < 0) q->made = all[i].made;
    if (q->grid < 0) q->grid = all[i].grid;
    if (q->support < 0) q->support = all[i].support;
    if (q->oversampling < 0) q->oversampling = all[i].oversampling;
    if (q->planes < 0) q->planes = all[i].planes;
    if (q->cell < 0) q->cell = all[i].cell;
}

question question_parse(int argc, char **argv, arg *extra, const char *about)
{
    question q = {.made = -1,
                  .grid = -1,
                  .support = -1,
                  .oversampling = -1,
                  .planes = -1,
                  .cell = -1,
                  .model = "sources"};
    const char *preset = NULL, *uv = NULL, *kernel = "w", *task = "grid",
               *precision = "single";
    double metres = 2000, hertz = 1.4e9;
    int strict, copies, strips[2];
    enum { MOST = 1 << 30 };
    arg words[] = {
        {"preset", ARG_TEXT, &preset, 0, 0, "", 0},
        {"in", ARG_TEXT, &q.in, 0, 0, "", 0},
        {"visibilities", ARG_INT, &q.made, 1, MOST, "", 0},
        {"uv", ARG_TEXT, &uv, 0, 0, "", 0},
        {"baseline", ARG_DOUBLE, &metres, 0, 1e300, "", 0},
        {"frequency", ARG_DOUBLE, &hertz, 0, 1e300, "", 0},
        {"grid", ARG_INT, &q.grid, 1, MOST, "", 0},
        {"cell", ARG_DOUBLE, &q.cell, 0, 1e300, "", 0},
        {"support", ARG_INT, &q.support, 0, MOST, "", 0},
        {"oversampling", ARG_INT, &q.oversampling, 1, MOST, "", 0},
        {"planes", ARG_INT, &q.planes, 1, MOST, "", 0},
        {"kernel", ARG_TEXT, &kernel, 0, 0, "", 0},
        {"accuracy", ARG_DOUBLE, &q.accuracy, 0, 1, "", 0},
        {"precision", ARG_TEXT, &precision, 0, 0, "", 0},
        {"task", ARG_TEXT, &task, 0, 0, "", 0},
        {"model", ARG_TEXT, &q.model, 0, 0, "", 0},
        {"strict", ARG_INT, &strict, 0, 1, "", 0},
        {"copies", ARG_INT, &copies, 0, MOST, "", 0},
        {"strips", ARG_INTS, strips, 1, MOST, "ROWS,COLUMNS", 0},
        {.value = extra},
    };
    strict = copies = strips[0] = strips[1] = 0; /* no result depends on them */
    args_parse(argc, argv, words, about);
    if (preset) fill_in(&q, preset, &uv);
    if ((q.made < 0 && !q.in) || q.grid < 0 || q.support < 0 || q.oversampling < 0 ||
        q.planes < 0 || q.cell <= 0)
        fail("the query is not complete");
    q.extent = (double)((long double)metres * hertz / 299792458);
    q.random = uv && !strcmp(uv, "random");
    q.integer = !strcmp(kernel, "integer");
    q.wide = !strcmp(precision, "double");
    q.degrid = !strcmp(task, "degrid");
    return q;
}

/* ---- the sky --------------------------------------------------------------------- */

/* The output function of splitmix64, of state key times its increment. */
double drawn(uint64_t key, uint64_t which)
{
    uint64_t z = key * UINT64_C(0x9e3779b97f4a7c15) + which + 1;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ldexp((double)((z ^ (z >> 31)) >> 11), -53);
}

/* A whole number of so many from low on. */
static double whole(uint64_t key, uint64_t which, int low, int count)
{
    return low + floor(count * drawn(key, which));
}

static void light_up(const question *q, light sky[SOURCES_MADE])
{
    static const struct {
        double x, y, flux;
    } of_side[SOURCES_MADE] = {{0.11, 0.07, 1},    {-0.13, 0.05, 0.9},
                               {0.03, -0.14, 0.8}, {-0.06, -0.12, 0.7},
                               {0.14, 0.11, 0.75}, {-0.13, 0.13, 0.85}};
    double side = q->grid * q->cell;
    for (int i = 0; i < SOURCES_MADE; i++)
        sky[i] = (light){round(of_side[i].x * q->grid) / side,
                         round(of_side[i].y * q->grid) / side, of_side[i].flux};
}

/* The turns of a wave from (l, m) between the origin and (u, v, w). What the third
 * cosine lacks of 1 is that of the angle from the middle, without cancellation. */
static long double turns(const light *at, double u, double v, double w)
{
    long double l = at->l, m = at->m;
    long double half = sinl(asinl(hypotl(l, m)) / 2);
    return u * l + v * m - w * 2 * half * half;
}

static double complex wave(long double turn)
{
    long double angle = 2 * PI * (turn - floorl(turn));
    return (double)cosl(angle) + I * (double)sinl(angle);
}

double complex seen_at(const light *sky, int lights, double u, double v, double w)
{
    double complex sum = 0;
    for (int i = 0; i < lights; i++)
        sum += sky[i].flux * wave(-turns(&sky[i], u, v, w));
    return sum;
}

/* Baseline `pair` of 36 antennas at an hour angle: what a vector on the ground is along
 * the axes u, v and w of the direction that is looked at. */
static void track(sight *s, int pair, long double hour, double extent)
{
    int a = 0, left = pair;
    while (left >= 35 - a) left -= 35 - a++;
    int ends[2] = {a, a + 1 + left};
    long double east = 0, north = 0;
    for (int i = 0; i < 2; i++) {
        uint64_t key = (uint64_t)ends[i];
        long double far = extent / 4 * powl(drawn(key, 1), 0.8L);
        long double bearing = 2 * PI * drawn(key, 2);
        east += (i ? 1 : -1) * far * cosl(bearing);
        north += (i ? 1 : -1) * far * sinl(bearing);
    }
    const long double latitude = -26.7L * PI / 180, height = -45 * PI / 180;
    const long double sl = sinl(latitude), cl = cosl(latitude), sd = sinl(height),
                      cd = cosl(height), sh = sinl(hour), ch = cosl(hour);
    s->u = (double)(ch * east - sh * sl * north);
    s->v = (double)(sd * sh * east + (sd * ch * sl + cd * cl) * north);
    s->w = (double)(-cd * sh * east + (sd * cl - cd * ch * sl) * north);
}

static int make(const question *q, scene *s)
{
    enum { PAIRS = 36 * 35 / 2 };
    int n = q->made, times = (n + PAIRS - 1) / PAIRS;
    s->at = allocate((size_t)n, sizeof *s->at, "the visibilities");
    s->lights = SOURCES_MADE;
#pragma omp parallel for
    for (int k = 0; k < n; k++) {
        uint64_t key = (uint64_t)k;
        sight *at = &s->at[k];
        *at = (sight){.weight = 1};
        if (q->random) {
            at->u = (drawn(key, 3) - 0.5) * q->extent;
            at->v = (drawn(key, 4) - 0.5) * q->extent;
            at->w = (drawn(key, 5) - 0.5) * q->extent;
        } else {
            track(at, k % PAIRS, PI * (k / PAIRS + 0.5L) / times - PI / 2, q->extent);
        }
        if (q->integer) {
            at->d = whole(key, 6, -4, 9) + I * whole(key, 7, -4, 9);
            continue;
        }
        at->d = seen_at(s->sky, s->lights, at->u, at->v, at->w);
        for (int i = 0; i < s->lights; i++) {
            const light *of = &s->sky[i];
            double n1 = of->l * of->l + of->m * of->m;
            at->doubt +=
                2 * (double)PI * of->flux *
                (1 + fabs(at->u * of->l) + fabs(at->v * of->m) + fabs(at->w) * n1);
        }
    }
    return n;
}

static int from_file(const question *q, scene *s)
{
    npy a;
    char why[NPY_WHY];
    if (npy_read(q->in, &a, why)) fail("%s: %s", q->in, why);
    if (a.type > NPY_F8 || a.dims != 2 || a.shape[1] != 6)
        fail("%s: expected floats, six columns", q->in);
    s->at = allocate(a.shape[0], sizeof *s->at, "the visibilities");
    for (size_t k = 0; k < a.shape[0]; k++) {
        double x[6];
        for (size_t i = 0; i < 6; i++)
            x[i] = a.type == NPY_F8 ? ((const double *)a.data)[6 * k + i]
                                    : (double)((const float *)a.data)[6 * k + i];
        s->at[k] = (sight){.u = x[0], .v = x[1], .w = x[2], .weight = x[5]};
        s->at[k].d = x[5] * x[3] + I * (x[5] * x[4]);
    }
    free(a.data);
    return (int)a.shape[0];
}

/* ---- convolution functions ------------------------------------------------------- */

/* The modified Bessel function of order 0: the mean of cosh(x cos t) over a turn. */
static double bessel0(double x)
{
    enum { PARTS = 64 };
    long double sum = 0;
    for (int i = 0; i < PARTS; i++) sum += coshl(x * cosl(PI * (i + 0.5L) / PARTS));
    return (double)(sum / PARTS);
}

double taper_at(double x)
{
    const double beta = (double)(3 * PI);
    if (fabs(x) >= 0.5) return 0;
    return bessel0(beta * sqrt((1 - 2 * x) * (1 + 2 * x))) / bessel0(beta);
}

/* Tap i of fraction f is the transform of an image, taper(x) exp(-i pi w (x / cell)^2),
 * at i - support - (f - half) / oversampling cells: a sum over so many of its pixels,
 * 2048 or eight a tap, and twice that over half of them, since it is even. */
static void work_out(const question *q, scene *s, double wmax)
{
    long width = 2L * q->support + 1, over = q->oversampling, pixels = 2048;
    while (pixels < 8 * width) pixels *= 2;
    long fine = pixels * over, half = pixels / 2;
    double *cosine = allocate((size_t)fine, sizeof *cosine, "cosines");
#pragma omp parallel for
    for (long k = 0; k < fine; k++) cosine[k] = (double)cosl(2 * PI * k / fine);
    double *window = allocate((size_t)half, sizeof *window, "the taper");
#pragma omp parallel for
    for (long j = 0; j < half; j++)
        window[j] = (j ? 2 : 1) * taper_at((double)j / pixels) / pixels;

    double chirp = wmax / q->cell / q->cell; /* of the last plane */
    double sum = 0;
    for (long j = 0; j < half; j++) sum += window[j];
    /* A phase is up to pi chirp / 4 and rounded some three times; the taper leaves a
     * third of that in the mean. The rest of a term is rounded like any number. */
    s->doubt = sum / 2 * (1 + chirp);
    s->steepest = chirp / 2;
#pragma omp parallel for schedule(dynamic)
    for (long plane = 0; plane < q->planes; plane++) {
        double complex *image = allocate((size_t)half, sizeof *image, "an image");
        long double strength =
            plane ? (long double)wmax / q->cell / q->cell * plane / (q->planes - 1) : 0;
        for (long j = 0; j < half; j++) {
            long double x = (long double)j / pixels;
            image[j] = window[j] * wave(-strength * x * x / 2);
        }
        double complex *tap = s->taps + plane * over * width;
        for (long f = 0; f < over; f++)
            for (long i = 0; i < width; i++) {
                long step = labs((i - q->support) * over - (f - over / 2)) % fine;
                double re = 0, im = 0;
                for (long j = 0, k = 0; j < half; j++) {
                    re += creal(image[j]) * cosine[k];
                    im += cimag(image[j]) * cosine[k];
                    k += step;
                    if (k >= fine) k -= fine;
                }
                *tap++ = re + I * im;
            }
        free(image);
    }
    free(window);
    free(cosine);
}

static void functions(const question *q, scene *s, double wmax)
{
    size_t count =
        (size_t)q->planes * (size_t)q->oversampling * (2 * (size_t)q->support + 1);
    s->taps_count = 2 * count;
    s->taps = allocate(s->taps_count, sizeof *s->taps, "the taps");
    if (q->integer)
        for (size_t i = 0; i < count; i++)
            s->taps[i] = whole(2 * i, 9, -6, 13) + I * whole(2 * i + 1, 9, -6, 13);
    else
        work_out(q, s, wmax);
    for (size_t i = 0; i < count; i++) s->taps[count + i] = conj(s->taps[i]);
}

/* ---- where visibilities fall ----------------------------------------------------- */

/* The nearest point of the fine grid, (f - half) / oversampling from the middle of a
 * cell: the first cell of a footprint around that one, and f. */
static bool lands(const question *q, double x, long *first, long *f)
{
    long over = q->oversampling;
    long double at = floorl((long double)x * over / q->cell + 0.5L);
    if (!(fabsl(at) < 1e12L)) return false;
    long from_edge = (long)at + (q->grid / 2) * over + over / 2;
    if (from_edge < 0) return false;
    *f = from_edge % over;
    *first = from_edge / over - q->support;
    return *first >= 0 && *first + 2 * q->support < q->grid;
}

static void place_all(const question *q, scene *s, int all)
{
    long width = 2L * q->support + 1, over = q->oversampling;
    double wmax = 0;
    for (int k = 0; k < all; k++) wmax = fmax(wmax, fabs(s->at[k].w));
    if (q->planes == 1) wmax = 0;
    functions(q, s, wmax);
    for (int k = 0; k < all; k++) {
        sight at = s->at[k];
        long fu, fv, plane = 0;
        if (!lands(q, at.u, &at.column, &fu) || !lands(q, at.v, &at.row, &fv)) continue;
        if (wmax > 0) plane = (long)floorl(fabsl(at.w) * (q->planes - 1) / wmax + 0.5L);
        if (at.w < 0) plane += q->planes;
        at.across = s->taps + (plane * over + fu) * width;
        at.down = s->taps + (plane * over + fv) * width;
        s->norm += at.weight;
        s->at[s->n++] = at;
    }
    if (!s->n || !(s->norm > 0)) fail("nothing to grid, and the program lets it pass");
}

/* ---- the model ------------------------------------------------------------------- */

static void read_model(const question *q, scene *s)
{
    size_t size = (size_t)q->grid, cells = size * size;
    npy a;
    char why[NPY_WHY];
    if (npy_read(q->model, &a, why)) fail("model=%s: %s", q->model, why);
    if (a.type > NPY_F8 || a.dims != 3 || npy_count(&a) != 2 * cells)
        fail("model=%s: another shape than the grid's", q->model);
    for (size_t i = 0; i < cells; i++) {
        const double *x = (const double *)a.data + 2 * i;
        const float *y = (const float *)a.data + 2 * i;
        s->model[i] = a.type == NPY_F8 ? x[0] + I * x[1] : y[0] + I * y[1];
    }
    free(a.data);
}

/* The grid of which the lights are the image: each a wave over the grid, over what the
 * taper takes from it. Its pixel is a whole number, and so is what the turns are of. */
static void draw_model(const question *q, scene *s)
{
    long size = q->grid, middle = size / 2;
    light sky[SOURCES_MADE];
    light_up(q, sky);
    double complex *turned = allocate((size_t)size, sizeof *turned, "a turn");
    for (long i = 0; i < size; i++) turned[i] = wave((long double)i / size);
    for (int k = 0; k < SOURCES_MADE; k++) {
        long x = lround(sky[k].l * q->cell * (double)size);
        long y = lround(sky[k].m * q->cell * (double)size);
        double strength = sky[k].flux / taper_at((double)x / (double)size) /
                          taper_at((double)y / (double)size);
        s->model_doubt += 8 * strength * (double)(labs(x) + labs(y) + 1);
        for (long v = 0; v < size; v++)
            for (long u = 0; u < size; u++) {
                long turn = (x * (u - middle) + y * (v - middle)) % size;
                s->model[v * size + u] +=
                    strength * conj(turned[turn < 0 ? turn + size : turn]);
            }
    }
    free(turned);
}

static void model_of(const question *q, scene *s)
{
    size_t cells = (size_t)q->grid * (size_t)q->grid;
    bool sources = !strcmp(q->model, "sources");
    s->model = allocate(cells, sizeof *s->model, "the model");
    memset(s->model, 0, cells * sizeof *s->model);
    if (sources && !q->integer)
        draw_model(q, s);
    else if (!sources && strcmp(q->model, "noise"))
        read_model(q, s);
    else
        for (size_t i = 0; i < cells; i++)
            s->model[i] =
                q->integer
                    ? whole(2 * i, 8, -4, 9) + I * whole(2 * i + 1, 8, -4, 9)
                    : 2 * drawn(2 * i, 8) - 1 + I * (2 * drawn(2 * i + 1, 8) - 1);
}

/* ---- all of it ------------------------------------------------------------------- */

static bool is_whole(double complex x)
{
    return creal(x) == rint(creal(x)) && cimag(x) == rint(cimag(x));
}

scene scene_of(const question *q)
{
    scene s = {.whole = q->integer};
    light_up(q, s.sky);
    int all = q->in ? from_file(q, &s) : make(q, &s);
    place_all(q, &s, all);
    if (q->degrid) model_of(q, &s);
    for (int k = 0; s.whole && k < s.n; k++) s.whole = is_whole(s.at[k].d);
    size_t cells = q->degrid ? (size_t)q->grid * (size_t)q->grid : 0;
    for (size_t i = 0; s.whole && i < cells; i++) s.whole = is_whole(s.model[i]);
    return s;
}

void scene_free(scene *s)
{
    free(s->at);
    free(s->taps);
    free(s->model);
}
