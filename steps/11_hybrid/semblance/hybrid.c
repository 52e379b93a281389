/* hybrid.c - one search, by threads of the host and a device at once: who does what,
 * and when.
 *
 * Both take from a list what nobody has taken yet. With share=auto there is one list,
 * of all cells and then of all parts; with share=P each side has its own, of so many
 * values of A, in an order of its own. A thread of the host takes one piece at a time.
 * The device gets chunks, CHUNKS ahead, from thread 0, which looks between its own
 * pieces whether one has come back, and waits only when nothing is left to take.
 *
 * Left out: a second device, and a thread that does nothing but feed.
 */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "share.h"
#include "sides.h"

enum { HOST, DEVICE, SIDES };
enum { BOUNDS, PARTS, PHASES };
static const char *const phase_name[PHASES] = {"bounds", "parts"};

/* Pieces first .. end - 1: next is the first that nobody has taken, and from live on
 * nothing can be found that is better than the best so far. */
typedef struct {
    int first, next, useful_end, end;
} work_list;

/* How many pieces a side has done, and how long it took. */
typedef struct {
    double pieces, seconds;
} throughput;

struct search_state {
    const su_gather *g;
    trace *traces;     /* of a search */
    point *part;       /* the best of each (A, B, C) */
    cell_bound *order; /* all cells, of each list the most promising first */
    device *device;    /* NULL where share=0 */
    int threads;
    float *workspaces;       /* of each thread, for the hinges of a trace */
    size_t workspace_stride; /* floats that a thread has */
    double percent; /* of the values of A, for the device; negative: as it comes */
    double
        round_trip; /* seconds until the host has the result of a chunk of one piece */

    search_input input; /* this search */
    int device_knows; /* what the device knows of it: nothing, 1 the query, 2 the order,
                         too */
    int phase;
    double phase_start;                     /* the phase */
    work_list lists[SIDES], *source[SIDES]; /* what each side takes from */
    float incumbent;                        /* semblance so far */
    int device_items; /* pieces to the device in this phase, and */
    int in_flight;
    int chunks_in_flight; /* how many of them, in how many chunks, are not back */

    throughput recent[SIDES][PHASES]; /* what was long ago counts less and less */
    throughput total[SIDES][PHASES];
};

static float *thread_workspace(const search_state *s)
{
    return s->workspaces + omp_get_thread_num() * s->workspace_stride;
}

/* ---- taking, and giving back ------------------------------------------------------
 */

/* Each side's list, or both sides' list, of cells, or of the `per` parts of each. */
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

/* Takes so many pieces, or as many as there are: how many, from *first on. */
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

/* A new best: the end of each list may have become idle. */
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

/* Part n of the order goes where pick_best looks for it. */
static void store_part(search_state *s, int n, point p)
{
    int parts_per_cell = s->input.q->np[C];
    s->part[(size_t)s->order[n / parts_per_cell].cell * parts_per_cell +
            n % parts_per_cell] = p;
}

/* ---- the device's queue -----------------------------------------------------------
 */

/* How much the device gets next. Of its own list all, but first a cell alone, with
 * whose best the others are compared. Of the common list a quarter of what is its due
 * by the rates so far, if both are to end at once: an error of a rate is made good by
 * what is left, and the last chunk is small. None where the host is through with all
 * that is left before a chunk could be back. */
static int chunk_size(const search_state *s)
{
    int next, left = remaining_items(s->source[DEVICE], &next);
    int min_chunk = device_min_chunk(s->device);
    int unknown_end =
        s->phase == PARTS && s->input.prune; /* how much is left is not known */
    if (left <= 0) return 0;
    if (s->percent >= 0)
        return unknown_end && next == s->source[DEVICE]->first ? s->input.q->np[C]
                                                               : left;

    const throughput *h = &s->recent[HOST][s->phase], *d = &s->recent[DEVICE][s->phase];
    double elapsed = seconds() - s->phase_start + 1e-9;
    double host_rate = (h->pieces + next - s->device_items) / (h->seconds + elapsed);
    if (unknown_end && elapsed < s->round_trip) return 0;
    if (left < 2 * s->round_trip * host_rate) return 0;

    if (d->pieces == 0 || host_rate == 0)
        return min_chunk <= left / 2 ? min_chunk : (left + 1) / 2;
    double device_rate = d->pieces / d->seconds;
    double device_share =
        device_rate / (host_rate + device_rate) * (left + s->in_flight);
    if (device_share / 4 >= min_chunk) return (int)(device_share / 4);
    return device_share - s->in_flight < min_chunk ? (int)(device_share - s->in_flight)
                                                   : min_chunk;
}

