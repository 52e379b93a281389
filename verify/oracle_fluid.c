/* oracle_fluid.c - see oracle_fluid.h.
 *
 * How far may a float be? That depends on the query: what a large force has blown into
 * a corner is known to fewer digits than what lies still. So the fluid is simulated in
 * several lanes at once. Lane 0 is the oracle: double, no more. In each other lane all
 * that a float would round is moved at random by a few of its roundings; how far these
 * lanes end from lane 0, times SAFETY, is the budget of a cell, taken over the cells
 * around it too, since a lane may be close by chance.
 *
 * Which numbers of sweeps are right? A solve ends where no cell moves more than the
 * tolerance, and a move of a float is known to some roundings of the largest number in
 * the field and to what the lanes differ by. It may end from the first sweep in which
 * moves that much smaller would be within the tolerance, and must where moves that much
 * larger are. Half of the lanes go on from the former, half from the latter, so that
 * budgets hold what either leads to. Where numbers are small against the tolerance both
 * are one.
 *
 * Left out: lanes for large boxes, which would take minutes.
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
}; /* field + BEFORE: its source */

static const double ROUNDING = 0x1p-24; /* of a float: half of its last bit */
static const double SMALLEST = 1e-36;   /* what a float may lose to underflow */
static const double SAFETY = 8;
static const double MAX_BUDGET_WORK = 3e7; /* relaxations */

/* ---- the query ----------------------------------------------------------------------
 */

static int to_step(double x, const char *path, int line)
{
    if (!(x >= 0 && x <= 1e6 && x == floor(x)))
        fail("events=%s: line %d: a step is a whole number to a million", path, line);
    return (int)x;
}

/* Each line is one of four forms. Returns the steps of `time`, or -1. */
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
            fail("events=%s: line %d is no event", path, number);
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
    if (!q->events) fail("events=%s: nothing happens", path);
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
        {"steps", ARG_INT, &steps, -1, 1e6, "time steps; -1: the file's, or 100", 0},
        {"dt", ARG_DOUBLE, &q.dt, 0, 1e30, "time step", 0},
        {"diff", ARG_DOUBLE, &q.diff, 0, 1e30, "how fast density spreads", 0},
        {"visc", ARG_DOUBLE, &q.visc, 0, 1e30, "how fast velocity spreads", 0},
        {"sweeps", ARG_INT, &sweeps, 0, 1e4, "a solve; 0: to the tolerance", 0},
        {"solver", ARG_TEXT, &solver, 0, 0, "rb or gs", 0},
        {"compat", ARG_TEXT, &compat, 0, 0, "none or minho", 0},
        {"local", ARG_INTS, ignored, 1, 1024, "X,Y,Z: ignored", 0},
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
    q.most = sweeps ? sweeps : 20;
    q.tolerance = sweeps ? -1 : 1e-7;
    for (size_t e = 0; e < q.events; e++)
        if (!q.event[e].force && q.event[e].step < q.steps)
            q.max_source = fmax(q.max_source, q.event[e].value[0]);
    return q;
}

/* ---- the fluid ----------------------------------------------------------------------
 */

typedef struct {
    const query *q;
    size_t stride[3]; /* to the next cell along x, y, z */
    size_t cells;     /* with ghosts */
    int longest, replicas;
    double *field[REPLICAS][FIELDS];
    double dt[REPLICAS];
    uint64_t seed;
    long sweeps, min_sweeps, most;
} simulation;

static size_t cell(const simulation *w, int i, int j, int k)
{
    return (size_t)i * w->stride[X] + (size_t)j * w->stride[Y] +
           (size_t)k * w->stride[Z];
}

/* Every inner cell, as it lies in memory. */
#define EACH_CELL(w, i, j, k)                                                          \
    for (int k = 1; k <= (w)->q->n[Z]; k++)                                            \
        for (int j = 1; j <= (w)->q->n[Y]; j++)                                        \
            for (int i = 1; i <= (w)->q->n[X]; i++)

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

/* From -1 to 1 (xorshift). */
static double random_unit(simulation *w)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return (double)(w->seed >> 11) * 0x1p-52 - 1;
}

/* What roundings of numbers of this size amount to, in a lane that rounds. */
static double rounding_noise(simulation *w, int replica, double size)
{
    return replica ? 3 * ROUNDING * size * random_unit(w) : 0;
}

