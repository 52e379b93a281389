/* check_gridding.c - is what was gridded right? The program gridding-check.
 *
 *     gridding-check QUERY oracle=FILE [result=out.npy] [truth=FILE]
 *
 * The oracle is the same sum in double precision, cell by cell, of what the query asks
 * for as oracle_gridding.c reads it: nothing is taken from steps/ or common/gridding.
 * It is kept: a FILE that exists is read, and refused if it belongs to another query or
 * other visibilities. What is asked of a result:
 *
 *   - each cell, or degridded visibility, lies as near to the oracle's as rounding can
 *     explain: the products that make up a term are off by 8 units in the last place of
 *     its size at most, and m roundings of sums that are no larger than S, the sum of
 *     the sizes of the terms, by 3 sqrt(m) units of S (six of their standard
 *     deviations); where terms are alike their roundings are too, and four times what a
 * sum in float loses is allowed besides; exactly the same where everything is an
 *     integer and small enough. With accuracy= it may be off besides by what the taps
 *     amount to that may be left out;
 *   - sum(grid) = sum(d sum C), and of a degridded grid x: <G v, x> = <v, result>;
 *   - the sky, where visibilities lie on tracks that fill the grid, and support, planes
 *     and fractions are enough for their w: the image has a peak on each source, within
 *     3 % of the direct Fourier sum there, and the rms of the difference from that sum
 *     on 300 other pixels is below 1e-3 of the peak. Degridding a model of the sources
 *     gives back their visibilities.
 *
 * Prints key=value lines, the last one verdict=ok or verdict=FAIL and the reason; exits
 * with 0 only if ok. Left out: judging times.
 */
#include "oracle_gridding.h"

#include "compare.h"
#include "verdict.h"

static const char about[] =
    "checks a grid or visibilities against the same sums in double precision\n\n"
    "  gridding-check QUERY oracle=FILE [result=FILE] [truth=FILE]\n\n"
    "QUERY is what the program was called with. Exit status 0: verdict=ok.";

/* Units in the last place: of a term, and of a sum for the root of its terms. */
static const double TERM = 8, ROOT = 3;
static const double FLUX = 0.03, RMS = 1e-3, PREDICTED = 0.03;

/* An image worth the name: so many visibilities on a grid of so many cells, fractions
 * that are so fine (a place on the grid that is half a fraction off turns the phase of
 * a source), and taps for the taper besides those for w. */
enum { PIXELS = 300, ENOUGH = 1000, WIDE = 200, FINE = 8, TAPER = 6 };

/* A unit in the last place of a number of size 1; the oracle itself is off by another
 * of a double's. */
static double unit_of(const question *q)
{
    return q->wide ? 0x1p-52 : 0x1p-24;
}

/* Beyond it, sums of integers are rounded. */
static double exact_up_to(const question *q)
{
    return q->wide ? 0x1p52 : 0x1p23;
}

/* How far a sum of m terms, whose sizes add up to `size`, may be from the right one. */
static double allowed(const question *q, const scene *s, double size, double m)
{
    if (m == 0 || (s->whole && size <= exact_up_to(q))) return 0;
    return unit_of(q) * (TERM + ROOT * sqrt(m)) * size + m * 0x1p-126;
}

/* The size of a factor: with what the doubles that it was made of are off by, which is
 * `doubt` of their last places. */
static double size_of(const question *q, double complex x, double doubt)
{
    return cabs(x) + doubt * 0x1p-52 / unit_of(q);
}

/* ---- the sums in double ---------------------------------------------------------- */

/* The sizes of all taps, in their order. */
static double *sizes_of(const question *q, const scene *s)
{
    double *size = allocate(s->taps_count, sizeof *size, "sizes of taps");
    for (size_t i = 0; i < s->taps_count; i++)
        size[i] = size_of(q, s->taps[i], q->integer ? 0 : s->doubt);
    return size;
}

/* How far from the middle of a footprint its plane's taps must be taken, for each plane
 * and sign of w: those beyond are all smaller than `accuracy` times the largest. */
