/* oracle_fletcher.c - see oracle_fletcher.h.
 *
 * Weights come from factorials; a step makes the gradient of the whole grid, then its
 * derivatives, then the Hessian's product with the axis; p and q are kept with how much
 * they changed. To know what rounding does the model goes a second time beside itself,
 * with its rock, its source, and p and q after every step, rounded to float.
 */
#include "oracle_fletcher.h"

#include "compare.h"
#include "verdict.h"

static const double PI = 3.141592653589793;

/* ---- what the words mean ----------------------------------------------------------
 */

const char *const property_name[PROPERTIES] = {"vpz", "epsilon", "delta", "theta",
                                               "phi"};

size_t points_inside(const query *w)
{
    return (size_t)w->n[0] * (size_t)w->n[1] * (size_t)w->n[2];
}

/* A number for all points, or the file of one for each, which counts as float. */
static void read_property(query *w, int k, const char *text)
{
    size_t count = points_inside(w);
    double *v = w->inside[k] = allocate(count, sizeof *v, property_name[k]);
    char *rest, why[NPY_WHY];
    v[0] = strtod(text, &rest);
    if (!*rest) {
        for (size_t i = 1; i < count; i++) v[i] = v[0];
        return;
    }
    npy a;
    if (npy_read(text, &a, why)) fail("%s=%s: %s", property_name[k], text, why);
    if (npy_count(&a) != count || (a.type != NPY_F4 && a.type != NPY_F8))
        fail("%s=%s: expected %zu floating-point numbers", property_name[k], text,
             count);
    for (size_t i = 0; i < count; i++) v[i] = (float)element(&a, i);
    w->file[k] = true;
    free(a.data);
}

query query_of(int argc, char **argv, arg *extra, const char *about)
{
    query w = {
        {216, 216, 216}, 16, {12.5, 12.5, 12.5}, 1e-3, 0.1, 0.75, 0, NULL, {0}, {0}};
    static const struct {
        const char *form, *text[PROPERTIES];
    } media[] = {{"ISO", {"3000", "0", "0", "0", "0"}},
                 {"VTI", {"3000", "0.24", "0.1", "0", "0"}},
                 {"TTI", {"3000", "0.24", "0.1", "0.78539816339744831", "1"}}};
    const char *form = "TTI", *picture, *text[PROPERTIES] = {0};
    int pad, group[3];
    arg table[] = {{"form", ARG_TEXT, &form, 0, 0, 0, 0},
                   {"nx", ARG_INT, &w.n[0], 1, 1e6, 0, 0},
                   {"ny", ARG_INT, &w.n[1], 1, 1e6, 0, 0},
                   {"nz", ARG_INT, &w.n[2], 1, 1e6, 0, 0},
                   {"absorb", ARG_INT, &w.absorb, 0, 1e6, 0, 0},
                   {"dx", ARG_DOUBLE, &w.d[0], 1e-9, 1e9, 0, 0},
                   {"dy", ARG_DOUBLE, &w.d[1], 1e-9, 1e9, 0, 0},
                   {"dz", ARG_DOUBLE, &w.d[2], 1e-9, 1e9, 0, 0},
                   {"dt", ARG_DOUBLE, &w.dt, 1e-12, 1e9, 0, 0},
                   {"tmax", ARG_DOUBLE, &w.tmax, 1e-12, 1e9, 0, 0},
                   {"sigma", ARG_DOUBLE, &w.sigma, 1e-9, 1e12, 0, 0},
                   {"vpz", ARG_TEXT, &text[SPEED], 0, 0, 0, 0},
                   {"epsilon", ARG_TEXT, &text[ALONG], 0, 0, 0, 0},
                   {"delta", ARG_TEXT, &text[NEAR], 0, 0, 0, 0},
                   {"theta", ARG_TEXT, &text[DIP], 0, 0, 0, 0},
                   {"phi", ARG_TEXT, &text[AZIMUTH], 0, 0, 0, 0},
                   {"pad", ARG_INT, &pad, 0, 1, "has no effect on the waves", 0},
                   {"snapshots", ARG_TEXT, &w.snapshots, 0, 0, 0, 0},
                   {"picture", ARG_TEXT, &picture, 0, 0, "is not looked at", 0},
                   {ARG_LOCAL(group)},
                   {.value = extra}};
    args_parse(argc, argv, table, about);

    for (w.steps = 1; w.steps * w.dt < w.tmax - 1e-6 * w.dt;) w.steps++;
    int chosen = parse_choice("form", form, "ISO, VTI or TTI");
    for (int k = 0; k < PROPERTIES; k++)
        read_property(&w, k, text[k] ? text[k] : media[chosen].text[k]);
    return w;
}

