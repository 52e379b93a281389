/* check_gridding.c - is what was gridded right? The program gridding-check.
 *
 *     gridding-check QUERY oracle=FILE [result=out.npy] [truth=FILE]
 *
 * The oracle is the same sum in double precision, cell by cell, with nothing taken from
 * steps/. It is kept: a FILE that exists is read, and refused if it belongs to another
 * query or other visibilities. The query is what the program was called with; its
 * visibilities and taps come from the front end, where they fall is worked out anew.
 * What is asked of a result:
 *
 *   - relative L1, sum |a - b| / sum |b| over re and im, and max |a - b| / max |b|,
 *     within 2e-6 in float and 1e-14 in double; exactly the same where everything is an
 *     integer;
 *   - sum(grid) = sum(d sum C), and of a degridded grid x: <G v, x> = <v, result>;
 *   - the sky, where visibilities lie on tracks and w is projected: the image has a
 * peak on each source, within 3 % of the direct Fourier sum there, and the rms of the
 *     difference from that sum on 300 other pixels is below 1e-3 of the peak.
 * Degridding a model of the sources gives back their visibilities.
 *
 * Prints key=value lines, the last one verdict=ok or verdict=FAIL and the reason; exits
 * with 0 only if ok. Left out: judging times.
 */
#include "arguments.h"
#include "compare.h"
#include "image.h"
#include "verdict.h"

static const char about[] =
    "checks a grid or visibilities against the same sums in double precision\n\n"
    "  gridding-check QUERY oracle=FILE [result=FILE] [truth=FILE]\n\n"
    "QUERY is what the program was called with. Exit status 0: verdict=ok.";

static const double BUDGET_SINGLE = 2e-6, BUDGET_DOUBLE = 1e-14;
static const double FLUX = 0.03, RMS = 1e-3, PREDICTED = 0.03;

/* An image worth the name takes so many visibilities, and fractions that are so fine: a
 * place on the grid that is half a fraction off turns the phase of a source. */
enum { PIXELS = 300, ENOUGH = 1000, FINE = 8 };

typedef struct {
    double re, im;
} pair;

/* ---- the sums in double ---------------------------------------------------------- */

/* The first cell of the footprint of a coordinate (cells from the middle of the grid),
 * and the row of taps: the point on the fine grid that is nearest, seen from the cell
 * nearest to it. */
static void footprint(const request *r, double x, long *first, long *fraction)
{
    long over = r->oversampling, half = over / 2;
    long fine = (long)floor(x * (double)over + 0.5) + (r->grid / 2) * over + half;
    *first = fine / over - r->support;
    *fraction = fine % over;
}

typedef struct {
    long u, v;
    const pair *cu, *cv; /* [width] */
    double sign;         /* of the taps' imaginary parts */
    pair d;
} footing;

static footing *footings_of(const request *r, const observation *o, const problem *p)
{
    footing *all = allocate((size_t)o->n, sizeof *all, "the footprints");
    for (int k = 0; k < o->n; k++) {
        const visibility *d = &o->d[k];
        footing *f = &all[k];
        long fu, fv,
            plane = r->planes > 1 ? (long)floor(fabs(d->w) / o->wstep + 0.5) : 0;
        footprint(r, d->u / r->cell, &f->u, &fu);
        footprint(r, d->v / r->cell, &f->v, &fv);
        if (f->u < 0 || f->v < 0 || f->u + p->is.width > r->grid ||
            f->v + p->is.width > r->grid || plane >= r->planes)
            fail("visibility %d is outside the grid, and the front end lets it pass",
                 k);
        const pair *taps = (const pair *)p->taps;
        f->cu = taps + (plane * r->oversampling + fu) * p->is.width;
        f->cv = taps + (plane * r->oversampling + fv) * p->is.width;
        f->sign = d->w < 0 ? -1 : 1;
        f->d = (pair){d->weight * d->re, d->weight * d->im};
    }
    return all;
}

/* d times c, the conjugate of c where sign is -1. */
static pair times(pair d, pair c, double sign)
{
    return (pair){d.re * c.re - sign * d.im * c.im, sign * d.re * c.im + d.im * c.re};
}

