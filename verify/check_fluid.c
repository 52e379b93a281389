/* check_fluid.c - is what a fluid program computed right? The program fluid-check.
 *
 *     fluid-check QUERY oracle=FILE [density=out.npy] [velocity=velocity.npy]
 *                 [totals=totals.npy] [truth=FILE]
 *
 * The oracle is the same fluid in double precision, with nothing taken from steps/ or
 * from the driver in common/: fields, walls, solver and time step are written here a
 * second time. It is kept: a FILE that exists is read, and refused if it belongs to
 * another query or other events.
 *
 * Density and each component of velocity must be within a relative L2 norm of the
 * oracle's. Total density must be that of the density found and near the oracle's; the
 * sweeps must be exactly those asked for, or, where a tolerance ends them, as many as
 * the oracle's within 2 percent, or within one. Velocity must be as free of divergence
 * as the oracle's, and density nowhere negative, nor above what was let in. The truth
 * file holds what the maker of the events knows beforehand: `total D` and `still`.
 *
 * Prints key=value lines, the last one verdict=ok or verdict=FAIL and the reason; exits
 * with 0 only if ok. Left out: judging times.
 */
#include "arguments.h"
#include "verdict.h"

static const char about[] =
    "checks what a fluid program computed against the same in double precision\n\n"
    "  fluid-check QUERY oracle=FILE [density=FILE] [velocity=FILE] [totals=FILE] "
    "[truth=FILE]\n\n"
    "QUERY is what the program was called with. Exit status 0: verdict=ok.";

static const double BUDGET = 1e-4; /* relative L2 of a field; total density */
/* Of sweeps that a tolerance ends: it is as small as the step from float to float, so
 * that some solves of large boxes go on in float that have ended in double. */
static const double SWEEPS_BUDGET = 0.02;

/* ---- the fluid in double ------------------------------------------------------------
 */

typedef struct {
    int n[3];         /* inner cells along x, y, z */
    size_t stride[3]; /* to the next cell along x, y, z */
    size_t cells;
    int longest;
    double dt, visc, diff;
    int most; /* sweeps a solve */
    double tolerance;
    bool by_index, keep;
    double *field[FIELDS];
    long sweeps;
} world;

enum { X, Y, Z };

static size_t cell(const world *w, int i, int j, int k)
{
    return (size_t)i * w->stride[X] + (size_t)j * w->stride[Y] +
           (size_t)k * w->stride[Z];
}

static world world_of(const request *r)
{
    world w = {.dt = r->dt,
               .visc = r->visc,
               .diff = r->diff,
               .most = r->sweeps ? r->sweeps : 20,
               .tolerance = r->sweeps ? -1 : 1e-7,
               .by_index = r->gauss_seidel,
               .keep = r->keep,
               .cells = 1};
    for (int d = X; d <= Z; d++) {
        w.n[d] = r->side[d] ? r->side[d] : r->n;
        if (w.n[d] > w.longest) w.longest = w.n[d];
        w.stride[d] = w.cells;
        w.cells *= (size_t)w.n[d] + 2;
    }
    for (int f = 0; f < FIELDS; f++) {
        w.field[f] = allocate(w.cells, sizeof(double), "a field of the oracle");
        for (size_t c = 0; c < w.cells; c++) w.field[f][c] = 0;
    }
    return w;
}

static void world_free(world *w)
{
    for (int f = 0; f < FIELDS; f++) free(w->field[f]);
}

/* The walls across each axis: a ghost is its inner neighbour, or minus it where turned
 * is that axis; -1 for none. */
static void close_walls(const world *w, double *x, int turned)
{
    for (int d = X; d <= Z; d++) {
        int e = (d + 1) % 3, f = (d + 2) % 3;
        double sign = d == turned ? -1 : 1;
        for (int a = 1; a <= w->n[e]; a++)
            for (int b = 1; b <= w->n[f]; b++) {
                double *low = x + (size_t)a * w->stride[e] + (size_t)b * w->stride[f];
                double *high = low + (size_t)(w->n[d] + 1) * w->stride[d];
                low[0] = sign * *(low + w->stride[d]);
                high[0] = sign * *(high - w->stride[d]);
            }
    }
}

/* One relaxation of the cells whose i + j + k is odd (1) or even (0), or of all, each
 * by index (2); the largest change. NaN is an infinite change. */
static double relax(const world *w, double *x, const double *b, double a, double c,
                    int which)
{
    double largest = 0;
#pragma omp parallel for reduction(max : largest) if (which < 2)
    for (int k = 1; k <= w->n[Z]; k++)
        for (int j = 1; j <= w->n[Y]; j++)
            for (int i = 1; i <= w->n[X]; i++) {
                if (which < 2 && (i + j + k) % 2 != which) continue;
                size_t at = cell(w, i, j, k);
                double around = 0;
                for (int d = X; d <= Z; d++)
                    around += x[at - w->stride[d]] + x[at + w->stride[d]];
                double now = (b[at] + a * around) / c;
                double change = fabs(now - x[at]);
                x[at] = now;
                if (!(change <= largest)) largest = isnan(change) ? INFINITY : change;
            }
    return largest;
}

