/* check_fletcher.c - the program fletcher-check: compares the waves that a step
 * computed with an oracle.
 *
 *     fletcher-check QUERY oracle=FILE [p=p.npy] [q=q.npy] [truth=FILE ...]
 *
 * The oracle (oracle_fletcher.c) computes the same model in double precision. Since
 * this takes long, its answer is cached in FILE; a FILE of another model is rejected.
 *
 * p and q may differ from the oracle by the rounding of float, which grows with the
 * number of steps. The difference is limited in two norms: its L2 norm to a fraction of
 * the oracle's, and its maximum to a fraction of the oracle's maximum. If the waves
 * cancel or have left the grid, these limits can be below the resolution of float; then
 * ROUNDING_FACTOR times the effect of rounding in the oracle is allowed as well. In
 * addition, the difference at each point is limited by the effect of rounding there.
 * Two properties must hold exactly: the halo is 0, and p equals q if epsilon equals
 * delta (as in isotropic rock). Snapshots are checked like p if QUERY names their
 * folder.
 *
 * Prints key=value lines; the last one is verdict=ok, or verdict=FAIL and the reason.
 * Exits with 0 only if ok. Left out: checks of times and pictures.
 */
#include "oracle_fletcher.h"
#include "verdict.h"

static const char about[] =
    "compares the output of fletcher with the same model in double precision\n"
    "\n"
    "  fletcher-check QUERY oracle=FILE [p=FILE] [q=FILE] [truth=FILE ...]\n"
    "\n"
    "QUERY: the arguments of fletcher. Exit status 0: verdict=ok.";

/* Relative error budgets for up to 100 steps: of the L2 norm and of the maximum. They
 * grow by a factor of ten from 100 to 500 steps. Tuned, not derived: step 05 differs
 * from step 00 by an L2 norm of 3.1e-7 after 100 steps and 5.0e-6 after 500 (56 points
 * per axis). */
static const double BUDGET_L2 = 2e-6, BUDGET_MAX = 1e-5;

/* The oracle rounds once per value and step, the programs in each operation. Tuned, not
 * derived. */
static const double ROUNDING_FACTOR = 48;

/* At a point, LOCAL_FACTOR times the effect of rounding there is allowed (see rounding
 * in oracle_fletcher.h), so that waves are also judged where they are weak: far from
 * the source and in the absorbing band. Derivation: a step rounds each term of a
 * derivative, with an error of 2^-24 of the term; the errors of earlier steps arrive at
 * the point as the wave does, and the oracle's replica in float, which has both,
 * measures their sum. The factor is twice the one of the norms, because the replica may
 * be close to the oracle by chance; in the cases, correct programs use up to a quarter
 * of the budget. Values below LOCAL_UNDERFLOW may be lost as denormal numbers. */
static const double LOCAL_FACTOR = 96, LOCAL_UNDERFLOW = 1e-30;

static double growth(int steps)
{
    return steps <= 100 ? 1 : pow(steps / 100.0, log(10) / log(5));
}

/* ---- comparisons -------------------------------------------------------------------
 */

/* Judges the error at point i. */
static void judge_point(report *rep, const space *a, const char *name, size_t i,
                        double found, double expected, double allowed)
{
    size_t plane = (size_t)a->step[2], row = (size_t)a->step[1];
    judge(rep, fabs(found - expected), allowed,
          "%s at (z %zu, y %zu, x %zu) is %.9g: expected %.9g within %.3g", name,
          i / plane, i % plane / row, i % row, found, expected, allowed);
}

/* Compares one field with the oracle. *got receives its elements; the caller frees
 * them. */
static void check_field(const space *a, const char *name, const char *path,
                        const double *expected, const rounding *d, npy *got,
                        report *rep)
{
    npy expected_type = {.type = NPY_F4, .dims = 3};
    for (int k = 0; k < 3; k++) expected_type.shape[k] = (size_t)a->s[2 - k];
    *got = read_result(rep, name, path, expected_type);
    if (!got->data) return;

    double error_norm = 0, norm = 0, largest = 0, largest_error = 0;
    double local_ratio = 0, local_allowed = INFINITY;
    size_t worst = 0, local_worst = 0;
    for (size_t i = 0; i < a->count; i++) {
        double v = npy_element(got, i), error = v - expected[i];
        require(rep, isfinite(v), "%s[%zu] is %g: expected a finite number", name, i,
                v);
        if (v != 0)
            require(rep, !is_in_halo(a, i),
                    "%s[%zu] is in the halo and is %g: expected 0", name, i, v);
        error_norm += error * error;
        norm += expected[i] * expected[i];
        largest = fmax(largest, fabs(expected[i]));
        if (fabs(error) > largest_error) largest_error = fabs(error), worst = i;
        if (error == 0 || is_in_halo(a, i)) continue;
        double allowed = LOCAL_FACTOR * d->local[i] + LOCAL_UNDERFLOW;
        if (fabs(error) <= local_ratio * allowed) continue;
        local_ratio = fabs(error) / allowed, local_worst = i, local_allowed = allowed;
    }
    for (size_t i = 0; i < a->count; i++)
        if (!is_in_halo(a, i))
            count_value(rep,
                        LOCAL_FACTOR * d->local[i] > fmax(largest, LOCAL_UNDERFLOW));
    norm = sqrt(norm), error_norm = sqrt(error_norm);
    double factor = growth(a->w->steps);
    double allowed = fmax(BUDGET_L2 * factor * norm, ROUNDING_FACTOR * d->norm);
    double allowed_error =
        fmax(BUDGET_MAX * factor * largest, ROUNDING_FACTOR * d->max);
    require(rep, norm > 0,
            "%s: the oracle is 0 everywhere: the comparison proves nothing", name);
    judge(rep, error_norm, allowed, "%s: relative L2 error %.3g: expected at most %.3g",
          name, error_norm / norm, allowed / norm);
    judge_point(rep, a, name, worst, npy_element(got, worst), expected[worst],
                allowed_error);
    judge_point(rep, a, name, local_worst, npy_element(got, local_worst),
                expected[local_worst], local_allowed);
}

