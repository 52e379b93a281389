/* check_sandpile.c - is what a toppling gave right? The program sandpile-check.
 *
 *     sandpile-check QUERY oracle=FILE [result=out.npy] [counts=counts.npy]
 *                    [truth=FILE]
 *
 * There is no budget: a sandpile is right to the last grain or wrong. The oracle shares
 * no code with steps/ and none with common/sandpile: it has its own reading of the
 * words, and its own piles. It topples in 64 bits and in another form, each step
 * subtracting the Laplacian of what topples, which says how many steps it takes. Where
 * the pile comes to rest, a second oracle topples one cell after the other, from a
 * queue, in an order of its own: the stable grid is unique, so both must agree. A
 * synchronous result must equal the oracle cell by cell and step by step. An
 * asynchronous one may take its sweeps in any order: what is left of it must come to
 * the same rest, and how often each cell has toppled until then, which no order
 * changes, says whether it has done enough. Beside both stand the published numbers of
 * known piles, and the grid that the data's maker knows.
 *
 * The oracle is kept: a FILE that exists is read, and refused if it belongs to another
 * query. Prints key=value lines, the last one verdict=ok or verdict=FAIL and the
 * reason; exits with 0 only if ok. Left out: judging times, and how few sweeps are
 * enough.
 */
#include "verdict.h"

#include <limits.h>

typedef struct {
    int dim, batch, seed, most; /* most: steps or sweeps at most */
    bool in_place;
    const char *config;
} query;

/* All grids before anything has toppled: [batch][dim][dim], and what one has. */
typedef struct {
    size_t batch, dim, cells;
    int64_t *grid;
} piles;

/* Steps and grains of known piles: dim, steps, grains at rest (0: not published). */
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

/* ---- what is asked ----------------------------------------------------------------
 */

/* Words that say how a program is to go about it mean nothing here. */
static query read_query(int argc, char **argv, arg *extra)
{
    query q = {.batch = 0, .seed = 1, .most = INT_MAX, .config = "4partout"};
    const char *rule = "sync";
    int any[3] = {0};
    enum { SIDE = 32768, GRIDS = 65535, ITEMS = 1024 };
    arg table[] = {
        {"dim", ARG_INT, &q.dim, 3, SIDE, "cells a side, border included", 0},
        {"batch", ARG_INT, &q.batch, 1, GRIDS, "grids", 0},
        {"config", ARG_TEXT, &q.config, 0, 0, "a pile's name or FILE.npy", 0},
        {"seed", ARG_INT, &q.seed, 0, INT_MAX, "of alea", 0},
        {"max_iterations", ARG_INT, &q.most, 0, INT_MAX, "stop there", 0},
        {"rule", ARG_TEXT, &rule, 0, 0, "sync or async", 0},
        {"tilew", ARG_INT, any, 0, SIDE, "any", 0},
        {"tileh", ARG_INT, any, 0, SIDE, "any", 0},
        {"halo", ARG_INT, any, 0, 1024, "any", 0},
        {"local", ARG_INTS, any, 1, ITEMS, "X,Y,Z: any", 0},
        {.value = extra},
    };
    args_parse(
        argc, argv, table,
        "checks a toppled sandpile, cell by cell, against two oracles\n\n"
        "  sandpile-check QUERY oracle=FILE [result=FILE] [counts=FILE] "
        "[truth=FILE]\n\nQUERY is what the toppling was called with. Exit status "
        "0: verdict=ok.");
    q.in_place = !strcmp(rule, "async");
    if (!q.in_place && strcmp(rule, "sync"))
        fail("rule=%s: expected sync or async", rule);
    return q;
}

