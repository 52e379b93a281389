/* oracle_fletcher.c - see oracle_fletcher.h.
 *
 * The weights of the finite differences are computed from factorials. A step computes
 * the gradient on the whole grid, differentiates it again, and evaluates n . Hessian .
 * n. The scheme stores p and q and their change in the last step. To estimate the
 * effect of rounding, the model is computed twice: once in double, and once with the
 * rock, the source and, after each step, p and q rounded to float.
 */
#include "oracle_fletcher.h"

#include "verdict.h"

static const double PI = 3.141592653589793;

/* ---- arguments --------------------------------------------------------------------
 */

const char *const property_name[PROPERTIES] = {"vpz", "epsilon", "delta", "theta",
                                               "phi"};

size_t inner_size(const query *w)
{
    return (size_t)w->n[0] * (size_t)w->n[1] * (size_t)w->n[2];
}

/* Reads a property: a number for all points, or a file with one number per point,
 * rounded to float. */
static void read_property(query *w, int k, const char *text)
{
    size_t count = inner_size(w);
    double *v = w->property[k] = allocate(count, sizeof *v, property_name[k]);
    char *end;
    v[0] = strtod(text, &end);
    if (!*end) {
        for (size_t i = 1; i < count; i++) v[i] = v[0];
        return;
    }
    npy a = npy_load(property_name[k], text);
    if (npy_count(&a) != count || (a.type != NPY_F4 && a.type != NPY_F8))
        fail("%s=%s: wrong type or size: expected %zu floating-point numbers",
             property_name[k], text, count);
    for (size_t i = 0; i < count; i++) v[i] = (float)npy_element(&a, i);
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
    int group[3];
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
                   {"vpz", ARG_TEXT, &text[VPZ], 0, 0, 0, 0},
                   {"epsilon", ARG_TEXT, &text[EPSILON], 0, 0, 0, 0},
                   {"delta", ARG_TEXT, &text[DELTA], 0, 0, 0, 0},
                   {"theta", ARG_TEXT, &text[THETA], 0, 0, 0, 0},
                   {"phi", ARG_TEXT, &text[PHI], 0, 0, 0, 0},
                   {"snapshots", ARG_TEXT, &w.snapshots, 0, 0, 0, 0},
                   {"picture", ARG_TEXT, &picture, 0, 0, "not checked", 0},
                   {ARG_LOCAL(group)},
                   {.value = extra}};
    args_parse(argc, argv, table, about);

    for (w.steps = 1; w.steps * w.dt < w.tmax - 1e-6 * w.dt;) w.steps++;
    int chosen = parse_choice("form", form, "ISO", "VTI", "TTI");
    for (int k = 0; k < PROPERTIES; k++)
        read_property(&w, k, text[k] ? text[k] : media[chosen].text[k]);
    return w;
}

/* Returns whether a snapshot follows step `it`, if `before` snapshots precede it. Each
 * hundredth of a second has one snapshot: that of the first step that reaches this time
 * and does not belong to an earlier snapshot. */
static bool snapshot_due(const query *w, int it, size_t before)
{
    return w->snapshots && it * w->dt >= 0.01 * (double)(before + 1) - 1e-9;
}

static size_t snapshots_of(const query *w)
{
    size_t count = 0;
    for (int it = 1; it <= w->steps; it++) count += snapshot_due(w, it, count);
    return count;
}

/* ---- the rock ---------------------------------------------------------------------
 */

bool is_in_halo(const space *a, size_t i)
{
    for (int k = 2; k >= 0; k--) {
        int position = (int)(i / (size_t)a->step[k]);
        i %= (size_t)a->step[k];
        if (position < HALF_WIDTH || position >= a->s[k] - HALF_WIDTH) return true;
    }
    return false;
}

/* Returns a random number for a point, uniform in [0, 1). */
static double random_number(uint64_t point)
{
    return (double)(random_bits(0, point + 1) / 2048) / 9007199254740992.0;
}

static double shear(const query *w, size_t i)
{
    double apart = fabs(w->property[EPSILON][i] - w->property[DELTA][i]);
    return w->sigma > 10 ? 0 : sqrt(apart / w->sigma) * w->property[VPZ][i];
}

