/* check_fletcher.c - are the waves that a step modelled the right ones? The program
 * fletcher-check.
 *
 *     fletcher-check QUERY oracle=FILE [p=p.npy] [q=q.npy] [truth=FILE ...]
 *
 * The oracle is the same model in double precision, with cross derivatives of 64
 * points, unrounded coefficients and nothing taken from steps/. It takes a while, so it
 * is kept: a FILE that exists is read, and refused if it belongs to another model.
 *
 * p and q may differ from it by the rounding of float, which grows with the steps: at
 * most so much of its L2 norm, and at no point by more than so much of its largest
 * value. What needs no oracle is required to the bit: the halo is 0, and where the rock
 * is isotropic p is q.
 *
 * Prints key=value lines, the last one verdict=ok or verdict=FAIL and the reason; exits
 * with 0 only if ok. Left out: judging times and snapshots.
 */
#include "compare.h"
#include "model.h"
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

static double growth(int steps)
{
    return steps <= 100 ? 1 : pow(steps / 100.0, log(10) / log(5));
}

/* ---- the model in double --------------------------------------------------------- */

static const double w2[5] = {-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560};
static const double w1[5] = {0, 4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};

/* What the equations need of the rock at a point: the axis, and squared velocities. */
typedef struct {
    double n[3], vpx2, vpz2, vpn2, vsz2;
} coefficients;

typedef struct {
    const model *m;
    int s[3];          /* points along x, y, z */
    ptrdiff_t step[3]; /* from a point to the next, in elements */
    size_t count;
    coefficients *rock; /* [count] */
} space;

static space space_of(const model *m)
{
    space a = {.m = m, .count = 1};
    for (int k = 0; k < 3; k++) {
        a.s[k] = m->n[k] + 2 * (m->absorb + HALO);
        a.step[k] = (ptrdiff_t)a.count;
        a.count *= (size_t)a.s[k];
    }
    a.rock = allocate(a.count, sizeof *a.rock, "the rock");
    size_t i = 0;
    for (int z = 0; z < a.s[2]; z++)
        for (int y = 0; y < a.s[1]; y++)
            for (int x = 0; x < a.s[0]; x++, i++) {
                rock r = rock_at(m, x, y, z);
                double square = r.vpz * r.vpz;
                a.rock[i] = (coefficients){{sin(r.theta) * cos(r.phi),
                                            sin(r.theta) * sin(r.phi), cos(r.theta)},
                                           square + 2 * r.epsilon * square,
                                           square,
                                           square + 2 * r.delta * square,
                                           r.vsz * r.vsz};
            }
    return a;
}

static double second(const double *f, ptrdiff_t s)
{
    double sum = w2[0] * f[0];
    for (ptrdiff_t a = 1; a <= HALO; a++) sum += w2[a] * (f[-a * s] + f[a * s]);
    return sum;
}

static double cross(const double *f, ptrdiff_t s, ptrdiff_t t)
{
    double sum = 0;
    for (ptrdiff_t a = 1; a <= HALO; a++) {
        double along = 0;
        for (ptrdiff_t b = 1; b <= HALO; b++)
            along += w1[b] * (f[a * s + b * t] - f[a * s - b * t] - f[b * t - a * s] +
                              f[-a * s - b * t]);
        sum += w1[a] * along;
    }
    return sum;
}

/* H1, the second derivative along the axis, and the Laplacian, of f at a point. */
static void derive(const space *a, const double n[3], const double *f, double *h1,
                   double *laplacian)
{
    const double *d = a->m->d;
    *h1 = *laplacian = 0;
    for (int k = 0; k < 3; k++) {
        double v = second(f, a->step[k]) / (d[k] * d[k]);
        *laplacian += v;
        *h1 += n[k] * n[k] * v;
        int l = (k + 1) % 3;
        *h1 += 2 * n[k] * n[l] * cross(f, a->step[k], a->step[l]) / (d[k] * d[l]);
    }
}

