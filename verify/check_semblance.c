/* check_semblance.c - checks the result of a semblance search. The program
 * semblance-check.
 *
 *     semblance-check QUERY oracle=FILE [result=out.npy] [panel=panel.npy] [truth=FILE]
 *
 * The oracle is the same search in double precision, over all points; it shares no code
 * with steps/ and common/semblance. It takes long, so its result is kept in FILE, which
 * is read if it exists, and rejected if it belongs to another query or other traces.
 *
 * In float many points share the largest semblance, so the position of the maximum
 * proves nothing. Instead the point that the search returned is located in the grid and
 * evaluated in double: it must have the semblance that the search printed, and that
 * must be as high as the best of the oracle.
 *
 * The permitted difference is not a constant. An arrival has the rounding errors of its
 * terms in float: far into long traces, far from the output point, or if t^2 is a small
 * difference of large terms, hundredths of a sample and more. The effect on semblance
 * and stack follows from the slope of the samples. It is computed for each point, and
 * BUDGET is added.
 *
 * A trace is used if its window lies inside its samples, and float and double may
 * disagree about a window that ends within rounding of the limit. Such a trace is at
 * the edge: both decisions are correct. A point has every semblance that these
 * decisions lead to, and an (A, B) of the panel an interval.
 *
 * Prints key=value lines; the last one is verdict=ok, or verdict=FAIL and the reason.
 * The exit status is 0 only if ok. Left out: judging times.
 */
#include "oracle_semblance.h"
#include "verdict.h"

#include <float.h>

static const char about[] =
    "checks what a semblance search found against the same search in double precision\n"
    "\n"
    "  semblance-check QUERY oracle=FILE [result=FILE] [panel=FILE] [truth=FILE]\n"
    "\n"
    "QUERY is what the search was called with. Exit status 0: verdict=ok.";

static const double BUDGET =
    2e-6; /* of semblance, and of stack divided by the largest |sample| */
static const double ON_GRID = 1e-3;     /* grid steps */
static const double HALF_ULP = 0x1p-24; /* relative rounding error of a float */
static const double ROUNDINGS = 3;      /* rounding errors in each term of an arrival */

/* ---- the search in double ------------------------------------------------------- */

/* The values of a point, and how far those of a correct float search may differ. */
typedef struct {
    double semblance, stack;
    double semblance_tolerance, stack_tolerance;
} score;

typedef enum { INSIDE, AT_EDGE, OUTSIDE } placement;

/* The arrivals of all traces at one point, and the values that the point may have. */
typedef struct {
    double *x;        /* [traces]: arrival in samples */
    double *x_error;  /* [traces]: largest error of a float arrival */
    placement *where; /* [traces]: position of the window */
    score *score;     /* [traces + 2] */
} workspace;

static workspace workspace_make(int traces)
{
    size_t n = (size_t)traces;
    return (workspace){allocate(n, sizeof(double), "arrivals"),
                       allocate(n, sizeof(double), "their errors"),
                       allocate(n, sizeof(placement), "the windows' places"),
                       allocate(n + 2, sizeof(score), "scores")};
}

static void workspace_free(workspace *w)
{
    free(w->x);
    free(w->x_error);
    free(w->where);
    free(w->score);
}

static double value(const problem *p, int k, int i)
{
    return p->p0[k] + (double)i / p->np[k] * (p->p1[k] - p->p0[k]);
}

/* Square root with sign: negative for a negative argument (no arrival). */
static double signed_root(double square)
{
    return square < 0 ? -sqrt(-square) : sqrt(square);
}

/* Computes the arrival of trace i, its error, and where its window lies. A window takes
 * the samples x - half .. x + half, and interpolation one more. Errors: that of dm or
 * dh is relative to the larger of the two, and that of a parameter to the largest of
 * its range, because a small value may be a difference of large ones. */