static long *reaches_of(const question *q, const scene *s)
{
    long width = 2L * q->support + 1, row = width * q->oversampling;
    size_t planes = s->taps_count / (size_t)row;
    long *reaches = allocate(planes, sizeof *reaches, "reaches of planes");
    for (size_t p = 0; p < planes; p++) {
        const double complex *taps = s->taps + (long)p * row;
        double largest = 0;
        for (long i = 0; i < row; i++) largest = fmax(largest, cabs(taps[i]));
        reaches[p] = 0;
        for (long i = 0; i < row; i++) {
            long far = labs(i % width - q->support);
            if (cabs(taps[i]) >= q->accuracy * largest * (1 + 1e-9) && far > reaches[p])
                reaches[p] = far;
        }
    }
    return reaches;
}

/* All footprints on grid [size][size], row by row: nobody else writes a row. And how
 * far off each cell may be. */
static void oracle_grid(const question *q, const scene *s, double complex *grid,
                        double *off)
{
    long size = q->grid, width = 2L * q->support + 1;
    double *sizes = sizes_of(q, s);
    long *reaches = reaches_of(q, s);
#pragma omp parallel for schedule(dynamic, 4)
    for (long v = 0; v < size; v++) {
        double(*row)[2] = (double(*)[2])(grid + v * size), *most = off + v * size;
        double *spare = allocate((size_t)size, sizeof *spare, "what may be left out");
        double *terms = allocate((size_t)size + 1, sizeof *terms, "a row");
        float(*rough)[2] = allocate((size_t)size, sizeof *rough, "a row in float");
        for (long u = 0; u <= size; u++) terms[u] = 0;
        memset(rough, 0, (size_t)size * sizeof *rough);
        for (long u = 0; u < size; u++) row[u][0] = row[u][1] = most[u] = spare[u] = 0;
        for (int k = 0; k < s->n; k++) {
            const sight *at = &s->at[k];
            long j = v - at->row;
            if (j < 0 || j >= width) continue;
            const double complex t = at->d * at->down[j];
            const double re = creal(t), im = cimag(t);
            const double large =
                size_of(q, at->d, at->doubt) * sizes[at->down - s->taps + j];
            const double(*c)[2] = (const double(*)[2])at->across;
            const double *size_c = sizes + (at->across - s->taps);
            const long reach =
                reaches[(at->across - s->taps) / (q->oversampling * width)];
            const bool far = labs(j - q->support) > reach;
            for (long i = 0; i < width; i++) {
                const double x = re * c[i][0] - im * c[i][1];
                const double y = im * c[i][0] + re * c[i][1];
                row[at->column + i][0] += x;
                row[at->column + i][1] += y;
                rough[at->column + i][0] += (float)x;
                rough[at->column + i][1] += (float)y;
                most[at->column + i] += large * size_c[i];
                if (far || labs(i - q->support) > reach)
                    spare[at->column + i] += large * size_c[i];
            }
            terms[at->column]++;
            terms[at->column + width]--;
        }
        double m = 0;
        for (long u = 0; u < size; u++) {
            m += terms[u];
            const double lost = hypot(rough[u][0] - row[u][0], rough[u][1] - row[u][1]);
            most[u] = allowed(q, s, most[u], m);
            if (!q->wide && most[u] > 0 && isfinite(lost)) most[u] += 4 * lost;
            most[u] += spare[u];
        }
        free(rough);
        free(spare);
        free(terms);
    }
    free(reaches);
    free(sizes);
}

static void oracle_degrid(const question *q, const scene *s, double complex *value,
                          double *off)
{
    long width = 2L * q->support + 1;
    double *sizes = sizes_of(q, s);
#pragma omp parallel for
    for (int k = 0; k < s->n; k++) {
        const sight *at = &s->at[k];
        const double *size_u = sizes + (at->across - s->taps),
                     *size_v = sizes + (at->down - s->taps);
        double complex sum = 0;
        double large = 0;
        for (long j = 0; j < width; j++) {
            const double complex *row = s->model + (at->row + j) * q->grid + at->column;
            double complex along = 0;
            double most = 0;
            for (long i = 0; i < width; i++) {
                along += row[i] * conj(at->across[i]);
                most += size_of(q, row[i], s->model_doubt) * size_u[i];
            }
            sum += along * conj(at->down[j]);
            large += most * size_v[j];
        }
        value[k] = sum;
        off[k] = allowed(q, s, large, (double)(width * width));
    }
    free(sizes);
}

/* ---- the oracle ------------------------------------------------------------------ */

