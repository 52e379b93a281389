/* hybrid.c - one search by host threads and a device at once.
 *
 * A search has two phases: bounds, whose items are cells, and parts, whose items are
 * values of (A, B, C). In each phase the sides take items from a list. With share=auto
 * both take from one list; with share=P each side has a list of its own, the device's
 * with P percent of the values of A. A host thread takes one item at a time. Thread 0
 * also feeds the device: between its own items it polls the device, collects a chunk
 * that has completed and enqueues the next, with up to CHUNKS in flight. It waits for
 * the device only when no item is left.
 *
 * With share=auto and share=0, the samples that step 10 searches in blocks are searched
 * by the host alone: a chunk of them takes about as long as a round trip to the device.
 *
 * Left out: a second device, a thread that only feeds the device, and blocks on the
 * device.
 */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "hybrid.h"
#include "sides.h"

enum { HOST, DEVICE, SIDES };
enum { BOUNDS, PARTS, PHASES };
/* The parts of the current search that the device has received. */
enum { NOTHING_YET, QUERY, QUERY_AND_ORDER };
static const char *const phase_name[PHASES] = {"bounds", "parts"};

/* The items first .. end - 1 of the search order. `next` is the first that is not taken
 * yet. No item from useful_end on can exceed the incumbent. */
typedef struct {
    int first, next, useful_end, end;
} work_list;

/* Items that a side has completed, and the seconds that it took. */
typedef struct {
    double items, seconds;
} throughput;

struct search_state {
    const su_gather *g;
    trace *traces;     /* of the current search */
    int chunk;         /* samples that are searched at a time in blocks */
    int parts;         /* the largest number of parts of a sample */
    point *part;       /* [chunk][parts]: the best point of each (A, B, C) */
    cell_bound *order; /* all cells; in each list highest bound first */
    device *device;    /* NULL if share=0 */
    int threads;
    float *workspaces;       /* one for each thread */
    size_t workspace_stride; /* floats from one workspace to the next */
    double percent;    /* of the values of A for the device; negative: share=auto */
    double round_trip; /* seconds until a chunk of one item has returned */

    search_input input; /* the current search */
    int device_has;     /* NOTHING_YET, QUERY or QUERY_AND_ORDER */
    int phase;
    double phase_start;     /* by seconds() */
    work_list lists[SIDES]; /* with share=auto the first is that of both sides */
    work_list *source[SIDES];
    float incumbent;      /* largest semblance so far */
    int device_items;     /* items given to the device in this phase */
    int in_flight;        /* items that are enqueued and not collected */
    int chunks_in_flight; /* chunks of them */

    throughput recent[SIDES][PHASES]; /* halved before each search, so old rates fade */
    throughput total[SIDES][PHASES];
};

static float *thread_workspace(const search_state *s)
{
    return s->workspaces + omp_get_thread_num() * s->workspace_stride;
}

/* ---- the lists ----------------------------------------------------------------------
 */

/* Sets up the lists of a phase: cells, or the parts_per_cell parts of each cell. */
static void make_lists(search_state *s, int parts_per_cell)
{
    const query *q = s->input.q;
    int cells = (int)cell_count(q), host_cells = cells;
    if (s->percent >= 0)
        host_cells = (q->np[A] - (int)lround(s->percent / 100 * q->np[A])) * q->np[B];
    s->lists[HOST] =
        (work_list){0, 0, host_cells * parts_per_cell, host_cells * parts_per_cell};
    s->lists[DEVICE] =
        (work_list){host_cells * parts_per_cell, host_cells * parts_per_cell,
                    cells * parts_per_cell, cells * parts_per_cell};
    s->source[HOST] = &s->lists[HOST];
    s->source[DEVICE] = &s->lists[s->percent >= 0 ? DEVICE : HOST];
}

static int remaining_items(const work_list *l, int *next)
{
    int useful_end;
#pragma omp atomic read
    *next = l->next;
#pragma omp atomic read
    useful_end = l->useful_end;
    return useful_end - *next;
}

/* Takes up to `count` items from *first on; returns how many. */
static int take_items(work_list *l, int count, int *first)
{
    if (remaining_items(l, first) <= 0) return 0;
#pragma omp atomic capture
    {
        *first = l->next;
        l->next += count;
    }
    int available = l->end - *first;
    return available <= 0 ? 0 : available < count ? available : count;
}

/* Raises the incumbent to semblance, if that is larger, and moves useful_end of each
 * list before the items that can no longer exceed it. */
