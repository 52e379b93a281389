/* check_semblance.c - is what a semblance search found right? The program
 * semblance-check.
 *
 *     semblance-check QUERY oracle=FILE [result=out.npy] [panel=panel.npy] [truth=FILE]
 *
 * The oracle is the same search in double precision, over all points and with nothing
 * taken from steps/ or common/semblance. It takes a while, so it is kept: a FILE that
 * exists is read, and refused if it belongs to another query or other traces.
 *
 * In float many points share the largest semblance, so the place of the maximum proves
 * nothing: the point that was found is looked up in the grid, scored again in double,
 * and must score as it says and as high as the best there is.
 *
 * How near a float search must come is not one number. An arrival is as unsure as
 * float's rounding of what it is made of: far into long traces, far from the output
 * point, or where t^2 is a small difference of large terms, by hundredths of a sample
 * and more. What that does to semblance and stack follows from the slope of the samples
 * and is worked out for each point; BUDGET comes on top.
 *
 * Whether a trace is used is decided at a limit of its samples, and float and double
 * may disagree about a window that ends within rounding of it. Such a trace is at the
 * edge: both decisions are right. A point is given every score that they lead to, and
 * the panel an interval for each (A, B).
 *
 * Prints key=value lines, the last one verdict=ok or verdict=FAIL and the reason; exits
 * with 0 only if ok. Left out: judging times.
 */
#include "compare.h"
#include "oracle_semblance.h"
#include "verdict.h"

static const char about[] =
    "checks what a semblance search found against the same search in double precision\n"
    "\n"
    "  semblance-check QUERY oracle=FILE [result=FILE] [panel=FILE] [truth=FILE]\n"
    "\n"
    "QUERY is what the search was called with. Exit status 0: verdict=ok.";

static const double BUDGET = 2e-6;  /* of semblance, and of stack per loudest sample */
static const double ON_GRID = 1e-3; /* grid steps */
static const double HALF_ULP = 0x1p-24; /* of a float, relative */
static const double ROUNDINGS = 3;      /* that many in each term of an arrival */

/* ---- the search in double ------------------------------------------------------- */

/* What is known of a point: its values, and how far those of a right float search may
 * be from them. */
typedef struct {
    double semblance, stack;
    double semblance_by, stack_by;
} score;

typedef enum { INSIDE, AT_EDGE, OUTSIDE } place;

/* Of each trace at one point, and the scores the point may have. */
typedef struct {
    double *x;    /* [traces]: arrival in samples */
    double *slip; /* [traces]: how far a float arrival may be from it */
    place *at;    /* [traces]: of the window */
    score *score; /* [traces + 2] */
} workspace;

static workspace workspace_make(int traces)
{
    size_t n = (size_t)traces;
    return (workspace){allocate(n, sizeof(double), "arrivals"),
                       allocate(n, sizeof(double), "their errors"),
                       allocate(n, sizeof(place), "the windows' places"),
                       allocate(n + 2, sizeof(score), "scores")};
}

static void workspace_free(workspace *w)
{
    free(w->x);
    free(w->slip);
    free(w->at);
    free(w->score);
}

static double value(const problem *p, int k, int i)
{
    return p->p0[k] + (double)i / p->np[k] * (p->p1[k] - p->p0[k]);
}

/* The root of a square; negative of a negative one, whose trace has no arrival. */
static double signed_root(double square)
{
    return square < 0 ? -sqrt(-square) : sqrt(square);
}

/* Where trace i's window lies, and its arrival. A window holds the samples x - half ..
 * x + half, and interpolating the last takes one more. A displacement is as unsure as
 * the larger of it and its twin, a value of a parameter as the largest of its range: a
 * small one may be a difference of such. */
