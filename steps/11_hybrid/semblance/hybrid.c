/* hybrid.c - one search by host threads and a device at once.
 *
 * A search has one or two phases, each with a list of items. For a single sample, the
 * items of the first phase are cells, which get their bounds; those of the second are
 * parts, in the order of these bounds. For a chunk of samples there is one phase, whose
 * items are the parts of all its samples. With share=auto both sides take items from
 * one list; with share=P each side has a list of its own, the device's with P percent
 * of the values of A.
 *
 * A host thread takes one item at a time, the device a batch of them. Thread 0 also
 * feeds the device: between its own items it polls for completed batches and enqueues
 * the next, with up to BATCHES in flight. It waits for the device only when no item is
 * left.
 *
 * Left out: window=moveout, a second device, a thread that only feeds the device, and
 * batches of more than one chunk.
 */
#include <omp.h>
#include <stdlib.h>

#include "hybrid.h"
#include "share.h"
#include "sides.h"

enum { HOST, DEVICE, SIDES };
static const char *const kind_name[KINDS] = {"bounds", "nodes", "blocks"};

/* The items first .. end - 1; `next` is the first that is not taken. */
typedef struct {
    int first, next, end;
} work_list;

/* Items that a side has completed, and the seconds that it took. */
typedef struct {
    double items, seconds;
} throughput;

struct search_state {
    const su_gather *g;
    trace *traces;  /* of the current search */
    int chunk;      /* samples that are searched at a time */
    double percent; /* of the values of A for the device; negative: share=auto */
    int threads;    /* of the host */
    device *device; /* NULL if share=0 */
    device_traits traits;

    search_input input;
    work_kind kind;         /* of the current phase, like the next two */
    double phase_start;     /* by seconds() */
    work_list lists[SIDES]; /* with share=auto the second is empty */
    float incumbent;        /* largest semblance of a single sample so far */

    struct {
        int first, items;
        double enqueued; /* by seconds() */
    } batch[BATCHES];
    int started, collected; /* batches */
    double last_ended;      /* when the last batch completed */
    int device_items;       /* taken by the device in this phase */
    int in_flight;          /* items of these that are not collected */

    throughput recent[SIDES][KINDS]; /* halved before each phase, so old rates fade */
    double done[SIDES][KINDS];       /* items */
};

/* ---- the lists --------------------------------------------------------------------
 */

/* Returns the list from which a side takes items. */
static work_list *list_of(search_state *s, int side)
{
    return &s->lists[s->percent < 0 ? HOST : side];
}

/* Returns the number of items from *next on that may exceed the incumbent. The cells of
 * a list are in decreasing order of their bounds. */
static int remaining(const search_state *s, const work_list *l, int *next)
{
    int end = l->end, per_cell = s->input.q->np[C];
    float incumbent;
#pragma omp atomic read
    *next = l->next;
#pragma omp atomic read
    incumbent = s->incumbent;
    if (incumbent > 0) {
        int low = l->first / per_cell, high = end / per_cell;
        while (low < high) {
            int middle = low + (high - low) / 2;
            if (s->input.order[middle].bound < incumbent)
                high = middle;
            else
                low = middle + 1;
        }
        end = low * per_cell;
    }
    return end - *next;
}

/* Takes up to `count` items from *first on. Returns how many; 0 if count <= 0. */
static int take(search_state *s, int side, int count, int *first)
{
    work_list *l = list_of(s, side);
    if (count <= 0 || remaining(s, l, first) <= 0) return 0;
#pragma omp atomic capture
    {
        *first = l->next;
        l->next += count;
    }
    int available = l->end - *first;
    return available <= 0 ? 0 : available < count ? available : count;
}

/* Raises the incumbent to semblance, if that is larger and parts may be pruned. */
static void raise_incumbent(search_state *s, float semblance)
{
    float incumbent;
#pragma omp atomic read
    incumbent = s->incumbent;
    if (!s->input.prune || !(semblance > incumbent)) return;
#pragma omp critical
    if (semblance > s->incumbent) {
#pragma omp atomic write
        s->incumbent = semblance;
    }
}

