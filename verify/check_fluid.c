/* check_fluid.c - is what a fluid program computed right? The program fluid-check.
 *
 *     fluid-check QUERY oracle=FILE [density=out.npy] [velocity=velocity.npy]
 *                 [totals=totals.npy] [truth=FILE]
 *
 * The oracle (oracle_fluid.c) is the same fluid in double precision, with nothing taken
 * from steps/ or common/fluid. It is kept: a FILE that exists is read, and refused if
 * it belongs to another query or other events.
 *
 * Where the oracle knows how far from it a float may be, each cell must be within that,
 * and the number of sweeps must be one that rounding can lead to; where the totals say
 * that pressures were solved outright, the oracle solves them too. For large boxes it
 * does not: there density and each component of velocity must be within a relative L2
 * norm, the sweeps that a tolerance ends within 4 percent, and velocity as free of
 * divergence as the oracle's. Everywhere total density must be that of the density
 * found, sweeps that were asked for exactly so many, and density nowhere negative, nor
 * above what was let in. The truth file holds what the maker of the events knows
 * beforehand: `total D` and `still`.
 *
 * Prints key=value lines, the last one verdict=ok or verdict=FAIL and the reason; exits
 * with 0 only if ok. Left out: judging times.
 */
#include "oracle_fluid.h"
#include "verdict.h"

static const char about[] =
    "checks what a fluid program computed against the same in double precision\n\n"
    "  fluid-check QUERY oracle=FILE [density=FILE] [velocity=FILE] [totals=FILE] "
    "[truth=FILE]\n\n"
    "QUERY is what the program was called with. Exit status 0: verdict=ok.";

/* Of large boxes: relative L2 of a field; total density. */
static const double BUDGET = 1e-4;
/* Of sweeps that a tolerance ends, there: it is as small as the step from float to
 * float, so that some solves go on in float that have ended in double, one in five for
 * a sweep or so, in boxes of 168 cells every other one. A solve takes 6 to 14: a sweep
 * too many in each would be 7 percent and more. Pressures take as many as they may,
 * where they are not solved outright, and do not count, up to half of all. */
static const double SWEEPS_BUDGET = 0.06;

enum { DENSITY = 3 }; /* of the outcomes */

/* What the oracle's file says. */
typedef struct {
    const query *q;
    header h;
    const double *value[OUTPUTS], *budget[OUTPUTS];
    void *buffer;
} expected;

/* ---- the oracle's file --------------------------------------------------------------
 */

/* Of which run it is: doubles only, as they lie at the start of the file. */
typedef struct {
    double n[3], steps, dt, visc, diff, most, tolerance, lexicographic, keep_sources,
        direct_pressure, events;
} identity;

enum { IDENTITY = sizeof(identity) / sizeof(double) };

static identity identity_of(const query *q)
{
    identity id = {.n = {q->n[X], q->n[Y], q->n[Z]},
                   .steps = q->steps,
                   .dt = q->dt,
                   .visc = q->visc,
                   .diff = q->diff,
                   .most = q->most,
                   .tolerance = q->tolerance,
                   .lexicographic = q->lexicographic,
                   .keep_sources = q->keep_sources,
                   .direct_pressure = q->direct_pressure};
    for (size_t e = 0; e < q->events; e++)
        for (int d = 0; d < 3; d++)
            id.events +=
                (double)(e + 1) * (d + 2) *
                (q->event[e].value[d] + q->event[e].step * 0.1 + q->event[e].force);
    return id;
}

/* What is right; it is computed if path does not exist. */
static expected oracle(const query *q, const char *path)
{
    size_t inner = inner_cells(q),
           arrays = can_afford_budget(q) ? 2 * OUTPUTS : OUTPUTS;
    npy all = {
        .type = NPY_F8, .dims = 1, .shape = {IDENTITY + HEADER + arrays * inner}};
    identity id = identity_of(q);
    if (!oracle_kept(path, &all, &id, sizeof id)) {
        solve_query(q, (double *)all.data + IDENTITY);
        npy_write(path, &all);
    }
    const double *from = (const double *)all.data + IDENTITY;
    expected r = {.q = q, .buffer = all.data};
    memcpy(&r.h, from, sizeof r.h);
    for (size_t f = 0; f < OUTPUTS; f++) {
        r.value[f] = from + HEADER + f * inner;
        r.budget[f] = r.h.has_budget ? r.value[f] + OUTPUTS * inner : NULL;
    }
    return r;
}

/* ---- judging ------------------------------------------------------------------------
 */

/* A field against found[nz][ny][nx]: the cell that is nearest to its budget, or
 * farthest beyond it; or else the norm of all. */