static void arrival(const problem *p, const double v[PARAMETERS], int i, workspace *w)
{
    double dm = p->dm[i], dh = p->dh[i];
    double linear = p->t0 + v[0] * dm + v[1] * dh;
    double curved = (v[2] * dh + v[4] * dm) * dh + v[3] * dm * dm;
    double t2 = linear * linear + curved;

    double rounding = ROUNDINGS * HALF_ULP, reach = fabs(dm) + fabs(dh);
    const double *most = p->widest;
    double by = rounding * (p->t0 + (most[0] + most[1]) * reach);
    by = by * (2 * fabs(linear) + by) +
         rounding *
             (linear * linear +
              (most[2] * fabs(dh) + most[3] * fabs(dm) + most[4] * reach) * reach);

    double x = signed_root(t2) * p->idt;
    double low = signed_root(t2 - by) * p->idt, high = signed_root(t2 + by) * p->idt;
    double slip = fmax(x - low, high - x) + rounding / 2 * (fabs(x) + p->half);
    if (t2 == 0 && by == 0) slip = 0;

    double first = p->half, last = p->ns - p->half - 1;
    w->x[i] = x;
    w->slip[i] = slip;
    w->at[i] = x + slip < first || x - slip >= last   ? OUTSIDE
               : x - slip < first || x + slip >= last ? AT_EDGE
                                                      : INSIDE;
}

/* The window of trace i: its samples in v, and in slope the steepest lines that a float
 * arrival may find itself on. */
static void window_of(const problem *p, const workspace *w, int i, double *v,
                      double *slope)
{
    /* At the edge the last line is drawn on, a rounding error far. */
    int last = p->ns - p->half - 2, it = (int)fmax(w->x[i], p->half);
    if (it > last) it = last;
    double after = w->x[i] - it;
    const float *y = p->sample + (size_t)i * (size_t)p->ns;
    for (int j = -p->half; j <= p->half; j++, v++, slope++) {
        int k = it + j;
        double step = (double)y[k + 1] - y[k];
        *v = y[k] + after * step;
        *slope = fabs(step);
        if (after < w->slip[i] && k > 0)
            *slope = fmax(*slope, fabs((double)y[k] - y[k - 1]));
        if (after + w->slip[i] > 1 && k + 2 < p->ns)
            *slope = fmax(*slope, fabs((double)y[k + 2] - y[k + 1]));
    }
}

/* Semblance and stack of all traces but those outside and `without`. */
static score score_of(const problem *p, const workspace *w, int without)
{
    int window = 2 * p->half + 1, used = 0;
    double num[WINDOW_MAX] = {0}, sizes[WINDOW_MAX] = {0}; /* sums of v and of |v| */
    double v[WINDOW_MAX], slope[WINDOW_MAX];
    double den = 0, sum = 0, size = 0, noise = 0;

    for (int i = 0; i < p->traces; i++) {
        if (w->at[i] == OUTSIDE || i == without) continue;
        window_of(p, w, i, v, slope);
        for (int j = 0; j < window; j++) {
            num[j] += v[j];
            sizes[j] += fabs(v[j]);
            den += v[j] * v[j];
            sum += v[j];
            size += fabs(v[j]);
            noise += pow(slope[j] * w->slip[i], 2);
        }
        used++;
    }
    if (den == 0 && noise == 0) return (score){0, 0, 0, 0};

    double n = used, samples = n * window, square = 0, product = 0;
    for (int j = 0; j < window; j++) {
        square += num[j] * num[j];
        product += fabs(num[j]) * sizes[j];
    }
    score s = {den > 0 ? square / den / n : 0, sum / samples, 0, 0};

    /* Sums of so many floats, then the arrivals. */
    s.stack_by = HALF_ULP * (samples / 2 + 8) * size / samples;
    if (den > 0)
        s.semblance_by = HALF_ULP * (2 * (n + 4) * product / (n * den) +
                                     (n + window + 8) * s.semblance);
    for (int i = 0; i < p->traces; i++) {
        if (w->at[i] == OUTSIDE || i == without) continue;
        window_of(p, w, i, v, slope);
        double pull = 0, steep = 0;
        for (int j = 0; j < window; j++) {
            pull += slope[j] * fabs(num[j] / n - s.semblance * v[j]);
            steep += slope[j];
        }
        if (den > 0) s.semblance_by += 2 * w->slip[i] * pull / den;
        s.stack_by += w->slip[i] * steep / samples;
    }

    /* Semblance does not depend on loudness: where windows are empty but for rounding,
     * or floats too small to be squared, it may be anything. */
    if (den < 100 * noise || den < 1e-30) {
        s.semblance_by = 1;
        s.stack_by += fabs(s.stack);
    }
    return s;
}