space space_of(const query *w)
{
    space a = {.w = w, .count = 1};
    for (int k = 0; k < 3; k++) {
        a.s[k] = w->n[k] + 2 * w->absorb + 2 * HALF_WIDTH;
        a.step[k] = (ptrdiff_t)a.count;
        a.count *= (size_t)a.s[k];
    }
    a.rock = allocate(a.count, sizeof *a.rock, "the rock");
    memset(a.rock, 0, a.count * sizeof *a.rock);

    double fastest = 0, fastest_shear = 0;
    for (size_t i = 0; i < inner_size(w); i++) {
        fastest = fmax(fastest, w->property[VPZ][i]);
        fastest_shear = fmax(fastest_shear, shear(w, i));
    }
    for (size_t i = 0; i < a.count; i++) {
        /* The nearest point of the inner grid, and the distance from it. */
        size_t nearest = 0;
        int distance = 0;
        for (int k = 2; k >= 0; k--) {
            int position = (int)(i / (size_t)a.step[k] % (size_t)a.s[k]);
            int inner = position - HALF_WIDTH - w->absorb,
                beyond = inner - (w->n[k] - 1);
            distance = -inner > distance   ? -inner
                       : beyond > distance ? beyond
                                           : distance;
            inner = inner < 0 ? 0 : beyond > 0 ? w->n[k] - 1 : inner;
            nearest = nearest * (size_t)w->n[k] + (size_t)inner;
        }
        if (distance > w->absorb) continue;
        double vp = w->property[VPZ][nearest], vs = shear(w, nearest);
        /* A medium without a positive energy (p and q as coupled strings) is not
         * varied. */
        double across = 1 + 2 * w->property[DELTA][nearest];
        bool varies = w->property[DELTA][nearest] <= w->property[EPSILON][nearest] &&
                      vs * vs <= vp * vp * across * (1 + 1e-9);
        if (distance && varies) {
            double weight = (double)distance / w->absorb, random = random_number(i);
            vp += weight * (random * fastest - vp);
            vs += weight * (random * fastest_shear - vs);
            if (vs * vs > vp * vp * across) vs = vp * sqrt(across);
        }
        double theta = w->property[THETA][nearest], phi = w->property[PHI][nearest];
        a.rock[i] =
            (coefficients){{cos(phi) * sin(theta), sin(phi) * sin(theta), cos(theta)},
                           vp * vp + 2 * w->property[EPSILON][nearest] * vp * vp,
                           vp * vp,
                           vp * vp + 2 * w->property[DELTA][nearest] * vp * vp,
                           vs * vs};
    }
    return a;
}

/* ---- the model in double ----------------------------------------------------------
 */

/* Half a unit in the last place of a float, relative. */
static const double ROUNDING = 0x1p-24;

/* Weights of the points at distance 0 .. HALF_WIDTH for the first and the second
 * derivative. second_weight[0] follows from the others, because a constant has
 * derivative 0. */
static double first_weight[HALF_WIDTH + 1], second_weight[HALF_WIDTH + 1];

static double factorial(int n)
{
    return tgamma(n + 1.0);
}

static void compute_weights(void)
{
    for (int k = 1; k <= HALF_WIDTH; k++) {
        double w = factorial(HALF_WIDTH) / factorial(HALF_WIDTH - k) *
                   factorial(HALF_WIDTH) / factorial(HALF_WIDTH + k) / k;
        first_weight[k] = k % 2 ? w : -w;
        second_weight[k] = 2 * first_weight[k] / k;
        second_weight[0] -= 2 * second_weight[k];
    }
}

static double first(const double *f, ptrdiff_t s, double d)
{
    double sum = 0;
    for (ptrdiff_t k = HALF_WIDTH; k > 0; k--)
        sum += first_weight[k] * (f[k * s] - f[-k * s]);
    return sum / d;
}

static double second(const double *f, ptrdiff_t s, double d)
{
    double sum = 0;
    for (ptrdiff_t k = HALF_WIDTH; k > 0; k--)
        sum += second_weight[k] * (f[k * s] + f[-k * s]);
    return (sum + second_weight[0] * f[0]) / d / d;
}

/* A Ricker wavelet, as in the paper's code, with its maximum at sqrt(pi) / 20 s. */
static double ricker(double t)
{
    double phase = 40 * PI / 3 * (t - sqrt(PI) / 20);
    return exp(-phase * phase) * (1 - 2 * phase * phase);
}

/* A field: its current value, its change in the last step, and its derivatives along x
 * and y. */
typedef struct {
    double *now, *gain, *along_x, *along_y;
} field;

/* p and q, rounded to float after each step if `rounded`. */
typedef struct {
    field p, q;
    bool rounded;
} waves;

static field field_of(size_t n)
{
    double *buffer = allocate(4 * n, sizeof *buffer, "a field and its derivatives");
    memset(buffer, 0, 4 * n * sizeof *buffer);
    return (field){buffer, buffer + n, buffer + 2 * n, buffer + 3 * n};
}