static void update_incumbent(search_state *s, float semblance)
{
    float incumbent;
#pragma omp atomic read
    incumbent = s->incumbent;
    if (!(semblance > incumbent)) return;
#pragma omp critical
    if (semblance > s->incumbent) {
#pragma omp atomic write
        s->incumbent = semblance;
        for (int side = 0; s->input.prune && side < SIDES; side++) {
            work_list *l = &s->lists[side];
            int useful_end = l->useful_end, parts_per_cell = s->input.q->np[C];
            while (useful_end > l->first &&
                   s->order[useful_end / parts_per_cell - 1].bound < semblance)
                useful_end -= parts_per_cell;
#pragma omp atomic write
            l->useful_end = useful_end;
        }
    }
}

/* Stores part n of the search order at its place in s->part. */
static void store_part(search_state *s, int n, point p)
{
    int parts_per_cell = s->input.q->np[C];
    s->part[(size_t)s->order[n / parts_per_cell].cell * parts_per_cell +
            n % parts_per_cell] = p;
}

/* ---- the device's queue -----------------------------------------------------------
 */

/* Returns the size of the device's next chunk; 0 for none.
 *
 * With a list of its own: one cell first, whose best point becomes the incumbent, then
 * everything. With the common list: a quarter of the device's remaining share, which is
 * the number of items with which both sides would end at the same time if their rates
 * stayed as measured. Later chunks correct a wrong rate, and the last chunk is small. 0
 * if the host alone would complete the remaining items before a chunk could return. */
static int chunk_size(const search_state *s)
{
    int next, left = remaining_items(s->source[DEVICE], &next);
    int min_chunk = device_min_chunk(s->device);
    /* Pruning may end the list before its last item. */
    int unknown_end = s->phase == PARTS && s->input.prune;
    if (left <= 0) return 0;
    if (s->percent >= 0)
        return unknown_end && next == s->source[DEVICE]->first ? s->input.q->np[C]
                                                               : left;

    const throughput *h = &s->recent[HOST][s->phase], *d = &s->recent[DEVICE][s->phase];
    double elapsed = seconds() - s->phase_start + 1e-9;
    double host_rate = (h->items + next - s->device_items) / (h->seconds + elapsed);
    if (unknown_end && elapsed < s->round_trip) return 0;
    if (left < 2 * s->round_trip * host_rate) return 0;

    if (d->items == 0 || host_rate == 0)
        return min_chunk <= left / 2 ? min_chunk : (left + 1) / 2;
    double device_rate = d->items / d->seconds;
    double device_share =
        device_rate / (host_rate + device_rate) * (left + s->in_flight);
    if (device_share / 4 >= min_chunk) return (int)(device_share / 4);
    return device_share - s->in_flight < min_chunk ? (int)(device_share - s->in_flight)
                                                   : min_chunk;
}

/* Stores the results of a chunk and updates rates and incumbent. */
static void record_chunk(search_state *s, device_chunk c)
{
    throughput added = {c.end - c.first, c.ended - c.began};
    for (int n = c.first; n < c.end; n++) {
        if (c.bounds) {
            s->order[n] = (cell_bound){c.bounds[n - c.first].bound, n};
            if (isnan(s->order[n].bound))
                fail("internal error: bound %d was never written", n);
        } else {
            store_part(s, n, c.parts[n - c.first]);
            update_incumbent(s, c.parts[n - c.first].semblance);
        }
    }
    s->chunks_in_flight--;
    s->in_flight -= c.end - c.first;
    s->recent[DEVICE][s->phase].items += added.items;
    s->recent[DEVICE][s->phase].seconds += added.seconds;
    s->total[DEVICE][s->phase].items += added.items;
    s->total[DEVICE][s->phase].seconds += added.seconds;
    hybrid_log("device", -1, phase_name[s->phase], c.began, c.ended);
}

/* Collects completed chunks (if wait is set, waits for one) and fills the queue. */
static void feed_device(search_state *s, int wait)
{
    while (s->chunks_in_flight && (wait || device_poll(s->device))) {
        record_chunk(s, device_collect(s->device));
        wait = 0;
    }
    while (s->chunks_in_flight < CHUNKS) {
        int first, count = chunk_size(s);
        if (count > 0) count = take_items(s->source[DEVICE], count, &first);
        if (count <= 0) return;

        float threshold;
#pragma omp atomic read
        threshold = s->incumbent;
        if (s->device_has < QUERY) device_begin_search(s->device, &s->input);
        if (s->device_has < QUERY_AND_ORDER && s->phase == PARTS)
            device_set_order(s->device, s->order);
        s->device_has = s->phase == PARTS ? QUERY_AND_ORDER : QUERY;
        if (s->phase == PARTS)
            device_parts(s->device, first, first + count, threshold);
        else
            device_bounds(s->device, first, first + count);
        s->device_items += count;
        s->in_flight += count;
        s->chunks_in_flight++;
    }
}