/* The scores that a point may rightly have, in w->score; returns how many. The second
 * trace that is not used makes it 0, so at most one of those at the edge is left out.
 */
static int scores_of(const problem *p, const double v[PARAMETERS], workspace *w)
{
    int outside = 0, edge = 0, n = 0;
    for (int i = 0; i < p->traces && outside < 2; i++) {
        arrival(p, v, i, w);
        outside += w->at[i] == OUTSIDE;
        edge += w->at[i] == AT_EDGE;
    }
    if (outside < 2) w->score[n++] = score_of(p, w, -1);
    if (outside == 0)
        for (int i = 0; i < p->traces && edge; i++)
            if (w->at[i] == AT_EDGE) w->score[n++] = score_of(p, w, i);
    if (outside + edge >= 2) w->score[n++] = (score){0, 0, 0, 0};
    return n;
}

/* The least and the most that a float search may find at a point. */
static void extremes(const problem *p, const double v[PARAMETERS], workspace *w,
                     double *low, double *high)
{
    int n = scores_of(p, v, w);
    *low = 1, *high = 0;
    for (int i = 0; i < n; i++) {
        const score *s = &w->score[i];
        *low = fmin(*low, fmax(s->semblance - s->semblance_by, 0));
        *high = fmax(*high, s->semblance + s->semblance_by);
    }
}

/* ---- the oracle ----------------------------------------------------------------- */

/* What one (A, B) has at best: at least low, at most high. They differ only where a
 * trace is at the edge. */
typedef struct {
    double low, high;
    double point; /* (ic np[3] + id) np[4] + ie of the first that has low */
} cell;

/* Of which search it is: doubles only, as they lie at the start of the file. */
typedef struct {
    double np[5], p0[5], p1[5], m0, h0, t0, tau;
    double traces, ns, dt;
    double geometry, energy; /* sums over all traces and over all samples */
} identity;

/* The file is one array of float64: an identity, then np[0] x np[1] cells. */
enum {
    IDENTITY = sizeof(identity) / sizeof(double),
    CELL = sizeof(cell) / sizeof(double)
};

static identity identity_of(const problem *p)
{
    identity id = {.m0 = p->m0,
                   .h0 = p->h0,
                   .t0 = p->t0,
                   .tau = p->tau,
                   .traces = p->traces,
                   .ns = p->ns,
                   .dt = p->dt};
    for (int k = 0; k < PARAMETERS; k++) {
        id.np[k] = p->np[k];
        id.p0[k] = p->p0[k];
        id.p1[k] = p->p1[k];
    }
    for (int i = 0; i < p->traces; i++) id.geometry += (i + 1) * (p->dm[i] - p->dh[i]);
    for (size_t i = 0; i < (size_t)p->traces * (size_t)p->ns; i++)
        id.energy += (double)p->sample[i] * p->sample[i];
    return id;
}

static size_t cells_of(const problem *p)
{
    return (size_t)p->np[0] * (size_t)p->np[1];
}

static cell search_cell(const problem *p, int ia, int ib, workspace *w)
{
    double v[PARAMETERS] = {value(p, 0, ia), value(p, 1, ib)};
    cell best = {-1, -1, 0};
    double point = 0;
    for (int ic = 0; ic < p->np[2]; ic++) {
        v[2] = value(p, 2, ic);
        for (int id = 0; id < p->np[3]; id++) {
            v[3] = value(p, 3, id);
            for (int ie = 0; ie < p->np[4]; ie++, point++) {
                v[4] = value(p, 4, ie);
                double low, high;
                extremes(p, v, w, &low, &high);
                if (low > best.low) best.low = low, best.point = point;
                if (high > best.high) best.high = high;
            }
        }
    }
    return best;
}