/* Number n of the sequence splitmix64, counted from 1, that begins at start. */
static uint64_t drawn(uint64_t start, uint64_t n)
{
    uint64_t z = start + n * 0x9e3779b97f4a7c15u;
    z ^= z >> 30;
    z *= 0xbf58476d1ce4e5b9u;
    z ^= z >> 27;
    z *= 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Drops dim / 8 cells of 1000 .. 4999 grains, one at least; a later one counts. */
static void scatter(const query *q, int g, int64_t *grid)
{
    uint64_t start = (uint64_t)q->seed * 4294967296u + (uint64_t)g, n = 0;
    uint64_t inner = (uint64_t)q->dim - 2, side = (uint64_t)q->dim;
    do {
        uint64_t row = drawn(start, 3 * n + 1) % inner + 1;
        uint64_t column = drawn(start, 3 * n + 2) % inner + 1;
        grid[row * side + column] = 1000 + (int64_t)(drawn(start, 3 * n + 3) % 4000);
    } while (++n < side / 8);
}

static void fill(const query *q, int g, int64_t *grid)
{
    int64_t dim = q->dim, apart = dim / 4 ? dim / 4 : 1;
    bool all = !strcmp(q->config, "4partout"), some = !strcmp(q->config, "dim");
    if (!strcmp(q->config, "alea")) {
        scatter(q, g, grid);
        return;
    }
    if (!all && !some && strcmp(q->config, "big"))
        fail("config=%s: expected 4partout, dim, alea, big or FILE.npy", q->config);
    for (int64_t y = 1; y < dim - 1; y++)
        for (int64_t x = 1; x < dim - 1; x++) {
            bool there = all || (some && y % apart == 0 && x % apart == 0) ||
                         (!some && y == dim / 2 && x == dim / 2);
            if (there) grid[y * dim + x] = g + (all ? 4 : some ? y * x / 4 : 100000);
        }
}

/* The cells of a file, whatever type it has. */
static piles read_piles(query *q)
{
    npy a;
    char why[NPY_WHY];
    if (npy_read(q->config, &a, why)) fail("config=%s: %s", q->config, why);
    size_t *shape = a.dims == 3 ? a.shape + 1 : a.shape;
    if ((a.dims != 2 && a.dims != 3) || shape[0] != shape[1] || shape[0] < 3 ||
        !npy_count(&a))
        fail("config=%s: expected (dim, dim) or (batch, dim, dim)", q->config);
    piles p = {.batch = a.dims == 3 ? a.shape[0] : 1, .dim = shape[0]};
    if ((q->dim && (size_t)q->dim != p.dim) ||
        (q->batch && (size_t)q->batch != p.batch))
        fail("config=%s: %zu grids of %zu x %zu, expected %d of %d", q->config, p.batch,
             p.dim, p.dim, q->batch, q->dim);
    size_t count = npy_count(&a);
    p.grid = allocate(count, sizeof *p.grid, "the piles");
    for (size_t i = 0; i < count; i++) {
        double v = a.type == NPY_F4   ? ((float *)a.data)[i]
                   : a.type == NPY_F8 ? ((double *)a.data)[i]
                   : a.type == NPY_I4 ? ((int32_t *)a.data)[i]
                                      : ((uint8_t *)a.data)[i];
        if (!(v >= 0 && v < INT_MAX && fmod(v, 1) == 0))
            fail("config=%s: number %zu is %g: expected grains", q->config, i, v);
        p.grid[i] = (int64_t)v;
    }
    free(a.data);
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

/* At most `most` steps; returns how many it took. quarter is room for a grid; times[i],
 * where it is asked for, counts how often cell i has toppled. */
static int step_to_rest(int dim, int64_t *grid, int64_t *quarter, int most,
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
        if (!topples || steps == most) return steps;
        for (int64_t y = 1; y < n - 1; y++)
            for (int64_t i = y * n + 1; i < y * n + n - 1; i++)
                grid[i] += quarter[i - n] + quarter[i + n] + quarter[i - 1] +
                           quarter[i + 1] - 4 * quarter[i];
        for (int64_t i = 0; times && i < n * n; i++) times[i] += quarter[i];
    }
}

/* One cell after the other, the one that has waited longest; times as above. */
static void settle(int dim, int64_t *grid, int64_t *times)
{
    int64_t n = dim, room = n * n, first = 0, waiting = 0;
    int64_t *queue = allocate((size_t)room, sizeof *queue, "the queue");
    bool *listed = allocate((size_t)room, sizeof *listed, "what is in the queue");
    memset(listed, 0, (size_t)room * sizeof *listed);
    for (int64_t y = 1; y < n - 1; y++)
        for (int64_t x = 1; x < n - 1; x++)
            if (grid[y * n + x] > 3) {
                queue[waiting++] = y * n + x;
                listed[y * n + x] = true;
            }
    while (waiting) {
        int64_t i = queue[first], quarter = grid[i] / 4;
        first = first + 1 < room ? first + 1 : 0;
        waiting--;
        listed[i] = false;
        grid[i] -= 4 * quarter;
        if (times) times[i] += quarter;
        int64_t next[4] = {i - n, i + n, i - 1, i + 1};
        for (int k = 0; k < 4; k++) {
            int64_t j = next[k], y = j / n, x = j % n;
            if (y == 0 || x == 0 || y == n - 1 || x == n - 1) continue;
            grid[j] += quarter;
            if (grid[j] > 3 && !listed[j]) {
                int64_t last = first + waiting++;
                queue[last < room ? last : last - room] = j;
                listed[j] = true;
            }
        }
    }
    free(queue);
    free(listed);
}

static bool at_rest(const int64_t *grid, size_t cells)
{
    for (size_t i = 0; i < cells; i++)
        if (grid[i] > 3) return false;
    return true;
}

/* In place a cell that is visited holds at least what it would hold if all toppled at
 * once, and it can only have been given more before. So by induction n sweeps, in
 * whatever order, have each cell topple at least as often as n steps, and are not more
 * than the steps to rest. How often it did topple is what is missing on its way to
 * rest: the same in any order. */
static void check_sweeps(size_t g, int dim, const int64_t *before, const int32_t *after,
                         int sweeps, report *rep)
{
    size_t cells = (size_t)dim * (size_t)dim;
    int64_t *room = allocate(5 * cells, sizeof *room, "how often cells topple");
    int64_t *grid = room, *other = grid + cells, *whole = other + cells;
    int64_t *left = whole + cells, *steps = left + cells;
    memset(whole, 0, 3 * cells * sizeof *whole);

    memcpy(grid, before, cells * sizeof *grid);
    int n = step_to_rest(dim, grid, other, sweeps, steps);
    require(rep, n == sweeps, "grid %zu: %d sweeps, %d steps are enough", g, sweeps, n);
    memcpy(grid, before, cells * sizeof *grid);
    settle(dim, grid, whole);
    for (size_t i = 0; i < cells; i++) grid[i] = after[i];
    settle(dim, grid, left);
    for (size_t i = 0; i < cells; i++)
        require(rep, whole[i] - left[i] >= steps[i],
                "grid %zu row %zu column %zu: toppled %jd times in %d sweeps, in so "
                "many steps %jd",
                g, i / (size_t)dim, i % (size_t)dim, (intmax_t)(whole[i] - left[i]),
                sweeps, (intmax_t)steps[i]);
    free(room);
}

/* ---- the oracle -------------------------------------------------------------------
 */

/* The file is int32: an identity, the steps of each grid, the grids. */
enum { IDENTITY = 6 };

static void identity(const query *q, const piles *p, int32_t id[IDENTITY])
{
    uint64_t sum = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < p->cells * p->batch; i++)
        sum = (sum ^ (uint64_t)p->grid[i]) * 0x100000001b3u;
    int32_t all[IDENTITY] = {q->dim,
                             q->batch,
                             q->most,
                             q->in_place,
                             (int32_t)(sum >> 33),
                             (int32_t)(sum & 0x7fffffff)};
    memcpy(id, all, sizeof all);
}

