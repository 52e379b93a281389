/* oracle_fluid.c - implements oracle_fluid.h.
 *
 * Error budgets. How far a float program may deviate depends on the query: after a
 * large force, far fewer digits are determined than at rest. The oracle therefore
 * simulates several replicas at once (stochastic arithmetic). Replica 0 is the oracle
 * in plain double precision. In the others, each result that a float program rounds is
 * perturbed at random by a few float roundings. The budget of a cell is the largest
 * deviation of these replicas from replica 0, in the cell and its neighbours (a replica
 * may be close by chance), times SAFETY.
 *
 * Number of sweeps. A solve ends when no cell changes by more than the tolerance. A
 * change computed in float is uncertain by some roundings of the largest value in the
 * field and by the spread of the replicas. A solve may end as soon as the change minus
 * this slack is within the tolerance, and must end when the change plus the slack is.
 * Odd replicas end at the former sweep, even ones at the latter, so that the budgets
 * cover both. If the values are small compared with the tolerance, the two coincide.
 *
 * Left out: budgets for large boxes, which would take minutes.
 */
#include "oracle_fluid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    REPLICAS = 7,
    FIELDS = 8,
    DENSITY = 3,
    SOURCE = 4
}; /* field + SOURCE: its source */

static const double ROUNDING =
    0x1p-24; /* half a unit in the last place of a float, relative */
static const double SMALLEST = 1e-36; /* bound on the loss by float underflow */
static const double SAFETY = 8;       /* tuned: few replicas underestimate the spread */
/* Roundings by which a solve's change (see solve), an operation, and the two sides of a
 * direct solve are perturbed; tuned so that correct programs pass. A fast transform of
 * a side of DIRECT_LENGTH cells loses twice as much as one of a short side. */
static const double CHANGE_ROUNDINGS = 16, NOISE_ROUNDINGS = 3, DIRECT_ROUNDINGS = 4,
                    DIRECT_LENGTH = 320;
/* Squared relative residual that ends the conjugate gradients, 1e-13 for the residual:
 * hundreds of roundings of a double, millionths of one of a float. */
static const double CG_TARGET = 1e-26;
enum { CG_ITERATIONS = 100000 };           /* never reached; prevents an endless loop */
static const double MAX_BUDGET_WORK = 3e7; /* relaxations; tuned: about a second */

/* ---- the query ------------------------------------------------------------------- */

static int to_step(double x, const char *path, int line)
{
    if (!(x >= 0 && x <= 1e6 && x == floor(x)))
        fail(
            "events=%s: line %d: wrong step: expected a whole number from 0 to 1000000",
            path, line);
    return (int)x;
}

/* Reads an events file. Returns the value of the line `time`; -1: no such line. */
static int read_events(query *q, const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f) fail("events=%s: cannot be read", path);
    char line[300], word[8], rest;
    int steps = -1, number = 0;
    size_t buffer = 0;
    while (fgets(line, sizeof line, f)) {
        double v[4];
        int count =
            sscanf(line, "%7s%lf%lf%lf%lf %c", word, v, v + 1, v + 2, v + 3, &rest);
        number++;
        if (count < 1 || word[0] == '#') continue;
        bool force = count == 5 && !strcmp(word, "force");
        if (count == 2 && !strcmp(word, "time") && !q->events) {
            steps = to_step(v[0], path, number);
            continue;
        }
        if (!force && (count != 3 || strcmp(word, "source")))
            fail("events=%s: line %d: not an event: expected time, source or force",
                 path, number);
        if (q->events == buffer) {
            buffer = 2 * buffer + 8;
            q->event = realloc(q->event, buffer * sizeof *q->event);
            if (!q->event) fail("no memory for %zu events", buffer);
        }
        fluid_event h = {.step = to_step(v[force ? 3 : 1], path, number),
                         .force = force};
        memcpy(h.value, v, (force ? 3 : 1) * sizeof *v);
        q->event[q->events++] = h;
    }
    fclose(f);
    if (!q->events) fail("events=%s: no event: expected at least one", path);
    return steps;
}