static void arrival(const problem *p, const double v[PARAMETERS], int i, workspace *w)
{
    double dm = p->dm[i], dh = p->dh[i];
    double linear = p->t0 + v[A] * dm + v[B] * dh;
    double curved = (v[C] * dh + v[E] * dm) * dh + v[D] * dm * dm;
    double t2 = linear * linear + curved;

    double rounding = ROUNDINGS * HALF_ULP, reach = fabs(dm) + fabs(dh);
    const double *max = p->max_parameter;
    double error = rounding * (p->t0 + (max[A] + max[B]) * reach);
    error =
        error * (2 * fabs(linear) + error) +
        rounding * (linear * linear +
                    (max[C] * fabs(dh) + max[D] * fabs(dm) + max[E] * reach) * reach);

    double x = signed_root(t2) * p->idt;
    double low = signed_root(t2 - error) * p->idt,
           high = signed_root(t2 + error) * p->idt;
    double x_error = fmax(x - low, high - x) + rounding / 2 * (fabs(x) + p->half);
    if (t2 == 0 && error == 0) x_error = 0;

    double first = p->half, last = p->ns - p->half - 1;
    w->x[i] = x;
    w->x_error[i] = x_error;
    w->where[i] = x + x_error < first || x - x_error >= last   ? OUTSIDE
                  : x - x_error < first || x + x_error >= last ? AT_EDGE
                                                               : INSIDE;
}

/* Stores the window of trace i in v, and in slope the steepest slopes that a float
 * arrival may fall on. */
static void window_values(const problem *p, const workspace *w, int i, double *v,
                          double *slope)
{
    /* At the edge the last segment is extended, by a rounding error. */
    int last = p->ns - p->half - 2, it = (int)fmax(w->x[i], p->half);
    if (it > last) it = last;
    double after = w->x[i] - it;
    const float *y = p->sample + (size_t)i * (size_t)p->ns;
    for (int j = -p->half; j <= p->half; j++, v++, slope++) {
        int k = it + j;
        double step = (double)y[k + 1] - y[k];
        *v = y[k] + after * step;
        *slope = fabs(step);
        if (after < w->x_error[i] && k > 0)
            *slope = fmax(*slope, fabs((double)y[k] - y[k - 1]));
        if (after + w->x_error[i] > 1 && k + 2 < p->ns)
            *slope = fmax(*slope, fabs((double)y[k + 2] - y[k + 1]));
    }
}

/* Returns semblance and stack of all traces except those outside and the excluded one.
 */
static score compute_score(const problem *p, const workspace *w, int excluded)
{
    int window = 2 * p->half + 1, used = 0;
    double num[WINDOW_MAX] = {0}, abs_num[WINDOW_MAX] = {0}; /* sums of v and of |v| */
    double v[WINDOW_MAX], slope[WINDOW_MAX];
    double den = 0, sum = 0, abs_sum = 0, noise = 0;

    for (int i = 0; i < p->traces; i++) {
        if (w->where[i] == OUTSIDE || i == excluded) continue;
        window_values(p, w, i, v, slope);
        for (int j = 0; j < window; j++) {
            num[j] += v[j];
            abs_num[j] += fabs(v[j]);
            den += v[j] * v[j];
            sum += v[j];
            abs_sum += fabs(v[j]);
            noise += pow(slope[j] * w->x_error[i], 2);
        }
        used++;
    }
    if (den == 0 && noise == 0) return (score){0, 0, 0, 0};

    double n = used, samples = n * window, square = 0, product = 0;
    for (int j = 0; j < window; j++) {
        square += num[j] * num[j];
        product += fabs(num[j]) * abs_num[j];
    }
    score s = {den > 0 ? square / den / n : 0, sum / samples, 0, 0};

    /* The rounding errors of the sums, then those of the arrivals. */
    s.stack_tolerance = HALF_ULP * (samples / 2 + 8) * abs_sum / samples;
    if (den > 0)
        s.semblance_tolerance = HALF_ULP * (2 * (n + 4) * product / (n * den) +
                                            (n + window + 8) * s.semblance);
    for (int i = 0; i < p->traces; i++) {
        if (w->where[i] == OUTSIDE || i == excluded) continue;
        window_values(p, w, i, v, slope);
        double semblance_slope = 0, slope_sum = 0;
        for (int j = 0; j < window; j++) {
            semblance_slope += slope[j] * fabs(num[j] / n - s.semblance * v[j]);
            slope_sum += slope[j];
        }
        if (den > 0) s.semblance_tolerance += 2 * w->x_error[i] * semblance_slope / den;
        s.stack_tolerance += w->x_error[i] * slope_sum / samples;
    }

    /* Squares below the smallest normal float may be lost. */
    if (den > 0) s.semblance_tolerance += 2 * samples * FLT_MIN / den;

    /* Semblance does not depend on the amplitude: if the windows contain only rounding
     * errors, or floats too small to be squared, it may have any value. */
    if (den < 100 * noise || s.semblance_tolerance >= 1 || den == 0) {
        s.semblance_tolerance = 1;
        s.stack_tolerance += fabs(s.stack);
    }
    return s;
}