static void oracle_compute(const problem *p, cell *cells)
{
    int na = p->np[0], nb = p->np[1];
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

/* The cells [np[0]][np[1]] of path, which is made if it does not exist. */
static cell *oracle(const problem *p, const char *path)
{
    npy all = {.type = NPY_F8, .dims = 1, .shape = {IDENTITY + CELL * cells_of(p)}};
    identity id = identity_of(p);
    bool kept = oracle_kept(path, &all, &id, sizeof id);
    cell *cells = (cell *)((double *)all.data + IDENTITY);
    if (!kept) {
        oracle_compute(p, cells);
        npy_write(path, &all);
    }
    return cells;
}

/* The largest semblance that a search cannot miss, and the cell that has it. */
static double oracle_top(const problem *p, const cell *cells, size_t *where)
{
    *where = 0;
    for (size_t i = 1; i < cells_of(p); i++)
        if (cells[i].low > cells[*where].low) *where = i;
    return cells[*where].low;
}

/* ---- the verdict ---------------------------------------------------------------- */

/* The grid index of each of A .. E, or false. Where the steps of a grid are finer than
 * floats, the nearest is as good as its neighbours. */
static bool on_grid(const problem *p, const double found[7], int index[5], report *rep)
{
    for (int k = 0; k < PARAMETERS; k++) {
        double step = (p->p1[k] - p->p0[k]) / p->np[k];
        double v = found[k], rounding = 4 * HALF_ULP * p->widest[k];
        index[k] = 0;
        if (step == 0) {
            judge(rep, fabs(v - p->p0[k]), rounding + 1e-30,
                  "%c is %.9g, the range only %.9g", 'A' + k, v, p->p0[k]);
        } else {
            double at = (v - p->p0[k]) / step, off = ON_GRID + rounding / fabs(step);
            double nearest = fmin(fmax(round(at), 0), p->np[k] - 1);
            require(rep, at > -0.5 - off && at < p->np[k] - 0.5 + off,
                    "%c is %.9g, value %.4f: expected 0 to %d", 'A' + k, v, at,
                    p->np[k] - 1);
            judge(rep, fabs(at - nearest), off, "%c is %.9g, value %.4f of its grid",
                  'A' + k, v, at);
            if (rep->ok) index[k] = (int)nearest;
        }
    }
    return rep->ok;
}

/* How far what was found is beyond what a score allows, in budgets. */
static double distance(const problem *p, score s, const double found[7])
{
    return fmax(fabs(found[6] - s.semblance) - s.semblance_by,
                (fabs(found[5] - s.stack) - s.stack_by) / p->loudest);
}

static void check_result(const problem *p, const char *path, double top, workspace *w,
                         int index[5], report *rep)
{
    npy a = read_result(rep, "result", path, (npy){NPY_F4, 1, {7}, NULL});
    if (!a.data) return;

    double found[7];
    for (int i = 0; i < 7; i++) {
        found[i] = element(&a, (size_t)i);
        require(rep, isfinite(found[i]), "result: number %d of 7 is %g", i + 1,
                found[i]);
    }
    free(a.data);
    if (!rep->ok || !on_grid(p, found, index, rep)) return;

    double v[PARAMETERS];
    for (int k = 0; k < PARAMETERS; k++) v[k] = value(p, k, index[k]);
    int n = scores_of(p, v, w);
    score s = w->score[0];
    for (int i = 1; i < n; i++)
        if (distance(p, w->score[i], found) < distance(p, s, found)) s = w->score[i];

    judge(rep, fabs(found[6] - s.semblance), BUDGET + s.semblance_by,
          "semblance is %.9g, in double %.9g", found[6], s.semblance);
    judge(rep, fabs(found[5] - s.stack), BUDGET * p->loudest + s.stack_by,
          "stack is %.9g, in double %.9g", found[5], s.stack);
    judge(rep, fmax(top - s.semblance - s.semblance_by, 0), BUDGET,
          "the point found has %.9g, the best %.9g", s.semblance, top);
}

static void check_panel(const problem *p, const char *path, const cell *cells,
                        report *rep)
{
    size_t na = (size_t)p->np[0], nb = (size_t)p->np[1];
    npy a = read_result(rep, "panel", path, (npy){NPY_F4, 2, {na, nb}, NULL});
    for (size_t i = 0; i < na * nb && rep->ok; i++) {
        double s = element(&a, i);
        double d = isnan(s) ? NAN : fmax(fmax(cells[i].low - s, s - cells[i].high), 0);
        judge(rep, d, BUDGET, "panel[%zu][%zu] is %.9g, in double %.9g to %.9g", i / nb,
              i % nb, s, cells[i].low, cells[i].high);
    }
    free(a.data);
}

/* The event at t0 in the generator's list, "t0 A B C D E amplitude" a line; false if
 * there is none. */
static bool event_at(const char *path, double t0, double event[PARAMETERS])
{
    FILE *f = fopen(path, "r");
    if (!f) fail("truth=%s: cannot be read", path);
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, f)) {
        double t, amplitude;
        int n = sscanf(line, "%lf %lf %lf %lf %lf %lf %lf", &t, &event[0], &event[1],
                       &event[2], &event[3], &event[4], &amplitude);
        if (n != 7) fail("truth=%s: expected t0 A B C D E amplitude", path);
        found = fabs(t - t0) <= 1e-9;
    }
    fclose(f);
    return found;
}

