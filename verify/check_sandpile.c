/* check_sandpile.c - is what a toppling gave right? The program sandpile-check.
 *
 *     sandpile-check QUERY oracle=FILE [result=out.npy] [counts=counts.npy]
 * [truth=FILE]
 *
 * There is no budget: a sandpile is right to the last grain or wrong. The oracle shares
 * no code with steps/. It topples in 64 bits and in another form, each step subtracting
 * the Laplacian of what topples, which says how many steps it takes. Where the pile
 * comes to rest, a second oracle topples one cell after the other, from a queue, in an
 * order of its own: the stable grid is unique, so both must agree. A synchronous result
 * must equal the oracle cell by cell and step by step. An asynchronous one need not
 * take as many sweeps, but what is left of it must come to the same rest. Beside both
 * stand the published numbers of known piles, and the grid that the data's maker knows.
 *
 * The oracle is kept: a FILE that exists is read, and refused if it belongs to another
 * query. Prints key=value lines, the last one verdict=ok or verdict=FAIL and the
 * reason; exits with 0 only if ok. Left out: judging times.
 */
#include "arguments.h"
#include "verdict.h"

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

/* ---- toppling ---------------------------------------------------------------------
 */

/* At most `most` steps; returns how many it took. quarter is room for a grid. */
static int step_to_rest(int dim, int64_t *grid, int64_t *quarter, int most)
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
    }
}

/* One cell after the other, whichever was touched last. */
static void settle(int dim, int64_t *grid)
{
    int64_t n = dim, waiting = 0;
    int64_t *stack = allocate((size_t)(n * n), sizeof *stack, "the stack");
    bool *listed = allocate((size_t)(n * n), sizeof *listed, "what is stacked");
    memset(listed, 0, (size_t)(n * n) * sizeof *listed);
    for (int64_t y = 1; y < n - 1; y++)
        for (int64_t x = 1; x < n - 1; x++)
            if (grid[y * n + x] > 3) {
                stack[waiting++] = y * n + x;
                listed[y * n + x] = true;
            }
    while (waiting) {
        int64_t i = stack[--waiting], quarter = grid[i] / 4;
        listed[i] = false;
        grid[i] -= 4 * quarter;
        int64_t next[4] = {i - n, i + n, i - 1, i + 1};
        for (int k = 0; k < 4; k++) {
            int64_t j = next[k], y = j / n, x = j % n;
            if (y == 0 || x == 0 || y == n - 1 || x == n - 1) continue;
            grid[j] += quarter;
            if (grid[j] > 3 && !listed[j]) {
                stack[waiting++] = j;
                listed[j] = true;
            }
        }
    }
    free(stack);
    free(listed);
}

static bool at_rest(const int64_t *grid, size_t cells)
{
    for (size_t i = 0; i < cells; i++)
        if (grid[i] > 3) return false;
    return true;
}

/* ---- the oracle -------------------------------------------------------------------
 */

/* The file is int32: an identity, the steps of each grid, the grids. */
enum { IDENTITY = 6 };

static void identity(const request *r, const pile *p, int32_t id[IDENTITY])
{
    uint64_t sum = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < pile_cells(p) * (size_t)p->batch; i++)
        sum = (sum ^ p->grid[i]) * 0x100000001b3u;
    int32_t all[IDENTITY] = {p->dim,
                             p->batch,
                             r->plan.max_iterations,
                             r->plan.how,
                             (int32_t)(sum >> 33),
                             (int32_t)(sum & 0x7fffffff)};
    memcpy(id, all, sizeof all);
}

/* Grid g of the pile, toppled as the query says; returns the steps. */
static int oracle_grid(const request *r, const pile *p, int g, int32_t *to)
{
    size_t cells = pile_cells(p);
    int64_t *grid = allocate(cells, sizeof *grid, "the oracle's grid");
    int64_t *rest = allocate(cells, sizeof *rest, "the oracle's other grid");
    int64_t *room = allocate(cells, sizeof *room, "the oracle's room");
    for (size_t i = 0; i < cells; i++) grid[i] = rest[i] = p->grid[g * cells + i];
    bool sync = r->plan.how == SYNC;
    int steps = sync ? step_to_rest(p->dim, grid, room, r->plan.max_iterations) : 0;
    if (!sync || at_rest(grid, cells)) {
        settle(p->dim, rest);
        if (!sync) memcpy(grid, rest, cells * sizeof *grid);
        if (memcmp(grid, rest, cells * sizeof *grid))
            fail("grid %d: the oracles do not agree", g);
    }
    for (size_t i = 0; i < cells; i++) to[i] = (int32_t)grid[i];
    free(grid);
    free(rest);
    free(room);
    return steps;
}

/* [IDENTITY] + [batch] steps + [batch][dim][dim] grains; made if path does not exist.
 */
static int32_t *oracle(const request *r, const pile *p, const char *path)
{
    size_t cells = pile_cells(p), head = IDENTITY + (size_t)p->batch;
    npy all = {.type = NPY_I4, .dims = 1, .shape = {head + (size_t)p->batch * cells}};
    int32_t id[IDENTITY];
    identity(r, p, id);
    if (!oracle_kept(path, &all, id, sizeof id)) {
        int32_t *to = all.data;
#pragma omp parallel for schedule(dynamic)
        for (int g = 0; g < p->batch; g++)
            to[IDENTITY + g] = oracle_grid(r, p, g, to + head + g * cells);
        npy_write(path, &all);
    }
    return all.data;
}