/* Stores the values that a point may have in w->score and returns their number. With
 * two unused traces the semblance is 0, so at most one trace at the edge is left out.
 */
static int possible_scores(const problem *p, const double v[PARAMETERS], workspace *w)
{
    int outside = 0, edge = 0, n = 0;
    for (int i = 0; i < p->traces && outside < 2; i++) {
        arrival(p, v, i, w);
        outside += w->where[i] == OUTSIDE;
        edge += w->where[i] == AT_EDGE;
    }
    if (outside < 2) w->score[n++] = compute_score(p, w, -1);
    if (outside == 0)
        for (int i = 0; i < p->traces && edge; i++)
            if (w->where[i] == AT_EDGE) w->score[n++] = compute_score(p, w, i);
    if (outside + edge >= 2) w->score[n++] = (score){0, 0, 0, 0};
    return n;
}

/* Computes the interval of semblances that a float search may find at a point. */
static void semblance_range(const problem *p, const double v[PARAMETERS], workspace *w,
                            double *low, double *high)
{
    int n = possible_scores(p, v, w);
    *low = 1, *high = 0;
    for (int i = 0; i < n; i++) {
        const score *s = &w->score[i];
        *low = fmin(*low, fmax(s->semblance - s->semblance_tolerance, 0));
        *high = fmax(*high, s->semblance + s->semblance_tolerance);
    }
}

/* ---- the oracle ----------------------------------------------------------------- */

/* The largest semblance of one (A, B): between low and high, which differ only if a
 * trace is at the edge or through rounding. */
typedef struct {
    double low, high;
    double point; /* (ic np[D] + id) np[E] + ie of the first point that has low */
} cell;

enum { CELL = sizeof(cell) / sizeof(double) };

/* Identifies a search and its traces. */
static uint64_t problem_id(const problem *p)
{
    double numbers[] = {p->m0, p->h0, p->t0, p->tau, p->traces, p->ns, p->dt};
    size_t traces = (size_t)p->traces;
    uint64_t id = digest_update(0, numbers, sizeof numbers);
    id = digest_update(id, p->np, sizeof p->np);
    id = digest_update(id, p->p0, sizeof p->p0);
    id = digest_update(id, p->p1, sizeof p->p1);
    id = digest_update(id, p->dm, traces * sizeof *p->dm);
    id = digest_update(id, p->dh, traces * sizeof *p->dh);
    return digest_update(id, p->sample, traces * (size_t)p->ns * sizeof *p->sample);
}

static size_t cell_count(const problem *p)
{
    return (size_t)p->np[A] * (size_t)p->np[B];
}

static cell search_cell(const problem *p, int ia, int ib, workspace *w)
{
    double v[PARAMETERS] = {value(p, A, ia), value(p, B, ib)};
    cell best = {-1, -1, 0};
    double point = 0;
    for (int ic = 0; ic < p->np[C]; ic++) {
        v[C] = value(p, C, ic);
        for (int id = 0; id < p->np[D]; id++) {
            v[D] = value(p, D, id);
            for (int ie = 0; ie < p->np[E]; ie++, point++) {
                v[E] = value(p, E, ie);
                double low, high;
                semblance_range(p, v, w, &low, &high);
                if (low > best.low) best.low = low, best.point = point;
                if (high > best.high) best.high = high;
            }
        }
    }
    return best;
}

static void oracle_compute(const problem *p, cell *cells)
{
    int na = p->np[A], nb = p->np[B];
    double done = 0;
#pragma omp parallel
    {
        workspace w = workspace_make(p->traces);
#pragma omp for collapse(2) schedule(dynamic)
        for (int ia = 0; ia < na; ia++)
            for (int ib = 0; ib < nb; ib++) {
                cells[(size_t)ia * (size_t)nb + (size_t)ib] =
                    search_cell(p, ia, ib, &w);
#pragma omp critical
                progress("oracle", ++done, (double)na * nb);
            }
        workspace_free(&w);
    }
}

/* Returns the cells [np[A]][np[B]] of path, which is created if it does not exist. */
static cell *oracle(const problem *p, const char *path)
{
    bool kept;
    size_t count = CELL * cell_count(p);
    cell *cells = oracle_open(path, NPY_F8, count, problem_id(p), &kept);
    if (!kept) {
        oracle_compute(p, cells);
        oracle_keep(path, NPY_F8, count, cells);
    }
    return cells;
}