/* ---- a search ---------------------------------------------------------------------
 */

/* Executes a phase: the work of one thread until no item is left. */
static void run_phase(search_state *s, float *storage)
{
    int thread = omp_get_thread_num(), feeds_device = thread == 0 && s->device, n;
    int parts_per_cell = s->input.q->np[C];
    double begin = seconds();
    for (;;) {
        if (feeds_device) feed_device(s, 0);
        if (!take_items(s->source[HOST], 1, &n)) break;
        if (s->phase == BOUNDS) {
            s->order[n] = (cell_bound){host_bound(&s->input, n), n};
            continue;
        }
        float threshold;
#pragma omp atomic read
        threshold = s->incumbent;
        point p = host_part(&s->input, s->order[n / parts_per_cell], n % parts_per_cell,
                            threshold, storage);
        update_incumbent(s, p.semblance);
        store_part(s, n, p);
    }
    double end = seconds();
    hybrid_log("host", thread, phase_name[s->phase], begin, end);
    while (feeds_device && s->chunks_in_flight) feed_device(s, 1);
#pragma omp barrier

    if (thread == 0) {
        const work_list *l = s->source[HOST];
        int taken = (l->next < l->end ? l->next : l->end) - l->first;
        if (l == s->source[DEVICE]) taken -= s->device_items;
        s->recent[HOST][s->phase].items += taken;
        s->recent[HOST][s->phase].seconds += end - s->phase_start;
        s->total[HOST][s->phase].items += taken;
        s->total[HOST][s->phase].seconds += end - s->phase_start;
    }
}

static void begin_phase(search_state *s, int phase)
{
    s->phase = phase;
    s->device_items = 0;
    make_lists(s, phase == PARTS ? s->input.q->np[C] : 1);
    s->phase_start = seconds();
}

/* Searches one sample of the output trace. */
static void search_sample(search_state *s, const query *q, search_result *result)
{
    prepare_sample(q, s->traces);
    memset(s->part, 0xff, part_count(q) * sizeof *s->part); /* NaN, until written */
    s->input = (search_input){q, s->traces, s->g->samples, !result->panel};
    s->device_has = NOTHING_YET;
    s->incumbent = 0;
    for (int i = 0; i < SIDES * PHASES; i++) {
        s->recent[i / PHASES][i % PHASES].items /= 2;
        s->recent[i / PHASES][i % PHASES].seconds /= 2;
    }

#pragma omp parallel num_threads(s->threads)
    {
        float *storage = thread_workspace(s);
#pragma omp single
        begin_phase(s, BOUNDS);
        if (s->input.prune) {
            run_phase(s, storage);
        } else {
#pragma omp for
            for (int n = 0; n < (int)cell_count(q); n++)
                s->order[n] = (cell_bound){NO_BOUND, n};
        }

#pragma omp barrier
#pragma omp single
        {
            for (int side = 0; s->input.prune && side < SIDES; side++) {
                work_list *l = &s->lists[side];
                qsort(s->order + l->first, l->end - l->first, sizeof *s->order,
                      by_bound);
            }
            begin_phase(s, PARTS);
        }
        run_phase(s, storage);
#pragma omp barrier

        /* Parts that were never taken get the result of an unsearched part. */
        for (int side = 0; side < SIDES; side++) {
            const work_list *l = &s->lists[side];
#pragma omp for
            for (int n = l->next; n < l->end; n++) {
                int parts_per_cell = q->np[C], cell = s->order[n / parts_per_cell].cell;
                store_part(s, n,
                           first_point(q, cell / q->np[B], cell % q->np[B],
                                       n % parts_per_cell));
            }
        }
    }

    pick_best(q, s->part, q->np[C], result);
}

/* Searches some samples of the output trace, in blocks. */
static void search_chunk(search_state *s, const query *q, const chunk *c,
                         search_result *result)
{
    search_input input = {q, s->traces, s->g->samples, 0};

#pragma omp parallel for collapse(4) schedule(dynamic)
    for (int block = 0; block < c->blocks; block++)
        for (int ia = 0; ia < c->np[A]; ia++)
            for (int ib = 0; ib < c->np[B]; ib++)
                for (int ic = 0; ic < c->np[C]; ic++)
                    host_block(&input, c, block, ia, ib, ic, s->part, s->parts);

    for (int k = 0; k < c->samples; k++)
        pick_best(&q[k], s->part + k * s->parts, q[k].np[C], &result[k]);
}