/* Grid g of the pile, toppled as the query says; returns the steps. */
static int oracle_grid(const query *q, const piles *p, size_t g, int32_t *to)
{
    size_t cells = p->cells;
    int64_t *grid = allocate(cells, sizeof *grid, "the oracle's grid");
    int64_t *rest = allocate(cells, sizeof *rest, "the oracle's other grid");
    int64_t *room = allocate(cells, sizeof *room, "the oracle's room");
    for (size_t i = 0; i < cells; i++) grid[i] = rest[i] = p->grid[g * cells + i];
    bool sync = !q->in_place;
    int steps = sync ? step_to_rest(q->dim, grid, room, q->most, NULL) : 0;
    if (!sync || at_rest(grid, cells)) {
        settle(q->dim, rest, NULL);
        if (!sync) memcpy(grid, rest, cells * sizeof *grid);
        if (memcmp(grid, rest, cells * sizeof *grid))
            fail("grid %zu: the oracles do not agree", g);
    }
    for (size_t i = 0; i < cells; i++) to[i] = (int32_t)grid[i];
    free(grid);
    free(rest);
    free(room);
    return steps;
}

/* [IDENTITY] + [batch] steps + [batch][dim][dim] grains; made if path does not exist.
 */
static int32_t *oracle(const query *q, const piles *p, const char *path)
{
    size_t cells = p->cells, head = IDENTITY + p->batch;
    npy all = {.type = NPY_I4, .dims = 1, .shape = {head + p->batch * cells}};
    int32_t id[IDENTITY];
    identity(q, p, id);
    if (!oracle_kept(path, &all, id, sizeof id)) {
        int32_t *to = all.data;
#pragma omp parallel for schedule(dynamic)
        for (size_t g = 0; g < p->batch; g++)
            to[IDENTITY + g] = oracle_grid(q, p, g, to + head + g * cells);
        npy_write(path, &all);
    }
    return all.data;
}

