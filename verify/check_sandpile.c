/* check_sandpile.c - checks the result of a toppling. The program sandpile-check.
 *
 *     sandpile-check QUERY oracle=FILE [result=out.npy] [counts=counts.npy]
 *                    [truth=FILE]
 *
 * There is no error budget, because all numbers are integers: each cell must be equal.
 * The oracle shares no code with steps/ and common/sandpile; it parses the query and
 * creates the piles itself. It uses 64-bit numbers and another form of the rule: each
 * step subtracts the Laplacian of the topplings. This also gives the number of steps.
 * If the pile becomes stable, a second oracle topples one cell after the other. The
 * stable grid is unique, so both oracles must agree.
 *
 * A synchronous result must equal the oracle cell by cell, with the same number of
 * steps. An asynchronous result may use any order of topplings. Therefore it is
 * completed to the stable grid, which must equal the oracle's; and the number of times
 * that each cell has toppled, which no order changes, shows whether it has computed
 * enough. In addition, published numbers of known piles and the known results of the
 * data generator are compared.
 *
 * The oracle's result is stored in FILE. An existing FILE is read, and rejected if it
 * belongs to another query. The program prints key=value lines; the last one is
 * verdict=ok or verdict=FAIL and the reason. The exit status is 0 only if ok.
 *
 * Left out: judging times; whether fewer sweeps would be sufficient.
 */
#include "verdict.h"

#include <limits.h>

typedef struct {
    int dim, batch, seed, limit; /* limit: maximum number of steps or sweeps */
    bool in_place;
    const char *config;
} query;

/* All grids of the input: [batch][dim][dim]. cells: number of cells of one grid. */
typedef struct {
    size_t batch, dim, cells;
    int64_t *grid;
} piles;

/* Published numbers: side, steps, and grains of the stable pile (0: not published). */
static const struct {
    const char *config;
    int dim, steps;
    uint64_t grains;
} known[] = {
    {"4partout", 32, 241, 2136},      {"4partout", 64, 1024, 9248},
    {"4partout", 128, 4242, 38344},   {"4partout", 256, 17035, 157064},
    {"4partout", 512, 69190, 633624}, {"4partout", 1024, 276198, 2547736},
    {"big", 256, 20521, 0},           {"big", 512, 20521, 0},
};
enum { KNOWN = sizeof known / sizeof *known };

/* ---- the query --------------------------------------------------------------------
 */

/* Parses the query. Arguments that select how a program computes are ignored. */
static query read_query(int argc, char **argv, arg *extra)
{
    query q = {.batch = 0, .seed = 1, .limit = INT_MAX, .config = "4partout"};
    const char *rule = "sync";
    int ignored[3] = {0};
    const char *ignored_path;
    enum { SIDE = 32768, GRIDS = 65535, ITEMS = 1024 };
    arg table[] = {
        {"dim", ARG_INT, &q.dim, 3, SIDE, "cells per side, including the border", 0},
        {"batch", ARG_INT, &q.batch, 1, GRIDS, "grids", 0},
        {"config", ARG_TEXT, &q.config, 0, 0, "name of a configuration, or FILE.npy",
         0},
        {"seed", ARG_INT, &q.seed, 0, INT_MAX, "seed of the configuration alea", 0},
        {"max_iterations", ARG_INT, &q.limit, 0, INT_MAX, "upper limit of steps", 0},
        {"rule", ARG_TEXT, &rule, 0, 0, "sync or async", 0},
        {"tilew", ARG_INT, ignored, 0, SIDE, "ignored", 0},
        {"tileh", ARG_INT, ignored, 0, SIDE, "ignored", 0},
        {"halo", ARG_INT, ignored, 0, 1024, "ignored", 0},
        {"local", ARG_INTS, ignored, 1, ITEMS, "X,Y,Z: ignored", 3},
        {"trace", ARG_TEXT, &ignored_path, 0, 0, "ignored", 0},
        {.value = extra},
    };
    args_parse(argc, argv, table,
               "checks a toppled sandpile, cell by cell, against two oracles\n\n"
               "  sandpile-check QUERY oracle=FILE [result=FILE] [counts=FILE] "
               "[truth=FILE]\n\nQUERY is the query of the program that is checked. "
               "Exit status "
               "0: verdict=ok.");
    q.in_place = !strcmp(rule, "async");
    if (!q.in_place && strcmp(rule, "sync"))
        fail("rule=%s: expected sync or async", rule);
    return q;
}