/* ---- what was found ----------------------------------------------------------------
 */

static void check_grids(const request *r, const pile *p, const int32_t *found,
                        const int32_t *right, report *rep)
{
    size_t cells = pile_cells(p), dim = (size_t)p->dim;
    int64_t *grid = allocate(cells, sizeof *grid, "a grid");
    for (int g = 0; g < p->batch && rep->ok; g++) {
        const int32_t *of = found + g * cells, *to = right + g * cells;
        for (size_t i = 0; i < cells; i++) {
            bool border = i / dim % (dim - 1) == 0 || i % dim % (dim - 1) == 0;
            require(rep, of[i] >= 0, "grid %d row %zu column %zu: %d grains", g,
                    i / dim, i % dim, of[i]);
            require(rep, !border || of[i] == 0,
                    "grid %d row %zu column %zu: %d grains on the border", g, i / dim,
                    i % dim, of[i]);
            grid[i] = of[i];
        }
        if (!rep->ok) break;
        if (r->plan.how == ASYNC) settle(p->dim, grid);
        for (size_t i = 0; i < cells; i++)
            require(rep, grid[i] == to[i],
                    "grid %d row %zu column %zu: %jd grains, expected %d", g, i / dim,
                    i % dim, (intmax_t)grid[i], to[i]);
    }
    free(grid);
}

static void check_steps(const request *r, const pile *p, const int32_t *found,
                        const int32_t *right, const int32_t *grids, report *rep)
{
    size_t cells = pile_cells(p);
    for (int g = 0; g < p->batch; g++) {
        if (r->plan.how == SYNC) {
            require(rep, found[g] == right[g], "grid %d: %d iterations, expected %d", g,
                    found[g], right[g]);
            continue;
        }
        require(rep, found[g] >= 0 && found[g] <= r->plan.max_iterations,
                "grid %d: %d sweeps, expected 0 to %d", g, found[g],
                r->plan.max_iterations);
        cell bits = grids ? pile_bits((const cell *)grids + g * cells, p->dim) : 0;
        require(rep, bits < 4 || found[g] == r->plan.max_iterations,
                "grid %d: not stable after %d sweeps", g, found[g]);
        bits = pile_bits(p->grid + g * cells, p->dim);
        require(rep, (bits > 3) == (found[g] > 0) || !r->plan.max_iterations,
                "grid %d: %d sweeps", g, found[g]);
    }
}

/* The published numbers, against the oracle itself: what it agrees with is checked. */
static void check_known(const request *r, const pile *p, const int32_t *steps,
                        const int32_t *grid, report *rep)
{
    uint64_t grains = 0;
    for (size_t i = 0; i < pile_cells(p); i++) grains += (uint64_t)grid[i];
    for (int k = 0; k < KNOWN; k++) {
        if (strcmp(r->config, known[k].config) || p->dim != known[k].dim ||
            r->plan.how != SYNC || r->plan.max_iterations < known[k].steps)
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
static void check_truth(const pile *p, const char *path, const int32_t *grids,
                        report *rep)
{
    FILE *f = fopen(path, "r");
    if (!f) fail("truth=%s: cannot be read", path);
    char line[64];
    uintmax_t number;
    int g = 0;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "grains %ju", &number) == 1) {
            require(rep, number == pile_grains(p),
                    "truth: %ju grains, the data has %ju", number,
                    (uintmax_t)pile_grains(p));
        } else if (sscanf(line, "ends %ju", &number) == 1 && g < p->batch) {
            for (int y = 1; y < p->dim - 1; y++)
                for (int x = 1; x < p->dim - 1; x++) {
                    int v = grids[g * pile_cells(p) + (size_t)y * p->dim + x];
                    require(rep, v == (int)number,
                            "truth: %d grains at row %d, column %d", v, y, x);
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
    request r = request_parse(argc, argv, extra,
                              "checks a toppled sandpile, cell by cell, against two "
                              "oracles\n\n  sandpile-check QUERY oracle=FILE "
                              "[result=FILE] [counts=FILE] [truth=FILE]\n\nQUERY is "
                              "what the toppling was called with. Exit status 0: "
                              "verdict=ok.");
    if (!path) fail("oracle= is missing");
    pile p = request_pile(&r);
    int32_t *all = oracle(&r, &p, path);
    int32_t *steps = all + IDENTITY, *grids = steps + p.batch;

    size_t batch = (size_t)p.batch, dim = (size_t)p.dim;
    report rep = NOTHING_DIFFERS;
    npy found = {0}, found_steps = {0};
    if (result)
        found = read_result(&rep, "result", result,
                            batch > 1 ? (npy){NPY_I4, 3, {batch, dim, dim}, NULL}
                                      : (npy){NPY_I4, 2, {dim, dim}, NULL});
    if (counts)
        found_steps =
            read_result(&rep, "counts", counts, (npy){NPY_I4, 1, {batch}, NULL});
    if (found.data) check_grids(&r, &p, found.data, grids, &rep);
    if (found_steps.data)
        check_steps(&r, &p, found_steps.data, steps, found.data, &rep);
    check_known(&r, &p, steps, grids, &rep);
    if (truth) check_truth(&p, truth, grids, &rep);
    int status = verdict(&rep, true);

    free(found.data);
    free(found_steps.data);
    free(all);
    pile_free(&p);
    return status;
}