/* Returns the second derivative along the axis (H1), and in *across the one across it
 * (H2). */
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

/* Lists the elements that a step updates, all except the halo. Returns their number. */
static size_t inner_points(const space *a, size_t *inner)
{
    size_t count = 0;
    for (size_t i = 0; i < a->count; i++)
        if (!is_in_halo(a, i)) inner[count++] = i;
    return count;
}

static double as_float(double v, bool rounded)
{
    return rounded ? (float)v : v;
}

/* Adds gain[i] to f[i], and sets gain[i] to the change after rounding. */
static void add_increment(double *f, double *gain, size_t i, bool rounded)
{
    double next = as_float(f[i] + gain[i], rounded);
    gain[i] = next - f[i];
    f[i] = next;
}

static coefficients rounded_rock(coefficients c, bool rounded)
{
    double *values[] = {&c.axis[0], &c.axis[1], &c.axis[2], &c.vpx2,
                        &c.vpz2,    &c.vpn2,    &c.vsz2};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++)
        *values[k] = as_float(*values[k], rounded);
    return c;
}

/* Adds f at the source, element i. */
static void add_source(const field *target, size_t i, double f, bool rounded)
{
    double gain = f;
    add_increment(target->now + i, &gain, 0, rounded);
    target->gain[i] += gain;
}

/* Computes the step from time t to t + dt, for the elements inner[points]. */
static void time_step(const space *a, const waves *v, double t, const size_t *inner,
                      size_t points)
{
    const query *w = a->w;
    const field p = v->p, q = v->q;
    size_t source = 0;
    for (int k = 0; k < 3; k++) source += (size_t)(a->s[k] / 2) * (size_t)a->step[k];
    add_source(&p, source, as_float(ricker(t), v->rounded), v->rounded);
    add_source(&q, source, as_float(ricker(t), v->rounded), v->rounded);
#pragma omp parallel for
    for (size_t k = 0; k < points; k++) {
        size_t i = inner[k];
        p.along_x[i] = first(p.now + i, a->step[0], w->d[0]);
        p.along_y[i] = first(p.now + i, a->step[1], w->d[1]);
        q.along_x[i] = first(q.now + i, a->step[0], w->d[0]);
        q.along_y[i] = first(q.now + i, a->step[1], w->d[1]);
    }
#pragma omp parallel for
    for (size_t k = 0; k < points; k++) {
        size_t i = inner[k];
        coefficients c = rounded_rock(a->rock[i], v->rounded);
        double p2, p1 = along_axis(a, &p, i, c.axis, &p2);
        double q2, q1 = along_axis(a, &q, i, c.axis, &q2);
        double p_tt = c.vpx2 * p2 + (c.vpz2 - c.vsz2) * q1 + c.vsz2 * p1;
        double q_tt = (c.vpn2 - c.vsz2) * p2 + c.vpz2 * q1 + c.vsz2 * q2;
        p.gain[i] += w->dt * w->dt * p_tt;
        q.gain[i] += w->dt * w->dt * q_tt;
    }
#pragma omp parallel for
    for (size_t k = 0; k < points; k++) {
        add_increment(p.now, p.gain, inner[k], v->rounded);
        add_increment(q.now, q.gain, inner[k], v->rounded);
    }
}

/* The history of a field: the largest value and the largest effect of rounding at each
 * point so far, and the norms of the effect. These never decrease, because the error of
 * one step stays in the field even if it is small at a later moment. */
typedef struct {
    double *value, *error, norm, max;
} history;

static history history_of(size_t n)
{
    double *buffer = allocate(2 * n, sizeof *buffer, "the history of a field");
    memset(buffer, 0, 2 * n * sizeof *buffer);
    return (history){buffer, buffer + n, 0, 0};
}

static void update_history(history *h, const double *exact, const double *rounded,
                           size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        double error = fabs(rounded[i] - exact[i]);
        squares += error * error;
        h->max = fmax(h->max, error);
        h->error[i] = fmax(h->error[i], error);
        h->value[i] = fmax(h->value[i], fabs(exact[i]));
    }
    h->norm = fmax(h->norm, sqrt(squares));
}

/* dst[i] = the largest element of src within `reach` points of i along each axis, times
 * weight[distance] for each axis; src is overwritten. */
