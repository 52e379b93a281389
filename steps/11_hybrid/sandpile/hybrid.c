/* hybrid.c - topples a pile with host threads and one device at the same time: it
 * decides at which row to split the grid, and exchanges rows at the split.
 *
 * The computation advances in blocks of `halo` steps. During a block neither side waits
 * for the other: each computes its own rows and, redundantly, its ghost rows. After a
 * block, each receives new ghost rows from the other.
 *
 * Left out: more than one device; giving rows to a side that has none.
 */
#include <stdlib.h>
#include <string.h>

#include "hybrid.h"
#include "sides.h"

enum { HOST, DEVICE };

static struct {
    grid_shape shape;
    cell *planes; /* all rows of the grid */
    int split;    /* the device has rows 1 .. split - 1, the host the others */
    double seconds[2], work[2]; /* per side: seconds, and rows times steps */
} state;

static int rows_of(int side)
{
    return side == DEVICE ? state.split - 1 : state.shape.side - 1 - state.split;
}

/* Divides the grid. All rows of planes must be current. */
static void assign_rows(int split)
{
    int side = state.shape.side, end_stored = split + state.shape.halo;
    state.split = split;
    if (rows_of(DEVICE))
        device_write_rows(0, end_stored < side ? end_stored : side, state.planes);
    cpu_assign(split, side - 1, state.planes);
}

/* Copies the rows of both sides into planes. */
static void collect_rows(void)
{
    if (rows_of(DEVICE)) device_read_rows(1, state.split, state.planes);
    cpu_read_rows(state.split, state.shape.side - 1, state.planes);
}

/* Copies the rows next to the split to the other side. */
static void exchange_ghosts(void)
{
    int side = state.shape.side, halo = state.shape.halo, split = state.split;
    int first = split - halo > 1 ? split - halo : 1;
    int end = split + halo < side - 1 ? split + halo : side - 1;
    if (!rows_of(DEVICE) || !rows_of(HOST)) return;
    device_read_rows(first, split, state.planes);
    cpu_read_rows(split, end, state.planes);
    device_write_rows(split, end, state.planes);
    cpu_write_ghosts(state.planes);
}

/* Computes steps n .. n + steps - 1 on both sides. flags[s] becomes nonzero if the grid
 * is unstable after step s; elapsed becomes the seconds of both sides. */
static void do_block(int n, int steps, cell *flags, double elapsed[2])
{
    double begin = seconds();
    memset(flags, 0, steps * sizeof *flags);
    if (rows_of(DEVICE)) device_start(state.split, n, steps);
    cpu_steps(n, steps, flags);
    elapsed[HOST] = seconds() - begin;
    elapsed[DEVICE] = rows_of(DEVICE) ? device_wait(steps, flags) : 0;
    exchange_ghosts();
    for (int i = 0; i < 2; i++) {
        state.seconds[i] += elapsed[i];
        state.work[i] += (double)rows_of(i) * steps;
    }
}

/* Returns the split that the seconds of both sides, and of a whole block, suggest. It
 * stays unless one side takes longer than the other by more than HYSTERESIS; then it
 * moves to where both would take equally long. A side that would have fewer own rows
 * than ghost rows gets none, and so does one without which the other would be faster
 * than both at an even split. */
static int balanced_split(const double elapsed[2], double both)
{
    static const double HYSTERESIS = 0.1;
    int rows = state.shape.side - 2, halo = state.shape.halo;
    double redundant = halo / 2.; /* ghost rows per step, on average */
    double host = elapsed[HOST] * rows / (rows_of(HOST) + redundant);
    double device = elapsed[DEVICE] * rows / (rows_of(DEVICE) + redundant);
    double longer = elapsed[elapsed[HOST] < elapsed[DEVICE]],
           difference = 2 * longer - elapsed[HOST] - elapsed[DEVICE],
           even = both - difference / 2, alone = host < device ? host : device;
    if (alone > even && difference < HYSTERESIS * longer) return state.split;

    int device_rows = (int)(hybrid_balance(host, device) / 100 * rows + 0.5);
    if (alone <= even) device_rows = host < device ? 0 : rows;
    if (device_rows < halo) device_rows = 0;
    if (rows - device_rows < halo) device_rows = rows;
    return 1 + device_rows;
}