/* Of which query it is: numbers, and sums over what was made of them. */
typedef struct {
    double samples, size, support, oversampling, planes, cell, accuracy, wide, integer,
        degrid, sky;
    double places, values, taps, model;
} identity;

/* One file of float64: an identity, the direct sums at up to SOURCES_MADE and PIXELS
 * directions, then the grid [size][size][2] or the visibilities [n][2], then how far
 * off each may be. */
enum {
    IDENTITY = sizeof(identity) / sizeof(double),
    DIRECT = SOURCES_MADE + PIXELS,
};

static double sum_of(const double complex *a, size_t count)
{
    double sum = 0;
    for (size_t i = 0; a && i < count; i++)
        sum += (double)(i % 97 + 1) * (creal(a[i]) + 3 * cimag(a[i]));
    return sum;
}

static identity identity_of(const question *q, const scene *s, bool sky)
{
    identity id = {.samples = s->n,
                   .size = q->grid,
                   .support = q->support,
                   .oversampling = q->oversampling,
                   .planes = q->planes,
                   .cell = q->cell,
                   .accuracy = q->accuracy,
                   .wide = q->wide,
                   .integer = q->integer,
                   .degrid = q->degrid,
                   .sky = sky,
                   .taps = sum_of(s->taps, s->taps_count),
                   .model = sum_of(s->model, (size_t)q->grid * (size_t)q->grid)};
    for (int k = 0; k < s->n; k++) {
        const sight *at = &s->at[k];
        id.places += (k % 97 + 1) * (at->u + 3 * at->v + 5 * at->w + 7 * at->weight);
        id.values += (k % 97 + 1) * (creal(at->d) + 3 * cimag(at->d));
    }
    return id;
}

/* Pixels from the middle of the image: those of the lights, then any. */
static void pixel_of(const question *q, const scene *s, int i, long *x, long *y)
{
    double side = q->grid * q->cell;
    if (i < s->lights) {
        *x = lround(s->sky[i].l * side);
        *y = lround(s->sky[i].m * side);
        return;
    }
    *x = (long)(q->grid * 0.4 * (drawn((uint64_t)i, 11) - 0.5));
    *y = (long)(q->grid * 0.4 * (drawn((uint64_t)i, 12) - 0.5));
}

/* The visibilities' own sum in the direction of a pixel. */
static double direct_sum(const question *q, const scene *s, long x, long y)
{
    double side = q->grid * q->cell, l = (double)x / side, m = (double)y / side,
           half = sin(asin(hypot(l, m)) / 2), n1 = -2 * half * half, sum = 0;
    for (int k = 0; k < s->n; k++) {
        const sight *at = &s->at[k];
        double angle = 2 * acos(-1) * (at->u * l + at->v * m + at->w * n1);
        sum += creal(at->d) * cos(angle) - cimag(at->d) * sin(angle);
    }
    return sum / s->norm;
}

/* What path holds behind its identity; it is made if it does not exist. */
static double *oracle(const question *q, const scene *s, bool sky, const char *path)
{
    size_t cells = q->degrid ? (size_t)s->n : (size_t)q->grid * (size_t)q->grid;
    npy held = {.type = NPY_F8, .dims = 1, .shape = {IDENTITY + DIRECT + 3 * cells}};
    identity id = identity_of(q, s, sky);
    bool kept = oracle_kept(path, &held, &id, sizeof id);
    double *sums = (double *)held.data + IDENTITY;
    if (kept) return sums;

#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < DIRECT; i++) {
        long x, y;
        pixel_of(q, s, i, &x, &y);
        sums[i] = sky && !q->degrid ? direct_sum(q, s, x, y) : 0;
    }
    (q->degrid ? oracle_degrid : oracle_grid)(q, s, (double complex *)(sums + DIRECT),
                                              sums + DIRECT + 2 * cells);
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
static double complex *result_of(report *rep, const question *q, const scene *s,
                                 const char *path)
{
    size_t size = (size_t)q->grid, n = (size_t)s->n;
    npy like = q->degrid ? (npy){.dims = 2, .shape = {n, 2}}
                         : (npy){.dims = 3, .shape = {size, size, 2}};
    like.type = q->wide ? NPY_F8 : NPY_F4;
    npy a = read_result(rep, "result", path, like);
    if (!a.data || q->wide) return a.data;
    size_t count = npy_count(&a);
    double *wide = allocate(count, sizeof *wide, "the result");
    for (size_t i = 0; i < count; i++) wide[i] = element(&a, i);
    free(a.data);
    return (double complex *)wide;
}

