/* check_fletcher.c - are the waves that a step modelled the right ones? The program
 * fletcher-check.
 *
 *     fletcher-check QUERY oracle=FILE [p=p.npy] [q=q.npy] [truth=FILE ...]
 *
 * The oracle (oracle_fletcher.c) is the same model in double precision. It takes a
 * while, so it is kept: a FILE that exists is read, and refused if it belongs to
 * another model.
 *
 * p and q may differ from it by the rounding of float, which grows with the steps: at
 * most so much of its L2 norm, and at no point by more than so much of its largest
 * value. Where waves die out or pile up that is less than any float can hold: a few
 * times what rounding changed in the oracle is allowed too. What needs no oracle is
 * required to the bit: the halo is 0, and where epsilon is delta, as in isotropic rock,
 * p is q. Snapshots are judged as p is, where the words name their folder.
 *
 * Prints key=value lines, the last one verdict=ok or verdict=FAIL and the reason; exits
 * with 0 only if ok. Left out: judging times and pictures.
 */
#include "compare.h"
#include "oracle_fletcher.h"
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

/* Times what rounding changed in the oracle: a step of the real ones rounds more often.
 */
static const double ROUNDINGS = 48;

static double growth(int steps)
{
    return steps <= 100 ? 1 : pow(steps / 100.0, log(10) / log(5));
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
        if (strcmp(name, property_name[k])) continue;
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
    query w = query_of(words, argv, extra, about);
    if (!oracle_path) fail("oracle= is missing");

    space a = space_of(&w);
    const doubt *d;
    const double *right;
    double *all = oracle(&a, oracle_path, &d, &right);
    report rep = NOTHING_DIFFERS;
    npy got_p = {0}, got_q = {0};
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

    free(a.rock);
    for (int k = 0; k < PROPERTIES; k++) free(w.inside[k]);
    return status;
}