static void solve(world *w, double *x, const double *b, double a, double c, int turned)
{
    for (int sweep = 1; sweep <= w->most; sweep++) {
        double change;
        if (w->by_index) {
            change = relax(w, x, b, a, c, 2);
        } else {
            change = relax(w, x, b, a, c, 1);
            change = fmax(change, relax(w, x, b, a, c, 0));
        }
        close_walls(w, x, turned);
        w->sweeps++;
        if (change <= w->tolerance) break;
    }
}

static void spread(world *w, double *x, const double *b, double rate, int turned)
{
    double a = w->dt * rate * w->longest * w->longest;
    solve(w, x, b, a, 1 + 6 * a, turned);
}

/* What flows out of a cell, less what flows in, times two. */
static double flow_out(const world *w, double *const velocity[3], size_t at)
{
    double out = 0;
    for (int d = X; d <= Z; d++)
        out += velocity[d][at + w->stride[d]] - velocity[d][at - w->stride[d]];
    return out;
}

static void take_divergence(world *w, double *const velocity[3], double *p, double *div)
{
    for (int k = 1; k <= w->n[Z]; k++)
        for (int j = 1; j <= w->n[Y]; j++)
            for (int i = 1; i <= w->n[X]; i++) {
                size_t at = cell(w, i, j, k);
                div[at] = -flow_out(w, velocity, at) / 2 / w->longest;
                p[at] = 0;
            }
    close_walls(w, div, -1);
    close_walls(w, p, -1);

    solve(w, p, div, 1, 6, -1);

    for (int d = X; d <= Z; d++) {
        for (int k = 1; k <= w->n[Z]; k++)
            for (int j = 1; j <= w->n[Y]; j++)
                for (int i = 1; i <= w->n[X]; i++) {
                    size_t at = cell(w, i, j, k);
                    velocity[d][at] -=
                        (p[at + w->stride[d]] - p[at - w->stride[d]]) / 2;
                }
        close_walls(w, velocity[d], d);
    }
}

/* to(p) = from(where the flow came from), linear between the eight cells around. */
static void carry(const world *w, double *to, const double *from,
                  double *const velocity[3], int turned)
{
    for (int k = 1; k <= w->n[Z]; k++)
        for (int j = 1; j <= w->n[Y]; j++)
            for (int i = 1; i <= w->n[X]; i++) {
                size_t at = cell(w, i, j, k), corner = 0;
                int here[3] = {i, j, k};
                double after[3];
                for (int d = X; d <= Z; d++) {
                    double x = here[d] - w->dt * w->n[d] * velocity[d][at];
                    x = fmin(fmax(x, 0.5), w->n[d] + 0.5);
                    corner += (size_t)x * w->stride[d];
                    after[d] = x - floor(x);
                }
                double value = 0;
                for (int n = 0; n < 8; n++) {
                    double weight = 1;
                    size_t place = corner;
                    for (int d = X; d <= Z; d++) {
                        int next = n >> d & 1;
                        weight *= next ? after[d] : 1 - after[d];
                        place += next ? w->stride[d] : 0;
                    }
                    value += weight * from[place];
                }
                to[at] = value;
            }
    close_walls(w, to, turned);
}

static void step(world *w)
{
    double **f = w->field;
    for (int n = U; n <= DENSITY; n++)
        for (size_t c = 0; c < w->cells; c++) f[n][c] += w->dt * f[n + 4][c];

    for (int d = X; d <= Z; d++) spread(w, f[U0 + d], f[U + d], w->visc, d);
    take_divergence(w, f + U0, f[U], f[V]);
    for (int d = X; d <= Z; d++) carry(w, f[U + d], f[U0 + d], f + U0, d);
    take_divergence(w, f + U, f[U0], f[V0]);

    spread(w, f[DENSITY0], f[DENSITY], w->diff, -1);
    carry(w, f[DENSITY], f[DENSITY0], f + U, -1);

    for (int n = U0; n <= DENSITY0 && !w->keep; n++)
        for (size_t c = 0; c < w->cells; c++) f[n][c] = 0;
}