/* All footprints on grid [size][size], row by row: nobody else writes a row. */
static void oracle_grid(const problem *p, const footing *all, pair *grid)
{
    long size = p->is.size, width = p->is.width;
    memset(grid, 0, (size_t)(size * size) * sizeof *grid);
#pragma omp parallel for schedule(dynamic, 4)
    for (long v = 0; v < size; v++)
        for (int k = 0; k < p->is.samples; k++) {
            const footing *f = &all[k];
            long j = v - f->v;
            if (j < 0 || j >= width) continue;
            pair t = times(f->d, f->cv[j], f->sign);
            double re = t.re, im = t.im, sre = f->sign * re, sim = f->sign * im;
            pair *row = grid + v * size + f->u;
            for (long i = 0; i < width; i++) {
                row[i].re += re * f->cu[i].re - sim * f->cu[i].im;
                row[i].im += im * f->cu[i].re + sre * f->cu[i].im;
            }
        }
}

static void oracle_degrid(const problem *p, const footing *all, const double *model,
                          pair *value)
{
#pragma omp parallel for
    for (int k = 0; k < p->is.samples; k++) {
        const footing *f = &all[k];
        pair sum = {0, 0};
        for (long j = 0; j < p->is.width; j++) {
            const pair *row = (const pair *)model + (f->v + j) * p->is.pitch + f->u;
            pair along = {0, 0};
            for (long i = 0; i < p->is.width; i++) {
                pair x = times(row[i], f->cu[i], -f->sign);
                along.re += x.re;
                along.im += x.im;
            }
            pair x = times(along, f->cv[j], -f->sign);
            sum.re += x.re;
            sum.im += x.im;
        }
        value[k] = sum;
    }
}

/* ---- the oracle ------------------------------------------------------------------ */

typedef struct {
    double l, m;
} direction;

/* Of which query it is: numbers, and sums over what was made of them. */
typedef struct {
    double samples, size, width, oversampling, planes, cell, degrid, sky;
    double places, values, taps, model;
} identity;

/* One file of float64: an identity, the direct sums at up to SOURCES and PIXELS
 * directions, then the grid [size][size][2] or the visibilities [n][2]. */
enum {
    IDENTITY = sizeof(identity) / sizeof(double),
    DIRECT = SOURCES + PIXELS,
};

static double sum_of(const double *a, size_t count)
{
    double sum = 0;
    for (size_t i = 0; a && i < count; i++) sum += (double)(i % 97 + 1) * a[i];
    return sum;
}

static identity identity_of(const request *r, const observation *o, const problem *p,
                            const double *model, bool sky)
{
    const shape *is = &p->is;
    size_t functions = (size_t)is->planes * (size_t)is->oversampling;
    identity id = {.samples = is->samples,
                   .size = is->size,
                   .width = is->width,
                   .oversampling = is->oversampling,
                   .planes = is->planes,
                   .cell = r->cell,
                   .degrid = r->degrid,
                   .sky = sky,
                   .values = sum_of(p->value, 2 * (size_t)is->samples),
                   .taps = sum_of(p->taps, 2 * functions * (size_t)is->width),
                   .model = sum_of(model, 2 * (size_t)is->size * (size_t)is->pitch)};
    for (int k = 0; k < o->n; k++)
        id.places += (k % 97 + 1) * (o->d[k].u + 3 * o->d[k].v + 5 * o->d[k].w);
    return id;
}

static direction direction_of(const request *r, const source *s, int n, int i)
{
    if (i < n) return (direction){s[i].l, s[i].m};
    double pixel = 1 / (r->grid * r->cell);
    int x = (int)(r->grid * 0.4 * (sky_hash((unsigned long)i, 11) - 0.5));
    int y = (int)(r->grid * 0.4 * (sky_hash((unsigned long)i, 12) - 0.5));
    return (direction){x * pixel, y * pixel};
}

/* What path holds behind its identity; it is made if it does not exist. */
static double *oracle(const request *r, const observation *o, const problem *p,
                      const footing *all, const double *model, bool sky,
                      const char *path)
{
    size_t cells = r->degrid ? (size_t)o->n : (size_t)r->grid * (size_t)r->grid;
    npy held = {.type = NPY_F8, .dims = 1, .shape = {IDENTITY + DIRECT + 2 * cells}};
    identity id = identity_of(r, o, p, model, sky);
    bool kept = oracle_kept(path, &held, &id, sizeof id);
    double *sums = (double *)held.data + IDENTITY;
    if (kept) return sums;

#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < DIRECT; i++) {
        direction at = direction_of(r, o->sources, o->known, i);
        bool wanted = sky && !r->degrid;
        sums[i] = wanted ? direct_sum(o->d, o->n, o->norm, at.l, at.m) : 0;
    }
    if (r->degrid)
        oracle_degrid(p, all, model, (pair *)(sums + DIRECT));
    else
        oracle_grid(p, all, (pair *)(sums + DIRECT));
    npy_write(path, &held);
    return sums;
}