/* ---- what was found ----------------------------------------------------------------
 */

static void check_grids(const query *q, const piles *p, const int32_t *found,
                        const int32_t *right, report *rep)
{
    size_t cells = p->cells, dim = p->dim;
    int64_t *grid = allocate(cells, sizeof *grid, "a grid");
    for (size_t g = 0; g < p->batch && rep->ok; g++) {
        const int32_t *of = found + g * cells, *to = right + g * cells;
        for (size_t i = 0; i < cells; i++) {
            bool border = i / dim % (dim - 1) == 0 || i % dim % (dim - 1) == 0;
            require(rep, of[i] >= 0, "grid %zu row %zu column %zu: %d grains", g,
                    i / dim, i % dim, of[i]);
            require(rep, !border || of[i] == 0,
                    "grid %zu row %zu column %zu: %d grains on the border", g, i / dim,
                    i % dim, of[i]);
            grid[i] = of[i];
        }
        if (!rep->ok) break;
        if (q->in_place) settle(q->dim, grid, NULL);
        for (size_t i = 0; i < cells; i++)
            require(rep, grid[i] == to[i],
                    "grid %zu row %zu column %zu: %jd grains, expected %d", g, i / dim,
                    i % dim, (intmax_t)grid[i], to[i]);
    }
    free(grid);
}

static void check_steps(const query *q, const piles *p, const int32_t *found,
                        const int32_t *right, const int32_t *grids, report *rep)
{
    for (size_t g = 0; g < p->batch; g++) {
        if (!q->in_place) {
            require(rep, found[g] == right[g], "grid %zu: %d iterations, expected %d",
                    g, found[g], right[g]);
            continue;
        }
        require(rep, found[g] >= 0 && found[g] <= q->most,
                "grid %zu: %d sweeps, expected 0 to %d", g, found[g], q->most);
        const int64_t *before = p->grid + g * p->cells;
        require(rep, !at_rest(before, p->cells) == (found[g] > 0) || !q->most,
                "grid %zu: %d sweeps", g, found[g]);
        if (!grids || !rep->ok) continue;
        const int32_t *after = grids + g * p->cells;
        bool stable = true;
        for (size_t i = 0; i < p->cells; i++) stable = stable && after[i] < 4;
        require(rep, stable || found[g] == q->most,
                "grid %zu: not stable after %d sweeps", g, found[g]);
        if ((double)p->cells * found[g] < 1e9) /* more would take seconds */
            check_sweeps(g, q->dim, before, after, found[g], rep);
    }
}