static void check_field(report *rep, const expected *r, const char *name, int field,
                        const float *found)
{
    const double *value = r->value[field], *budget = r->budget[field];
    size_t nx = (size_t)r->q->n[X], ny = (size_t)r->q->n[Y], worst = 0;
    double difference = 0, size = 0, most = -1;
    for (size_t c = 0; c < inner_cells(r->q); c++) {
        double d = fabs((double)found[c] - value[c]),
               share = budget ? d / budget[c] : d;
        difference += d * d;
        size += value[c] * value[c];
        if (share <= most) continue; /* false for NaN */
        most = isnan(share) ? INFINITY : share;
        worst = c;
    }
    double norm = size > 0 ? sqrt(difference / size) : sqrt(difference);
    judge(rep, budget ? most : norm,
          budget     ? 1
          : size > 0 ? BUDGET
                     : 0,
          "%s: relative L2 %.3g; cell (%zu, %zu, %zu) is %.9g, in double %.9g", name,
          norm, 1 + worst % nx, 1 + worst / nx % ny, 1 + worst / nx / ny,
          (double)found[worst], value[worst]);
}

/* The sum over all cells, with ghosts where they count: only those at a face of the box
 * are not 0. */
static double total_of(const query *q, const float *x)
{
    double sum = 0;
    for (int k = 1; k <= q->n[Z]; k++)
        for (int j = 1; j <= q->n[Y]; j++)
            for (int i = 1; i <= q->n[X]; i++, x++) {
                int faces = (i == 1) + (i == q->n[X]) + (j == 1) + (j == q->n[Y]) +
                            (k == 1) + (k == q->n[Z]);
                sum += q->keep_sources ? (1 + faces) * (double)*x : *x;
            }
    return sum;
}

static void check_density(report *rep, const expected *r, const float *found,
                          double *total)
{
    double low = 0, high = 0, growth = 1e-4 + 1e-6 * r->q->most;
    for (size_t c = 0; c < inner_cells(r->q); c++) {
        low = fmin(low, found[c]);
        high = fmax(high, found[c]);
    }
    *total = total_of(r->q, found);
    check_field(rep, r, "density", DENSITY, found);
    require(rep, low >= 0 || r->q->keep_sources, "density: %.9g is negative", low);
    require(rep, high <= r->q->max_source * (1 + growth) || r->q->keep_sources,
            "density: %.9g is more than was let in, %.9g", high, r->q->max_source);
}

/* The divergence that velocity[3][nz][ny][nx] has, as the pressure's equation takes it,
 * root mean square; ghosts are made from the inner cells. */
static double divergence_of(const query *q, const double *velocity)
{
    size_t stride[3] = {1, (size_t)q->n[X] + 2,
                        ((size_t)q->n[X] + 2) * ((size_t)q->n[Y] + 2)};
    size_t cells = stride[Z] * ((size_t)q->n[Z] + 2), inner = inner_cells(q);
    double *x = allocate(cells, sizeof *x, "a field"), squares = 0;
    double *out = allocate(inner, sizeof *out, "divergence");
    for (size_t c = 0; c < inner; c++) out[c] = 0;
    for (int pass = 0; pass < 2 * 3; pass++) { /* in and out again, of each component */
        size_t c = 0, d = (size_t)pass / 2, far = stride[d];
        if (pass % 2) set_walls(q, x, (int)d);
        for (int k = 1; k <= q->n[Z]; k++)
            for (int j = 1; j <= q->n[Y]; j++)
                for (int i = 1; i <= q->n[X]; i++, c++) {
                    size_t at =
                        (size_t)i + (size_t)j * stride[Y] + (size_t)k * stride[Z];
                    if (pass % 2)
                        out[c] += x[at + far] - x[at - far];
                    else
                        x[at] = velocity[d * inner + c];
                }
    }
    for (size_t c = 0; c < inner; c++) squares += out[c] * out[c];
    free(x);
    free(out);
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
        size = fmax(size, fabs(velocity64[c]));
    }
    double divergence = divergence_of(r->q, velocity64),
           oracle_divergence = divergence_of(r->q, r->value[X]);
    free(velocity64);
    require(rep, divergence <= 1.001 * oracle_divergence + 1e-5 * size,
            "velocity: its divergence is %.9g, in double %.9g", divergence,
            oracle_divergence);
}