query query_read(int argc, char **argv, arg *extra, const char *about)
{
    query q = {.dt = 0.1, .diff = 1e-4, .visc = 1e-4};
    const char *path = NULL, *solver = "rb", *compat = "none";
    int cube = 42, steps = -1, sweeps = 0, ignored[4] = {0};
    arg table[] = {
        {"events", ARG_TEXT, &path, 0, 0, "file of sources and forces", 0},
        {"n", ARG_INT, &cube, 1, 1280, "cells along each side", 0},
        {"nx", ARG_INT, &q.n[X], 0, 1280, "cells along x; 0: n", 0},
        {"ny", ARG_INT, &q.n[Y], 0, 1280, "cells along y; 0: n", 0},
        {"nz", ARG_INT, &q.n[Z], 0, 1280, "cells along z; 0: n", 0},
        {"steps", ARG_INT, &steps, -1, 1e6,
         "time steps; -1: as in the events file, else 100", 0},
        {"dt", ARG_DOUBLE, &q.dt, 0, 1e30, "time step", 0},
        {"diff", ARG_DOUBLE, &q.diff, 0, 1e30, "diffusion coefficient of the density",
         0},
        {"visc", ARG_DOUBLE, &q.visc, 0, 1e30, "diffusion coefficient of the velocity",
         0},
        {"sweeps", ARG_INT, &sweeps, 0, 1e4,
         "iterations per solve; 0: to the tolerance", 0},
        {"solver", ARG_TEXT, &solver, 0, 0, "rb or gs", 0},
        {"compat", ARG_TEXT, &compat, 0, 0, "none or minho", 0},
        {"local", ARG_INTS, ignored, 1, 1024, "X,Y,Z: ignored", 3},
        {"profile", ARG_INT, ignored + 3, 0, 1, "ignored", 0},
        {.value = extra},
    };
    args_parse(argc, argv, table, about);
    if (!path) fail("events= is missing");
    int from_file = read_events(&q, path);
    q.steps = steps != -1 ? steps : from_file != -1 ? from_file : 100;
    for (int d = X; d <= Z; d++)
        if (!q.n[d]) q.n[d] = cube;
    q.lexicographic = !strcmp(solver, "gs");
    q.keep_sources = !strcmp(compat, "minho");
    q.sweep_limit = sweeps ? sweeps : 20;
    q.tolerance = sweeps ? -1 : 1e-7;
    for (size_t e = 0; e < q.events; e++)
        if (!q.event[e].force && q.event[e].step < q.steps)
            q.max_source = fmax(q.max_source, q.event[e].value[0]);
    return q;
}

/* ---- the simulation -------------------------------------------------------------- */

typedef struct {
    const query *q;
    size_t stride[3]; /* distance to the next cell along x, y, z */
    size_t cells;     /* including ghost cells */
    int longest, replicas;
    double *field[REPLICAS][FIELDS];
    double dt[REPLICAS];
    uint64_t seed;
    long sweeps, min_sweeps, max_sweeps;
} simulation;

static size_t cell(const simulation *w, int i, int j, int k)
{
    return (size_t)i * w->stride[X] + (size_t)j * w->stride[Y] +
           (size_t)k * w->stride[Z];
}

static simulation make_simulation(const query *q)
{
    simulation w = {.q = q,
                    .replicas = can_afford_budget(q) ? REPLICAS : 1,
                    .cells = 1,
                    .seed = 88172645};
    for (int d = X; d <= Z; d++) {
        if (q->n[d] > w.longest) w.longest = q->n[d];
        w.stride[d] = w.cells;
        w.cells *= (size_t)q->n[d] + 2;
    }
    for (int replica = 0; replica < w.replicas; replica++)
        for (int f = 0; f < FIELDS; f++) {
            w.field[replica][f] = allocate(w.cells, sizeof(double), "the oracle");
            for (size_t c = 0; c < w.cells; c++) w.field[replica][f][c] = 0;
        }
    return w;
}

/* Uniform random number from -1 to 1 (xorshift generator). */
static double random_unit(simulation *w)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return (double)(w->seed >> 11) * 0x1p-52 - 1;
}

/* Random perturbation by up to three roundings of a number of this size; 0 in replica
 * 0. */