void search(search_state *s, const query *q, int samples, const int *indices,
            search_result *result, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);

    double ready = seconds();

    for (int first = 0; first < samples; first += s->chunk) {
        int n = samples - first < s->chunk ? samples - first : s->chunk;
        chunk c = make_chunk(q + first, n, LANES);
        if (s->percent <= 0 && !few_knots(q + first, &c, LANES, 1, s->traces))
            search_chunk(s, q + first, &c, result + first);
        else
            for (int k = first; k < first + n; k++) search_sample(s, &q[k], &result[k]);
    }

    double end = seconds();
    t->init += ready - start;
    t->run += end - ready;
    t->kernel += end - ready;
}

/* ---- begin and end ----------------------------------------------------------------
 */

search_state *search_begin(const su_gather *g, const query *q, run_times *t)
{
    double start = seconds();

    enum { MAX_PARTS = 1 << 30 }; /* counters may exceed the end by one chunk */
    search_state *s = allocate(1, sizeof *s, "the state of the search");
    *s = (search_state){.g = g, .percent = hybrid_device_percent()};
    if (part_count(q) > MAX_PARTS)
        fail("np: %zu (A, B, C), expected at most 2^30", part_count(q));
    s->traces = allocate(q->ntraces, sizeof *s->traces, "the traces");
    s->chunk = chunk_samples(q, LANES);
    s->parts = (int)part_count(q);
    s->part = allocate((size_t)s->chunk * s->parts, sizeof *s->part,
                       "the best of each (A, B, C)");
    s->order = allocate(cell_count(q), sizeof *s->order, "the order of the search");

    int shares_cores = 0;
    if (s->percent != 0) {
        s->device = device_begin(g, q, hybrid_host_threads(1), &shares_cores);

        /* A kernel's first launch takes longer than the following ones. It is done
         * here, with an empty search of one item. The last of three bounds gives the
         * round-trip time. */
        query empty = *q;
        empty.ntraces = empty.np[D] = empty.np[E] = 1;
        s->order[0] = (cell_bound){NO_BOUND, 0};
        for (int i = 0; i < 3; i++) {
            double now = seconds();
            s->input = (search_input){&empty, s->traces, g->samples, 1};
            device_begin_search(s->device, &s->input);
            device_bounds(s->device, 0, 1);
            device_collect(s->device);
            s->round_trip = seconds() - now;
            device_set_order(s->device, s->order);
            device_parts(s->device, 0, 1, 0);
            device_collect(s->device);
        }
    }
    s->threads = hybrid_host_threads(shares_cores);

    /* The threads start here, and each is the first to touch its workspace. */
    s->workspace_stride =
        (workspace_floats(q->ntraces, window_length(q)) + 15) / 16 * 16;
    s->workspaces = allocate_untouched(s->workspace_stride * s->threads,
                                       sizeof *s->workspaces, "the workspaces");
#pragma omp parallel num_threads(s->threads)
    memset(thread_workspace(s), 0xff, s->workspace_stride * sizeof *s->workspaces);

    t->init += seconds() - start;
    return s;
}

void for_samples(int samples, void (*f)(int k, const void *context),
                 const void *context)
{
#pragma omp parallel for schedule(dynamic, 8)
    for (int k = 0; k < samples; k++) f(k, context);
}

void search_end(search_state *s)
{
    double items = 0, on_device = 0, alone[SIDES] = {0};
    for (int phase = 0; phase < PHASES; phase++) {
        const throughput *h = &s->total[HOST][phase], *d = &s->total[DEVICE][phase];
        items += h->items + d->items;
        on_device += d->items;
        if (h->items + d->items == 0) continue;
        alone[HOST] += h->seconds * (h->items + d->items) / h->items;
        alone[DEVICE] += d->seconds * (h->items + d->items) / d->items;
    }
    printf("Share=%.1f\n", items > 0 ? 100 * on_device / items : 0);
    if (s->percent > 0 && s->percent < 100 && isfinite(alone[HOST] + alone[DEVICE]))
        printf("Share_even=%.1f\n", hybrid_balance(alone[HOST], alone[DEVICE]));
    hybrid_log_write();

    if (s->device) device_end(s->device);
    free(s->workspaces);
    free(s->order);
    free(s->part);
    free(s->traces);
    free(s);
}
