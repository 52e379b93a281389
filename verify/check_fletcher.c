/* check_fletcher.c - are the waves that a step modelled the right ones? The program
 * fletcher-check.
 *
 *     fletcher-check QUERY oracle=FILE [p=p.npy] [q=q.npy] [truth=FILE ...]
 *
 * The oracle is the same model in double precision, made from the equations and from
 * what the words of a query mean, and from nothing else: it reads the words, makes the
 * rock and the source's signal, derives and goes from step to step by itself. Weights
 * come from factorials; a step makes the gradient of the whole grid, then its
 * derivatives, then the Hessian's product with the axis; p and q are kept with how much
 * they changed. It takes a while, so it is kept: a FILE that exists is read, and
 * refused if it belongs to another model.
 *
 * p and q may differ from it by the rounding of float, which grows with the steps: at
 * most so much of its L2 norm, and at no point by more than so much of its largest
 * value. Where waves die out or pile up that is less than any float can hold: the model
 * is made a second time with its rock and source rounded, and p and q after every step;
 * a few times what that
 * changes is allowed too. What needs no oracle is required to the bit: the halo is 0,
 * and where epsilon is delta, as in isotropic rock, p is q.
 *
 * Prints key=value lines, the last one verdict=ok or verdict=FAIL and the reason; exits
 * with 0 only if ok. Snapshots are judged as p is, where the words name their folder.
 * Left out: judging times and pictures, and refusing what cannot be modelled.
 */
#include "compare.h"
#include "verdict.h"

static const char about[] =
    "checks what a wave modelling wrote against the same in double precision\n"
    "\n"
    "  fletcher-check QUERY oracle=FILE [p=FILE] [q=FILE] [truth=FILE ...]\n"
    "\n"
    "QUERY is what the modelling was called with. Exit status 0: verdict=ok.";

/* Relative, up to 100 steps: of the L2 norm, and of the largest value. From there they
 * grow tenfold to 500 steps. */
static const double BUDGET_L2 = 2e-6, BUDGET_MAX = 1e-5;

/* Times the difference that rounding p and q to float makes: a step rounds more often.
 */
static const double ROUNDINGS = 8;

static double growth(int steps)
{
    return steps <= 100 ? 1 : pow(steps / 100.0, log(10) / log(5));
}

/* Points to either side that a derivative of order 8 needs, and the layers of each face
 * that stay 0. */
enum { REACH = 4 };

static const double PI = 3.141592653589793;

/* ---- what the words mean ----------------------------------------------------------
 */

enum { SPEED, ALONG, NEAR, DIP, AZIMUTH, PROPERTIES };
static const char *const names[PROPERTIES] = {"vpz", "epsilon", "delta", "theta",
                                              "phi"};

typedef struct {
    int n[3], absorb; /* points inside, along x, y, z, and of the band around them */
    double d[3], dt, tmax, sigma;
    int steps;
    const char *snapshots;      /* their folder, or NULL */
    double *inside[PROPERTIES]; /* [nz][ny][nx] */
    bool file[PROPERTIES];      /* it came from one */
} query;

static size_t points_inside(const query *w)
{
    return (size_t)w->n[0] * (size_t)w->n[1] * (size_t)w->n[2];
}

/* A number for all points, or the file of one for each, which counts as float. */
static void read_property(query *w, int k, const char *text)
{
    size_t count = points_inside(w);
    double *v = w->inside[k] = allocate(count, sizeof *v, names[k]);
    char *rest, why[NPY_WHY];
    v[0] = strtod(text, &rest);
    if (!*rest) {
        for (size_t i = 1; i < count; i++) v[i] = v[0];
        return;
    }
    npy a;
    if (npy_read(text, &a, why)) fail("%s=%s: %s", names[k], text, why);
    if (npy_count(&a) != count || (a.type != NPY_F4 && a.type != NPY_F8))
        fail("%s=%s: expected %zu floating-point numbers", names[k], text, count);
    for (size_t i = 0; i < count; i++) v[i] = (float)element(&a, i);
    w->file[k] = true;
    free(a.data);
}