static double rounding_noise(simulation *w, int replica, double size)
{
    return replica ? NOISE_ROUNDINGS * ROUNDING * size * random_unit(w) : 0;
}

/* Perturbs a constant, which is rounded once and then used many times, by one to two
 * roundings in a random direction. */
static double perturbed(simulation *w, int replica, double x)
{
    double shift = random_unit(w);
    return replica ? x * (1 + 2 * ROUNDING * (shift < 0 ? shift - 1 : shift + 1) / 2)
                   : x;
}

void set_walls(const query *q, double *x, int negated_axis)
{
    size_t stride[3] = {1, (size_t)q->n[X] + 2,
                        ((size_t)q->n[X] + 2) * ((size_t)q->n[Y] + 2)};
    for (int d = X; d <= Z; d++) {
        int e = (d + 1) % 3, f = (d + 2) % 3;
        double sign = d == negated_axis ? -1 : 1;
        for (int a = 1; a <= q->n[e]; a++)
            for (int b = 1; b <= q->n[f]; b++) {
                double *low = x + (size_t)a * stride[e] + (size_t)b * stride[f];
                double *high = low + (size_t)(q->n[d] + 1) * stride[d];
                low[0] = sign * *(low + stride[d]);
                high[0] = sign * *(high - stride[d]);
            }
    }
}

/* Relaxes the cells with odd (1) or even (0) i + j + k, or all cells in lexicographic
 * order (2). Returns the largest change; INFINITY if a value is NaN. */
static double relax(simulation *w, int replica, double *x, const double *b, double a,
                    double c, int colour)
{
    const query *q = w->q;
    double largest = 0;
#pragma omp parallel for reduction(max : largest) if (colour < 2 && w->replicas == 1)
    FOR_EACH_CELL(q, i, j, k)
    {
        if (colour < 2 && (i + j + k) % 2 != colour) continue;
        size_t idx = cell(w, i, j, k);
        double neighbours = 0, size = fabs(b[idx]);
        for (int d = X; d <= Z; d++) {
            double low = x[idx - w->stride[d]], high = x[idx + w->stride[d]];
            neighbours += low + high;
            size += a * (fabs(low) + fabs(high));
        }
        double new_value =
            (b[idx] + a * neighbours) / c + rounding_noise(w, replica, size / c);
        double change = fabs(new_value - x[idx]);
        x[idx] = new_value;
        if (!(change <= largest)) largest = isnan(change) ? INFINITY : change;
    }
    return largest;
}

static double sweep(simulation *w, int replica, int x, int b, double a, double c,
                    int negated_axis)
{
    double *dst = w->field[replica][x], *src = w->field[replica][b];
    double change = relax(w, replica, dst, src, a, c, w->q->lexicographic ? 2 : 1);
    if (!w->q->lexicographic)
        change = fmax(change, relax(w, replica, dst, src, a, c, 0));
    set_walls(w->q, dst, negated_axis);
    return change;
}

static double max_abs_padded(const simulation *w, int field)
{
    double largest = 0;
    for (size_t c = 0; c < w->cells; c++)
        largest = fmax(largest, fabs(w->field[0][field][c]));
    return largest;
}

/* Replica 0 ends when its change is within the tolerance, odd replicas when a correct
 * program may end, even ones when it must. */
static void solve(simulation *w, int x, int b, double a, double c, int negated_axis)
{
    double a_perturbed[REPLICAS], c_perturbed[REPLICAS], tolerance = w->q->tolerance;
    bool done[REPLICAS] = {false};
    int min_sweeps = w->q->sweep_limit, max_sweeps = w->q->sweep_limit,
        sweeps = w->q->sweep_limit;
    for (int replica = 0; replica < w->replicas; replica++) {
        a_perturbed[replica] = perturbed(w, replica, a);
        c_perturbed[replica] = perturbed(w, replica, c);
    }
    for (int n = 1; n <= w->q->sweep_limit && max_sweeps == w->q->sweep_limit; n++) {
        double low = INFINITY, high = 0, oracle_change = INFINITY;
        for (int replica = 0; replica < w->replicas; replica++) {
            if (done[replica]) continue;
            double change = sweep(w, replica, x, b, a_perturbed[replica],
                                  c_perturbed[replica], negated_axis);
            if (replica == 0) oracle_change = change;
            low = fmin(low, change);
            high = fmax(high, change);
        }
        if (tolerance < 0) continue;
        double slack =
            w->replicas > 1
                ? CHANGE_ROUNDINGS * ROUNDING * max_abs_padded(w, x) + high - low
                : 0;
        if (min_sweeps == w->q->sweep_limit && low - slack <= tolerance) {
            min_sweeps = n;
            for (int replica = 1; replica < w->replicas; replica += 2)
                done[replica] = true;
        }
        if (oracle_change <= tolerance) {
            sweeps = n;
            done[0] = true;
        }
        if (high + slack <= tolerance) max_sweeps = n;
    }
    w->min_sweeps += min_sweeps;
    w->sweeps += sweeps;
    w->max_sweeps += max_sweeps;
}

