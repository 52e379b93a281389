/* check_fluid.c - the program fluid-check: verifies the result of a fluid program.
 *
 *     fluid-check QUERY oracle=FILE [density=out.npy] [velocity=velocity.npy]
 *                 [totals=totals.npy] [truth=FILE] [pressure=direct]
 *
 * The oracle (oracle_fluid.c) solves the same query in double precision and shares no
 * code with steps/ or common/fluid. Its result is cached: an existing FILE is read, and
 * rejected if it belongs to another query or other events.
 *
 * For small queries the oracle derives an error budget for each cell and a range for
 * the number of sweeps. With pressure=direct, which step.mk declares for the steps that
 * solve the pressure directly, the oracle does so, too, unless the number of sweeps is
 * fixed, and the totals must report these solves. For large boxes (beyond
 * MAX_BUDGET_WORK) budgets would take too long; then FIELD_BUDGET bounds the relative
 * L2 norm of density and each velocity component, LOCAL_BUDGET bounds the difference in
 * each cell relative to the values around it, SWEEPS_BUDGET bounds the number of sweeps
 * that a tolerance ends, and the divergence of the velocity is compared with the
 * oracle's.
 *
 * For all queries: the total density equals the sum of the density, a fixed number of
 * sweeps is met exactly, and the density is neither negative nor larger than the
 * largest source. The truth file contains the facts that the generator of the events
 * knows in advance: `total D` and `still`.
 *
 * Prints key=value lines, the last one verdict=ok or verdict=FAIL with the reason. The
 * exit status is 0 only for ok. Times are not checked.
 */
#include "oracle_fluid.h"
#include "verdict.h"

static const char about[] =
    "compares the result of a fluid program with the same computation in double\n"
    "precision\n\n"
    "  fluid-check QUERY oracle=FILE [density=FILE] [velocity=FILE] [totals=FILE] "
    "[truth=FILE]\n    [pressure=direct]\n\n"
    "QUERY: the arguments of the program. Exit status 0: verdict=ok.";

/* Large boxes: bound on the relative L2 norm of the difference of a field, and on the
 * relative difference of the total density. Tuned: 20 times the largest difference seen
 * (5e-6). */
static const double FIELD_BUDGET = 1e-4;
/* Large boxes: bound on the difference in a cell, relative to the local value: the
 * largest one in the cell and its neighbours, of all components for a velocity. Cells
 * far from the events have small values, so errors there do not show in the L2 norm.
 * Tuned: 7 times the largest difference seen (2.7e-4; direct solves, 42 cells per
 * axis). If the float program ends a solve one sweep later, values that are smaller
 * than the tolerance (1e-7) may change altogether: densities by 1.8e-10, velocities by
 * 2e-14 (168 cells per axis). So a local value counts as LOCAL_DENSITY or LOCAL_SPEED
 * at least. If the number of sweeps is fixed, only underflow remains. */
static const double LOCAL_BUDGET = 2e-3, LOCAL_DENSITY = 1e-6, LOCAL_SPEED = 1e-9,
                    LOCAL_UNDERFLOW = 1e-30, LOCAL_DIRECT = 1e-6;
/* Large boxes: bound on the relative difference of the number of sweeps that a
 * tolerance ends. The tolerance is close to the spacing of floats, so some solves end a
 * sweep later in float than in double: one solve in five, in boxes of 168 cells one in
 * two. A solve takes 6 to 14 sweeps, so one sweep too many in each solve would be at
 * least 1 / 14 = 0.07. The value is below that; tuned from these counts. Iterated
 * pressure solves take the maximum number of sweeps and are excluded, up to half of all
 * sweeps. */
static const double SWEEPS_BUDGET = 0.06;

/* The total is a sum of doubles in another order than here: 2^-53 per cell of the
 * largest box that is checked, 1e7 cells. */
static const double SUM_BUDGET = 1e-9;
/* Replaces the total in FIELD_BUDGET if the total is 0. */
static const double SMALLEST_TOTAL = 1e-30;
/* A maximum principle bounds the density by the largest source. Rounding may exceed it,
 * by this fraction, and by a further one per sweep; tuned. */
static const double SOURCE_GROWTH = 1e-4, SOURCE_GROWTH_PER_SWEEP = 1e-6;
/* The divergence may exceed the oracle's by a factor, and by a multiple of the largest
 * velocity, about a hundred float roundings; tuned. */
static const double DIVERGENCE_FACTOR = 1.001, DIVERGENCE_ROUNDING = 1e-5;

enum { DENSITY = 3 }; /* index of the output */

/* The contents of the oracle's file. */
typedef struct {
    const query *q;
    header h;
    const double *value[OUTPUTS], *budget[OUTPUTS];
    double *stored; /* all of these */
} expected;

