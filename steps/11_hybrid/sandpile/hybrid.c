/* hybrid.c - topples a pile with host threads and one device at the same time: it
 * decides at which row to split the pile, and when both sides exchange rows.
 *
 * The computation advances in temporal blocks of `halo` steps. During a block neither
 * side waits for the other: each computes its own rows and, redundantly, its ghost
 * rows. The host computes the rows next to the split first. As soon as they are ready,
 * thread 0 copies them to the device together with the commands for the next block, and
 * continues. So the device always has its next commands, and the host waits for the
 * device only after its own rows are done.
 *
 * Left out: more than one device; giving rows to a side that has none.
 */
#include <stdlib.h>

#include "hybrid.h"
#include "sides.h"

enum { HOST, DEVICE };

static const double HYSTERESIS = 0.1, ONE_SIDED_GAIN = 0.9;
static const double UNMEASURED = 1e30; /* longer than any measured time */

static struct {
    slab slab[2];
    int steps_ordered;          /* the device has commands up to this step */
    cell *ghosts;               /* buffer for the ghost rows of the device */
    double seconds[2], work[2]; /* per side: seconds, and rows times steps */
} state;

/* Starts the next temporal block on the device, if there is one. */
static void start_next_block(void)
{
    const slab *d = &state.slab[DEVICE];
    int remaining = d->plan->max_iterations - state.steps_ordered,
        steps = remaining < d->halo ? remaining : d->halo;
    if (d->first == d->end || steps < 1) return;
    cpu_read_rows(&state.slab[HOST], d->end, slab_end_stored(d), state.ghosts);
    device_start(d, state.steps_ordered, steps, state.ghosts);
    state.steps_ordered += steps;
}

/* Moves the split to row `split`. rows contains all rows of the pile. No commands may
 * be in flight. */
static void move_split(int split, cell *rows)
{
    slab *h = &state.slab[HOST], *d = &state.slab[DEVICE];
    size_t pitch = h->pitch;
    int old_split = d->end;
    cpu_read_rows(h, old_split, h->end, rows + old_split * pitch);
    h->first = d->end = split;
    int first = slab_first_stored(h), end = slab_end_stored(d);
    if (first < old_split) device_read_rows(d, first, old_split, rows + first * pitch);
    if (end > old_split) device_write_rows(d, old_split, end, rows + old_split * pitch);
    cpu_assign(h, rows + first * pitch, rows);
}

/* Returns the split that the measured times suggest. The rule is that of the paper: the
 * split stays unless one side takes longer than the other by more than HYSTERESIS; then
 * it moves to where both would take equally long. In addition to the paper's rule, one
 * side gets all rows if alone, without computing ghost rows, it would need less than
 * ONE_SIDED_GAIN of the time that both need together. A side without rows never gets
 * rows again. */
static int proposed_split(double host, double device, double both)
{
    const slab *d = &state.slab[DEVICE];
    double longer = host > device ? host : device, shorter = host + device - longer;
    int all = inner_rows(d, slab_total_rows(d)), device_rows = inner_rows(d, d->end);
    double redundant = d->halo / 2.; /* ghost rows per step, on average */
    double host_alone = host * all / (all - device_rows + redundant),
           device_alone = device * all / (device_rows + redundant);
    double even_time = both - (longer - shorter) / 2;
    if (host_alone < ONE_SIDED_GAIN * even_time && host_alone < device_alone) return 0;
    if (device_alone < ONE_SIDED_GAIN * even_time) return slab_total_rows(d);
    if (longer - shorter <= HYSTERESIS * longer) return d->end;
    return split_at(d, hybrid_balance(host_alone, device_alone) / 100 * all);
}

/* Measurements since the split was last checked. */
typedef struct {
    int blocks, next;     /* number of blocks, and the block at which to check next */
    double shortest[2];   /* seconds per side; the minimum, because other processes only
                             add time */
    double shortest_both; /* minimum seconds per block, over AVERAGED_BLOCKS in a row */
    double window_begin;  /* start of the current AVERAGED_BLOCKS */
    int last_proposal;    /* split proposed at the last check, or -1 */
} split_monitor;