/* Returns the largest semblance that a search must reach, and its cell. */
static double oracle_best(const problem *p, const cell *cells, size_t *where)
{
    *where = 0;
    for (size_t i = 1; i < cell_count(p); i++)
        if (cells[i].low > cells[*where].low) *where = i;
    return cells[*where].low;
}

/* ---- the verdict ---------------------------------------------------------------- */

/* Stores the grid index of each of A .. E; returns false if a value is not on the grid.
 * If the steps of a grid are finer than floats, neighbours of the nearest index pass,
 * too. */
static bool on_grid(const problem *p, const double found[7], int index[5], report *rep)
{
    for (int k = 0; k < PARAMETERS; k++) {
        double step = (p->p1[k] - p->p0[k]) / p->np[k];
        double v = found[k], rounding = 4 * HALF_ULP * p->max_parameter[k];
        index[k] = 0;
        if (step == 0) {
            judge(rep, fabs(v - p->p0[k]), rounding + 1e-30,
                  "%c is %.9g, the range only %.9g", 'A' + k, v, p->p0[k]);
        } else {
            double position = (v - p->p0[k]) / step,
                   tolerance = ON_GRID + rounding / fabs(step);
            double nearest = fmin(fmax(round(position), 0), p->np[k] - 1);
            require(rep,
                    position > -0.5 - tolerance &&
                        position < p->np[k] - 0.5 + tolerance,
                    "%c is %.9g, value %.4f: expected 0 to %d", 'A' + k, v, position,
                    p->np[k] - 1);
            judge(rep, fabs(position - nearest), tolerance,
                  "%c is %.9g, value %.4f of its grid", 'A' + k, v, position);
            if (rep->ok) index[k] = (int)nearest;
        }
    }
    return rep->ok;
}

/* Returns how far a result is from a score, beyond the tolerance of the score. */
static double distance(const problem *p, score s, const double found[7])
{
    return fmax(fabs(found[6] - s.semblance) - s.semblance_tolerance,
                (fabs(found[5] - s.stack) - s.stack_tolerance) / p->max_sample);
}

static void check_result(const problem *p, const char *path, double best_semblance,
                         workspace *w, int index[5], report *rep)
{
    npy a = read_result(rep, "result", path, (npy){NPY_F4, 1, {7}, NULL});
    if (!a.data) return;

    double found[7];
    for (int i = 0; i < 7; i++) {
        found[i] = npy_element(&a, (size_t)i);
        require(rep, isfinite(found[i]), "result: number %d of 7 is %g", i + 1,
                found[i]);
    }
    free(a.data);
    if (!rep->ok || !on_grid(p, found, index, rep)) return;

    double v[PARAMETERS];
    for (int k = 0; k < PARAMETERS; k++) v[k] = value(p, k, index[k]);
    int n = possible_scores(p, v, w);
    score s = w->score[0];
    for (int i = 1; i < n; i++)
        if (distance(p, w->score[i], found) < distance(p, s, found)) s = w->score[i];

    judge(rep, fabs(found[6] - s.semblance), BUDGET + s.semblance_tolerance,
          "semblance is %.9g, in double %.9g", found[6], s.semblance);
    judge(rep, fabs(found[5] - s.stack), BUDGET * p->max_sample + s.stack_tolerance,
          "stack is %.9g, in double %.9g", found[5], s.stack);
    judge(rep, fmax(best_semblance - s.semblance - s.semblance_tolerance, 0), BUDGET,
          "the point found has %.9g, the best %.9g", s.semblance, best_semblance);
}

static void check_panel(const problem *p, const char *path, const cell *cells,
                        report *rep)
{
    size_t na = (size_t)p->np[A], nb = (size_t)p->np[B];
    npy a = read_result(rep, "panel", path, (npy){NPY_F4, 2, {na, nb}, NULL});
    for (size_t i = 0; i < na * nb && rep->ok; i++) {
        double s = npy_element(&a, i);
        double d = isnan(s) ? NAN : fmax(fmax(cells[i].low - s, s - cells[i].high), 0);
        judge(rep, d, BUDGET, "panel[%zu][%zu] is %.9g, in double %.9g to %.9g", i / nb,
              i % nb, s, cells[i].low, cells[i].high);
    }
    free(a.data);
}

/* Reads the event at t0 from the generator's list, "t0 A B C D E amplitude" per line;
 * returns false if there is none. */