static void check_totals(report *rep, const expected *r, const double found[3],
                         double total)
{
    const header *h = &r->h;
    judge(rep, fabs(found[0] - h->total),
          h->has_budget ? h->total_budget : BUDGET * fmax(fabs(h->total), 1e-30),
          "total density is %.9g, in double %.9g", found[0], h->total);
    if (isfinite(total))
        require(rep, fabs(found[0] - total) <= 1e-9 * fabs(total),
                "total density is %.9g, the density's sum %.9g", found[0], total);
    double min_sweeps = h->min_sweeps, most = h->most;
    if (r->q->tolerance < 0) {
        min_sweeps = most = 6.0 * r->q->most * r->q->steps;
    } else if (!h->has_budget) {
        double capped = r->q->direct_pressure ? 0 : 2.0 * r->q->most * r->q->steps;
        double ended = fmax(h->sweeps - capped, h->sweeps / 2);
        min_sweeps = h->sweeps - fmax(SWEEPS_BUDGET * ended, 1);
        most = h->sweeps + fmax(SWEEPS_BUDGET * ended, 1);
    }
    require(rep, found[1] >= min_sweeps && found[1] <= most,
            "sweeps are %g, expected %g to %g", found[1], min_sweeps, most);
}

static void check_truth(report *rep, const expected *r, const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f) fail("truth=%s: cannot be read", path);
    char line[200];
    double known;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "total %lf", &known) == 1) {
            require(rep, fabs(r->h.total - known) <= BUDGET * known,
                    "truth: total density in double is %.9g, known to be %.9g",
                    r->h.total, known);
        } else if (!strcmp(line, "still\n")) {
            for (int d = X; d <= Z; d++)
                for (size_t c = 0; c < inner_cells(r->q); c++)
                    require(rep, r->value[d][c] == 0, "truth: the fluid moves");
        } else if (strcmp(line, "spin\n")) {
            fail("truth=%s: %s: expected total D, still or spin", path, line);
        }
    }
    fclose(f);
}

/* Whether the pressures were solved and not relaxed: two solves of a step, or none. */
static bool uses_direct_pressure(report *rep, const query *q, const char *path)
{
    npy a = read_result(rep, "totals", path, (npy){NPY_F8, 1, {3}, NULL});
    double solved = rep->ok ? ((const double *)a.data)[2] : 0;
    free(a.data);
    require(rep, solved == 0 || (solved == 2.0 * q->steps && q->tolerance >= 0),
            "%g solves took no sweep, of %d steps", solved, q->steps);
    return rep->ok && solved > 0;
}

int main(int argc, char **argv)
{
    run_name = "fluid-check";
    const char *oracle_path = NULL, *density = NULL, *velocity = NULL, *totals = NULL,
               *truth = NULL;
    arg extra[] = {
        {"oracle", ARG_TEXT, &oracle_path, 0, 0,
         ".npy of the fluid in double; made if it does not exist", 0},
        {"density", ARG_TEXT, &density, 0, 0, ".npy that was written as out=", 0},
        {"velocity", ARG_TEXT, &velocity, 0, 0, ".npy written as velocity=", 0},
        {"totals", ARG_TEXT, &totals, 0, 0, ".npy written as totals=", 0},
        {"truth", ARG_TEXT, &truth, 0, 0, "what the maker of the events knows", 0},
        {0},
    };
    query q = query_read(argc, argv, extra, about);
    if (!oracle_path) fail("oracle= is missing");
    report rep = NOTHING_DIFFERS;
    char other[4096];
    if (totals && uses_direct_pressure(&rep, &q, totals)) {
        q.direct_pressure = true;
        snprintf(other, sizeof other, "%s.outright.npy", oracle_path);
        oracle_path = other;
    }
    expected r = oracle(&q, oracle_path);

    size_t nx = (size_t)q.n[X], ny = (size_t)q.n[Y], nz = (size_t)q.n[Z];
    double total = NAN;
    if (density && rep.ok) {
        npy like = {NPY_F4, 3, {nz, ny, nx}, NULL};
        npy a = read_result(&rep, "density", density, like);
        if (rep.ok) check_density(&rep, &r, a.data, &total);
        free(a.data);
    }
    if (totals && rep.ok) {
        npy a = read_result(&rep, "totals", totals, (npy){NPY_F8, 1, {3}, NULL});
        if (rep.ok) check_totals(&rep, &r, a.data, total);
        free(a.data);
    }
    if (truth && rep.ok) check_truth(&rep, &r, truth);
    if (velocity && rep.ok) {
        npy like = {NPY_F4, 4, {3, nz, ny, nx}, NULL};
        npy a = read_result(&rep, "velocity", velocity, like);
        if (rep.ok) check_velocity(&rep, &r, a.data);
        free(a.data);
    }

    printf("sweeps=%g\nfewest=%g\nmost=%g\ntotal=%.9g\n", r.h.sweeps, r.h.min_sweeps,
           r.h.most, r.h.total);
    int status = verdict(&rep, density || velocity || totals || truth);
    free(r.buffer);
    free(q.event);
    return status;
}
