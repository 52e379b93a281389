/* hybrid.c - a pile toppled by threads of the host and a device at once: where the rows
 * are cut, and when both sides meet.
 *
 * Time goes by in epochs. While one lasts, nobody asks anybody: each side steps its
 * rows, and of the other's as many as it keeps. The rows next to the cut are the first
 * that the host has ready; at once its thread 0 sends them, with orders for the epoch
 * that follows, and goes on. So the device always knows what comes next, and the host
 * waits for it only when its own rows are done.
 *
 * Left out: a second device, and a side that gets rows again once it has none.
 */
#include <stdlib.h>

#include "share.h"
#include "sides.h"

enum { HOST, DEVICE };

static struct {
    column side[2];
    int fed;                    /* the device has orders up to this step */
    cell *kept;                 /* room for the rows that the device keeps */
    double seconds[2], work[2]; /* of each side, and row-steps */
} now;

/* Orders for one more epoch, if there is to be one. */
static void feed(void)
{
    const column *d = &now.side[DEVICE];
    int left = d->how->max_iterations - now.fed,
        steps = left < d->halo ? left : d->halo;
    if (d->first == d->after || steps < 1) return;
    cpu_give(&now.side[HOST], d->after, after_kept(d), now.kept);
    device_start(d, now.fed, steps, now.kept);
    now.fed += steps;
}

/* Moves the cut; rows is the whole column. The device has no orders. */
static void move(int cut, cell *rows)
{
    column *h = &now.side[HOST], *d = &now.side[DEVICE];
    size_t pitch = h->pitch;
    int was = d->after;
    cpu_give(h, was, h->after, rows + was * pitch);
    h->first = d->after = cut;
    int first = first_kept(h), after = after_kept(d);
    if (first < was) device_give(d, first, was, rows + first * pitch);
    if (after > was) device_take(d, was, after, rows + was * pitch);
    cpu_take(h, rows + first * pitch, rows);
}

/* The seed's rule. The cut stays unless one side takes longer than the other by more
 * than a tenth; then it goes to where both would end at once. And who would have made
 * all rows, alone and without those that are kept, in nine tenths of the time that both
 * would take then, gets them, if two looks say so: the other gets none again. */
static int better_cut(double host, double device, double both)
{
    const column *d = &now.side[DEVICE];
    double longer = host > device ? host : device, shorter = host + device - longer;
    int all = inner_rows(d, rows_of(d)), its = inner_rows(d, d->after);
    double spoiled = d->halo / 2., host_alone = host * all / (all - its + spoiled),
           device_alone = device * all / (its + spoiled);
    double even = both - (longer - shorter) / 2;
    if (host_alone < 0.9 * even && host_alone < device_alone) return 0;
    if (device_alone < 0.9 * even) return rows_of(d);
    if (longer - shorter <= 0.1 * longer) return d->after;
    return cut_at(d, share_even(host_alone, device_alone) / 100 * all);
}

/* What is known of the epochs since the last look at the cut. */
typedef struct {
    int epochs, next;   /* how many, and at which to look again */
    double shortest[2]; /* seconds of a side: in longer ones others ran here, too */
    double both, since; /* the shortest of TURNS in a row, and when these began */
    int said;           /* the cut that the last look would have had, or -1 */
} looks;

static looks looks_from_now(int next, int said)
{
    return (looks){0, next, {1e30, 1e30}, 1e30, seconds(), said};
}

static void watch(looks *l, const double took[2])
{
    enum { TURNS = 4 };
    for (int i = 0; i < 2; i++)
        if (took[i] < l->shortest[i]) l->shortest[i] = took[i];
    if (l->epochs % TURNS) return;
    double time = seconds(), each = (time - l->since) / TURNS;
    if (each < l->both) l->both = each;
    l->since = time;
}

/* Returns where the cut belongs. Two looks must say that one side should have all rows;
 * and the more often the cut has moved, the longer it stays. */
static int look(looks *l)
{
    int is = now.side[DEVICE].after, next = l->next;
    int cut = better_cut(l->shortest[HOST], l->shortest[DEVICE], l->both);
    bool whole = cut == 0 || cut == rows_of(&now.side[DEVICE]), again = cut == l->said;
    bool moves = cut != is && (!whole || again);
    *l = looks_from_now(moves ? 2 * next : next, cut);
    return moves ? cut : is;
}

/* Steps rows, the whole column, from step n on until no grid has a cell above `low` or
 * the limit is reached; returns the step. share is the device's, negative if to be
 * found. */