/* Returns whether epsilon equals delta everywhere: then vsz is 0, and the equations of
 * p and q are the same. */
static bool p_is_q(const query *w)
{
    size_t points = inner_size(w);
    return !memcmp(w->property[EPSILON], w->property[DELTA], points * sizeof(double));
}

/* Checks the extremes of an input field against a file with NAME LOW HIGH, which the
 * generator of the field has written. */
static void check_truth(const query *w, const char *path, report *rep)
{
    FILE *f = fopen(path, "r");
    if (!f) fail("truth=%s: cannot be read: expected a text file", path);
    char name[32];
    double low, high;
    if (fscanf(f, "%31s %lf %lf", name, &low, &high) != 3)
        fail("truth=%s: wrong format: expected NAME LOW HIGH", path);
    fclose(f);
    for (int k = 0; k < PROPERTIES; k++) {
        if (strcmp(name, property_name[k])) continue;
        require(rep, w->file[k], "truth: %s was not read from a file", name);
        double min = INFINITY, max = -INFINITY;
        for (size_t i = 0; i < inner_size(w); i++) {
            min = fmin(min, w->property[k][i]);
            max = fmax(max, w->property[k][i]);
        }
        require(rep, (float)min == (float)low && (float)max == (float)high,
                "truth: %s is %g to %g: expected %g to %g", name, min, max, low, high);
        return;
    }
    fail("truth=%s: unknown property %s: expected one of vpz epsilon delta theta phi",
         path, name);
}

int main(int argc, char **argv)
{
    run_name = "fletcher-check";
    const char *oracle_path = NULL, *p = NULL, *q = NULL;
    arg extra[] = {
        {"oracle", ARG_TEXT, &oracle_path, 0, 0,
         ".npy of the oracle's answer; written if it does not exist", 0},
        {"p", ARG_TEXT, &p, 0, 0, ".npy that fletcher wrote as out=", 0},
        {"q", ARG_TEXT, &q, 0, 0, ".npy that fletcher wrote as q=", 0},
        {0},
    };
    /* truth= may occur once per property. */
    const char *truth[PROPERTIES];
    int truths = 0, arguments = 0;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "truth=", 6) != 0)
            argv[arguments++] = argv[i];
        else if (truths < PROPERTIES)
            truth[truths++] = argv[i] + 6;
        else
            fail("%s: too many truth=: expected at most %d", argv[i], PROPERTIES);
    }
    query w = query_of(arguments, argv, extra, about);
    if (!oracle_path) fail("oracle=: missing: expected a file");

    space a = space_of(&w);
    rounding *d = allocate(fields_of(&w), sizeof *d, "effects of rounding");
    const double *expected = oracle(&a, oracle_path, d);
    report rep = NOTHING_DIFFERS;
    npy got_p = {0}, got_q = {0};
    if (p) check_field(&a, "p", p, expected, &d[0], &got_p, &rep);
    if (q) check_field(&a, "q", q, expected + a.count, &d[1], &got_q, &rep);
    for (size_t k = 2; k < fields_of(&w); k++) {
        char snapshot[4096], name[32];
        snprintf(name, sizeof name, "p-%04zu.npy", k - 1);
        snprintf(snapshot, sizeof snapshot, "%s/%s", w.snapshots, name);
        npy snapshot_array = {0};
        check_field(&a, name, snapshot, expected + k * a.count, &d[k], &snapshot_array,
                    &rep);
        free(snapshot_array.data);
    }
    if (p && q && p_is_q(&w) && rep.ok)
        require(&rep, !memcmp(got_p.data, got_q.data, a.count * sizeof(float)),
                "epsilon equals delta, but p differs from q");
    for (int i = 0; i < truths; i++) check_truth(&w, truth[i], &rep);

    printf("steps=%d\n", w.steps);
    int status = verdict(&rep, p || q || truths || w.snapshots);

    free(got_p.data);
    free(got_q.data);
    release_oracle(&a, expected);
    free(d);
    free(a.rock);
    for (int k = 0; k < PROPERTIES; k++) free(w.property[k]);
    return status;
}