static void largest_near(const space *a, double *dst, double *src, int reach,
                         const double *weight)
{
    for (int axis = 0; axis < 3; axis++) {
        ptrdiff_t step = a->step[axis], length = a->s[axis];
        for (size_t i = 0; i < a->count; i++) {
            ptrdiff_t at = (ptrdiff_t)i / step % length;
            dst[i] = src[i];
            for (ptrdiff_t k = -reach; k <= reach; k++)
                if (at + k >= 0 && at + k < length)
                    dst[i] = fmax(dst[i], weight[k < 0 ? -k : k] *
                                              src[(ptrdiff_t)i + k * step]);
        }
        if (axis < 2) memcpy(src, dst, a->count * sizeof *src);
    }
}

/* Sets the norms and, for each point, the effect of rounding. */
static void summarize(const space *a, const history *h, rounding *d)
{
    size_t n = a->count;
    double *copy = allocate(2 * n, sizeof *copy, "largest values"), *value = copy + n;
    double weight[HALF_WIDTH + 1] = {1};
    for (int k = 1; k <= HALF_WIDTH; k++)
        weight[k] = fmax(fabs(first_weight[k]), fabs(second_weight[k]));
    memcpy(copy, h->value, n * sizeof *copy);
    largest_near(a, value, copy, HALF_WIDTH, weight);
    memcpy(copy, h->error, n * sizeof *copy);
    largest_near(a, d->local, copy, 1, (double[]){1, 1});
    for (size_t i = 0; i < n; i++) d->local[i] += ROUNDING * value[i];
    d->norm = h->norm, d->max = h->max;
    free(copy);
}

/* Computes p and q after all steps and, after them in `fields`, the snapshots of p. d
 * receives the effect of rounding on each. */
static void run_model(const space *a, double *fields, rounding *d)
{
    const query *w = a->w;
    size_t n = a->count, *inner = allocate(n, sizeof *inner, "points");
    size_t points = inner_points(a, inner), written = 0;
    waves exact = {field_of(n), field_of(n), false};
    waves rounded = {field_of(n), field_of(n), true};
    history p = history_of(n), q = history_of(n);

    compute_weights();
    for (int it = 0; it < w->steps; it++) {
        time_step(a, &exact, it * w->dt, inner, points);
        time_step(a, &rounded, it * w->dt, inner, points);
        update_history(&p, exact.p.now, rounded.p.now, n);
        update_history(&q, exact.q.now, rounded.q.now, n);
        if (snapshot_due(w, it + 1, written)) {
            summarize(a, &p, &d[2 + written]);
            memcpy(fields + (2 + written++) * n, exact.p.now, n * sizeof *fields);
        }
        progress("oracle", it + 1, w->steps);
    }
    summarize(a, &p, &d[0]);
    summarize(a, &q, &d[1]);
    memcpy(fields, exact.p.now, n * sizeof *fields);
    memcpy(fields + n, exact.q.now, n * sizeof *fields);
    double *buffers[] = {exact.p.now,   exact.q.now, rounded.p.now,
                         rounded.q.now, p.value,     q.value};
    for (int k = 0; k < 6; k++) free(buffers[k]);
    free(inner);
}

/* ---- the oracle's file -------------------------------------------------------------
 */

size_t fields_of(const query *w)
{
    return 2 + snapshots_of(w);
}

/* Identifies a model: its grid and its rock. */
static uint64_t model_id(const space *a)
{
    const query *w = a->w;
    double numbers[] = {w->absorb, w->dt, w->steps, (double)fields_of(w)};
    uint64_t id = digest_update(0, numbers, sizeof numbers);
    id = digest_update(id, w->n, sizeof w->n);
    id = digest_update(id, w->d, sizeof w->d);
    return digest_update(id, a->rock, a->count * sizeof *a->rock);
}

/* The file contains the norm and the maximum of the effect of rounding on each field,
 * the effect at each point, and the fields. */
static size_t before_fields(const space *a)
{
    return fields_of(a->w) * (2 + a->count);
}

const double *oracle(const space *a, const char *path, rounding *d)
{
    bool kept;
    size_t fields = fields_of(a->w), count = before_fields(a) + fields * a->count;
    double *stored = oracle_open(path, NPY_F8, count, model_id(a), &kept);
    for (size_t k = 0; k < fields; k++) d[k].local = stored + 2 * fields + k * a->count;
    if (!kept) {
        run_model(a, stored + before_fields(a), d);
        for (size_t k = 0; k < fields; k++) {
            stored[2 * k] = d[k].norm;
            stored[2 * k + 1] = d[k].max;
        }
        oracle_keep(path, NPY_F8, count, stored);
    }
    for (size_t k = 0; k < fields; k++) {
        d[k].norm = stored[2 * k];
        d[k].max = stored[2 * k + 1];
    }
    return stored + before_fields(a);
}

void release_oracle(const space *a, const double *fields)
{
    oracle_free((double *)fields - before_fields(a));
}