/* ---- the oracle's file ----------------------------------------------------------- */

/* Identifies the query and its events. */
static uint64_t query_id(const query *q)
{
    double numbers[] = {q->n[X],          q->n[Y],         q->n[Z],
                        q->steps,         q->dt,           q->visc,
                        q->diff,          q->sweep_limit,  q->tolerance,
                        q->lexicographic, q->keep_sources, q->direct_pressure};
    uint64_t id = digest_update(0, numbers, sizeof numbers);
    for (size_t e = 0; e < q->events; e++) {
        const fluid_event *h = &q->event[e];
        double event[] = {h->step, h->force, h->value[0], h->value[1], h->value[2]};
        id = digest_update(id, event, sizeof event);
    }
    return id;
}

/* Reads the oracle's result, or computes and stores it if the file does not exist. */
static expected oracle(const query *q, const char *path)
{
    bool kept;
    size_t inner = inner_cells(q), arrays = OUTPUTS * (can_afford_budget(q) ? 2 : 1),
           count = HEADER + arrays * inner;
    double *stored = oracle_open(path, NPY_F8, count, query_id(q), &kept);
    if (!kept) {
        solve_query(q, stored);
        oracle_keep(path, NPY_F8, count, stored);
    }
    expected r = {.q = q, .stored = stored};
    memcpy(&r.h, stored, sizeof r.h);
    for (size_t f = 0; f < OUTPUTS; f++) {
        r.value[f] = stored + HEADER + f * inner;
        r.budget[f] = r.h.has_budget ? r.value[f] + OUTPUTS * inner : NULL;
    }
    return r;
}

/* ---- checks ---------------------------------------------------------------------- */

/* Large boxes: returns the budget of each cell of a field. */
static double *local_budgets(const expected *r, int field)
{
    size_t inner = inner_cells(r->q), stride = 1;
    double *local = allocate(2 * inner, sizeof *local, "local values"),
           *row = local + inner, largest = 0;
    double floor = r->q->tolerance < 0 ? LOCAL_UNDERFLOW
                   : field == DENSITY  ? LOCAL_DENSITY
                                       : LOCAL_SPEED;
    int first = field == DENSITY ? DENSITY : X, last = field == DENSITY ? DENSITY : Z;
    for (size_t c = 0; c < inner; c++) {
        local[c] = floor;
        for (int f = first; f <= last; f++)
            local[c] = fmax(local[c], fabs(r->value[f][c]));
        if (local[c] > largest) largest = local[c];
    }
    for (int d = X; d <= Z; d++) { /* the largest of three cells along each axis */
        size_t n = (size_t)r->q->n[d];
        memcpy(row, local, inner * sizeof *row);
        for (size_t c = 0; c < inner; c++) {
            size_t at = c / stride % n;
            if (at > 0) local[c] = fmax(local[c], row[c - stride]);
            if (at + 1 < n) local[c] = fmax(local[c], row[c + stride]);
        }
        stride *= n;
    }
    double everywhere =
        field != DENSITY && r->q->direct_pressure ? LOCAL_DIRECT * largest : 0;
    for (size_t c = 0; c < inner; c++) local[c] = LOCAL_BUDGET * local[c] + everywhere;
    return local;
}

/* Compares a field with found[nz][ny][nx]: the cell with the largest difference
 * relative to its budget and, in large boxes, the relative L2 norm. */
static void check_field(report *rep, const expected *r, const char *name, int field,
                        const float *found)
{
    bool large = !r->h.has_budget;
    double *local = large ? local_budgets(r, field) : NULL;
    const double *value = r->value[field], *budget = large ? local : r->budget[field];
    size_t nx = (size_t)r->q->n[X], ny = (size_t)r->q->n[Y], worst = 0;
    double difference = 0, size = 0, worst_ratio = -1;
    for (size_t c = 0; c < inner_cells(r->q); c++) {
        double d = fabs((double)found[c] - value[c]), ratio = d / budget[c];
        difference += d * d;
        size += value[c] * value[c];
        if (ratio <= worst_ratio) continue; /* false for NaN */
        worst_ratio = isnan(ratio) ? INFINITY : ratio;
        worst = c;
    }
    double largest = LOCAL_UNDERFLOW; /* of all components of a velocity */
    size_t values = inner_cells(r->q) * (field == DENSITY ? 1 : 3);
    for (size_t c = 0; c < values; c++)
        largest = fmax(largest, fabs(r->value[field == DENSITY ? DENSITY : X][c]));
    for (size_t c = 0; c < inner_cells(r->q); c++)
        count_value(rep, budget[c] > largest);
    double norm = size > 0 ? sqrt(difference / size) : sqrt(difference);
    judge(rep, worst_ratio, 1,
          "%s: relative L2 %.3g; cell (%zu, %zu, %zu) is %.9g, in double %.9g within "
          "%.3g",
          name, norm, 1 + worst % nx, 1 + worst / nx % ny, 1 + worst / nx / ny,
          (double)found[worst], value[worst], budget[worst]);
    if (large)
        judge(rep, norm, size > 0 ? FIELD_BUDGET : 0,
              "%s: relative L2 %.3g: expected at most %g", name, norm, FIELD_BUDGET);
    free(local);
}