/* The published numbers, against the oracle itself: what it agrees with is checked. */
static void check_known(const query *q, const piles *p, const int32_t *steps,
                        const int32_t *grid, report *rep)
{
    uint64_t grains = 0;
    for (size_t i = 0; i < p->cells; i++) grains += (uint64_t)grid[i];
    for (int k = 0; k < KNOWN; k++) {
        if (strcmp(q->config, known[k].config) || q->dim != known[k].dim ||
            q->in_place || q->most < known[k].steps)
            continue;
        require(rep, steps[0] == known[k].steps, "%d iterations, published are %d",
                steps[0], known[k].steps);
        require(rep, !known[k].grains || grains == known[k].grains,
                "%ju grains, published are %ju", grains, known[k].grains);
        printf("known=%d iterations\n", known[k].steps);
    }
}

/* What the maker of the data says: a line "grains", and where it knows the end of each
 * grid, lines "ends N": every cell within the border holds N. */
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
            require(rep, number == grains, "truth: %ju grains, the data has %ju",
                    number, grains);
        } else if (sscanf(line, "ends %ju", &number) == 1 && g < p->batch) {
            for (size_t y = 1; y < p->dim - 1; y++)
                for (size_t x = 1; x < p->dim - 1; x++) {
                    int v = grids[g * p->cells + y * p->dim + x];
                    require(rep, v == (int)number,
                            "truth: %d grains at row %zu, column %zu", v, y, x);
                }
            g++;
        } else {
            fail("truth=%s: expected lines 'grains N', 'ends N'", path);
        }
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    run_name = "sandpile-check";
    const char *path = NULL, *result = NULL, *counts = NULL, *truth = NULL;
    arg extra[] = {
        {"oracle", ARG_TEXT, &path, 0, 0, ".npy of the right end; made if not there",
         0},
        {"result", ARG_TEXT, &result, 0, 0, ".npy that was written as out=", 0},
        {"counts", ARG_TEXT, &counts, 0, 0, ".npy that was written as counts=", 0},
        {"truth", ARG_TEXT, &truth, 0, 0, "what the maker of the data printed", 0},
        {0},
    };
    query q = read_query(argc, argv, extra);
    if (!path) fail("oracle= is missing");
    piles p = make_piles(&q);
    int32_t *all = oracle(&q, &p, path);
    int32_t *steps = all + IDENTITY, *grids = steps + p.batch;

    size_t batch = p.batch, dim = p.dim;
    report rep = NOTHING_DIFFERS;
    npy found = {0}, found_steps = {0};
    if (result)
        found = read_result(&rep, "result", result,
                            batch > 1 ? (npy){NPY_I4, 3, {batch, dim, dim}, NULL}
                                      : (npy){NPY_I4, 2, {dim, dim}, NULL});
    if (counts)
        found_steps =
            read_result(&rep, "counts", counts, (npy){NPY_I4, 1, {batch}, NULL});
    if (found.data) check_grids(&q, &p, found.data, grids, &rep);
    if (found_steps.data)
        check_steps(&q, &p, found_steps.data, steps, found.data, &rep);
    check_known(&q, &p, steps, grids, &rep);
    if (truth) check_truth(&p, truth, grids, &rep);
    int status = verdict(&rep, true);

    free(found.data);
    free(found_steps.data);
    free(all);
    free(p.grid);
    return status;
}