/* Is there one after step it, with so many before it? Every hundredth of a second has
 * its own, which is the first step that reaches it and has none yet. */
static bool snapshot_due(const query *w, int it, size_t before)
{
    return w->snapshots && it * w->dt >= 0.01 * (double)(before + 1) - 1e-9;
}

static size_t snapshots_of(const query *w)
{
    size_t made = 0;
    for (int it = 1; it <= w->steps; it++) made += snapshot_due(w, it, made);
    return made;
}

/* ---- the rock ---------------------------------------------------------------------
 */

bool in_halo(const space *a, size_t i)
{
    for (int k = 2; k >= 0; k--) {
        int at = (int)(i / (size_t)a->step[k]);
        i %= (size_t)a->step[k];
        if (at < REACH || at >= a->s[k] - REACH) return true;
    }
    return false;
}

/* SplitMix64 (Steele, Lea and Flood 2014), begun at 0: of its numbers that of the
 * point, 0 .. 1 without 1. */
static double random_number(uint64_t point)
{
    const uint64_t golden = 11400714819323198485u;
    uint64_t state = golden * point + golden;
    state ^= state >> 30;
    state *= 13787848793156543929u;
    state ^= state >> 27;
    state *= 10723151780598845931u;
    state ^= state >> 31;
    return (double)(state / 2048) / 9007199254740992.0;
}

static double shear(const query *w, size_t i)
{
    double apart = fabs(w->inside[ALONG][i] - w->inside[NEAR][i]);
    return w->sigma > 10 ? 0 : sqrt(apart / w->sigma) * w->inside[SPEED][i];
}

space space_of(const query *w)
{
    space a = {.w = w, .count = 1};
    for (int k = 0; k < 3; k++) {
        a.s[k] = w->n[k] + 2 * w->absorb + 2 * REACH;
        a.step[k] = (ptrdiff_t)a.count;
        a.count *= (size_t)a.s[k];
    }
    a.rock = allocate(a.count, sizeof *a.rock, "the rock");
    memset(a.rock, 0, a.count * sizeof *a.rock);

    double fastest = 0, fastest_shear = 0;
    for (size_t i = 0; i < points_inside(w); i++) {
        fastest = fmax(fastest, w->inside[SPEED][i]);
        fastest_shear = fmax(fastest_shear, shear(w, i));
    }
    for (size_t i = 0; i < a.count; i++) {
        /* From the point inside that is nearest, so many points out. */
        size_t nearest = 0;
        int out = 0;
        for (int k = 2; k >= 0; k--) {
            int at = (int)(i / (size_t)a.step[k] % (size_t)a.s[k]);
            int here = at - REACH - w->absorb, past = here - (w->n[k] - 1);
            out = -here > out ? -here : past > out ? past : out;
            here = here < 0 ? 0 : past > 0 ? w->n[k] - 1 : here;
            nearest = nearest * (size_t)w->n[k] + (size_t)here;
        }
        if (out > w->absorb) continue;
        double vp = w->inside[SPEED][nearest], vs = shear(w, nearest);
        if (out) {
            double share = (double)out / w->absorb, chance = random_number(i);
            vp += share * (chance * fastest - vp);
            vs += share * (chance * fastest_shear - vs);
        }
        double dip = w->inside[DIP][nearest], azimuth = w->inside[AZIMUTH][nearest];
        a.rock[i] =
            (coefficients){{cos(azimuth) * sin(dip), sin(azimuth) * sin(dip), cos(dip)},
                           vp * vp + 2 * w->inside[ALONG][nearest] * vp * vp,
                           vp * vp,
                           vp * vp + 2 * w->inside[NEAR][nearest] * vp * vp,
                           vs * vs};
    }
    return a;
}

/* ---- the model in double ----------------------------------------------------------
 */

/* Of the points at 1 .. REACH, for the first derivative and the second; [0] is that of
 * the point itself, and follows, since a constant has no derivatives. */
static double first_weight[REACH + 1], second_weight[REACH + 1];

static double factorial(int n)
{
    return tgamma(n + 1.0);
}

static void make_weights(void)
{
    for (int k = 1; k <= REACH; k++) {
        double w = factorial(REACH) / factorial(REACH - k) * factorial(REACH) /
                   factorial(REACH + k) / k;
        first_weight[k] = k % 2 ? w : -w;
        second_weight[k] = 2 * first_weight[k] / k;
        second_weight[0] -= 2 * second_weight[k];
    }
}

