/* check_semblance.c - is what a semblance search found right? The program
 * semblance-check.
 *
 *     semblance-check QUERY oracle=FILE [result=out.npy] [panel=panel.npy] [truth=FILE]
 *
 * The oracle is the same search in double precision, over all points and with nothing
 * taken from steps/. It takes a while, so it is kept: a FILE that exists is read, and
 * refused if it belongs to another query or other traces.
 *
 * In float many points share the largest semblance, so the place of the maximum proves
 * nothing: the point that was found is looked up in the grid, scored again in double,
 * and must score as it says and as high as the best there is, both within a budget.
 *
 * Whether a trace is used is decided at a limit of its samples, and float and double
 * may disagree about a window that ends within rounding of it. Such a trace is at the
 * edge: both decisions are right. A point is given every score that they lead to, and
 * the panel an interval for each (A, B). Where no trace is at the edge, which is nearly
 * everywhere, the interval is one number.
 *
 * Prints key=value lines, the last one verdict=ok or verdict=FAIL and the reason; exits
 * with 0 only if ok. Left out: judging times.
 */
#include "arguments.h"
#include "compare.h"
#include "verdict.h"

static const char about[] =
    "checks what a semblance search found against the same search in double precision\n"
    "\n"
    "  semblance-check QUERY oracle=FILE [result=FILE] [panel=FILE] [truth=FILE]\n"
    "\n"
    "QUERY is what the search was called with. Exit status 0: verdict=ok.";

static const double BUDGET = 1e-5;  /* absolute: of semblance, and of stack per unit */
static const double ON_GRID = 1e-3; /* grid steps */
static const double ROUNDINGS = 8 * 0x1p-24; /* of float, in an arrival's terms */

enum { PARAMETERS = 5, WINDOW_MAX = 201 };

/* ---- the search in double ------------------------------------------------------- */

typedef struct {
    const request *r;
    const su_gather *g;
    int traces, tau;
    double idt;       /* samples a second */
    double *dm, *dh;  /* [traces]: midpoint - m0, half-offset - h0, in metres */
    double widest[5]; /* the largest |value| of a parameter's range */
    double loudest;   /* the largest |sample|, at least 1 */
} problem;

typedef struct {
    double semblance, stack;
} score;

typedef enum { INSIDE, AT_EDGE, OUTSIDE } place;

/* What is known of each trace at one point, and the scores the point may have. */
typedef struct {
    double *x;    /* [traces]: arrival in samples */
    place *at;    /* [traces]: of the window */
    score *score; /* [traces + 2] */
} workspace;

static problem problem_of(const request *r, const su_gather *g)
{
    problem p = {.r = r,
                 .g = g,
                 .traces = (int)g->ntraces,
                 .tau = tau_samples(r, g),
                 .idt = 1e6 / g->dt,
                 .loudest = 1};
    p.dm = allocate(g->ntraces, sizeof *p.dm, "the midpoints");
    p.dh = allocate(g->ntraces, sizeof *p.dh, "the half-offsets");
    for (int i = 0; i < p.traces; i++) {
        const su_header *h = &g->trace[i].header;
        double unit = h->scalco < 0 ? -1.0 / h->scalco : h->scalco > 0 ? h->scalco : 1;
        p.dm[i] = unit * ((double)h->gy + h->sy) / 2 - r->m0;
        p.dh[i] = unit * ((double)h->gy - h->sy) / 2 - r->h0;
    }
    for (int k = 0; k < PARAMETERS; k++)
        p.widest[k] = fmax(fabs(r->p0[k]), fabs(r->p1[k]));
    for (size_t i = 0; i < g->ntraces * (size_t)g->ns; i++)
        p.loudest = fmax(p.loudest, fabs((double)g->samples[i]));
    return p;
}

static workspace workspace_make(int traces)
{
    size_t n = (size_t)traces;
    return (workspace){allocate(n, sizeof(double), "arrivals"),
                       allocate(n, sizeof(place), "the windows' places"),
                       allocate(n + 2, sizeof(score), "scores")};
}

static void workspace_free(workspace *w)
{
    free(w->x);
    free(w->at);
    free(w->score);
}

static double value(const request *r, int k, int i)
{
    return r->p0[k] + (double)i / r->np[k] * (r->p1[k] - r->p0[k]);
}

/* -1 below limit^2, 1 above, 0 where t^2 is within `unsure` of it. */
static int side(double t2, double limit, double unsure)
{
    double beyond = t2 - limit * limit;
    return fabs(beyond) <= unsure ? 0 : beyond < 0 ? -1 : 1;
}

/* Where trace i's window lies, and its arrival in *x. A window holds the samples x -
 * tau .. x + tau, and interpolating the last takes one more. The sum that is squared
 * and the terms added to the square are as unsure as float's rounding of the largest
 * terms that the ranges allow: a value near 0 may be a small difference. */