static split_monitor monitor_restart(int next, int last_proposal)
{
    return (split_monitor){0,          next,      {UNMEASURED, UNMEASURED},
                           UNMEASURED, seconds(), last_proposal};
}

static void monitor_record(split_monitor *monitor, const double elapsed[2])
{
    enum { AVERAGED_BLOCKS = 4 };
    for (int i = 0; i < 2; i++)
        if (elapsed[i] < monitor->shortest[i]) monitor->shortest[i] = elapsed[i];
    if (monitor->blocks % AVERAGED_BLOCKS) return;
    double now = seconds(), per_block = (now - monitor->window_begin) / AVERAGED_BLOCKS;
    if (per_block < monitor->shortest_both) monitor->shortest_both = per_block;
    monitor->window_begin = now;
}

/* Returns the new split. Giving all rows to one side requires two equal proposals in a
 * row. After each move, the time to the next check doubles. */
static int choose_split(split_monitor *monitor)
{
    int current = state.slab[DEVICE].end, next = monitor->next;
    int split = proposed_split(monitor->shortest[HOST], monitor->shortest[DEVICE],
                               monitor->shortest_both);
    bool one_sided = split == 0 || split == slab_total_rows(&state.slab[DEVICE]),
         confirmed = split == monitor->last_proposal;
    bool moving = split != current && (!one_sided || confirmed);
    *monitor = monitor_restart(moving ? 2 * next : next, split);
    return moving ? split : current;
}

/* Computes steps from step n until no cell exceeds `threshold` or the limit is reached.
 * rows contains all rows of the pile. device_share is the device's percentage of the
 * rows, or negative to find it at run time. Returns the number of steps. */
static int topple_rows(pile *p, double device_share, cell *rows, int n, cell threshold,
                       cell *flags, cell *step_flags)
{
    enum { INITIAL_SHARE = 50 }; /* percent, as in the paper */
    enum { FIRST_CHECK = 16 };   /* blocks before the first check */
    slab *h = &state.slab[HOST], *d = &state.slab[DEVICE];
    size_t batch = p->batch, pitch = h->pitch;
    int limit = h->plan->max_iterations, total_rows = inner_rows(h, slab_total_rows(h));
    split_monitor monitor = monitor_restart(FIRST_CHECK, -1);

    d->first = 0;
    d->end = h->first = split_at(h, (device_share < 0 ? INITIAL_SHARE : device_share) /
                                        100 * total_rows);
    h->end = slab_total_rows(h);
    if (d->end) device_write_rows(d, 0, slab_end_stored(d), rows);
    cpu_assign(h, rows + slab_first_stored(h) * pitch, rows);
    state.steps_ordered = n;
    start_next_block();

    cell any_flags = record_finished(p, h->plan, flags, n);
    while (any_flags > threshold && n < limit) {
        int steps = limit - n < h->halo ? limit - n : h->halo;
        bool both = d->end && h->first < h->end;
        bool check_split = device_share < 0 && both && ++monitor.blocks == monitor.next;
        /* Before packing, both sides must have reached the same step. */
        bool run_ahead = h->packed && !check_split;

        for (size_t i = 0; i < steps * batch; i++) step_flags[i] = 0;
        double elapsed[2] = {0, 0}, waited = 0, begin = seconds();
        cpu_steps(h, n, steps, step_flags, run_ahead ? start_next_block : NULL);
        if (d->end) {
            const cell *ghosts;
            double wait_begin = seconds();
            elapsed[DEVICE] = device_wait(d, step_flags, &ghosts);
            waited = seconds() - wait_begin;
            cpu_set_ghosts(h, ghosts);
        }
        elapsed[HOST] = seconds() - begin - waited; /* including the exchange of rows */
        double side_rows[2] = {total_rows - inner_rows(d, d->end),
                               inner_rows(d, d->end)};
        for (int i = 0; i < 2; i++) {
            state.seconds[i] += elapsed[i];
            state.work[i] += side_rows[i] * steps;
        }
        if (steps == h->halo) monitor_record(&monitor, elapsed);
        for (int s = 0; s < steps; s++)
            any_flags = record_finished(p, h->plan, step_flags + s * batch, ++n);
        for (size_t g = 0; g < batch; g++)
            flags[g] = step_flags[(steps - 1) * batch + g];

        if (check_split && any_flags > threshold && n < limit) {
            int split = choose_split(&monitor);
            if (split != d->end) move_split(split, rows);
        }
        if (!run_ahead && any_flags > threshold) start_next_block();
    }
    cpu_read_rows(h, h->first, h->end, rows + h->first * pitch);
    if (d->end) device_read_rows(d, 0, d->end, rows);
    return n;
}