/* Applies the matrix of the pressure equation: the sum of the differences of a cell to
 * its neighbours inside the box. */
static void differences(const simulation *w, double *dst, const double *x)
{
    const query *q = w->q;
#pragma omp parallel for if (w->replicas == 1)
    FOR_EACH_CELL(q, i, j, k)
    {
        size_t idx = cell(w, i, j, k);
        int coordinates[3] = {i, j, k};
        dst[idx] = 0;
        for (int d = X; d <= Z; d++) {
            if (coordinates[d] > 1) dst[idx] += x[idx] - x[idx - w->stride[d]];
            if (coordinates[d] < q->n[d]) dst[idx] += x[idx] - x[idx + w->stride[d]];
        }
    }
}

static double product(const simulation *w, const double *a, const double *b)
{
    double sum = 0;
    FOR_EACH_CELL(w->q, i, j, k) sum += a[cell(w, i, j, k)] * b[cell(w, i, j, k)];
    return sum;
}

/* dst = a + factor b */
static void add(const simulation *w, double *dst, const double *a, double factor,
                const double *b)
{
    FOR_EACH_CELL(w->q, i, j, k)
    {
        size_t idx = cell(w, i, j, k);
        dst[idx] = a[idx] + factor * b[idx];
    }
}

static double max_abs(const simulation *w, const double *x)
{
    double largest = 0;
    FOR_EACH_CELL(w->q, i, j, k) largest = fmax(largest, fabs(x[cell(w, i, j, k)]));
    return largest;
}

/* Solves the pressure equation for x, starting from 0, by the conjugate gradient method
 * to the precision of double. A float solver's rounding errors are modelled in the
 * other replicas: the right-hand side is perturbed by some roundings of its largest
 * value, and the pressure by some of its own. */
static void solve_directly(simulation *w, int replica, double *x, const double *b)
{
    double *residual = allocate(3 * w->cells, sizeof *residual, "the oracle");
    double *direction = residual + w->cells, *image = direction + w->cells, mean = 0;
    double roundings = DIRECT_ROUNDINGS * (1 + w->longest / DIRECT_LENGTH),
           size = max_abs(w, b);
    FOR_EACH_CELL(w->q, i, j, k)
    {
        size_t idx = cell(w, i, j, k);
        residual[idx] = b[idx] + rounding_noise(w, replica, roundings * size);
        mean += residual[idx] / (double)inner_cells(w->q);
    }
    FOR_EACH_CELL(w->q, i, j, k) residual[cell(w, i, j, k)] -= mean;
    add(w, direction, residual, 0, residual);
    double squares = product(w, residual, residual), target = CG_TARGET * squares;
    for (int n = 0; n < CG_ITERATIONS && squares > target; n++) {
        differences(w, image, direction);
        double step = squares / product(w, direction, image), previous = squares;
        add(w, x, x, step, direction);
        add(w, residual, residual, -step, image);
        squares = product(w, residual, residual);
        add(w, direction, residual, squares / previous, direction);
    }
    size = max_abs(w, x);
    FOR_EACH_CELL(w->q, i, j, k)
    x[cell(w, i, j, k)] += rounding_noise(w, replica, roundings * size);
    set_walls(w->q, x, -1);
    free(residual);
}