/* What is rounded once and used again and again: off by as much as it can be. */
static double perturbed(simulation *w, int replica, double x)
{
    double by = random_unit(w);
    return replica ? x * (1 + 2 * ROUNDING * (by < 0 ? by - 1 : by + 1) / 2) : x;
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

/* One relaxation of the cells whose i + j + k is odd (1) or even (0), or of all, each
 * by index (2); the largest change. NaN is an infinite change. */
static double relax(simulation *w, int replica, double *x, const double *b, double a,
                    double c, int colour)
{
    const query *q = w->q;
    double largest = 0;
#pragma omp parallel for reduction(max : largest) if (colour < 2 && w->replicas == 1)
    for (int k = 1; k <= q->n[Z]; k++)
        for (int j = 1; j <= q->n[Y]; j++)
            for (int i = 1; i <= q->n[X]; i++) {
                if (colour < 2 && (i + j + k) % 2 != colour) continue;
                size_t at = cell(w, i, j, k);
                double neighbours = 0, size = fabs(b[at]);
                for (int d = X; d <= Z; d++) {
                    double low = x[at - w->stride[d]], high = x[at + w->stride[d]];
                    neighbours += low + high;
                    size += a * (fabs(low) + fabs(high));
                }
                double now =
                    (b[at] + a * neighbours) / c + rounding_noise(w, replica, size / c);
                double change = fabs(now - x[at]);
                x[at] = now;
                if (!(change <= largest)) largest = isnan(change) ? INFINITY : change;
            }
    return largest;
}

static double sweep(simulation *w, int replica, int x, int b, double a, double c,
                    int negated_axis)
{
    double *to = w->field[replica][x], *from = w->field[replica][b];
    double change = relax(w, replica, to, from, a, c, w->q->lexicographic ? 2 : 1);
    if (!w->q->lexicographic)
        change = fmax(change, relax(w, replica, to, from, a, c, 0));
    set_walls(w->q, to, negated_axis);
    return change;
}

static double largest_of(const simulation *w, int field)
{
    double most = 0;
    for (size_t c = 0; c < w->cells; c++)
        most = fmax(most, fabs(w->field[0][field][c]));
    return most;
}

/* Lane 0 goes on until it is within the tolerance; odd lanes until a right program may
 * be, the others until it must. */
static void solve(simulation *w, int x, int b, double a, double c, int negated_axis)
{
    double as[REPLICAS], cs[REPLICAS], tolerance = w->q->tolerance;
    bool done[REPLICAS] = {false};
    int min_sweeps = w->q->most, most = w->q->most, sweeps = w->q->most;
    for (int replica = 0; replica < w->replicas; replica++) {
        as[replica] = perturbed(w, replica, a);
        cs[replica] = perturbed(w, replica, c);
    }
    for (int n = 1; n <= w->q->most && most == w->q->most; n++) {
        double move[REPLICAS], low = INFINITY, high = 0;
        for (int replica = 0; replica < w->replicas; replica++) {
            if (done[replica]) continue;
            move[replica] =
                sweep(w, replica, x, b, as[replica], cs[replica], negated_axis);
            low = fmin(low, move[replica]);
            high = fmax(high, move[replica]);
        }
        if (tolerance < 0) continue;
        double slack =
            w->replicas > 1 ? 16 * ROUNDING * largest_of(w, x) + high - low : 0;
        if (min_sweeps == w->q->most && low - slack <= tolerance) {
            min_sweeps = n;
            for (int replica = 1; replica < w->replicas; replica += 2)
                done[replica] = true;
        }
        if (!done[0] && move[0] <= tolerance) {
            sweeps = n;
            done[0] = true;
        }
        if (high + slack <= tolerance) most = n;
    }
    w->min_sweeps += min_sweeps;
    w->sweeps += sweeps;
    w->most += most;
}

/* What the pressure's equation makes of x: the sum of the differences to the neighbours
 * inside. */
static void differences(const simulation *w, double *to, const double *x)
{
    const query *q = w->q;
#pragma omp parallel for if (w->replicas == 1)
    for (int k = 1; k <= q->n[Z]; k++)
        for (int j = 1; j <= q->n[Y]; j++)
            for (int i = 1; i <= q->n[X]; i++) {
                size_t at = cell(w, i, j, k);
                int here[3] = {i, j, k};
                to[at] = 0;
                for (int d = X; d <= Z; d++) {
                    if (here[d] > 1) to[at] += x[at] - x[at - w->stride[d]];
                    if (here[d] < q->n[d]) to[at] += x[at] - x[at + w->stride[d]];
                }
            }
}

static double product(const simulation *w, const double *a, const double *b)
{
    double sum = 0;
    EACH_CELL(w, i, j, k) sum += a[cell(w, i, j, k)] * b[cell(w, i, j, k)];
    return sum;
}

/* to = a + times b */
static void add(const simulation *w, double *to, const double *a, double times,
                const double *b)
{
    EACH_CELL(w, i, j, k)
    {
        size_t at = cell(w, i, j, k);
        to[at] = a[at] + times * b[at];
    }
}

static double largest_in(const simulation *w, const double *x)
{
    double most = 0;
    EACH_CELL(w, i, j, k) most = fmax(most, fabs(x[cell(w, i, j, k)]));
    return most;
}

/* The pressure x that makes b, from 0, by conjugate gradients to what double can tell.
 * What floats round on any way to it is moved in the other lanes: b by some roundings
 * of its largest number, and the pressure by some of its own. */
static void solve_outright(simulation *w, int replica, double *x, const double *b)
{
    double *residual = allocate(3 * w->cells, sizeof *residual, "the oracle");
    double *direction = residual + w->cells, *image = direction + w->cells, mean = 0;
    double size = largest_in(w, b);
    EACH_CELL(w, i, j, k)
    {
        size_t at = cell(w, i, j, k);
        residual[at] = b[at] + rounding_noise(w, replica, 4 * size);
        mean += residual[at] / (double)inner_cells(w->q);
    }
    EACH_CELL(w, i, j, k) residual[cell(w, i, j, k)] -= mean;
    add(w, direction, residual, 0, residual);
    double squares = product(w, residual, residual), target = 1e-26 * squares;
    for (int n = 0; n < 100000 && squares > target; n++) {
        differences(w, image, direction);
        double step = squares / product(w, direction, image), before = squares;
        add(w, x, x, step, direction);
        add(w, residual, residual, -step, image);
        squares = product(w, residual, residual);
        add(w, direction, residual, squares / before, direction);
    }
    size = largest_in(w, x);
    EACH_CELL(w, i, j, k) x[cell(w, i, j, k)] += rounding_noise(w, replica, 4 * size);
    set_walls(w->q, x, -1);
    free(residual);
}

static void diffuse(simulation *w, int x, int b, double rate, int negated_axis)
{
    double a = w->q->dt * rate * w->longest * w->longest;
    solve(w, x, b, a, 1 + 6 * a, negated_axis);
}

/* Takes what flows out of the cells from velocity, fields u, u + 1, u + 2; p and div
 * are fields for the work. */
static void project(simulation *w, int u, int p, int div)
{
    for (int replica = 0; replica < w->replicas; replica++) {
        double **f = w->field[replica];
        EACH_CELL(w, i, j, k)
        {
            size_t at = cell(w, i, j, k);
            double out = 0, size = 0;
            for (int d = X; d <= Z; d++) {
                double low = f[u + d][at - w->stride[d]];
                double high = f[u + d][at + w->stride[d]];
                out += high - low;
                size += fabs(high) + fabs(low);
            }
            f[div][at] = -(out + rounding_noise(w, replica, size)) / 2 / w->longest;
            f[p][at] = 0;
        }
        set_walls(w->q, f[div], -1);
        set_walls(w->q, f[p], -1);
    }
    for (int replica = 0; replica < w->replicas && w->q->direct_pressure; replica++)
        solve_outright(w, replica, w->field[replica][p], w->field[replica][div]);
    if (!w->q->direct_pressure) solve(w, p, div, 1, 6, -1);
    for (int replica = 0; replica < w->replicas; replica++)
        for (int d = X; d <= Z; d++) {
            double *v = w->field[replica][u + d];
            const double *pressure = w->field[replica][p];
            EACH_CELL(w, i, j, k)
            {
                size_t at = cell(w, i, j, k);
                double low = pressure[at - w->stride[d]];
                double high = pressure[at + w->stride[d]];
                double size = fabs(v[at]) + fabs(low) + fabs(high);
                v[at] -= (high - low) / 2 - rounding_noise(w, replica, size);
            }
            set_walls(w->q, v, d);
        }
}

/* to(p) = from(where the flow (u, u + 1, u + 2) came from), linear between the eight
 * cells around. */
static void advect(simulation *w, int to, int from, int u, int negated_axis)
{
    for (int replica = 0; replica < w->replicas; replica++) {
        double **f = w->field[replica];
        EACH_CELL(w, i, j, k)
        {
            size_t at = cell(w, i, j, k), corner = 0;
            int here[3] = {i, j, k};
            double after[3];
            for (int d = X; d <= Z; d++) {
                double move = w->dt[replica] * w->q->n[d] * f[u + d][at];
                double x =
                    here[d] - move + rounding_noise(w, replica, here[d] + fabs(move));
                x = fmin(fmax(x, 0.5), w->q->n[d] + 0.5);
                corner += (size_t)x * w->stride[d];
                after[d] = x - floor(x);
            }
            double value = 0, size = 0;
            for (int n = 0; n < 8; n++) {
                double weight = 1;
                size_t place = corner;
                for (int d = X; d <= Z; d++) {
                    int next = n >> d & 1;
                    weight *= next ? after[d] : 1 - after[d];
                    place += next ? w->stride[d] : 0;
                }
                value += weight * f[from][place];
                size += weight * fabs(f[from][place]);
            }
            f[to][at] = value + rounding_noise(w, replica, size);
        }
        set_walls(w->q, f[to], negated_axis);
    }
}

static void step(simulation *w)
{
    const query *q = w->q;
    for (int replica = 0; replica < w->replicas; replica++)
        for (int n = 0; n < SOURCE; n++)
            for (size_t c = 0; c < w->cells; c++) {
                double *x = w->field[replica][n] + c;
                double more = w->dt[replica] * w->field[replica][n + SOURCE][c];
                if (more != 0)
                    *x += more + rounding_noise(w, replica, fabs(*x) + fabs(more));
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

/* ---- what came out ------------------------------------------------------------------
 */

bool can_afford_budget(const query *q)
{
    return (double)inner_cells(q) * (q->steps + 1.0) * 6 * q->most <= MAX_BUDGET_WORK;
}

/* How far the lanes ended from lane 0, in a cell or one beside it. */
static double max_deviation(const simulation *w, int field, int i, int j, int k)
{
    const int *n = w->q->n;
    double far = 0;
    for (int c = k > 1 ? k - 1 : 1; c <= k + 1 && c <= n[Z]; c++)
        for (int b = j > 1 ? j - 1 : 1; b <= j + 1 && b <= n[Y]; b++)
            for (int a = i > 1 ? i - 1 : 1; a <= i + 1 && a <= n[X]; a++) {
                size_t at = cell(w, a, b, c);
                for (int replica = 1; replica < w->replicas; replica++)
                    far = fmax(far, fabs(w->field[replica][field][at] -
                                         w->field[0][field][at]));
            }
    return far;
}

static double total_of(const simulation *w, int replica)
{
    const double *x = w->field[replica][DENSITY];
    double sum = 0;
    if (w->q->keep_sources)
        for (size_t c = 0; c < w->cells; c++) sum += x[c];
    else
        EACH_CELL(w, i, j, k) sum += x[cell(w, i, j, k)];
    return sum;
}

void solve_query(const query *q, double *to)
{
    simulation w = make_simulation(q);
    run(&w);
    header h = {.has_budget = w.replicas > 1,
                .sweeps = (double)w.sweeps,
                .min_sweeps = (double)w.min_sweeps,
                .most = (double)w.most,
                .total = total_of(&w, 0)};
    /* A source that is too small for a float is 0 before time makes it larger. */
    double underflow = SMALLEST * fmax(1, q->dt);
    for (int replica = 1; replica < w.replicas; replica++) {
        double far = fabs(total_of(&w, replica) - h.total) + ROUNDING * fabs(h.total) +
                     underflow;
        h.total_budget = fmax(h.total_budget, SAFETY * far);
    }

    size_t inner = inner_cells(q), c = 0;
    double *value = to + HEADER, *budget = value + OUTPUTS * inner;
    for (int f = 0; f < OUTPUTS; f++) EACH_CELL(&w, i, j, k)
        {
            value[c] = w.field[0][f][cell(&w, i, j, k)];
            if (w.replicas > 1)
                budget[c] = SAFETY * (max_deviation(&w, f, i, j, k) +
                                      ROUNDING * fabs(value[c]) + underflow);
            c++;
        }
    memcpy(to, &h, sizeof h);
    for (int replica = 0; replica < w.replicas; replica++)
        for (int f = 0; f < FIELDS; f++) free(w.field[replica][f]);
}