/* p and q after all steps, in the two halves of waves[2 count]. */
static void oracle_compute(const space *a, double *waves)
{
    size_t n = a->count, bytes = 2 * n * sizeof(double);
    double *before = allocate(2 * n, sizeof *before, "waves of before");
    double *now = allocate(2 * n, sizeof *now, "waves of now");
    memset(before, 0, bytes);
    memset(now, 0, bytes);
    size_t source = 0;
    for (int k = 0; k < 3; k++) source += (size_t)(a->s[k] / 2) * (size_t)a->step[k];

    double dt2 = a->m->dt * a->m->dt;
    for (int it = 1; it <= a->m->steps; it++) {
        now[source] += source_at(a->m, it);
        now[n + source] += source_at(a->m, it);
#pragma omp parallel for
        for (int z = HALO; z < a->s[2] - HALO; z++)
            for (int y = HALO; y < a->s[1] - HALO; y++)
                for (int x = HALO; x < a->s[0] - HALO; x++) {
                    size_t i = (size_t)z * (size_t)a->step[2] +
                               (size_t)y * (size_t)a->step[1] + (size_t)x;
                    const coefficients *c = &a->rock[i];
                    double h1p, h1q, lp, lq;
                    derive(a, c->n, now + i, &h1p, &lp);
                    derive(a, c->n, now + n + i, &h1q, &lq);
                    double h2p = lp - h1p, h2q = lq - h1q;
                    double p = c->vpx2 * h2p + c->vpz2 * h1q + c->vsz2 * (h1p - h1q);
                    double q = c->vpn2 * h2p + c->vpz2 * h1q - c->vsz2 * (h2p - h2q);
                    before[i] = 2 * now[i] - before[i] + dt2 * p;
                    before[n + i] = 2 * now[n + i] - before[n + i] + dt2 * q;
                }
        double *swap = before;
        before = now;
        now = swap;
        progress("oracle", it, a->m->steps);
    }
    memcpy(waves, now, bytes);
    free(now);
    free(before);
}

/* ---- the oracle's file -------------------------------------------------------------
 */

/* Of which model it is; the sums are over all points, so that they see fields too. */
typedef struct {
    double n[3], d[3], absorb, dt, steps, shear, speed, axis;
} identity;

enum { IDENTITY = sizeof(identity) / sizeof(double) };

static identity identity_of(const space *a)
{
    const model *m = a->m;
    identity id = {.absorb = m->absorb, .dt = m->dt, .steps = m->steps};
    for (int k = 0; k < 3; k++) {
        id.n[k] = m->n[k];
        id.d[k] = m->d[k];
    }
    for (size_t i = 0; i < a->count; i++) {
        const coefficients *c = &a->rock[i];
        id.shear += c->vsz2;
        id.speed += c->vpz2 + 3 * c->vpx2 + 5 * c->vpn2;
        id.axis += (double)(i % 97) * (c->n[0] + 3 * c->n[1] + 5 * c->n[2]);
    }
    return id;
}

/* p and q, one after the other, from path, which is made if it does not exist. */
static double *oracle(const space *a, const char *path)
{
    npy all = {.type = NPY_F8, .dims = 1, .shape = {IDENTITY + 2 * a->count}};
    identity id = identity_of(a);
    if (!oracle_kept(path, &all, &id, sizeof id)) {
        oracle_compute(a, (double *)all.data + IDENTITY);
        npy_write(path, &all);
    }
    return all.data;
}

/* ---- the verdict -------------------------------------------------------------------
 */

static bool in_halo(const space *a, size_t i)
{
    for (int k = 2; k >= 0; k--) {
        int at = (int)(i / (size_t)a->step[k]);
        i %= (size_t)a->step[k];
        if (at < HALO || at >= a->s[k] - HALO) return true;
    }
    return false;
}