static query query_of(int argc, char **argv, arg *extra)
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

/* What the equations need of it: the axis, and squares of velocities. */
typedef struct {
    double axis[3], vpx2, vpz2, vpn2, vsz2;
} coefficients;

typedef struct {
    const query *w;
    int s[3];          /* points along x, y, z, band and halo included */
    ptrdiff_t step[3]; /* from a point to the next, in elements */
    size_t count;
    coefficients *rock;   /* [count]; of the halo nothing */
    coefficients *coarse; /* the same in float */
} space;

static bool in_halo(const space *a, size_t i)
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

static space space_of(const query *w)
{
    space a = {.w = w, .count = 1};
    for (int k = 0; k < 3; k++) {
        a.s[k] = w->n[k] + 2 * w->absorb + 2 * REACH;
        a.step[k] = (ptrdiff_t)a.count;
        a.count *= (size_t)a.s[k];
    }
    a.rock = allocate(a.count, sizeof *a.rock, "the rock");
    a.coarse = allocate(a.count, sizeof *a.coarse, "the rock in float");
    memset(a.rock, 0, a.count * sizeof *a.rock);
    memset(a.coarse, 0, a.count * sizeof *a.coarse);

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
        const double *fine = (const double *)&a.rock[i];
        for (size_t k = 0; k < sizeof *a.rock / sizeof *fine; k++)
            ((double *)&a.coarse[i])[k] = (float)fine[k];
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

/* One of the two fields: what it is, how much of that came with the last step, and its
 * derivatives along x and y. */
typedef struct {
    double *now, *gain, *along_x, *along_y;
} field;

static field field_of(double *now, size_t n)
{
    double *more = allocate(3 * n, sizeof *more, "a field's derivatives");
    memset(now, 0, n * sizeof *now);
    memset(more, 0, 3 * n * sizeof *more);
    return (field){now, more, more + n, more + 2 * n};
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

/* p and q after all steps, in waves[.. count], and behind them p in snapshots; in
 * float, if rounded. */
static void model(const space *a, double *waves, bool rounded)
{
    const query *w = a->w;
    field p = field_of(waves, a->count), q = field_of(waves + a->count, a->count);
    size_t source = 0;
    for (int k = 0; k < 3; k++) source += (size_t)(a->s[k] / 2) * (size_t)a->step[k];

    size_t *inner = allocate(a->count, sizeof *inner, "points");
    size_t points = inner_points(a, inner), made = 0;

    for (int it = 0; it < w->steps; it++) {
        double f = as_float(ricker(it * w->dt), rounded), signal[2] = {f, f};
        field *both[2] = {&p, &q};
        for (int k = 0; k < 2; k++) {
            advance(both[k]->now + source, &signal[k], 0, rounded);
            both[k]->gain[source] += signal[k];
        }
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
            const coefficients *c = rounded ? &a->coarse[i] : &a->rock[i];
            double p2, p1 = along_axis(a, &p, i, c->axis, &p2);
            double q2, q1 = along_axis(a, &q, i, c->axis, &q2);
            double more_p = c->vpx2 * p2 + (c->vpz2 - c->vsz2) * q1 + c->vsz2 * p1;
            double more_q = (c->vpn2 - c->vsz2) * p2 + c->vpz2 * q1 + c->vsz2 * q2;
            p.gain[i] += w->dt * w->dt * more_p;
            q.gain[i] += w->dt * w->dt * more_q;
        }
#pragma omp parallel for
        for (size_t at = 0; at < points; at++) {
            advance(p.now, p.gain, inner[at], rounded);
            advance(q.now, q.gain, inner[at], rounded);
        }
        if (snapshot_due(w, it + 1, made))
            memcpy(waves + (2 + made++) * a->count, p.now, a->count * sizeof *p.now);
        progress("oracle", it + 1, w->steps);
    }
    free(inner);
    free(p.gain);
    free(q.gain);
}

/* ---- the oracle's file -------------------------------------------------------------
 */

/* p, q, and the snapshots of p. */
static size_t fields_of(const query *w)
{
    return 2 + snapshots_of(w);
}

/* Of which model it is: its grid, and a number (FNV-1a) made from all of its rock. */
typedef struct {
    double n[3], d[3], absorb, dt, steps, fields;
    uint64_t rock;
} identity;

/* What rounding changes of a field: the L2 norm, and at most. */
typedef struct {
    double norm, most;
} doubt;

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

static doubt doubt_of(const double *exact, const double *rounded, size_t n)
{
    doubt d = {0, 0};
    for (size_t i = 0; i < n; i++) {
        d.norm = hypot(d.norm, rounded[i] - exact[i]);
        d.most = fmax(d.most, fabs(rounded[i] - exact[i]));
    }
    return d;
}

/* The doubts of all fields, then the fields, from path, which is made if it does not
 * exist. */
static double *oracle(const space *a, const char *path)
{
    size_t n = a->count, fields = fields_of(a->w);
    npy all = {.type = NPY_F8, .dims = 1, .shape = {IDENTITY + fields * (DOUBT + n)}};
    identity id = identity_of(a);
    if (!oracle_kept(path, &all, &id, sizeof id)) {
        doubt *d = (doubt *)((double *)all.data + IDENTITY);
        double *exact = (double *)(d + fields);
        double *rounded = allocate(fields * n, sizeof *rounded, "the oracle in float");
        make_weights();
        model(a, exact, false);
        model(a, rounded, true);
        for (size_t k = 0; k < fields; k++)
            d[k] = doubt_of(exact + k * n, rounded + k * n, n);
        npy_write(path, &all);
        free(rounded);
    }
    return all.data;
}

/* ---- the verdict -------------------------------------------------------------------
 */

/* Compares one field; the elements are left in *got, for the caller to free. */
static void check_field(const space *a, const char *name, const char *path,
                        const double *right, const doubt *d, npy *got, report *rep)
{
    npy like = {.type = NPY_F4, .dims = 3};
    for (int k = 0; k < 3; k++) like.shape[k] = (size_t)a->s[2 - k];
    *got = read_result(rep, name, path, like);
    if (!got->data) return;

    double difference = 0, norm = 0, largest = 0, far = 0;
    size_t where = 0;
    for (size_t i = 0; i < a->count; i++) {
        double v = element(got, i), off = v - right[i];
        require(rep, isfinite(v), "%s[%zu] is %g", name, i, v);
        if (v != 0)
            require(rep, !in_halo(a, i), "%s[%zu], in the halo, is %g, not 0", name, i,
                    v);
        difference += off * off;
        norm += right[i] * right[i];
        largest = fmax(largest, fabs(right[i]));
        if (fabs(off) > far) far = fabs(off), where = i;
    }
    norm = sqrt(norm), difference = sqrt(difference);
    double grown = growth(a->w->steps);
    double allowed = fmax(BUDGET_L2 * grown * norm, ROUNDINGS * d->norm);
    double anywhere = fmax(BUDGET_MAX * grown * largest, ROUNDINGS * d->most);
    require(rep, norm > 0, "%s: the oracle is 0 everywhere: it proves nothing", name);
    judge(rep, difference, allowed, "%s differs by %.3g of its L2 norm, %.3g allowed",
          name, difference / norm, allowed / norm);
    judge(rep, far, anywhere,
          "%s at (z %zu, y %zu, x %zu) is %.9g, in double %.9g; %.3g allowed", name,
          where / (size_t)a->step[2], where % (size_t)a->step[2] / (size_t)a->step[1],
          where % (size_t)a->step[1], element(got, where), right[where], anywhere);
}

/* Shear waves are absent then, and the two equations one. */
static bool p_is_q(const query *w)
{
    size_t points = points_inside(w);
    return !memcmp(w->inside[ALONG], w->inside[NEAR], points * sizeof(double));
}

/* A file says "vpz LOW HIGH": the extremes of a field, as its maker knows them. */
static void check_truth(const query *w, const char *path, report *rep)
{
    FILE *f = fopen(path, "r");
    if (!f) fail("truth=%s: cannot be read", path);
    char name[32];
    double low, high;
    if (fscanf(f, "%31s %lf %lf", name, &low, &high) != 3)
        fail("truth=%s: expected NAME LOW HIGH", path);
    fclose(f);
    for (int k = 0; k < PROPERTIES; k++) {
        if (strcmp(name, names[k])) continue;
        require(rep, w->file[k], "truth: %s is no field here", name);
        double least = INFINITY, most = -INFINITY;
        for (size_t i = 0; i < points_inside(w); i++) {
            least = fmin(least, w->inside[k][i]);
            most = fmax(most, w->inside[k][i]);
        }
        require(rep, (float)least == (float)low && (float)most == (float)high,
                "truth: %s is %g to %g, not %g to %g", name, least, most, low, high);
        return;
    }
    fail("truth=%s: %s is no property", path, name);
}

int main(int argc, char **argv)
{
    run_name = "fletcher-check";
    const char *oracle_path = NULL, *p = NULL, *q = NULL;
    arg extra[] = {
        {"oracle", ARG_TEXT, &oracle_path, 0, 0,
         ".npy of the model in double; made if it does not exist", 0},
        {"p", ARG_TEXT, &p, 0, 0, ".npy that the modelling wrote as out=", 0},
        {"q", ARG_TEXT, &q, 0, 0, ".npy that it wrote as q=", 0},
        {0},
    };
    /* truth= may come once for each field. */
    const char *truth[PROPERTIES];
    int truths = 0, words = 0;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "truth=", 6) != 0)
            argv[words++] = argv[i];
        else if (truths < PROPERTIES)
            truth[truths++] = argv[i] + 6;
        else
            fail("%s: more than %d", argv[i], PROPERTIES);
    }
    query w = query_of(words, argv, extra);
    if (!oracle_path) fail("oracle= is missing");

    space a = space_of(&w);
    double *all = oracle(&a, oracle_path);
    report rep = NOTHING_DIFFERS;
    npy got_p = {0}, got_q = {0};
    const doubt *d = (const doubt *)(all + IDENTITY);
    const double *right = (const double *)(d + fields_of(&w));
    if (p) check_field(&a, "p", p, right, &d[0], &got_p, &rep);
    if (q) check_field(&a, "q", q, right + a.count, &d[1], &got_q, &rep);
    for (size_t k = 2; k < fields_of(&w); k++) {
        char snapshot[4096], name[32];
        snprintf(name, sizeof name, "p-%04zu.npy", k - 1);
        snprintf(snapshot, sizeof snapshot, "%s/%s", w.snapshots, name);
        npy got = {0};
        check_field(&a, name, snapshot, right + k * a.count, &d[k], &got, &rep);
        free(got.data);
    }
    if (p && q && p_is_q(&w) && rep.ok)
        require(&rep, !memcmp(got_p.data, got_q.data, a.count * sizeof(float)),
                "epsilon is delta, and p is not q");
    for (int i = 0; i < truths; i++) check_truth(&w, truth[i], &rep);

    printf("steps=%d\n", w.steps);
    int status = verdict(&rep, p || q || truths || w.snapshots);

    free(got_p.data);
    free(got_q.data);
    free(all);
    free(a.coarse);
    free(a.rock);
    for (int k = 0; k < PROPERTIES; k++) free(w.inside[k]);
    return status;
}