/* The worst of all cells, or visibilities: in parts of how far off it may be. */
static void check_numbers(report *rep, const question *q, const double complex *found,
                          const double complex *right, const double *off, size_t count)
{
    size_t worst = 0;
    double most = -1, distance = 0, size = 0;
    for (size_t i = 0; i < count && !isnan(most); i++) {
        double d = cabs(found[i] - right[i]), share = d <= 0 ? 0 : d / off[i];
        distance += d;
        size += cabs(right[i]);
        if (share <= most) continue; /* false for NaN */
        most = share;
        worst = i;
    }
    printf("L1=%.4g\noff=%.4g\n", size > 0 ? distance / size : distance, most);
    char where[64];
    if (q->degrid)
        snprintf(where, sizeof where, "visibility %zu", worst);
    else
        snprintf(where, sizeof where, "row %zu, column %zu", worst / (size_t)q->grid,
                 worst % (size_t)q->grid);
    judge(rep, most, 1, "%s: (%.9g, %.9g), right are (%.9g, %.9g) +- %.2g", where,
          creal(found[worst]), cimag(found[worst]), creal(right[worst]),
          cimag(right[worst]), off[worst]);
}

static double total(const double *a, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += a[i];
    return sum;
}

/* d is at most so much, which is 0 where everything is exact: in parts of it. */
static void ask_part(report *rep, const char *what, double d, double most)
{
    ask(rep, what, d == 0 ? 0 : d / most, 1);
}

/* sum(grid) = sum(d sum C): no visibility is lost, none counts twice. */
static void check_sum(report *rep, const question *q, const scene *s,
                      const double complex *grid, const double *off)
{
    size_t cells = (size_t)q->grid * (size_t)q->grid;
    long double complex sum = 0;
    for (size_t i = 0; i < cells; i++) sum += grid[i];
    for (int k = 0; k < s->n; k++) {
        double complex u = 0, v = 0;
        for (int i = 0; i <= 2 * q->support; i++) {
            u += s->at[k].across[i];
            v += s->at[k].down[i];
        }
        sum -= s->at[k].d * u * v;
    }
    ask_part(rep, "sum", (double)cabsl(sum), total(off, cells));
}

/* <G v, x> = <v, result>, with G v from the oracle's own gridding. */
static void check_adjoint(report *rep, const question *q, const scene *s,
                          const double complex *result, const double *off)
{
    size_t cells = (size_t)q->grid * (size_t)q->grid;
    double complex *grid = allocate(cells, sizeof *grid, "the adjoint's grid");
    double *unused = allocate(cells, sizeof *unused, "the adjoint's bounds");
    oracle_grid(q, s, grid, unused);
    long double complex sum = 0;
    double most = 0;
    for (size_t i = 0; i < cells; i++) {
        sum += grid[i] * conj(s->model[i]);
        if (!s->whole) most += 1e-14 * cabs(grid[i]) * cabs(s->model[i]);
    }
    for (int k = 0; k < s->n; k++) {
        sum -= s->at[k].d * conj(result[k]);
        most += cabs(s->at[k].d) * (off[k] + (s->whole ? 0 : 1e-14 * cabs(result[k])));
    }
    ask_part(rep, "adjoint", (double)cabsl(sum), most);
    free(unused);
    free(grid);
}

/* Columns x - reach .. x + reach of the image at row y, times the taper: the part of
 * the transform that a pixel is, along u and then along v. */
static void image_at(const question *q, const scene *s, const double complex *grid,
                     long x, long y, int reach, double image[5][5])
{
    long size = q->grid, middle = size / 2;
    double complex *turned = allocate((size_t)size, sizeof *turned, "a turn");
    for (long i = 0; i < size; i++)
        turned[i] = cexp(2 * I * acos(-1) * (double)i / (double)size);
#define TURN(a, b) turned[((a) * (b) % size + size) % size]
    for (int a = -reach; a <= reach; a++) {
        double complex sum[5] = {0};
        for (long v = 0; v < size; v++) {
            double complex along = 0;
            for (long u = 0; u < size; u++)
                along += grid[v * size + u] * TURN(u - middle, x + a);
            for (int b = -reach; b <= reach; b++)
                sum[b + reach] += along * TURN(v - middle, y + b);
        }
        for (int b = -reach; b <= reach; b++)
            image[b + reach][a + reach] =
                creal(sum[b + reach]) / taper_at((double)(x + a) / (double)size) /
                taper_at((double)(y + b) / (double)size) / s->norm;
    }
#undef TURN
    free(turned);
}