/* A chunk has come back. */
static void record_chunk(search_state *s, chunk c)
{
    throughput added = {c.end - c.first, c.ended - c.began};
    for (int n = c.first; n < c.end; n++) {
        if (c.bounds) {
            s->order[n] = (cell_bound){c.bounds[n - c.first].bound, n};
            if (isnan(s->order[n].bound)) fail("bound %d was never written", n);
        } else {
            store_part(s, n, c.parts[n - c.first]);
            update_incumbent(s, c.parts[n - c.first].semblance);
        }
    }
    s->chunks_in_flight--;
    s->in_flight -= c.end - c.first;
    s->recent[DEVICE][s->phase].pieces += added.pieces;
    s->recent[DEVICE][s->phase].seconds += added.seconds;
    s->total[DEVICE][s->phase].pieces += added.pieces;
    s->total[DEVICE][s->phase].seconds += added.seconds;
    share_note("device", -1, phase_name[s->phase], c.began, c.ended);
}

/* Takes back what has come back, or waits for one chunk, and fills the queue. */
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
        if (s->device_knows < 1) device_begin_search(s->device, &s->input);
        if (s->device_knows < 2 && s->phase == PARTS)
            device_set_order(s->device, s->order);
        s->device_knows = s->phase == PARTS ? 2 : 1;
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

/* What each thread does in a phase, until there is nothing left to take. */
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
    share_note("host", thread, phase_name[s->phase], begin, end);
    while (feeds_device && s->chunks_in_flight) feed_device(s, 1);
#pragma omp barrier

    if (thread == 0) {
        const work_list *l = s->source[HOST];
        int taken = (l->next < l->end ? l->next : l->end) - l->first;
        if (l == s->source[DEVICE]) taken -= s->device_items;
        s->recent[HOST][s->phase].pieces += taken;
        s->recent[HOST][s->phase].seconds += end - s->phase_start;
        s->total[HOST][s->phase].pieces += taken;
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

void search(search_state *s, const query *q, const int *indices, search_result *result,
            run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);
    memset(s->part, 0xff, part_count(q) * sizeof *s->part); /* NaN, until written */

    double ready = seconds();

    s->input = (search_input){q, s->traces, s->g->samples, !result->panel};
    s->device_knows = 0;
    s->incumbent = 0;
    for (int i = 0; i < SIDES * PHASES; i++) {
        s->recent[i / PHASES][i % PHASES].pieces /= 2;
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
                s->order[n] = (cell_bound){2, n};
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

        /* What was not worth taking. */
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

    enum { MAX_PARTS = 1 << 30 }; /* counters go past the end by what was asked for */
    search_state *s = allocate(1, sizeof *s, "the state of the search");
    *s = (search_state){.g = g, .percent = share_wanted()};
    if (part_count(q) > MAX_PARTS)
        fail("np: %zu (A, B, C), expected at most 2^30", part_count(q));
    s->traces = allocate(q->ntraces, sizeof *s->traces, "the traces");
    s->part = allocate(part_count(q), sizeof *s->part, "the best of each (A, B, C)");
    s->order = allocate(cell_count(q), sizeof *s->order, "the order of the search");

    int shares_cores = 0;
    if (s->percent != 0) {
        s->device = device_begin(g, q, share_threads(1), &shares_cores);

        /* A kernel's first launch costs more than the next: it is paid here, by one
         * piece of nothing, a trace that lies nowhere. The last time is the trip. */
        query empty = *q;
        empty.ntraces = empty.np[D] = empty.np[E] = 1;
        s->order[0] = (cell_bound){2, 0};
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
    s->threads = share_threads(shares_cores);

    /* Threads are called for the first time here, and each touches its own room. */
    s->workspace_stride =
        (workspace_floats(q->ntraces, window_length(q)) + 15) / 16 * 16;
    s->workspaces = untouched(s->workspace_stride * s->threads, sizeof *s->workspaces,
                              "the hinges");
#pragma omp parallel num_threads(s->threads)
    memset(thread_workspace(s), 0xff, s->workspace_stride * sizeof *s->workspaces);

    t->init += seconds() - start;
    return s;
}

void search_end(search_state *s)
{
    double items = 0, on_device = 0, alone[SIDES] = {0};
    for (int phase = 0; phase < PHASES; phase++) {
        const throughput *h = &s->total[HOST][phase], *d = &s->total[DEVICE][phase];
        items += h->pieces + d->pieces;
        on_device += d->pieces;
        if (h->pieces + d->pieces == 0) continue;
        alone[HOST] += h->seconds * (h->pieces + d->pieces) / h->pieces;
        alone[DEVICE] += d->seconds * (h->pieces + d->pieces) / d->pieces;
    }
    printf("Share=%.1f\n", items > 0 ? 100 * on_device / items : 0);
    if (s->percent > 0 && s->percent < 100 && isfinite(alone[HOST] + alone[DEVICE]))
        printf("Share_even=%.1f\n", share_even(alone[HOST], alone[DEVICE]));
    share_trace();

    if (s->device) device_end(s->device);
    free(s->workspaces);
    free(s->order);
    free(s->part);
    free(s->traces);
    free(s);
}