/* Puts 1000 .. 4999 grains into dim / 8 random cells, at least one. If a cell is drawn
 * twice, the later number counts. */
static void scatter(const query *q, int g, int64_t *grid)
{
    uint64_t start = (uint64_t)q->seed * 4294967296u + (uint64_t)g, n = 0;
    uint64_t inner = (uint64_t)q->dim - 2, side = (uint64_t)q->dim;
    do {
        uint64_t row = random_bits(start, 3 * n + 1) % inner + 1;
        uint64_t column = random_bits(start, 3 * n + 2) % inner + 1;
        grid[row * side + column] =
            1000 + (int64_t)(random_bits(start, 3 * n + 3) % 4000);
    } while (++n < side / 8);
}

static void fill(const query *q, int g, int64_t *grid)
{
    int64_t dim = q->dim, distance = dim / 4 ? dim / 4 : 1;
    bool uniform = !strcmp(q->config, "4partout"), lattice = !strcmp(q->config, "dim");
    if (!strcmp(q->config, "alea")) {
        scatter(q, g, grid);
        return;
    }
    if (!uniform && !lattice && strcmp(q->config, "big"))
        fail("config=%s: expected 4partout, dim, alea, big or FILE.npy", q->config);
    for (int64_t y = 1; y < dim - 1; y++)
        for (int64_t x = 1; x < dim - 1; x++) {
            bool filled = uniform ||
                          (lattice && y % distance == 0 && x % distance == 0) ||
                          (!lattice && y == dim / 2 && x == dim / 2);
            if (filled)
                grid[y * dim + x] = g + (uniform ? 4 : lattice ? y * x / 4 : 100000);
        }
}

/* Reads the cells of a .npy file of any supported type. */
static piles read_piles(query *q)
{
    npy file = npy_load("config", q->config);
    size_t *shape = file.dims == 3 ? file.shape + 1 : file.shape;
    if ((file.dims != 2 && file.dims != 3) || shape[0] != shape[1] || shape[0] < 3 ||
        !npy_count(&file))
        fail("config=%s: wrong shape: expected (dim, dim) or (batch, dim, dim)",
             q->config);
    piles p = {.batch = file.dims == 3 ? file.shape[0] : 1, .dim = shape[0]};
    if ((q->dim && (size_t)q->dim != p.dim) ||
        (q->batch && (size_t)q->batch != p.batch))
        fail("config=%s: wrong shape (%zu grids of %zu x %zu): expected %d grids of "
             "side %d",
             q->config, p.batch, p.dim, p.dim, q->batch, q->dim);
    size_t count = npy_count(&file);
    p.grid = allocate(count, sizeof *p.grid, "the piles");
    for (size_t i = 0; i < count; i++) {
        double v = npy_element(&file, i);
        if (!(v >= 0 && v < INT_MAX && fmod(v, 1) == 0))
            fail("config=%s: wrong value at index %zu (%g): expected a whole number of "
                 "grains",
                 q->config, i, v);
        p.grid[i] = (int64_t)v;
    }
    free(file.data);
    return p;
}

static piles make_piles(query *q)
{
    size_t length = strlen(q->config);
    piles p;
    if (length > 4 && !strcmp(q->config + length - 4, ".npy")) {
        p = read_piles(q);
    } else {
        if (!q->dim) fail("dim= is missing (help lists the keys)");
        p = (piles){.batch = q->batch ? (size_t)q->batch : 1, .dim = (size_t)q->dim};
        size_t cells = p.dim * p.dim;
        p.grid = allocate(p.batch * cells, sizeof *p.grid, "the piles");
        memset(p.grid, 0, p.batch * cells * sizeof *p.grid);
        for (size_t g = 0; g < p.batch; g++) fill(q, (int)g, p.grid + g * cells);
    }
    p.cells = p.dim * p.dim;
    q->dim = (int)p.dim;
    q->batch = (int)p.batch;
    return p;
}

/* ---- toppling ---------------------------------------------------------------------
 */