static bool event_at(const char *path, double t0, double event[PARAMETERS])
{
    FILE *f = fopen(path, "r");
    if (!f) fail("truth=%s: cannot be read", path);
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, f)) {
        double t, amplitude;
        int n = sscanf(line, "%lf %lf %lf %lf %lf %lf %lf", &t, &event[A], &event[B],
                       &event[C], &event[D], &event[E], &amplitude);
        if (n != 7) fail("truth=%s: expected t0 A B C D E amplitude", path);
        found = fabs(t - t0) <= 1e-9;
    }
    fclose(f);
    return found;
}

/* Checks against the known event. Its own parameters must give a coherent stack, which
 * tests formula and data, not the search. If the grid is fine enough, the search must
 * have found the event: if the grid point nearest to it has a higher semblance than
 * every point farther than one step in A or B, the result must lie within that step. On
 * a coarser grid, or one that excludes the event, another point may be the correct
 * result. */
static void check_truth(const problem *p, const double event[PARAMETERS],
                        const cell *cells, double best_semblance, workspace *w,
                        const int *index, report *rep)
{
    double low, high, position[PARAMETERS], nearest[PARAMETERS];
    semblance_range(p, event, w, &low, &high);
    require(rep, high >= 0.99, "truth: semblance %.6f, expected 0.99", high);

    for (int k = 0; k < PARAMETERS; k++) {
        double step = (p->p1[k] - p->p0[k]) / p->np[k];
        position[k] = step == 0 ? 0 : (event[k] - p->p0[k]) / step;
        nearest[k] = value(p, k, (int)round(fmin(fmax(position[k], 0), p->np[k] - 1)));
    }
    semblance_range(p, nearest, w, &low, &high);
    require(rep, best_semblance >= low,
            "truth: the nearest point has %.6f, the best %.6f", low, best_semblance);

    double rival = 0;
    for (int ia = 0; ia < p->np[A]; ia++)
        for (int ib = 0; ib < p->np[B]; ib++)
            if (fabs(position[A] - ia) > 1 || fabs(position[B] - ib) > 1)
                rival =
                    fmax(rival, cells[(size_t)ia * (size_t)p->np[B] + (size_t)ib].high);
    for (int k = 0; k < 2 && index && low > rival + BUDGET; k++)
        require(rep, fabs(position[k] - index[k]) <= 1 + ON_GRID,
                "truth: found %c value %d, the event is at %.2f", 'A' + k, index[k],
                position[k]);
}

int main(int argc, char **argv)
{
    run_name = "semblance-check";
    const char *oracle_path = NULL, *result = NULL, *panel = NULL, *truth = NULL;
    arg extra[] = {
        {"oracle", ARG_TEXT, &oracle_path, 0, 0,
         ".npy of the search in double; made if it does not exist", 0},
        {"result", ARG_TEXT, &result, 0, 0, ".npy that the search wrote as out=", 0},
        {"panel", ARG_TEXT, &panel, 0, 0, ".npy that the search wrote as panel=", 0},
        {"truth", ARG_TEXT, &truth, 0, 0, "events in the data, as their maker prints",
         0},
        {0},
    };
    problem p = problem_read(argc, argv, extra, about);
    if (!oracle_path) fail("oracle= is missing");

    cell *cells = oracle(&p, oracle_path);
    size_t where;
    double best_semblance = oracle_best(&p, cells, &where);

    report rep = NOTHING_DIFFERS;
    workspace w = workspace_make(p.traces);
    int index[PARAMETERS];
    double event[PARAMETERS];
    if (result) check_result(&p, result, best_semblance, &w, index, &rep);
    if (panel && rep.ok) check_panel(&p, panel, cells, &rep);
    for (size_t i = 0; (result || panel) && i < cell_count(&p); i++)
        count_value(&rep, cells[i].low <= 0 && cells[i].high >= 1);
    if (truth && rep.ok && event_at(truth, p.t0, event))
        check_truth(&p, event, cells, best_semblance, &w, result ? index : NULL, &rep);

    long point = (long)cells[where].point;
    printf("best=%.9g at %zu %zu %ld %ld %ld\n", best_semblance,
           where / (size_t)p.np[B], where % (size_t)p.np[B], point / p.np[E] / p.np[D],
           point / p.np[E] % p.np[D], point % p.np[E]);
    int status = verdict(&rep, result || panel || truth);

    workspace_free(&w);
    oracle_free(cells);
    problem_free(&p);
    return status;
}