static void run(world *w, const event_list *events, int steps)
{
    size_t middle = 0;
    for (int d = X; d <= Z; d++)
        middle += (size_t)(w->n[d] > 1 ? w->n[d] / 2 : 1) * w->stride[d];
    for (int t = 0; t < steps; t++) {
        for (size_t e = 0; e < events->count; e++) {
            const event *v = &events->at[e];
            if (v->step != t) continue;
            if (!v->is_force) w->field[DENSITY][middle] = v->value[0];
            for (int d = X; d <= Z && v->is_force; d++)
                w->field[U + d][middle] = v->value[d];
        }
        step(w);
    }
}

/* ---- the oracle's file --------------------------------------------------------------
 */

/* Of which run it is: doubles only, as they lie at the start of the file. */
typedef struct {
    double n[3], steps, dt, visc, diff, most, by_index, keep, events;
} identity;

enum { IDENTITY = sizeof(identity) / sizeof(double) };

static identity identity_of(const world *w, const event_list *events, int steps)
{
    identity id = {.n = {w->n[X], w->n[Y], w->n[Z]},
                   .steps = steps,
                   .dt = w->dt,
                   .visc = w->visc,
                   .diff = w->diff,
                   .most = w->tolerance < 0 ? w->most : 0,
                   .by_index = w->by_index,
                   .keep = w->keep};
    for (size_t e = 0; e < events->count; e++)
        for (int d = 0; d < 3; d++)
            id.events += (double)(e + 1) * (d + 2) *
                         (events->at[e].value[d] + events->at[e].step * 0.1 +
                          events->at[e].is_force);
    return id;
}

/* Fills w with what the oracle holds behind its identity: the number of sweeps, then u,
 * v, w and density. It is made if path does not exist. */
static void oracle(world *w, const event_list *events, int steps, const char *path)
{
    npy all = {.type = NPY_F8, .dims = 1, .shape = {IDENTITY + 1 + 4 * w->cells}};
    identity id = identity_of(w, events, steps);
    bool kept = oracle_kept(path, &all, &id, sizeof id);
    double *sweeps = (double *)all.data + IDENTITY;
    if (!kept) run(w, events, steps);
    for (size_t f = 0; f < 4; f++) {
        double *held = sweeps + 1 + f * w->cells, *field = w->field[f];
        memcpy(kept ? field : held, kept ? held : field, w->cells * sizeof *field);
    }
    if (kept) {
        w->sweeps = (long)*sweeps;
    } else {
        *sweeps = (double)w->sweeps;
        npy_write(path, &all);
    }
    free(all.data);
}

/* ---- judging ------------------------------------------------------------------------
 */

/* Inner cells of a field against found[nz][ny][nx]. */
static void check_field(report *rep, const world *w, const char *name, int field,
                        const float *found)
{
    double difference = 0, size = 0, worst = -1, expected = 0, seen = 0;
    int place[3] = {0};
    size_t c = 0;
    for (int k = 1; k <= w->n[Z]; k++)
        for (int j = 1; j <= w->n[Y]; j++)
            for (int i = 1; i <= w->n[X]; i++, c++) {
                double right = w->field[field][cell(w, i, j, k)];
                double d = found[c] - right;
                difference += d * d;
                size += right * right;
                if (fabs(d) > worst || isnan(d)) {
                    worst = isnan(d) ? INFINITY : fabs(d);
                    place[X] = i;
                    place[Y] = j;
                    place[Z] = k;
                    expected = right;
                    seen = found[c];
                }
            }
    double d = size > 0 ? sqrt(difference / size) : sqrt(difference);
    judge(rep, d, size > 0 ? BUDGET : 0,
          "%s: relative L2 %.3g; cell (%d, %d, %d) is %.9g, in double %.9g", name, d,
          place[X], place[Y], place[Z], seen, expected);
}

static double total_of(const world *w, const double *x)
{
    double sum = 0;
    if (w->keep)
        for (size_t c = 0; c < w->cells; c++) sum += x[c];
    for (int k = 1; k <= w->n[Z] && !w->keep; k++)
        for (int j = 1; j <= w->n[Y]; j++)
            for (int i = 1; i <= w->n[X]; i++) sum += x[cell(w, i, j, k)];
    return sum;
}

static void check_density(report *rep, const world *w, const event_list *events,
                          const float *found, size_t count, double *total)
{
    double sum = 0, low = 0, high = 0;
    for (size_t c = 0; c < count; c++) {
        sum += found[c];
        low = fmin(low, found[c]);
        high = fmax(high, found[c]);
    }
    *total = sum;
    check_field(rep, w, "density", DENSITY, found);
    require(rep, low >= 0 || w->keep, "density: %.9g is negative", low);
    require(rep, high <= (double)events->densest * 1.0001 || w->keep,
            "density: %.9g is more than was let in, %.9g", high,
            (double)events->densest);
}

/* The divergence that is left, as the pressure's equation takes it, root mean square;
 * ghosts are made from the inner cells. */