/* Computes synchronous steps until the grid is stable, at most `limit`; returns their
 * number. quarter is workspace for one grid. times[i], unless times is NULL, is
 * incremented for each toppling of cell i. */
static int step_to_rest(int dim, int64_t *grid, int64_t *quarter, int limit,
                        int64_t *times)
{
    int64_t n = dim;
    memset(quarter, 0, (size_t)(n * n) * sizeof *quarter);
    for (int steps = 0;; steps++) {
        int64_t topples = 0;
        for (int64_t y = 1; y < n - 1; y++)
            for (int64_t i = y * n + 1; i < y * n + n - 1; i++) {
                quarter[i] = (int64_t)((uint64_t)grid[i] >> 2);
                topples |= quarter[i];
            }
        if (!topples || steps == limit) return steps;
        for (int64_t y = 1; y < n - 1; y++)
            for (int64_t i = y * n + 1; i < y * n + n - 1; i++)
                grid[i] += quarter[i - n] + quarter[i + n] + quarter[i - 1] +
                           quarter[i + 1] - 4 * quarter[i];
        for (int64_t i = 0; times && i < n * n; i++) times[i] += quarter[i];
    }
}

/* Topples one cell after the other, in passes over the grid, until it is stable. times
 * as above. */
static void settle(int dim, int64_t *grid, int64_t *times)
{
    int64_t n = dim;
    for (bool toppled = true; toppled;) {
        toppled = false;
        for (int64_t i = n + 1; i < n * (n - 1) - 1; i++) {
            if (grid[i] < 4 || i % n == 0 || i % n == n - 1) continue;
            int64_t quarter = grid[i] / 4, neighbors[] = {i - n, i - 1, i + 1, i + n};
            for (int k = 0; k < 4; k++) grid[neighbors[k]] += quarter;
            grid[i] -= 4 * quarter;
            if (times) times[i] += quarter;
            toppled = true;
        }
    }
    for (int64_t i = 0; i < n * n; i++)
        if (i / n % (n - 1) == 0 || i % n % (n - 1) == 0) grid[i] = 0;
}

static bool at_rest(const int64_t *grid, size_t cells)
{
    for (size_t i = 0; i < cells; i++)
        if (grid[i] > 3) return false;
    return true;
}

/* Checks the number of sweeps of a result in place. When a sweep visits a cell, the
 * cell holds at least as many grains as in a synchronous step, because its neighbors
 * may already have toppled. By induction, n sweeps in any order topple each cell at
 * least as often as n synchronous steps, and no more sweeps than steps are needed. How
 * often a cell has toppled is the difference between the topplings to the stable grid
 * from the input and from the result; it does not depend on the order. */
static void check_sweeps(size_t g, int dim, const int64_t *before, const int32_t *after,
                         int sweeps, report *rep)
{
    size_t cells = (size_t)dim * (size_t)dim;
    int64_t *workspace = allocate(5 * cells, sizeof *workspace, "the toppling counts");
    int64_t *grid = workspace, *scratch = grid + cells, *total_times = scratch + cells;
    int64_t *remaining_times = total_times + cells,
            *step_times = remaining_times + cells;
    memset(total_times, 0, 3 * cells * sizeof *total_times);

    memcpy(grid, before, cells * sizeof *grid);
    int needed = step_to_rest(dim, grid, scratch, sweeps, step_times);
    require(rep, needed == sweeps,
            "grid %zu: too many sweeps (%d): expected at most %d, the number of steps",
            g, sweeps, needed);
    memcpy(grid, before, cells * sizeof *grid);
    settle(dim, grid, total_times);
    for (size_t i = 0; i < cells; i++) grid[i] = after[i];
    settle(dim, grid, remaining_times);
    for (size_t i = 0; i < cells; i++)
        require(rep, total_times[i] - remaining_times[i] >= step_times[i],
                "grid %zu row %zu column %zu: toppled %jd times in %d sweeps, expected "
                "at least %jd",
                g, i / (size_t)dim, i % (size_t)dim,
                (intmax_t)(total_times[i] - remaining_times[i]), sweeps,
                (intmax_t)step_times[i]);
    free(workspace);
}

/* ---- the oracle -------------------------------------------------------------------
 */