static void diffuse(simulation *w, int x, int b, double rate, int negated_axis)
{
    double a = w->q->dt * rate * w->longest * w->longest;
    solve(w, x, b, a, 1 + 6 * a, negated_axis);
}

/* Makes the velocity, fields u, u + 1 and u + 2, free of divergence; p and div are
 * workspace. */
static void project(simulation *w, int u, int p, int div)
{
    for (int replica = 0; replica < w->replicas; replica++) {
        double **f = w->field[replica];
        FOR_EACH_CELL(w->q, i, j, k)
        {
            size_t idx = cell(w, i, j, k);
            double divergence = 0, size = 0;
            for (int d = X; d <= Z; d++) {
                double low = f[u + d][idx - w->stride[d]];
                double high = f[u + d][idx + w->stride[d]];
                divergence += high - low;
                size += fabs(high) + fabs(low);
            }
            f[div][idx] =
                -(divergence + rounding_noise(w, replica, size)) / 2 / w->longest;
            f[p][idx] = 0;
        }
        set_walls(w->q, f[div], -1);
        set_walls(w->q, f[p], -1);
    }
    for (int replica = 0; replica < w->replicas && w->q->direct_pressure; replica++)
        solve_directly(w, replica, w->field[replica][p], w->field[replica][div]);
    if (!w->q->direct_pressure) solve(w, p, div, 1, 6, -1);
    for (int replica = 0; replica < w->replicas; replica++)
        for (int d = X; d <= Z; d++) {
            double *v = w->field[replica][u + d];
            const double *pressure = w->field[replica][p];
            FOR_EACH_CELL(w->q, i, j, k)
            {
                size_t idx = cell(w, i, j, k);
                double low = pressure[idx - w->stride[d]];
                double high = pressure[idx + w->stride[d]];
                double size = fabs(v[idx]) + fabs(low) + fabs(high);
                v[idx] -= (high - low) / 2 - rounding_noise(w, replica, size);
            }
            set_walls(w->q, v, d);
        }
}

/* Semi-Lagrangian advection: dst(p) = src(q), where q is the point from which the flow
 * (u, u + 1, u + 2) reaches p; trilinear interpolation. */
static void advect(simulation *w, int dst, int src, int u, int negated_axis)
{
    for (int replica = 0; replica < w->replicas; replica++) {
        double **f = w->field[replica];
        FOR_EACH_CELL(w->q, i, j, k)
        {
            size_t idx = cell(w, i, j, k), corner = 0;
            int coordinates[3] = {i, j, k};
            double fraction[3];
            for (int d = X; d <= Z; d++) {
                double move = w->dt[replica] * w->q->n[d] * f[u + d][idx];
                double x = coordinates[d] - move +
                           rounding_noise(w, replica, coordinates[d] + fabs(move));
                x = fmin(fmax(x, 0.5), w->q->n[d] + 0.5);
                corner += (size_t)x * w->stride[d];
                fraction[d] = x - floor(x);
            }
            double value = 0, size = 0;
            for (int n = 0; n < 8; n++) {
                double weight = 1;
                size_t place = corner;
                for (int d = X; d <= Z; d++) {
                    int next = n >> d & 1;
                    weight *= next ? fraction[d] : 1 - fraction[d];
                    place += next ? w->stride[d] : 0;
                }
                value += weight * f[src][place];
                size += weight * fabs(f[src][place]);
            }
            f[dst][idx] = value + rounding_noise(w, replica, size);
        }
        set_walls(w->q, f[dst], negated_axis);
    }
}

static void step(simulation *w)
{
    const query *q = w->q;
    for (int replica = 0; replica < w->replicas; replica++)
        for (int n = 0; n < SOURCE; n++)
            for (size_t c = 0; c < w->cells; c++) {
                double *x = w->field[replica][n] + c;
                double increment = w->dt[replica] * w->field[replica][n + SOURCE][c];
                if (increment != 0)
                    *x += increment +
                          rounding_noise(w, replica, fabs(*x) + fabs(increment));
            }

    for (int d = X; d <= Z; d++) diffuse(w, SOURCE + d, d, q->visc, d);
    project(w, SOURCE, X, Y);
    for (int d = X; d <= Z; d++) advect(w, d, SOURCE + d, SOURCE, d);
    project(w, 0, SOURCE + X, SOURCE + Y);

    diffuse(w, SOURCE + DENSITY, DENSITY, q->diff, -1);
    advect(w, DENSITY, SOURCE + DENSITY, 0, -1);

    for (int replica = 0; replica < w->replicas && !q->keep_sources; replica++)
        for (int n = SOURCE; n < FIELDS; n++)
            memset(w->field[replica][n], 0, w->cells * sizeof(double));
}