/* The image has its peaks where the sources are, as high as the direct sums are. */
static void check_image(report *rep, const question *q, const scene *s,
                        const double complex *grid, const double *direct)
{
    double flux = 0, square = 0, peak = 0;
    int peaks = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : peaks, square)                \
    reduction(max : flux, peak)
    for (int i = 0; i < DIRECT; i++) {
        double image[5][5];
        long x, y;
        int reach = i < s->lights ? 2 : 0;
        pixel_of(q, s, i, &x, &y);
        image_at(q, s, grid, x, y, reach, image);
        double here = image[reach][reach];
        if (i >= s->lights) {
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
    printf("peaks=%d of %d\n", peaks, s->lights);
    ask(rep, "peaks_missed", s->lights - peaks, 0);
    ask(rep, "flux", flux, FLUX);
    ask(rep, "image_rms", sqrt(square / (DIRECT - s->lights)) / peak, RMS);
}

/* What a model of the sources predicts is what the sources look like. */
static void check_prediction(report *rep, const scene *s, const double complex *result)
{
    double square = 0, power = 0;
    for (int k = 0; k < s->n; k++) {
        const sight *at = &s->at[k];
        double complex seen = seen_at(s->sky, s->lights, at->u, at->v, at->w);
        square += pow(cabs(result[k] - seen), 2);
        power += pow(cabs(seen), 2);
    }
    ask(rep, "predicted", sqrt(square / power), PREDICTED);
}

/* The sources of a file, as its generator wrote them down. */
static void read_truth(const char *path, scene *s)
{
    FILE *file = fopen(path, "r");
    if (!file) fail("truth=%s: cannot be read", path);
    s->lights = 0;
    light *to = s->sky;
    while (s->lights < SOURCES_MADE &&
           fscanf(file, "%lf %lf %lf", &to->l, &to->m, &to->flux) == 3) {
        s->lights++;
        to++;
    }
    fclose(file);
    if (!s->lights) fail("truth=%s: expected lines of l, m, flux", path);
}

/* Whether there is a sky to be seen. The planes' functions become wider with w, and
 * from one to the next the phase at the edge may turn by a quarter. */
static bool sky_of(const question *q, const scene *s)
{
    bool filled = q->in || (q->extent > 0.5 * q->grid * q->cell &&
                            q->extent < 1.2 * q->grid * q->cell);
    return !q->integer && !q->random && q->planes > 1 && s->lights && filled &&
           s->n >= ENOUGH && q->grid >= WIDE && q->oversampling >= FINE &&
           q->support >= TAPER + s->steepest && q->planes - 1 >= s->steepest;
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
    question q = question_parse(argc, argv, extra, about);
    if (!path) fail("oracle= is missing");
    scene s = scene_of(&q);
    if (truth) read_truth(truth, &s);

    bool sky = sky_of(&q, &s);
    double *sums = oracle(&q, &s, sky, path);
    report rep = NOTHING_DIFFERS;
    double complex *result = found ? result_of(&rep, &q, &s, found) : NULL;
    size_t cells = q.degrid ? (size_t)s.n : (size_t)q.grid * (size_t)q.grid;
    const double complex *right = (const double complex *)(sums + DIRECT);
    const double *off = sums + DIRECT + 2 * cells;
    if (result) check_numbers(&rep, &q, result, right, off, cells);
    if (result && q.degrid)
        check_adjoint(&rep, &q, &s, result, off);
    else if (result)
        check_sum(&rep, &q, &s, result, off);
    if (result && sky && !q.degrid) check_image(&rep, &q, &s, result, sums);
    if (result && sky && q.degrid && !strcmp(q.model, "sources"))
        check_prediction(&rep, &s, result);
    int status = verdict(&rep, found);

    free(result);
    free(sums - IDENTITY);
    scene_free(&s);
    return status;
}