/* ---- the verdict ----------------------------------------------------------------- */

/* Prints a number and judges it. */
static void ask(report *rep, const char *what, double found, double budget)
{
    printf("%s=%.4g\n", what, found);
    judge(rep, found, budget, "%s is %.4g, at most %.4g allowed", what, found, budget);
}

/* The result as doubles, to be freed; NULL where the report says why. */
static double *result_of(report *rep, const request *r, const observation *o,
                         const char *path)
{
    size_t size = (size_t)r->grid, n = (size_t)o->n;
    npy like = r->degrid ? (npy){.dims = 2, .shape = {n, 2}}
                         : (npy){.dims = 3, .shape = {size, size, 2}};
    like.type = r->double_precision ? NPY_F8 : NPY_F4;
    npy a = read_result(rep, "result", path, like);
    if (!a.data || a.type == NPY_F8) return a.data;
    size_t count = npy_count(&a);
    double *wide = allocate(count, sizeof *wide, "the result");
    for (size_t i = 0; i < count; i++) wide[i] = element(&a, i);
    free(a.data);
    return wide;
}

static void check_numbers(report *rep, double *found, double *right, size_t count,
                          double budget)
{
    npy a = {NPY_F8, 1, {count}, found}, b = {NPY_F8, 1, {count}, right};
    comparison l1 = compare(&b, &a, NORM_L1), max = compare(&b, &a, NORM_MAX);
    ask(rep, "L1", l1.refnorm > 0 ? l1.d / l1.refnorm : l1.d, budget);
    ask(rep, "max", max.refnorm > 0 ? max.d / max.refnorm : max.d, budget);
}

/* sum(grid) = sum(d sum C): no visibility is lost, none counts twice. */
static void check_sum(report *rep, const problem *p, const footing *all,
                      const double *grid, double budget)
{
    pair wanted = {0, 0}, found = {0, 0};
    double scale = 0;
    for (int k = 0; k < p->is.samples; k++) {
        pair u = {0, 0}, v = {0, 0};
        for (int i = 0; i < p->is.width; i++) {
            u.re += all[k].cu[i].re;
            u.im += all[k].cu[i].im;
            v.re += all[k].cv[i].re;
            v.im += all[k].cv[i].im;
        }
        pair x = times(times(all[k].d, u, all[k].sign), v, all[k].sign);
        wanted.re += x.re;
        wanted.im += x.im;
        scale +=
            hypot(all[k].d.re, all[k].d.im) * hypot(u.re, u.im) * hypot(v.re, v.im);
    }
    size_t cells = (size_t)p->is.size * (size_t)p->is.size;
    for (size_t i = 0; i < cells; i++) {
        found.re += grid[2 * i];
        found.im += grid[2 * i + 1];
    }
    ask(rep, "sum", hypot(found.re - wanted.re, found.im - wanted.im) / scale, budget);
}

/* <G v, x> = <v, result>, with G v from the oracle's own gridding. */
static void check_adjoint(report *rep, const problem *p, const footing *all,
                          const double *model, const double *result, double budget)
{
    size_t size = (size_t)p->is.size, pitch = (size_t)p->is.pitch;
    pair *grid = allocate(size * size, sizeof *grid, "the adjoint's grid");
    oracle_grid(p, all, grid);
    pair left = {0, 0}, right = {0, 0};
    double scale = 0;
    for (size_t v = 0; v < size; v++)
        for (size_t u = 0; u < size; u++) {
            pair g = grid[v * size + u];
            pair x = ((const pair *)model)[v * pitch + u];
            left.re += g.re * x.re + g.im * x.im;
            left.im += g.im * x.re - g.re * x.im;
            scale += hypot(g.re, g.im) * hypot(x.re, x.im);
        }
    for (int k = 0; k < p->is.samples; k++) {
        pair d = all[k].d, x = ((const pair *)result)[k];
        right.re += d.re * x.re + d.im * x.im;
        right.im += d.im * x.re - d.re * x.im;
    }
    ask(rep, "adjoint", hypot(left.re - right.re, left.im - right.im) / scale, budget);
    free(grid);
}