static void run(simulation *w)
{
    const query *q = w->q;
    size_t middle = 0;
    for (int d = X; d <= Z; d++)
        middle += (size_t)(q->n[d] > 1 ? q->n[d] / 2 : 1) * w->stride[d];
    for (int replica = 0; replica < w->replicas; replica++)
        w->dt[replica] = perturbed(w, replica, q->dt);
    for (int t = 0; t < q->steps; t++) {
        for (size_t e = 0; e < q->events; e++) {
            const fluid_event *h = &q->event[e];
            if (h->step != t) continue;
            for (int replica = 0; replica < w->replicas; replica++)
                for (int n = 0; n < (h->force ? 3 : 1); n++)
                    w->field[replica][h->force ? n : DENSITY][middle] =
                        perturbed(w, replica, h->value[n]);
        }
        step(w);
    }
}

/* ---- the result ------------------------------------------------------------------ */

bool can_afford_budget(const query *q)
{
    return (double)inner_cells(q) * (q->steps + 1.0) * 6 * q->sweep_limit <=
           MAX_BUDGET_WORK;
}

/* Largest deviation of a replica from replica 0 in a cell and its neighbours. */
static double max_deviation(const simulation *w, int field, int i, int j, int k)
{
    const int *n = w->q->n;
    double deviation = 0;
    for (int c = k > 1 ? k - 1 : 1; c <= k + 1 && c <= n[Z]; c++)
        for (int b = j > 1 ? j - 1 : 1; b <= j + 1 && b <= n[Y]; b++)
            for (int a = i > 1 ? i - 1 : 1; a <= i + 1 && a <= n[X]; a++) {
                size_t idx = cell(w, a, b, c);
                for (int replica = 1; replica < w->replicas; replica++)
                    deviation = fmax(deviation, fabs(w->field[replica][field][idx] -
                                                     w->field[0][field][idx]));
            }
    return deviation;
}

static double total_density(const simulation *w, int replica)
{
    const double *x = w->field[replica][DENSITY];
    double sum = 0;
    if (w->q->keep_sources)
        for (size_t c = 0; c < w->cells; c++) sum += x[c];
    else
        FOR_EACH_CELL(w->q, i, j, k) sum += x[cell(w, i, j, k)];
    return sum;
}

void solve_query(const query *q, double *dst)
{
    simulation w = make_simulation(q);
    run(&w);
    header h = {.has_budget = w.replicas > 1,
                .sweeps = (double)w.sweeps,
                .min_sweeps = (double)w.min_sweeps,
                .max_sweeps = (double)w.max_sweeps,
                .total = total_density(&w, 0)};
    /* A source too small for a float underflows to 0 before it is multiplied by dt. */
    double underflow = SMALLEST * fmax(1, q->dt);
    for (int replica = 1; replica < w.replicas; replica++) {
        double deviation = fabs(total_density(&w, replica) - h.total) +
                           ROUNDING * fabs(h.total) + underflow;
        h.total_budget = fmax(h.total_budget, SAFETY * deviation);
    }

    size_t inner = inner_cells(q), c = 0;
    double *value = dst + HEADER, *budget = value + OUTPUTS * inner;
    for (int f = 0; f < OUTPUTS; f++) FOR_EACH_CELL(q, i, j, k)
        {
            value[c] = w.field[0][f][cell(&w, i, j, k)];
            if (w.replicas > 1)
                budget[c] = SAFETY * (max_deviation(&w, f, i, j, k) +
                                      ROUNDING * fabs(value[c]) + underflow);
            c++;
        }
    memcpy(dst, &h, sizeof h);
    for (int replica = 0; replica < w.replicas; replica++)
        for (int f = 0; f < FIELDS; f++) free(w.field[replica][f]);
}