static place arrival(const problem *p, const double v[PARAMETERS], int i, double *x)
{
    double dm = p->dm[i], dh = p->dh[i];
    double sum = p->r->t0 + v[0] * dm + v[1] * dh;
    double t2 = sum * sum + v[2] * dh * dh + v[3] * dm * dm + v[4] * dh * dm;

    const double *most = p->widest;
    double unsure_sum =
        ROUNDINGS * (p->r->t0 + most[0] * fabs(dm) + most[1] * fabs(dh));
    double unsure = 2 * fabs(sum) * unsure_sum + unsure_sum * unsure_sum +
                    ROUNDINGS * (sum * sum + most[2] * dh * dh + most[3] * dm * dm +
                                 most[4] * fabs(dh * dm));

    *x = t2 > 0 ? sqrt(t2) * p->idt : 0;
    int first = side(t2, p->tau / p->idt, unsure);
    int last = side(t2, (p->g->ns - p->tau - 1) / p->idt, unsure);
    if (first < 0 || last > 0) return OUTSIDE;
    return first == 0 || last == 0 ? AT_EDGE : INSIDE;
}

/* Semblance and stack of all traces but those outside and `without`. */
static score score_of(const problem *p, const workspace *w, int without)
{
    int window = 2 * p->tau + 1, used = 0;
    double num[WINDOW_MAX] = {0}, den = 0, sum = 0;

    for (int i = 0; i < p->traces; i++) {
        if (w->at[i] == OUTSIDE || i == without) continue;

        /* At the edge the last line is drawn on, a rounding error far. */
        int it = (int)w->x[i];
        if (it < p->tau) it = p->tau;
        if (it > p->g->ns - p->tau - 2) it = p->g->ns - p->tau - 2;
        double after = w->x[i] - it;
        const float *y = p->g->trace[i].data + it - p->tau;
        for (int j = 0; j < window; j++) {
            double here = y[j] + after * ((double)y[j + 1] - y[j]);
            num[j] += here;
            den += here * here;
            sum += here;
        }
        used++;
    }
    if (den == 0) return (score){0, 0};

    double square = 0;
    for (int j = 0; j < window; j++) square += num[j] * num[j];
    return (score){square / den / used, sum / used / window};
}

/* The scores that a point may rightly have, in w->score; returns how many. The second
 * trace that is not used makes it 0, so at most one of those at the edge is left out.
 */
static int scores_of(const problem *p, const double v[PARAMETERS], workspace *w)
{
    int outside = 0, edge = 0, n = 0;
    for (int i = 0; i < p->traces && outside < 2; i++) {
        w->at[i] = arrival(p, v, i, &w->x[i]);
        outside += w->at[i] == OUTSIDE;
        edge += w->at[i] == AT_EDGE;
    }
    if (outside < 2) w->score[n++] = score_of(p, w, -1);
    if (outside == 0)
        for (int i = 0; i < p->traces && edge; i++)
            if (w->at[i] == AT_EDGE) w->score[n++] = score_of(p, w, i);
    if (outside + edge >= 2) w->score[n++] = (score){0, 0};
    return n;
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
    const request *r = p->r;
    identity id = {.m0 = r->m0,
                   .h0 = r->h0,
                   .t0 = r->t0,
                   .tau = r->tau,
                   .traces = p->traces,
                   .ns = p->g->ns,
                   .dt = p->g->dt};
    for (int k = 0; k < PARAMETERS; k++) {
        id.np[k] = r->np[k];
        id.p0[k] = r->p0[k];
        id.p1[k] = r->p1[k];
    }
    for (int i = 0; i < p->traces; i++) id.geometry += (i + 1) * (p->dm[i] - p->dh[i]);
    for (size_t i = 0; i < p->g->ntraces * (size_t)p->g->ns; i++)
        id.energy += (double)p->g->samples[i] * p->g->samples[i];
    return id;
}

static size_t cells_of(const problem *p)
{
    return (size_t)p->r->np[0] * (size_t)p->r->np[1];
}

static cell search_cell(const problem *p, int ia, int ib, workspace *w)
{
    const request *r = p->r;
    double v[PARAMETERS] = {value(r, 0, ia), value(r, 1, ib)};
    cell best = {-1, -1, 0};
    double point = 0;
    for (int ic = 0; ic < r->np[2]; ic++) {
        v[2] = value(r, 2, ic);
        for (int id = 0; id < r->np[3]; id++) {
            v[3] = value(r, 3, id);
            for (int ie = 0; ie < r->np[4]; ie++, point++) {
                v[4] = value(r, 4, ie);
                int n = scores_of(p, v, w);
                double low = w->score[0].semblance, high = low;
                for (int i = 1; i < n; i++) {
                    low = fmin(low, w->score[i].semblance);
                    high = fmax(high, w->score[i].semblance);
                }
                if (low > best.low) best.low = low, best.point = point;
                if (high > best.high) best.high = high;
            }
        }
    }
    return best;
}