/* The event itself must be coherent, which tests formula and data, not the search. And
 * where the grid is fine enough to show it, the search must have found it: where the
 * value nearest to the event scores more than anything can that is farther than a step
 * of A or B from it, what was found lies within that step. On a coarser grid, or one
 * that leaves the event out, something else may rightly win. */
static void check_truth(const problem *p, const double event[PARAMETERS],
                        const cell *cells, double top, workspace *w, const int *index,
                        report *rep)
{
    double low, high, at[PARAMETERS], nearest[PARAMETERS];
    extremes(p, event, w, &low, &high);
    require(rep, high >= 0.99, "truth: semblance %.6f, expected 0.99", high);

    for (int k = 0; k < PARAMETERS; k++) {
        double step = (p->p1[k] - p->p0[k]) / p->np[k];
        at[k] = step == 0 ? 0 : (event[k] - p->p0[k]) / step;
        nearest[k] = value(p, k, (int)round(fmin(fmax(at[k], 0), p->np[k] - 1)));
    }
    extremes(p, nearest, w, &low, &high);
    require(rep, top >= low, "truth: the nearest point has %.6f, the best %.6f", low,
            top);

    double rival = 0;
    for (int ia = 0; ia < p->np[0]; ia++)
        for (int ib = 0; ib < p->np[1]; ib++)
            if (fabs(at[0] - ia) > 1 || fabs(at[1] - ib) > 1)
                rival =
                    fmax(rival, cells[(size_t)ia * (size_t)p->np[1] + (size_t)ib].high);
    for (int k = 0; k < 2 && index && low > rival + BUDGET; k++)
        require(rep, fabs(at[k] - index[k]) <= 1 + ON_GRID,
                "truth: found %c value %d, the event is at %.2f", 'A' + k, index[k],
                at[k]);
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
    double top = oracle_top(&p, cells, &where);

    report rep = NOTHING_DIFFERS;
    workspace w = workspace_make(p.traces);
    int index[PARAMETERS];
    double event[PARAMETERS];
    if (result) check_result(&p, result, top, &w, index, &rep);
    if (panel && rep.ok) check_panel(&p, panel, cells, &rep);
    if (truth && rep.ok && event_at(truth, p.t0, event))
        check_truth(&p, event, cells, top, &w, result ? index : NULL, &rep);

    long point = (long)cells[where].point;
    printf("best=%.9g at %zu %zu %ld %ld %ld\n", top, where / (size_t)p.np[1],
           where % (size_t)p.np[1], point / p.np[4] / p.np[3],
           point / p.np[4] % p.np[3], point % p.np[4]);
    int status = verdict(&rep, result || panel || truth);

    workspace_free(&w);
    free((double *)cells - IDENTITY);
    problem_free(&p);
    return status;
}