/* Identifies a query and its piles. */
static uint64_t query_id(const query *q, const piles *p)
{
    int numbers[] = {q->dim, q->batch, q->limit, q->in_place};
    uint64_t id = digest_update(0, numbers, sizeof numbers);
    return digest_update(id, p->grid, p->batch * p->cells * sizeof *p->grid);
}

/* Topples grid g as the query requires, into `to`; returns the number of steps. */
static int oracle_grid(const query *q, const piles *p, size_t g, int32_t *to)
{
    size_t cells = p->cells;
    int64_t *grid = allocate(cells, sizeof *grid, "the oracle's grid");
    int64_t *stable = allocate(cells, sizeof *stable, "the oracle's other grid");
    int64_t *workspace = allocate(cells, sizeof *workspace, "the oracle's workspace");
    for (size_t i = 0; i < cells; i++) grid[i] = stable[i] = p->grid[g * cells + i];
    bool sync = !q->in_place;
    int steps = sync ? step_to_rest(q->dim, grid, workspace, q->limit, NULL) : 0;
    if (!sync || at_rest(grid, cells)) {
        settle(q->dim, stable, NULL);
        if (!sync) memcpy(grid, stable, cells * sizeof *grid);
        if (memcmp(grid, stable, cells * sizeof *grid))
            fail("internal error: grid %zu: the two oracles differ", g);
    }
    for (size_t i = 0; i < cells; i++) to[i] = (int32_t)grid[i];
    free(grid);
    free(stable);
    free(workspace);
    return steps;
}

/* Returns [batch] steps + [batch][dim][dim] grains, from the file if it exists; else
 * computes them and writes the file. */
static int32_t *oracle(const query *q, const piles *p, const char *path)
{
    bool kept;
    size_t cells = p->cells, count = p->batch + p->batch * cells;
    int32_t *steps = oracle_open(path, NPY_I4, count, query_id(q, p), &kept);
    if (kept) return steps;
    int32_t *grids = steps + p->batch;
#pragma omp parallel for schedule(dynamic)
    for (size_t g = 0; g < p->batch; g++)
        steps[g] = oracle_grid(q, p, g, grids + g * cells);
    oracle_keep(path, NPY_I4, count, steps);
    return steps;
}

/* ---- the checks -------------------------------------------------------------------
 */

static void check_grids(const query *q, const piles *p, const int32_t *result,
                        const int32_t *expected, report *rep)
{
    size_t cells = p->cells, dim = p->dim;
    int64_t *grid = allocate(cells, sizeof *grid, "a grid");
    for (size_t g = 0; g < p->batch && rep->ok; g++) {
        const int32_t *got = result + g * cells, *want = expected + g * cells;
        for (size_t i = 0; i < cells; i++) {
            bool border = i / dim % (dim - 1) == 0 || i % dim % (dim - 1) == 0;
            require(rep, got[i] >= 0, "grid %zu row %zu column %zu: %d grains", g,
                    i / dim, i % dim, got[i]);
            require(rep, !border || got[i] == 0,
                    "grid %zu row %zu column %zu: %d grains on the border", g, i / dim,
                    i % dim, got[i]);
            grid[i] = got[i];
        }
        if (!rep->ok) break;
        if (q->in_place) settle(q->dim, grid, NULL);
        for (size_t i = 0; i < cells; i++)
            require(rep, grid[i] == want[i],
                    "grid %zu row %zu column %zu: %jd grains, expected %d", g, i / dim,
                    i % dim, (intmax_t)grid[i], want[i]);
    }
    free(grid);
}

static void check_steps(const query *q, const piles *p, const int32_t *counts,
                        const int32_t *expected, const int32_t *grids, report *rep)
{
    for (size_t g = 0; g < p->batch; g++) {
        if (!q->in_place) {
            require(rep, counts[g] == expected[g],
                    "grid %zu: %d iterations, expected %d", g, counts[g], expected[g]);
            continue;
        }
        require(rep, counts[g] >= 0 && counts[g] <= q->limit,
                "grid %zu: %d sweeps, expected 0 to %d", g, counts[g], q->limit);
        const int64_t *before = p->grid + g * p->cells;
        require(rep, !at_rest(before, p->cells) == (counts[g] > 0) || !q->limit,
                "grid %zu: %d sweeps", g, counts[g]);
        if (!grids || !rep->ok) continue;
        const int32_t *after = grids + g * p->cells;
        bool stable = true;
        for (size_t i = 0; i < p->cells; i++) stable = stable && after[i] < 4;
        require(rep, stable || counts[g] == q->limit,
                "grid %zu: not stable after %d sweeps", g, counts[g]);
        if ((double)p->cells * counts[g] < 1e9) /* larger checks would take seconds */
            check_sweeps(g, q->dim, before, after, counts[g], rep);
    }
}