static void oracle_compute(const problem *p, cell *cells)
{
    int na = p->r->np[0], nb = p->r->np[1];
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

/* The grid index of each of A .. E, or false. */
static bool on_grid(const problem *p, const double found[7], int index[5], report *rep)
{
    const request *r = p->r;
    for (int k = 0; k < PARAMETERS; k++) {
        double step = (r->p1[k] - r->p0[k]) / r->np[k];
        double v = found[k];
        index[k] = 0;
        if (step == 0) {
            judge(rep, fabs(v - r->p0[k]), 1e-6 * fabs(r->p0[k]) + 1e-30,
                  "%c is %.9g, the range only %.9g", 'A' + k, v, r->p0[k]);
        } else {
            double at = (v - r->p0[k]) / step, nearest = round(at);
            require(rep, nearest >= 0 && nearest < r->np[k],
                    "%c is %.9g, value %.4f: expected 0 to %d", 'A' + k, v, at,
                    r->np[k] - 1);
            judge(rep, fabs(at - nearest), ON_GRID,
                  "%c is %.9g, value %.4f of its grid", 'A' + k, v, at);
            if (rep->ok) index[k] = (int)nearest;
        }
    }
    return rep->ok;
}

/* How far a score is from what was found, in budgets. */
static double distance(const problem *p, score s, const double found[7])
{
    return fmax(fabs(found[6] - s.semblance), fabs(found[5] - s.stack) / p->loudest);
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
    for (int k = 0; k < PARAMETERS; k++) v[k] = value(p->r, k, index[k]);
    int n = scores_of(p, v, w);
    score s = w->score[0];
    for (int i = 1; i < n; i++)
        if (distance(p, w->score[i], found) < distance(p, s, found)) s = w->score[i];

    judge(rep, fabs(found[6] - s.semblance), BUDGET,
          "semblance is %.9g, in double %.9g", found[6], s.semblance);
    judge(rep, fabs(found[5] - s.stack), BUDGET * p->loudest,
          "stack is %.9g, in double %.9g", found[5], s.stack);
    judge(rep, fmax(top - s.semblance, 0), BUDGET,
          "the point found has %.9g, the best %.9g", s.semblance, top);
}

static void check_panel(const problem *p, const char *path, const cell *cells,
                        report *rep)
{
    size_t na = (size_t)p->r->np[0], nb = (size_t)p->r->np[1];
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

/* The largest score that v may have. */
static double best_score(const problem *p, const double v[PARAMETERS], workspace *w)
{
    int n = scores_of(p, v, w);
    double s = w->score[0].semblance;
    for (int i = 1; i < n; i++) s = fmax(s, w->score[i].semblance);
    return s;
}

/* The event itself must be coherent, which tests formula and data, not the search; and
 * the search must find it: the value nearest to it is as good as the best. */
static void check_truth(const problem *p, const double event[PARAMETERS], double top,
                        workspace *w, const int *index, report *rep)
{
    const request *r = p->r;
    double s = best_score(p, event, w);
    require(rep, s >= 0.99, "truth: semblance %.6f, expected 0.99", s);

    double nearest[PARAMETERS];
    for (int k = 0; k < PARAMETERS; k++) {
        double step = (r->p1[k] - r->p0[k]) / r->np[k];
        double at = step == 0 ? 0 : (event[k] - r->p0[k]) / step;
        int i = (int)round(fmin(fmax(at, 0), r->np[k] - 1));
        nearest[k] = value(r, k, i);
        require(rep, fabs(at - i) <= 1, "truth: %c is %g, which is not searched",
                'A' + k, event[k]);
        if (k < 2 && index)
            require(rep, fabs(at - index[k]) <= 1 + ON_GRID,
                    "truth: found %c value %d, the event is at %.2f", 'A' + k, index[k],
                    at);
    }
    s = best_score(p, nearest, w);
    require(rep, top - s <= 1e-3, "truth: the nearest point has %.6f, the best %.6f", s,
            top);
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
    request r = request_parse(argc, argv, extra, about);
    if (!oracle_path) fail("oracle= is missing");
    su_gather g = request_gather(&r);
    query_of(&r, &g); /* ends where t0, tau or np do not fit */

    problem p = problem_of(&r, &g);
    cell *cells = oracle(&p, oracle_path);
    size_t where;
    double top = oracle_top(&p, cells, &where);

    report rep = NOTHING_DIFFERS;
    workspace w = workspace_make(p.traces);
    int index[PARAMETERS];
    double event[PARAMETERS];
    if (result) check_result(&p, result, top, &w, index, &rep);
    if (panel && rep.ok) check_panel(&p, panel, cells, &rep);
    if (truth && rep.ok && event_at(truth, r.t0, event))
        check_truth(&p, event, top, &w, result ? index : NULL, &rep);

    long point = (long)cells[where].point;
    printf("best=%.9g at %zu %zu %ld %ld %ld\n", top, where / (size_t)r.np[1],
           where % (size_t)r.np[1], point / r.np[4] / r.np[3],
           point / r.np[4] % r.np[3], point % r.np[4]);
    int status = verdict(&rep, result || panel || truth);

    workspace_free(&w);
    free((double *)cells - IDENTITY);
    free(p.dm);
    free(p.dh);
    su_free(&g);
    return status;
}