static int topple_rows(pile *p, double share, cell *rows, int n, cell low, cell *bits,
                       cell *found)
{
    enum { FIRST_SHARE = 50, FIRST_LOOK = 16 };
    column *h = &now.side[HOST], *d = &now.side[DEVICE];
    size_t batch = p->batch, pitch = h->pitch;
    int limit = h->how->max_iterations, all = inner_rows(h, rows_of(h));
    looks l = looks_from_now(FIRST_LOOK, -1);

    d->first = 0;
    d->after = h->first = cut_at(h, (share < 0 ? FIRST_SHARE : share) / 100 * all);
    h->after = rows_of(h);
    if (d->after) device_take(d, 0, after_kept(d), rows);
    cpu_take(h, rows + first_kept(h) * pitch, rows);
    now.fed = n;
    feed();

    cell left = note(p, h->how, bits, n);
    while (left > low && n < limit) {
        int steps = limit - n < h->halo ? limit - n : h->halo;
        bool both = d->after && h->first < h->after;
        bool judge = share < 0 && both && ++l.epochs == l.next;
        /* Numbers must all stand at the same step when they become bits. */
        bool ahead = h->packed && !judge;

        for (size_t i = 0; i < steps * batch; i++) found[i] = 0;
        double took[2] = {0, 0}, waited = 0, begin = seconds();
        cpu_steps(h, n, steps, found, ahead ? feed : NULL);
        if (d->after) {
            const cell *last;
            double since = seconds();
            took[DEVICE] = device_wait(d, found, &last);
            waited = seconds() - since;
            cpu_keep(h, last, NULL);
        }
        took[HOST] = seconds() - begin - waited; /* with all that it does for both */
        double its[2] = {all - inner_rows(d, d->after), inner_rows(d, d->after)};
        for (int i = 0; i < 2; i++) {
            now.seconds[i] += took[i];
            now.work[i] += its[i] * steps;
        }
        if (steps == h->halo) watch(&l, took);
        for (int s = 0; s < steps; s++) left = note(p, h->how, found + s * batch, ++n);
        for (size_t g = 0; g < batch; g++) bits[g] = found[(steps - 1) * batch + g];

        if (judge && left > low && n < limit) {
            int cut = look(&l);
            if (cut != d->after) move(cut, rows);
        }
        if (!ahead && left > low) feed();
    }
    cpu_give(h, h->first, h->after, rows + h->first * pitch);
    if (d->after) device_give(d, 0, d->after, rows);
    return n;
}

static void note_host(int thread, double begin, double end)
{
    share_note("host", thread, "steps", begin, end);
}

/* The pile as numbers, or as bits. */
static void shape(int packed)
{
    for (int i = 0; i < 2; i++) {
        column *c = &now.side[i];
        c->packed = packed;
        c->side = packed ? side_of(c->p->dim, c->mirror) : c->p->dim;
        c->pitch = packed ? pitch_of(c->width) : c->side;
    }
}

int topple(pile *p, const plan *how, run_times *t)
{
    enum { HALO = 64 };
    double start = seconds();

    if (how->tiles) fail("trace=: the back-end omp has it, and busy= is this one's");
    double share = share_wanted();
    int mirror = mirror_of(p), side = side_of(p->dim, mirror), beside = 0;
    column *c = &now.side[HOST];
    *c =
        (column){p, how, mirror, how->halo ? how->halo : HALO, .width = width_of(side)};
    now.side[DEVICE] = *c;
    shape(1);
    if (share != 0) device_begin(c, share_threads(1), &beside);
    omp_set_num_threads(share_threads(beside));
    cpu_begin(c);
    cpu_busy = note_host;

    size_t batch = p->batch, widest = c->pitch > p->dim ? c->pitch : p->dim;
    cell *bits = allocate(batch, sizeof *bits, "the bits of each grid");
    cell *found = allocate(batch * c->halo, sizeof *found, "what a step has found");
    now.kept = allocate(c->halo * widest, sizeof(cell), "the rows that are kept");
    cell *planes = allocate(words_of(p, side), sizeof *planes, "the grids in bits");

    double ready = seconds();

    int n = 0;
    for (size_t g = 0; g < batch; g++)
        bits[g] = pile_bits(p->grid + g * pile_cells(p), p->dim);
    if (note(p, how, bits, n) > 7) {
        shape(0);
        n = topple_rows(p, share, p->grid, n, 7, bits, found);
    }
    if (note(p, how, bits, n) <= 7) {
        shape(1);
        pack_bits(p, mirror, n, planes);
        n = topple_rows(p, share, planes, n, 3, bits, found);
        unpack_bits(planes, mirror, n, p);
    }

    double end = seconds();
    const double *took = now.seconds, *work = now.work;
    t->init = ready - start;
    t->run = end - ready;
    t->kernel = took[HOST] > took[DEVICE] ? took[HOST] : took[DEVICE];

    double all = work[HOST] + work[DEVICE];
    printf("Share=%.1f\n", all > 0 ? 100 * work[DEVICE] / all : 0);
    if (share > 0 && work[HOST] > 0 && work[DEVICE] > 0)
        printf("Share_even=%.1f\n",
               share_even(took[HOST] / work[HOST], took[DEVICE] / work[DEVICE]));
    share_trace();
    if (share != 0) device_end();
    cpu_end();
    free(planes);
    free(now.kept);
    free(found);
    free(bits);
    return 0;
}