static double first(const double *f, ptrdiff_t s, double d)
{
    double sum = 0;
    for (ptrdiff_t k = REACH; k > 0; k--)
        sum += first_weight[k] * (f[k * s] - f[-k * s]);
    return sum / d;
}

static double second(const double *f, ptrdiff_t s, double d)
{
    double sum = 0;
    for (ptrdiff_t k = REACH; k > 0; k--)
        sum += second_weight[k] * (f[k * s] + f[-k * s]);
    return (sum + second_weight[0] * f[0]) / d / d;
}

/* The signal of a source of 40/3 Hz that has its peak sqrt(pi)/20 s after it began. */
static double ricker(double t)
{
    double phase = 40 * PI / 3 * (t - sqrt(PI) / 20);
    return exp(-phase * phase) * (1 - 2 * phase * phase);
}

/* A field: what it is now, how much of that came with the last step, and its
 * derivatives along x and y. */
typedef struct {
    double *now, *gain, *along_x, *along_y;
} field;

/* p and q, in float if rounded. */
typedef struct {
    field p, q;
    bool rounded;
} waves;

static field field_of(size_t n)
{
    double *room = allocate(4 * n, sizeof *room, "a field and its derivatives");
    memset(room, 0, 4 * n * sizeof *room);
    return (field){room, room + n, room + 2 * n, room + 3 * n};
}

/* The second derivative along the axis, and in *across that in the plane across it. */
static double along_axis(const space *a, const field *f, size_t i, const double axis[3],
                         double *across)
{
    const double *d = a->w->d;
    const ptrdiff_t *s = a->step;
    double h[3][3] = {{0}}, sum = 0;
    for (int k = 0; k < 3; k++) h[k][k] = second(f->now + i, s[k], d[k]);
    h[0][1] = h[1][0] = first(f->along_x + i, s[1], d[1]);
    h[0][2] = h[2][0] = first(f->along_x + i, s[2], d[2]);
    h[1][2] = h[2][1] = first(f->along_y + i, s[2], d[2]);
    for (int k = 0; k < 3; k++)
        sum += axis[k] * (h[k][0] * axis[0] + h[k][1] * axis[1] + h[k][2] * axis[2]);
    *across = h[0][0] + h[1][1] + h[2][2] - sum;
    return sum;
}

/* The elements that a step changes, all but the halo's; returns how many. */
static size_t inner_points(const space *a, size_t *inner)
{
    size_t found = 0;
    for (size_t i = 0; i < a->count; i++)
        if (!in_halo(a, i)) inner[found++] = i;
    return found;
}

static double as_float(double v, bool rounded)
{
    return rounded ? (float)v : v;
}

/* f[i] becomes more by gain[i], which says then by how much it did. */
static void advance(double *f, double *gain, size_t i, bool rounded)
{
    double next = as_float(f[i] + gain[i], rounded);
    gain[i] = next - f[i];
    f[i] = next;
}

static coefficients rounded_rock(coefficients c, bool rounded)
{
    double *all[] = {&c.axis[0], &c.axis[1], &c.axis[2], &c.vpx2,
                     &c.vpz2,    &c.vpn2,    &c.vsz2};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        *all[k] = as_float(*all[k], rounded);
    return c;
}

/* f is added at the source, element i. */
static void shake(const field *of, size_t i, double f, bool rounded)
{
    double more = f;
    advance(of->now + i, &more, 0, rounded);
    of->gain[i] += more;
}