/* Sum over all cells; with keep_sources including the ghost cells, of which only those
 * next to a face of the box are not 0. */
static double total_density(const query *q, const float *x)
{
    double sum = 0;
    FOR_EACH_CELL(q, i, j, k)
    {
        int faces = (i == 1) + (i == q->n[X]) + (j == 1) + (j == q->n[Y]) + (k == 1) +
                    (k == q->n[Z]);
        sum += q->keep_sources ? (1 + faces) * (double)*x : *x;
        x++;
    }
    return sum;
}

static void check_density(report *rep, const expected *r, const float *found,
                          double *total)
{
    double low = 0, high = 0,
           growth = SOURCE_GROWTH + SOURCE_GROWTH_PER_SWEEP * r->q->sweep_limit;
    for (size_t c = 0; c < inner_cells(r->q); c++) {
        if (found[c] < low) low = found[c]; /* fmin and fmax stop gcc 12, AArch64 */
        if (found[c] > high) high = found[c];
    }
    *total = total_density(r->q, found);
    check_field(rep, r, "density", DENSITY, found);
    require(rep, low >= 0 || r->q->keep_sources, "density: %.9g is negative", low);
    require(rep, high <= r->q->max_source * (1 + growth) || r->q->keep_sources,
            "density: %.9g is larger than the largest source, %.9g", high,
            r->q->max_source);
}

/* Root mean square of the divergence of velocity[3][nz][ny][nx], discretized as in the
 * pressure equation; the ghost cells follow from the inner cells. */
static double rms_divergence(const query *q, const double *velocity)
{
    size_t stride[3] = {1, (size_t)q->n[X] + 2,
                        ((size_t)q->n[X] + 2) * ((size_t)q->n[Y] + 2)};
    size_t cells = stride[Z] * ((size_t)q->n[Z] + 2), inner = inner_cells(q);
    double *x = allocate(cells, sizeof *x, "a field"), squares = 0;
    double *sums = allocate(inner, sizeof *sums, "divergence");
    for (size_t c = 0; c < inner; c++) sums[c] = 0;
    for (int pass = 0; pass < 2 * 3;
         pass++) { /* copy a component, then difference it */
        size_t c = 0, d = (size_t)pass / 2, step = stride[d];
        if (pass % 2) set_walls(q, x, (int)d);
        FOR_EACH_CELL(q, i, j, k)
        {
            size_t idx = (size_t)i + (size_t)j * stride[Y] + (size_t)k * stride[Z];
            if (pass % 2)
                sums[c] += x[idx + step] - x[idx - step];
            else
                x[idx] = velocity[d * inner + c];
            c++;
        }
    }
    for (size_t c = 0; c < inner; c++) squares += sums[c] * sums[c];
    free(x);
    free(sums);
    return sqrt(squares / (double)inner);
}

static void check_velocity(report *rep, const expected *r, const float *found)
{
    static const char *const name[] = {"velocity along x", "velocity along y",
                                       "velocity along z"};
    size_t inner = inner_cells(r->q);
    for (int d = X; d <= Z; d++)
        check_field(rep, r, name[d], d, found + (size_t)d * inner);
    if (r->h.has_budget) return;

    double size = 0, *velocity64 = allocate(3 * inner, sizeof *velocity64, "velocity");
    for (size_t c = 0; c < 3 * inner; c++) {
        velocity64[c] = found[c];
        if (fabs(velocity64[c]) > size) size = fabs(velocity64[c]);
    }
    double divergence = rms_divergence(r->q, velocity64),
           oracle_divergence = rms_divergence(r->q, r->value[X]);
    free(velocity64);
    require(rep,
            divergence <=
                DIVERGENCE_FACTOR * oracle_divergence + DIVERGENCE_ROUNDING * size,
            "velocity: its divergence is %.9g, in double precision %.9g", divergence,
            oracle_divergence);
}