static void note_host(int thread, double begin, double end)
{
    hybrid_log("host", thread, "steps", begin, end);
}

/* Selects bit planes (packed) or one word per cell. */
static void set_packed(int packed)
{
    for (int i = 0; i < 2; i++) {
        slab *c = &state.slab[i];
        c->packed = packed;
        c->side = packed ? stored_side(c->p->dim, c->mirror) : c->p->dim;
        c->pitch = packed ? row_pitch(c->width) : c->side;
    }
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    enum { HALO = 64 }; /* minimizes the loss per step: see the lesson */
    double start = seconds();

    if (plan->trace)
        fail("trace=: not supported by this back-end: expected busy=, or the "
             "back-end omp");
    double device_share = hybrid_device_percent();
    int mirror = find_mirror(p), side = stored_side(p->dim, mirror), shares_cores = 0;
    slab *c = &state.slab[HOST];
    *c = (slab){p, plan, mirror, plan->halo ? plan->halo : HALO,
                .width = plane_width(side)};
    state.slab[DEVICE] = *c;
    for (int i = 0; i < 2; i++) state.seconds[i] = state.work[i] = 0;
    set_packed(1);
    if (device_share != 0) device_begin(c, hybrid_host_threads(1), &shares_cores);
    omp_set_num_threads(hybrid_host_threads(shares_cores));
    cpu_begin(c);
    cpu_on_busy = note_host;

    size_t batch = p->batch, widest = c->pitch > p->dim ? c->pitch : p->dim;
    cell *flags = allocate(batch, sizeof *flags, "the flags of each grid");
    cell *step_flags =
        allocate(batch * c->halo, sizeof *step_flags, "the flags of each step");
    state.ghosts = allocate(c->halo * widest, sizeof(cell), "the ghost rows");
    cell *planes = allocate(total_words(p, side), sizeof *planes, "the bit planes");

    double ready = seconds();

    int n = 0;
    for (size_t g = 0; g < batch; g++)
        flags[g] = pile_or(p->grid + g * pile_cells(p), p->dim);
    if (record_finished(p, plan, flags, n) > 7) {
        set_packed(0);
        n = topple_rows(p, device_share, p->grid, n, 7, flags, step_flags);
    }
    if (record_finished(p, plan, flags, n) <= 7) {
        set_packed(1);
        pack_planes(p, mirror, n, planes);
        n = topple_rows(p, device_share, planes, n, 3, flags, step_flags);
        unpack_planes(planes, mirror, n, p);
    }

    double end = seconds();
    const double *elapsed = state.seconds, *work = state.work;
    t->init = ready - start;
    t->run = end - ready;
    t->kernel = elapsed[HOST] > elapsed[DEVICE] ? elapsed[HOST] : elapsed[DEVICE];

    double total_work = work[HOST] + work[DEVICE];
    printf("Share=%.1f\n", total_work > 0 ? 100 * work[DEVICE] / total_work : 0);
    if (device_share > 0 && work[HOST] > 0 && work[DEVICE] > 0)
        printf("Share_even=%.1f\n", hybrid_balance(elapsed[HOST] / work[HOST],
                                                   elapsed[DEVICE] / work[DEVICE]));
    hybrid_log_write();
    if (device_share != 0) device_end();
    cpu_end();
    free(planes);
    free(state.ghosts);
    free(step_flags);
    free(flags);
    return 0;
}