/* Compares one field; the elements are left in *got, for the caller to free. */
static void check_field(const space *a, const char *name, const char *path,
                        const double *right, npy *got, report *rep)
{
    npy like = {.type = NPY_F4, .dims = 3};
    for (int k = 0; k < 3; k++) like.shape[k] = (size_t)a->s[2 - k];
    *got = read_result(rep, name, path, like);
    if (!got->data) return;

    double difference = 0, norm = 0, largest = 0, far = 0;
    size_t where = 0;
    for (size_t i = 0; i < a->count; i++) {
        double v = element(got, i), d = v - right[i];
        require(rep, isfinite(v), "%s[%zu] is %g", name, i, v);
        if (v != 0)
            require(rep, !in_halo(a, i), "%s[%zu], in the halo, is %g, not 0", name, i,
                    v);
        difference += d * d;
        norm += right[i] * right[i];
        largest = fmax(largest, fabs(right[i]));
        if (fabs(d) > far) far = fabs(d), where = i;
    }
    double grown = growth(a->m->steps);
    require(rep, norm > 0, "%s: the oracle is 0 everywhere: it proves nothing", name);
    judge(rep, sqrt(difference / norm), BUDGET_L2 * grown,
          "%s differs by %.3g of its L2 norm, %.3g allowed", name,
          sqrt(difference / norm), BUDGET_L2 * grown);
    judge(rep, far / largest, BUDGET_MAX * grown,
          "%s at (z %zu, y %zu, x %zu) is %.9g, in double %.9g; %.3g allowed", name,
          where / (size_t)a->step[2], where % (size_t)a->step[2] / (size_t)a->step[1],
          where % (size_t)a->step[1], element(got, where), right[where],
          BUDGET_MAX * grown * largest);
}

static bool isotropic(const model *m)
{
    return !m->field[EPSILON] && !m->field[DELTA] && m->value[EPSILON] == 0 &&
           m->value[DELTA] == 0;
}

/* A file says "vpz LOW HIGH": the extremes of a field, as its maker knows them. */
static void check_truth(const model *m, const char *path, report *rep)
{
    static const char *const names[PROPERTIES] = {"vpz", "epsilon", "delta", "theta",
                                                  "phi"};
    FILE *f = fopen(path, "r");
    if (!f) fail("truth=%s: cannot be read", path);
    char name[32];
    double low, high;
    if (fscanf(f, "%31s %lf %lf", name, &low, &high) != 3)
        fail("truth=%s: expected NAME LOW HIGH", path);
    fclose(f);
    size_t points = (size_t)m->n[0] * (size_t)m->n[1] * (size_t)m->n[2];
    for (int k = 0; k < PROPERTIES; k++) {
        if (strcmp(name, names[k])) continue;
        require(rep, m->field[k], "truth: %s is no field here", name);
        double least = INFINITY, most = -INFINITY;
        for (size_t i = 0; m->field[k] && i < points; i++) {
            least = fmin(least, m->field[k][i]);
            most = fmax(most, m->field[k][i]);
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
    model m = model_parse(words, argv, extra, about);
    if (!oracle_path) fail("oracle= is missing");

    space a = space_of(&m);
    double *all = oracle(&a, oracle_path);
    report rep = NOTHING_DIFFERS;
    npy got_p = {0}, got_q = {0};
    if (p) check_field(&a, "p", p, all + IDENTITY, &got_p, &rep);
    if (q) check_field(&a, "q", q, all + IDENTITY + a.count, &got_q, &rep);
    if (p && q && isotropic(&m) && rep.ok)
        require(&rep, !memcmp(got_p.data, got_q.data, a.count * sizeof(float)),
                "the rock is isotropic, and p is not q");
    for (int i = 0; i < truths; i++) check_truth(&m, truth[i], &rep);

    printf("steps=%d\n", m.steps);
    int status = verdict(&rep, p || q || truths);

    free(got_p.data);
    free(got_q.data);
    free(all);
    free(a.rock);
    model_free(&m);
    return status;
}