static void check_totals(report *rep, const expected *r, const double found[3],
                         double total)
{
    const header *h = &r->h;
    judge(rep, fabs(found[0] - h->total),
          h->has_budget ? h->total_budget
                        : FIELD_BUDGET * fmax(fabs(h->total), SMALLEST_TOTAL),
          "total density is %.9g, in double %.9g", found[0], h->total);
    if (isfinite(total))
        require(rep, fabs(found[0] - total) <= SUM_BUDGET * fabs(total),
                "total density is %.9g, the density's sum %.9g", found[0], total);
    double min_sweeps = h->min_sweeps, max_sweeps = h->max_sweeps;
    if (r->q->tolerance < 0) {
        min_sweeps = max_sweeps = 6.0 * r->q->sweep_limit * r->q->steps;
    } else if (!h->has_budget) {
        double capped =
            r->q->direct_pressure ? 0 : 2.0 * r->q->sweep_limit * r->q->steps;
        double ended = fmax(h->sweeps - capped, h->sweeps / 2);
        min_sweeps = h->sweeps - fmax(SWEEPS_BUDGET * ended, 1);
        max_sweeps = h->sweeps + fmax(SWEEPS_BUDGET * ended, 1);
    }
    require(rep, found[1] >= min_sweeps && found[1] <= max_sweeps,
            "sweeps are %g, expected %g to %g", found[1], min_sweeps, max_sweeps);
    double direct = r->q->direct_pressure ? 2.0 * r->q->steps : 0;
    require(rep, found[2] == direct, "direct solves are %g, expected %g", found[2],
            direct);
}

static void check_truth(report *rep, const expected *r, const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f) fail("truth=%s: cannot be read", path);
    char line[200];
    double known;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "total %lf", &known) == 1) {
            require(rep, fabs(r->h.total - known) <= FIELD_BUDGET * known,
                    "truth: total density in double is %.9g, known to be %.9g",
                    r->h.total, known);
        } else if (!strcmp(line, "still\n")) {
            for (int d = X; d <= Z; d++)
                for (size_t c = 0; c < inner_cells(r->q); c++)
                    require(rep, r->value[d][c] == 0, "truth: a velocity is not 0");
        } else if (strcmp(line, "spin\n")) {
            fail("truth=%s: %s: expected total D, still or spin", path, line);
        }
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    run_name = "fluid-check";
    const char *oracle_path = NULL, *density = NULL, *velocity = NULL, *totals = NULL,
               *truth = NULL, *pressure = "relaxed";
    arg extra[] = {
        {"oracle", ARG_TEXT, &oracle_path, 0, 0,
         ".npy of the oracle's result; computed if it does not exist", 0},
        {"density", ARG_TEXT, &density, 0, 0, ".npy that was written as out=", 0},
        {"velocity", ARG_TEXT, &velocity, 0, 0, ".npy written as velocity=", 0},
        {"totals", ARG_TEXT, &totals, 0, 0, ".npy written as totals=", 0},
        {"truth", ARG_TEXT, &truth, 0, 0,
         "facts that the generator of the events knows", 0},
        {"pressure", ARG_TEXT, &pressure, 0, 0,
         "relaxed, or direct: how the step solves the pressure", 0},
        {0},
    };
    query q = query_read(argc, argv, extra, about);
    if (!oracle_path) fail("oracle= is missing");
    q.direct_pressure = parse_choice("pressure", pressure, "relaxed", "direct") == 1 &&
                        q.tolerance >= 0;
    report rep = NOTHING_DIFFERS;
    char other[4096];
    if (q.direct_pressure) {
        snprintf(other, sizeof other, "%s.direct.npy", oracle_path);
        oracle_path = other;
    }
    expected r = oracle(&q, oracle_path);

    size_t nx = (size_t)q.n[X], ny = (size_t)q.n[Y], nz = (size_t)q.n[Z];
    double total = NAN;
    npy a = read_result(&rep, "density", density, (npy){NPY_F4, 3, {nz, ny, nx}, NULL});
    if (a.data) check_density(&rep, &r, a.data, &total);
    free(a.data);
    a = read_result(&rep, "totals", totals, (npy){NPY_F8, 1, {3}, NULL});
    if (a.data) check_totals(&rep, &r, a.data, total);
    free(a.data);
    if (truth && rep.ok) check_truth(&rep, &r, truth);
    a = read_result(&rep, "velocity", velocity,
                    (npy){NPY_F4, 4, {3, nz, ny, nx}, NULL});
    if (a.data) check_velocity(&rep, &r, a.data);
    free(a.data);

    printf("sweeps=%g\nfewest=%g\nmost=%g\ntotal=%.9g\n", r.h.sweeps, r.h.min_sweeps,
           r.h.max_sweeps, r.h.total);
    int status = verdict(&rep, density || velocity || totals || truth);
    oracle_free(r.stored);
    free(q.event);
    return status;
}