/* Compares the published numbers with the oracle, with which the result is compared,
 * too. */
static void check_known(const query *q, const piles *p, const int32_t *steps,
                        const int32_t *grid, report *rep)
{
    uint64_t grains = 0;
    for (size_t i = 0; i < p->cells; i++) grains += (uint64_t)grid[i];
    for (int k = 0; k < KNOWN; k++) {
        if (strcmp(q->config, known[k].config) || q->dim != known[k].dim ||
            q->in_place || q->limit < known[k].steps)
            continue;
        require(rep, steps[0] == known[k].steps,
                "%d iterations, expected %d (published)", steps[0], known[k].steps);
        require(rep, !known[k].grains || grains == known[k].grains,
                "%ju grains, expected %ju (published)", grains, known[k].grains);
        printf("known=%d iterations\n", known[k].steps);
    }
}

/* Compares with the output of the data generator: a line "grains N", and, if the stable
 * grids are known, a line "ends N" per grid: every cell inside the border holds N. */
static void check_truth(const piles *p, const char *path, const int32_t *grids,
                        report *rep)
{
    FILE *f = fopen(path, "r");
    if (!f) fail("truth=%s: cannot be read", path);
    char line[64];
    uintmax_t number, grains = 0;
    for (size_t i = 0; i < p->cells * p->batch; i++) grains += (uintmax_t)p->grid[i];
    size_t g = 0;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "grains %ju", &number) == 1) {
            require(rep, number == grains,
                    "truth: %ju grains, expected %ju as in the data", number, grains);
        } else if (sscanf(line, "ends %ju", &number) == 1 && g < p->batch) {
            for (size_t y = 1; y < p->dim - 1; y++)
                for (size_t x = 1; x < p->dim - 1; x++) {
                    int v = grids[g * p->cells + y * p->dim + x];
                    require(rep, v == (int)number,
                            "truth: %d grains at row %zu, column %zu, expected %ju", v,
                            y, x, number);
                }
            g++;
        } else {
            fail("truth=%s: unknown line: expected 'grains N' or 'ends N'", path);
        }
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    run_name = "sandpile-check";
    const char *oracle_path = NULL, *result = NULL, *counts = NULL, *truth = NULL;
    arg extra[] = {
        {"oracle", ARG_TEXT, &oracle_path, 0, 0,
         ".npy file of the oracle; written if it does not exist", 0},
        {"result", ARG_TEXT, &result, 0, 0, ".npy file written with out=", 0},
        {"counts", ARG_TEXT, &counts, 0, 0, ".npy file written with counts=", 0},
        {"truth", ARG_TEXT, &truth, 0, 0, "output of the data generator", 0},
        {0},
    };
    query q = read_query(argc, argv, extra);
    if (!oracle_path) fail("oracle= is missing");
    piles p = make_piles(&q);
    int32_t *steps = oracle(&q, &p, oracle_path), *grids = steps + p.batch;

    size_t batch = p.batch, dim = p.dim;
    report rep = NOTHING_DIFFERS;
    npy result_file = read_result(&rep, "result", result,
                                  batch > 1 ? (npy){NPY_I4, 3, {batch, dim, dim}, NULL}
                                            : (npy){NPY_I4, 2, {dim, dim}, NULL});
    npy counts_file =
        read_result(&rep, "counts", counts, (npy){NPY_I4, 1, {batch}, NULL});
    if (result_file.data) check_grids(&q, &p, result_file.data, grids, &rep);
    if (counts_file.data)
        check_steps(&q, &p, counts_file.data, steps, result_file.data, &rep);
    check_known(&q, &p, steps, grids, &rep);
    if (truth) check_truth(&p, truth, grids, &rep);
    int status = verdict(&rep, true);

    free(result_file.data);
    free(counts_file.data);
    oracle_free(steps);
    free(p.grid);
    return status;
}