/* The image has its peaks where the sources are, as high as the direct sums are. */
static void check_image(report *rep, const request *r, const observation *o,
                        const double *grid, const double *direct)
{
    double *image = dirty_image(grid, r->grid, o->norm);
    double side = r->grid * r->cell, flux = 0, square = 0, peak = 0;
    int peaks = 0, size = r->grid, middle = size / 2;
    for (int i = 0; i < DIRECT; i++) {
        direction at = direction_of(r, o->sources, o->known, i);
        int x = (int)lround(at.l * side) + middle,
            y = (int)lround(at.m * side) + middle;
        double here = image[y * size + x];
        if (i >= o->known) {
            square += (here - direct[i]) * (here - direct[i]);
            continue;
        }
        bool highest = true;
        for (int b = -2; b <= 2; b++)
            for (int a = -2; a <= 2; a++)
                highest &= here >= image[(y + b) * size + x + a];
        peaks += highest;
        flux = fmax(flux, fabs(here / direct[i] - 1));
        peak = fmax(peak, direct[i]);
    }
    printf("peaks=%d of %d\n", peaks, o->known);
    ask(rep, "peaks_missed", o->known - peaks, 0);
    ask(rep, "flux", flux, FLUX);
    ask(rep, "image_rms", sqrt(square / (DIRECT - o->known)) / peak, RMS);
    free(image);
}

/* What a model of the sources predicts is what the sources look like. */
static void check_prediction(report *rep, const observation *o, const double *result)
{
    double square = 0, power = 0;
    for (int k = 0; k < o->n; k++) {
        visibility d = o->d[k];
        sky_visibility(&d, o->sources, o->known);
        square += pow(result[2 * k] - d.re, 2) + pow(result[2 * k + 1] - d.im, 2);
        power += d.re * d.re + d.im * d.im;
    }
    ask(rep, "predicted", sqrt(square / power), PREDICTED);
}

/* The sources of a file, as its generator wrote them down. */
static void read_truth(const char *path, observation *o)
{
    FILE *file = fopen(path, "r");
    if (!file) fail("truth=%s: cannot be read", path);
    source *s = o->sources;
    o->known = 0;
    while (o->known < SOURCES && fscanf(file, "%lf %lf %lf", &s[o->known].l,
                                        &s[o->known].m, &s[o->known].flux) == 3)
        o->known++;
    fclose(file);
    if (!o->known) fail("truth=%s: expected lines of l, m, flux", path);
}

int main(int argc, char **argv)
{
    run_name = "gridding-check";
    const char *path = NULL, *found = NULL, *truth = NULL;
    arg extra[] = {
        {"oracle", ARG_TEXT, &path, 0, 0, ".npy of the oracle, made if it is not there",
         0},
        {"result", ARG_TEXT, &found, 0, 0, ".npy that the program wrote", 0},
        {"truth", ARG_TEXT, &truth, 0, 0, "sources of the file: l m flux, one a line",
         0},
        {0},
    };
    request r = request_parse(argc, argv, extra, about);
    if (!path) fail("oracle= is missing");
    observation o = observe(&r);
    if (truth) read_truth(truth, &o);
    problem p = problem_of(&r, &o);
    footing *all = footings_of(&r, &o, &p);
    double *model = r.degrid ? degridding_model(&r, &p) : NULL;

    bool sky = !r.integer && !r.random && r.planes > 1 && o.known && o.n >= ENOUGH &&
               r.oversampling >= FINE;
    double *sums = oracle(&r, &o, &p, all, model, sky, path);
    report rep = NOTHING_DIFFERS;
    double *result = found ? result_of(&rep, &r, &o, found) : NULL;
    double budget = r.integer ? 0 : r.double_precision ? BUDGET_DOUBLE : BUDGET_SINGLE;
    size_t cells = r.degrid ? (size_t)o.n : (size_t)r.grid * (size_t)r.grid;
    if (result) check_numbers(&rep, result, sums + DIRECT, 2 * cells, budget);
    if (result && r.degrid)
        check_adjoint(&rep, &p, all, model, result, budget);
    else if (result)
        check_sum(&rep, &p, all, result, budget);
    if (result && sky && !r.degrid) check_image(&rep, &r, &o, result, sums);
    if (result && sky && r.degrid && !strcmp(r.model, "sources"))
        check_prediction(&rep, &o, result);
    int status = verdict(&rep, found);

    free(result);
    free(sums - IDENTITY);
    free(model);
    free(all);
    problem_free(&p);
    observation_free(&o);
    return status;
}