/* ---- the device -------------------------------------------------------------------
 */

/* Returns the size of the device's next batch; 0 for none.
 *
 * The device's fair part of the remaining items is the one with which both sides would
 * end at the same time, if their rates stayed as measured. A batch is a quarter of it,
 * so later batches correct a wrong rate, but not more than all items before it, because
 * the incumbent may end the list, and not less than `smallest`, because a smaller batch
 * takes as long. The limit leaves to the host what it can complete while the device
 * computes the batches in flight and one of `smallest` items. From a list of its own,
 * the host takes nothing of the device's. */
static int batch_size(search_state *s)
{
    const work_list *l = list_of(s, DEVICE);
    const throughput *h = &s->recent[HOST][s->kind], *d = &s->recent[DEVICE][s->kind];
    int next, left = remaining(s, l, &next), per_item = 1; /* work-items */
    if (s->kind == BLOCKS) per_item = s->input.device.blocks;
    if (s->kind == NODES && s->traits.lanes == 1) per_item = SHARERS;
    double smallest = fmin(s->traits.busy_items / per_item, (l->end - l->first) / 2.);
    if (d->items < 1) return (int)ceil(fmin(smallest, left / 2.)); /* to be measured */

    double host_rate = (h->items + next - l->first - s->device_items) /
                       (h->seconds + seconds() - s->phase_start);
    double host_per_device = s->percent < 0 ? host_rate * d->seconds / d->items : 0;
    double fair = (left + s->in_flight) / (1 + host_per_device);
    double limit = left - host_per_device * (s->in_flight + smallest);
    double before = next - l->first;
    return (int)ceil(fmin(fmax(fmin(fair / 4, before), smallest), limit));
}

/* Collects the oldest batch. The device computed it from the time when it was enqueued,
 * or when the batch before it was completed. */
static void collect(search_state *s)
{
    int slot = s->collected++ % BATCHES;
    int first = s->batch[slot].first, items = s->batch[slot].items;
    double begin = fmax(s->batch[slot].enqueued, s->last_ended);
    double end = s->last_ended = device_collect(s->device);
    s->in_flight -= items;
    s->recent[DEVICE][s->kind].items += items;
    s->recent[DEVICE][s->kind].seconds += end - begin;
    s->done[DEVICE][s->kind] += items;
    for (int n = first; n < first + items && s->kind == NODES; n++)
        raise_incumbent(s, s->input.part[n].semblance);
    hybrid_log("device", -1, kind_name[s->kind], begin, end);
}

/* Collects completed batches (if wait is set, waits for one) and fills the queue.
 * Returns whether a batch is in flight. */
static int feed_device(search_state *s, int wait)
{
    if (!s->device) return 0;
    for (; s->in_flight && (wait || device_poll(s->device)); wait = 0) collect(s);
    while (s->started - s->collected < BATCHES) {
        int first, items = take(s, DEVICE, batch_size(s), &first);
        if (items == 0) break;
        if (s->device_items == 0) device_begin_phase(s->device, &s->input, s->kind);
        float incumbent;
#pragma omp atomic read
        incumbent = s->incumbent;
        int slot = s->started++ % BATCHES;
        s->batch[slot].first = first;
        s->batch[slot].items = items;
        s->batch[slot].enqueued = seconds();
        device_start(s->device, first, first + items, incumbent);
        s->device_items += items;
        s->in_flight += items;
    }
    return s->in_flight > 0;
}

/* ---- a search ---------------------------------------------------------------------
 */

/* Computes an item of the current phase on the host. */
static void compute_item(search_state *s, int n)
{
    float incumbent;
    if (s->kind == BOUNDS) host_bound(&s->input, n);
    if (s->kind == BLOCKS) host_blocks(&s->input, n);
    if (s->kind != NODES) return;
#pragma omp atomic read
    incumbent = s->incumbent;
    host_nodes(&s->input, n, incumbent);
    raise_incumbent(s, s->input.part[n].semblance);
}