/* Topples the grid from step n on. share is the device's percentage of the rows, or
 * negative to find it at run time. Returns the number of the last step. */
static int topple_rows(double share, int n)
{
    enum { INITIAL_SHARE = 50 }; /* percent, as in the paper */
    static const double UNMEASURED = 1e30;
    int limit = state.shape.plan->max_iterations, halo = state.shape.halo;
    int checked = 16; /* blocks until the split is checked */
    double shortest[2] = {UNMEASURED, UNMEASURED}, shortest_both = UNMEASURED;
    bool stable = false, dynamic = share < 0;
    cell *flags = allocate(halo, sizeof *flags, "the flags of a block");

    if (dynamic) share = INITIAL_SHARE;
    assign_rows(1 + (int)(share / 100 * (state.shape.side - 2) + 0.5));
    for (int block = 1; !stable && n < limit; block++) {
        int steps = limit - n < halo ? limit - n : halo;
        double elapsed[2], begin = seconds();
        do_block(n, steps, flags, elapsed);
        double both = seconds() - begin;
        n += steps_to_stable(flags, steps, &stable);

        /* The minimum, because other processes only add time. */
        for (int i = 0; i < 2; i++)
            if (elapsed[i] < shortest[i]) shortest[i] = elapsed[i];
        if (both < shortest_both) shortest_both = both;
        if (dynamic && block == checked && rows_of(HOST) && rows_of(DEVICE)) {
            int split = balanced_split(shortest, shortest_both);
            if (split != state.split) {
                collect_rows();
                assign_rows(split);
            }
            shortest[HOST] = shortest[DEVICE] = shortest_both = UNMEASURED;
            checked *= 2;
        }
    }
    collect_rows();
    free(flags);
    return n;
}

static void note_host(int thread, double begin, double end)
{
    hybrid_log("host", thread, "steps", begin, end);
}

static void print_shares(double share)
{
    const double *elapsed = state.seconds, *work = state.work;
    double all = work[HOST] + work[DEVICE];
    printf("Share=%.1f\n", all > 0 ? 100 * work[DEVICE] / all : 0);
    if (share > 0 && work[HOST] > 0 && work[DEVICE] > 0)
        printf("Share_even=%.1f\n", hybrid_balance(elapsed[HOST] / work[HOST],
                                                   elapsed[DEVICE] / work[DEVICE]));
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    enum { HALO = 64 }; /* minimizes the loss per step: see the lesson */
    double start = seconds();

    if (plan->trace)
        fail("trace=: not supported by this back-end: expected busy=, or the "
             "back-end omp");
    double share = hybrid_device_percent();
    int mirror = find_mirror(p), side = stored_side(p->dim, mirror), shares_cores = 0;
    state.shape = (grid_shape){plan, side, plane_width(side), mirror,
                               plan->halo ? plan->halo : HALO};
    for (int i = 0; i < 2; i++) state.seconds[i] = state.work[i] = 0;
    if (share != 0) device_begin(&state.shape, hybrid_host_threads(1), &shares_cores);
    omp_set_num_threads(hybrid_host_threads(shares_cores));
    cpu_begin(&state.shape);
    cpu_on_busy = note_host;
    state.planes = allocate(total_words(side), sizeof(cell), "the bit planes");

    double ready = seconds();

    int n = topple_tall(p, plan, 7);
    double tall = n > 0 ? seconds() - ready : 0;
    if (n < plan->max_iterations && pile_or(p->grid, p->dim) > 3) {
        pack_planes(p, mirror, n, state.planes);
        n = topple_rows(share, n);
        unpack_planes(state.planes, mirror, n, p);
    }
    *p->iterations = n;

    double end = seconds(), *elapsed = state.seconds;
    t->init = ready - start;
    t->run = end - ready;
    t->kernel =
        tall + (elapsed[HOST] > elapsed[DEVICE] ? elapsed[HOST] : elapsed[DEVICE]);
    print_shares(share);
    hybrid_log_write();
    if (share != 0) device_end();
    cpu_end();
    free(state.planes);
    return 0;
}