static double divergence_left(const world *w, double *const velocity[3])
{
    double sum = 0, cells = (double)w->n[X] * w->n[Y] * w->n[Z];
    for (int d = X; d <= Z; d++) close_walls(w, velocity[d], d);
    for (int k = 1; k <= w->n[Z]; k++)
        for (int j = 1; j <= w->n[Y]; j++)
            for (int i = 1; i <= w->n[X]; i++) {
                double out = flow_out(w, velocity, cell(w, i, j, k));
                sum += out * out;
            }
    return sqrt(sum / cells);
}

static void check_velocity(report *rep, world *w, const float *found, size_t count)
{
    static const char *const name[] = {"velocity along x", "velocity along y",
                                       "velocity along z"};
    double right = divergence_left(w, w->field + U), size = 0;
    for (int d = X; d <= Z; d++)
        check_field(rep, w, name[d], U + d, found + (size_t)d * count);
    for (int d = X; d <= Z; d++) { /* U0 .. W0 of the oracle are not needed any more */
        size_t c = (size_t)d * count;
        for (int k = 1; k <= w->n[Z]; k++)
            for (int j = 1; j <= w->n[Y]; j++)
                for (int i = 1; i <= w->n[X]; i++, c++) {
                    w->field[U0 + d][cell(w, i, j, k)] = found[c];
                    size = fmax(size, fabs((double)found[c]));
                }
    }
    double left = divergence_left(w, w->field + U0);
    require(rep, left <= 1.001 * right + 1e-5 * size,
            "velocity: its divergence is %.9g, in double %.9g", left, right);
}

static void check_totals(report *rep, const world *w, const double found[2],
                         double total, int steps)
{
    double right = total_of(w, w->field[DENSITY]);
    judge(rep, fabs(found[0] - right), BUDGET * fmax(fabs(right), 1e-30),
          "total density is %.9g, in double %.9g", found[0], right);
    if (isfinite(total) && !w->keep)
        require(rep, fabs(found[0] - total) <= 1e-9 * fmax(fabs(total), 1e-30),
                "total density is %.9g, the density's sum %.9g", found[0], total);
    double sweeps = w->tolerance < 0 ? 6.0 * w->most * steps : (double)w->sweeps;
    double budget = w->tolerance < 0 ? 0 : fmax(SWEEPS_BUDGET * sweeps, 1);
    require(rep, fabs(found[1] - sweeps) <= budget, "sweeps are %g, in double %g",
            found[1], sweeps);
}

static void check_truth(report *rep, const world *w, const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f) fail("truth=%s: cannot be read", path);
    char line[200];
    double known;
    double total = total_of(w, w->field[DENSITY]);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "total %lf", &known) == 1) {
            require(rep, fabs(total - known) <= BUDGET * known,
                    "truth: total density in double is %.9g, known to be %.9g", total,
                    known);
        } else if (!strcmp(line, "still\n")) {
            for (int d = X; d <= Z; d++)
                for (size_t c = 0; c < w->cells; c++)
                    require(rep, w->field[U + d][c] == 0, "truth: the fluid moves");
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
    request r = request_parse(argc, argv, extra, about);
    if (!oracle_path) fail("oracle= is missing");
    setup_of(&r); /* ends where the program would */
    event_list events = events_read(r.events);
    int steps = steps_of(&r, &events);

    world w = world_of(&r);
    oracle(&w, &events, steps, oracle_path);

    size_t nx = (size_t)w.n[X], ny = (size_t)w.n[Y], nz = (size_t)w.n[Z];
    size_t count = nx * ny * nz;
    double total = NAN;
    report rep = NOTHING_DIFFERS;
    if (density) {
        npy like = {NPY_F4, 3, {nz, ny, nx}, NULL};
        npy a = read_result(&rep, "density", density, like);
        if (rep.ok) check_density(&rep, &w, &events, a.data, count, &total);
        free(a.data);
    }
    if (totals && rep.ok) {
        npy a = read_result(&rep, "totals", totals, (npy){NPY_F8, 1, {2}, NULL});
        if (rep.ok) check_totals(&rep, &w, a.data, total, steps);
        free(a.data);
    }
    if (truth && rep.ok) check_truth(&rep, &w, truth);
    if (velocity && rep.ok) { /* last: it takes fields of the oracle for its own */
        npy like = {NPY_F4, 4, {3, nz, ny, nx}, NULL};
        npy a = read_result(&rep, "velocity", velocity, like);
        if (rep.ok) check_velocity(&rep, &w, a.data, count);
        free(a.data);
    }

    printf("sweeps=%ld\ntotal=%.9g\n", w.sweeps, total_of(&w, w.field[DENSITY]));
    int status = verdict(&rep, density || velocity || totals || truth);
    world_free(&w);
    events_free(&events);
    return status;
}