/* Computes all items of a phase; the calling thread becomes thread 0. */
static void run_phase(search_state *s, work_kind kind)
{
    const int *np = s->input.host.np;
    int per_a = np[B] * (kind == BOUNDS ? 1 : np[C]), end = np[A] * per_a;
    int device_values = s->percent < 0 ? 0 : (int)lround(s->percent / 100 * np[A]);
    int host_end = end - device_values * per_a;
    s->lists[HOST] = (work_list){0, 0, host_end};
    s->lists[DEVICE] = (work_list){host_end, host_end, end};
    s->kind = kind;
    s->device_items = 0;
    for (int side = 0; side < SIDES; side++) {
        s->recent[side][kind].items /= 2;
        s->recent[side][kind].seconds /= 2;
    }
    s->phase_start = seconds();

    /* If parts may be pruned, the device waits for the host's first incumbent. */
    if (kind != NODES || !s->input.prune) feed_device(s, 0);
#pragma omp parallel num_threads(s->threads)
    {
        int thread = omp_get_thread_num(), n;
        while (take(s, HOST, 1, &n)) {
            compute_item(s, n);
            if (thread == 0) feed_device(s, 0);
        }
        double now = seconds();
        hybrid_log("host", thread, kind_name[kind], s->phase_start, now);
        if (thread == 0) {
            s->recent[HOST][kind].seconds += now - s->phase_start;
            while (feed_device(s, 1)) {}
        }
    }
    const work_list *l = &s->lists[HOST];
    double taken = (l->next < l->end ? l->next : l->end) - l->first;
    if (list_of(s, DEVICE) == l) taken -= s->device_items;
    s->recent[HOST][kind].items += taken;
    s->done[HOST][kind] += taken;
}

/* Computes the bounds of the cells, and sorts each list by them. */
static void order_cells(search_state *s)
{
    cell_bound *order = s->input.order;
    run_phase(s, BOUNDS);
    for (int side = 0; side < SIDES; side++) {
        const work_list *l = &s->lists[side];
        for (int n = l->first; n < l->end; n++)
            if (isnan(order[n].bound))
                fail("internal error: bound %d was never written", n);
        qsort(order + l->first, l->end - l->first, sizeof *order, by_bound);
    }
}

/* Picks the best point of sample k, of several equal ones the first. */
static void pick_sample(const search_state *s, int k, search_result *result)
{
    const query *q = &s->input.q[k];
    const chunk *ch = &s->input.host;
    size_t best = 0;
    result->best = first_point(q, 0, 0, 0);
    for (int side = 0; side < SIDES; side++)
        for (int n = s->lists[side].first;
             n < s->lists[side].next && n < s->lists[side].end; n++) {
            int cell = s->input.order[n / ch->np[C]].cell, ic = n % ch->np[C];
            int ia = cell / ch->np[B], ib = cell % ch->np[B];
            if (ia >= q->np[A] || ib >= q->np[B] || ic >= q->np[C]) continue;
            size_t index = part_index(q, ia, ib, ic);
            const point *p = &s->input.part[(size_t)n * ch->samples + k];
            if (!isfinite(p->semblance))
#pragma omp critical
                fail("internal error: part %zu of the search is %g: never written",
                     index, p->semblance);
            float gain = p->semblance - result->best.semblance;
            if (gain > 0 || (gain == 0 && index <= best)) {
                result->best = *p;
                best = index;
            }
            float *max = result->panel ? &result->panel[ia * q->np[B] + ib] : NULL;
            if (max && (ic == 0 || p->semblance > *max)) *max = p->semblance;
        }
}

/* Searches some samples of the output trace, or one. */
static void search_chunk(search_state *s, const query *q, int samples,
                         search_result *result)
{
    search_input *in = &s->input;
    in->q = q;
    in->host = make_chunk(q, samples, LANES);
    in->device = make_chunk(q, samples, s->traits.lanes);
    in->prune = samples == 1 && !result->panel; /* a panel needs every part */
    s->incumbent = 0;
    int parts = sample_parts(&in->host), cells = in->host.np[A] * in->host.np[B];
    for (int n = 0; n < cells; n++)
        in->order[n] = (cell_bound){in->prune ? NAN : NO_BOUND, n};
#pragma omp parallel for num_threads(s->threads)
    for (int n = 0; n < parts * samples; n++) in->part[n].semblance = NAN;

    if (samples == 1) prepare_sample(q, s->traces);
    if (in->prune) order_cells(s);
    run_phase(s, samples == 1 ? NODES : BLOCKS);
#pragma omp parallel for num_threads(s->threads)
    for (int k = 0; k < samples; k++) pick_sample(s, k, &result[k]);
}