/* One step from time t, of the elements inner[points]. */
static void go(const space *a, const waves *v, double t, const size_t *inner,
               size_t points)
{
    const query *w = a->w;
    const field p = v->p, q = v->q;
    size_t source = 0;
    for (int k = 0; k < 3; k++) source += (size_t)(a->s[k] / 2) * (size_t)a->step[k];
    shake(&p, source, as_float(ricker(t), v->rounded), v->rounded);
    shake(&q, source, as_float(ricker(t), v->rounded), v->rounded);
#pragma omp parallel for
    for (size_t at = 0; at < points; at++) {
        size_t i = inner[at];
        p.along_x[i] = first(p.now + i, a->step[0], w->d[0]);
        p.along_y[i] = first(p.now + i, a->step[1], w->d[1]);
        q.along_x[i] = first(q.now + i, a->step[0], w->d[0]);
        q.along_y[i] = first(q.now + i, a->step[1], w->d[1]);
    }
#pragma omp parallel for
    for (size_t at = 0; at < points; at++) {
        size_t i = inner[at];
        coefficients c = rounded_rock(a->rock[i], v->rounded);
        double p2, p1 = along_axis(a, &p, i, c.axis, &p2);
        double q2, q1 = along_axis(a, &q, i, c.axis, &q2);
        double more_p = c.vpx2 * p2 + (c.vpz2 - c.vsz2) * q1 + c.vsz2 * p1;
        double more_q = (c.vpn2 - c.vsz2) * p2 + c.vpz2 * q1 + c.vsz2 * q2;
        p.gain[i] += w->dt * w->dt * more_p;
        q.gain[i] += w->dt * w->dt * more_q;
    }
#pragma omp parallel for
    for (size_t at = 0; at < points; at++) {
        advance(p.now, p.gain, inner[at], v->rounded);
        advance(q.now, q.gain, inner[at], v->rounded);
    }
}

/* What was rounded once stays wrong, even where it does not show for a moment. */
static void add_doubt(doubt *d, const double *exact, const double *rounded, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        double off = rounded[i] - exact[i];
        squares += off * off;
        d->most = fmax(d->most, fabs(off));
    }
    d->norm = fmax(d->norm, sqrt(squares));
}

/* p and q after all steps, in all[.. count], and behind them p in snapshots; d is of
 * the same. */
static void model(const space *a, double *all, doubt *d)
{
    const query *w = a->w;
    size_t n = a->count, *inner = allocate(n, sizeof *inner, "points");
    size_t points = inner_points(a, inner), made = 0;
    waves exact = {field_of(n), field_of(n), false};
    waves rounded = {field_of(n), field_of(n), true};

    make_weights();
    d[0] = d[1] = (doubt){0, 0};
    for (int it = 0; it < w->steps; it++) {
        go(a, &exact, it * w->dt, inner, points);
        go(a, &rounded, it * w->dt, inner, points);
        add_doubt(&d[0], exact.p.now, rounded.p.now, n);
        add_doubt(&d[1], exact.q.now, rounded.q.now, n);
        if (snapshot_due(w, it + 1, made)) {
            d[2 + made] = d[0];
            memcpy(all + (2 + made++) * n, exact.p.now, n * sizeof *all);
        }
        progress("oracle", it + 1, w->steps);
    }
    memcpy(all, exact.p.now, n * sizeof *all);
    memcpy(all + n, exact.q.now, n * sizeof *all);
    double *room[] = {exact.p.now, exact.q.now, rounded.p.now, rounded.q.now};
    for (int k = 0; k < 4; k++) free(room[k]);
    free(inner);
}

/* ---- the oracle's file -------------------------------------------------------------
 */

size_t fields_of(const query *w)
{
    return 2 + snapshots_of(w);
}

/* Of which model it is: its grid, and a number (FNV-1a) made from all of its rock. */
typedef struct {
    double n[3], d[3], absorb, dt, steps, fields;
    uint64_t rock;
} identity;

enum {
    IDENTITY = sizeof(identity) / sizeof(double),
    DOUBT = sizeof(doubt) / sizeof(double)
};

static identity identity_of(const space *a)
{
    const query *w = a->w;
    identity id = {
        .absorb = w->absorb, .dt = w->dt, .steps = w->steps, .fields = fields_of(w)};
    for (int k = 0; k < 3; k++) {
        id.n[k] = w->n[k];
        id.d[k] = w->d[k];
    }
    id.rock = 14695981039346656037u;
    const unsigned char *bytes = (const unsigned char *)a->rock;
    for (size_t i = 0; i < a->count * sizeof *a->rock; i++)
        id.rock = (id.rock ^ bytes[i]) * 1099511628211u;
    return id;
}

double *oracle(const space *a, const char *path, const doubt **d, const double **right)
{
    size_t fields = fields_of(a->w);
    npy all = {
        .type = NPY_F8, .dims = 1, .shape = {IDENTITY + fields * (DOUBT + a->count)}};
    identity id = identity_of(a);
    bool kept = oracle_kept(path, &all, &id, sizeof id);
    doubt *doubts = (doubt *)((double *)all.data + IDENTITY);
    *d = doubts;
    *right = (double *)(doubts + fields);
    if (!kept) {
        model(a, (double *)(doubts + fields), doubts);
        npy_write(path, &all);
    }
    return all.data;
}