void search(search_state *s, const query *q, int samples, const int *indices,
            search_result *result, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);

    double ready = seconds();

    for (int first = 0; first < samples; first += s->chunk) {
        int n = samples - first < s->chunk ? samples - first : s->chunk;
        search_chunk(s, q + first, n, result + first);
    }

    double end = seconds();
    t->init += ready - start;
    t->run += end - ready;
    t->kernel += end - ready;
}

/* ---- begin and end ----------------------------------------------------------------
 */

/* Sets up the device, and lets it compute one item of each kind: a kernel's first
 * launch takes longer than the following ones. */
static void begin_device(search_state *s, const query *largest)
{
    s->device =
        device_begin(s->g, largest, &s->input, hybrid_host_threads(1), &s->traits);
    query q[2];
    for (int k = 0; k < 2; k++) {
        q[k] = *largest;
        q[k].ntraces = 1;
        for (int i = 0; i < PARAMETERS; i++) q[k].np[i] = 1;
    }
    search_input in = s->input;
    in.q = q;
    in.order[0] = (cell_bound){NO_BOUND, 0};
    s->traces[0] = (trace){0};
    for (int kind = 0; kind < KINDS; kind++) {
        int samples = kind == BLOCKS && s->chunk > 1 ? 2 : 1;
        in.device = make_chunk(q, samples, s->traits.lanes);
        device_begin_phase(s->device, &in, kind);
        device_start(s->device, 0, 1, 0);
        device_collect(s->device);
    }
}

search_state *search_begin(const su_gather *g, const query *q, run_times *t)
{
    double start = seconds();

    enum { MAX_PARTS = 1 << 30 }; /* counters may exceed the end by one batch */
    search_state *s = allocate(1, sizeof *s, "the state of the search");
    *s = (search_state){.g = g, .percent = hybrid_device_percent()};
    if (part_count(q) > MAX_PARTS)
        fail("np: %zu (A, B, C), expected at most 2^30", part_count(q));
    s->chunk = chunk_samples(q, LANES);
    s->traces = allocate(q->ntraces, sizeof *s->traces, "the traces");
    s->input.traces = s->traces;
    s->input.samples = g->samples;
    size_t parts_size = part_capacity(q) * sizeof(point);
    char *results = allocate(parts_size + cell_count(q) * sizeof(cell_bound), 1,
                             "the best of each (A, B, C)");
    s->input.part = (point *)results;
    s->input.order = (cell_bound *)(results + parts_size);

    s->traits.lanes = LANES;
    if (s->percent != 0) begin_device(s, q);
    s->threads = hybrid_host_threads(s->traits.shares_cores);
#pragma omp parallel num_threads(s->threads) /* the threads start here */
    {
    }

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
    for (int kind = 0; kind < KINDS; kind++) {
        double of_kind = s->done[HOST][kind] + s->done[DEVICE][kind];
        items += of_kind;
        on_device += s->done[DEVICE][kind];
        for (int side = 0; side < SIDES && of_kind > 0; side++)
            alone[side] +=
                of_kind * s->recent[side][kind].seconds / s->recent[side][kind].items;
    }
    printf("Share=%.1f\n", items > 0 ? 100 * on_device / items : 0);
    if (s->percent > 0 && s->percent < 100 && isfinite(alone[HOST] + alone[DEVICE]))
        printf("Share_even=%.1f\n", hybrid_balance(alone[HOST], alone[DEVICE]));
    hybrid_log_write();

    if (s->device) device_end(s->device);
    free(s->input.part);
    free(s->traces);
    free(s);
}
