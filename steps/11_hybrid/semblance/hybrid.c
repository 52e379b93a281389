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
static const char *const name_of[PHASES] = {"bounds", "parts"};

/* Pieces first .. end - 1: next is the first that nobody has taken, and from live on
 * nothing can be found that is better than the best so far. */
typedef struct {
    int first, next, live, end;
} list;

/* How many pieces a side has done, and how long it took. */
typedef struct {
    double pieces, seconds;
} done;

struct search_state {
    const su_gather *g;
    trace *traces;  /* of a search */
    point *part;    /* the best of each (A, B, C) */
    ranked *order;  /* all cells, of each list the most promising first */
    device *device; /* NULL where share=0 */
    int threads;
    float *room;    /* of each thread, for the hinges of a trace */
    size_t each;    /* floats that a thread has */
    double percent; /* of the values of A, for the device; negative: as it comes */
    double trip;    /* seconds until the host has the result of a chunk of one piece */

    work all; /* this search */
    int told; /* what the device knows of it: nothing, 1 the query, 2 the order, too */
    int phase;
    double began;                /* the phase */
    list own[SIDES], *of[SIDES]; /* what each side takes from */
    float best;                  /* semblance so far */
    int given;                   /* pieces to the device in this phase, and */
    int flying, chunks; /* how many of them, in how many chunks, are not back */

    done lately[SIDES][PHASES]; /* what was long ago counts less and less */
    done ever[SIDES][PHASES];
};

static float *room_of_thread(const search_state *s)
{
    return s->room + omp_get_thread_num() * s->each;
}

/* ---- taking, and giving back ------------------------------------------------------
 */

/* Each side's list, or both sides' list, of cells, or of the `per` parts of each. */
static void deal(search_state *s, int per)
{
    const query *q = s->all.q;
    int cells = (int)cells_of(q), cut = cells;
    if (s->percent >= 0)
        cut = (q->np[0] - (int)lround(s->percent / 100 * q->np[0])) * q->np[1];
    s->own[HOST] = (list){0, 0, cut * per, cut * per};
    s->own[DEVICE] = (list){cut * per, cut * per, cells * per, cells * per};
    s->of[HOST] = &s->own[HOST];
    s->of[DEVICE] = &s->own[s->percent >= 0 ? DEVICE : HOST];
}

static int left_of(const list *l, int *next)
{
    int live;
#pragma omp atomic read
    *next = l->next;
#pragma omp atomic read
    live = l->live;
    return live - *next;
}

/* Takes so many pieces, or as many as there are: how many, from *first on. */
static int take(list *l, int count, int *first)
{
    if (left_of(l, first) <= 0) return 0;
#pragma omp atomic capture
    {
        *first = l->next;
        l->next += count;
    }
    int there = l->end - *first;
    return there <= 0 ? 0 : there < count ? there : count;
}

/* A new best: the end of each list may have become idle. */
static void compare(search_state *s, float semblance)
{
    float best;
#pragma omp atomic read
    best = s->best;
    if (!(semblance > best)) return;
#pragma omp critical
    if (semblance > s->best) {
#pragma omp atomic write
        s->best = semblance;
        for (int side = 0; s->all.prune && side < SIDES; side++) {
            list *l = &s->own[side];
            int live = l->live, per = s->all.q->np[2];
            while (live > l->first && s->order[live / per - 1].bound < semblance)
                live -= per;
#pragma omp atomic write
            l->live = live;
        }
    }
}

/* Part n of the order goes where pick_best looks for it. */
static void put(search_state *s, int n, point p)
{
    int per = s->all.q->np[2];
    s->part[(size_t)s->order[n / per].cell * per + n % per] = p;
}

/* ---- the device's queue -----------------------------------------------------------
 */

/* How much the device gets next. Of its own list all, but first a cell alone, with
 * whose best the others are compared. Of the common list a quarter of what is its due
 * by the rates so far, if both are to end at once: an error of a rate is made good by
 * what is left, and the last chunk is small. None where the host is through with all
 * that is left before a chunk could be back. */
static int next_chunk(const search_state *s)
{
    int next, left = left_of(s->of[DEVICE], &next), fill = device_fill(s->device);
    int guess = s->phase == PARTS && s->all.prune; /* how much is left is not known */
    if (left <= 0) return 0;
    if (s->percent >= 0)
        return guess && next == s->of[DEVICE]->first ? s->all.q->np[2] : left;

    const done *h = &s->lately[HOST][s->phase], *d = &s->lately[DEVICE][s->phase];
    double passed = seconds() - s->began + 1e-9;
    double host = (h->pieces + next - s->given) / (h->seconds + passed);
    if (guess && passed < s->trip) return 0;
    if (left < 2 * s->trip * host) return 0;

    if (d->pieces == 0 || host == 0) return fill <= left / 2 ? fill : (left + 1) / 2;
    double device = d->pieces / d->seconds;
    double due = device / (host + device) * (left + s->flying);
    if (due / 4 >= fill) return (int)(due / 4);
    return due - s->flying < fill ? (int)(due - s->flying) : fill;
}

/* A chunk has come back. */
static void land(search_state *s, chunk c)
{
    done now = {c.end - c.first, c.ended - c.began};
    for (int n = c.first; n < c.end; n++) {
        if (c.bounds) {
            s->order[n] = (ranked){c.bounds[n - c.first].bound, n};
            if (isnan(s->order[n].bound)) fail("bound %d was never written", n);
        } else {
            put(s, n, c.parts[n - c.first]);
            compare(s, c.parts[n - c.first].semblance);
        }
    }
    s->chunks--;
    s->flying -= c.end - c.first;
    s->lately[DEVICE][s->phase].pieces += now.pieces;
    s->lately[DEVICE][s->phase].seconds += now.seconds;
    s->ever[DEVICE][s->phase].pieces += now.pieces;
    s->ever[DEVICE][s->phase].seconds += now.seconds;
    share_note("device", -1, name_of[s->phase], c.began, c.ended);
}

/* Takes back what has come back, or waits for one chunk, and fills the queue. */
static void feed(search_state *s, int wait)
{
    while (s->chunks && (wait || device_ended(s->device))) {
        land(s, device_take(s->device));
        wait = 0;
    }
    while (s->chunks < CHUNKS) {
        int first, count = next_chunk(s);
        if (count > 0) count = take(s->of[DEVICE], count, &first);
        if (count <= 0) return;

        float least;
#pragma omp atomic read
        least = s->best;
        if (s->told < 1) device_search(s->device, &s->all);
        if (s->told < 2 && s->phase == PARTS) device_order(s->device, s->order);
        s->told = s->phase == PARTS ? 2 : 1;
        if (s->phase == PARTS)
            device_parts(s->device, first, first + count, least);
        else
            device_bounds(s->device, first, first + count);
        s->given += count;
        s->flying += count;
        s->chunks++;
    }
}

/* ---- a search ---------------------------------------------------------------------
 */

/* What each thread does in a phase, until there is nothing left to take. */
static void take_part(search_state *s, float *room)
{
    int thread = omp_get_thread_num(), feeds = thread == 0 && s->device, n;
    int per = s->all.q->np[2];
    double begin = seconds();
    for (;;) {
        if (feeds) feed(s, 0);
        if (!take(s->of[HOST], 1, &n)) break;
        if (s->phase == BOUNDS) {
            s->order[n] = (ranked){host_bound(&s->all, n), n};
            continue;
        }
        float least;
#pragma omp atomic read
        least = s->best;
        point p = host_part(&s->all, s->order[n / per], n % per, least, room);
        compare(s, p.semblance);
        put(s, n, p);
    }
    double end = seconds();
    share_note("host", thread, name_of[s->phase], begin, end);
    while (feeds && s->chunks) feed(s, 1);
#pragma omp barrier

    if (thread == 0) {
        const list *l = s->of[HOST];
        int taken = (l->next < l->end ? l->next : l->end) - l->first;
        if (l == s->of[DEVICE]) taken -= s->given;
        s->lately[HOST][s->phase].pieces += taken;
        s->lately[HOST][s->phase].seconds += end - s->began;
        s->ever[HOST][s->phase].pieces += taken;
        s->ever[HOST][s->phase].seconds += end - s->began;
    }
}

static void begin_phase(search_state *s, int phase)
{
    s->phase = phase;
    s->given = 0;
    deal(s, phase == PARTS ? s->all.q->np[2] : 1);
    s->began = seconds();
}

void search(search_state *s, const query *q, const int *near, best *found, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, near, s->traces);
    memset(s->part, 0xff, parts_of(q) * sizeof *s->part); /* NaN, until written */

    double ready = seconds();

    s->all = (work){q, s->traces, s->g->samples, !found->panel};
    s->told = 0;
    s->best = 0;
    for (int i = 0; i < SIDES * PHASES; i++) {
        s->lately[i / PHASES][i % PHASES].pieces /= 2;
        s->lately[i / PHASES][i % PHASES].seconds /= 2;
    }

#pragma omp parallel num_threads(s->threads)
    {
        float *room = room_of_thread(s);
#pragma omp single
        begin_phase(s, BOUNDS);
        if (s->all.prune) {
            take_part(s, room);
        } else {
#pragma omp for
            for (int n = 0; n < (int)cells_of(q); n++) s->order[n] = (ranked){2, n};
        }

#pragma omp barrier
#pragma omp single
        {
            for (int side = 0; s->all.prune && side < SIDES; side++) {
                list *l = &s->own[side];
                qsort(s->order + l->first, l->end - l->first, sizeof *s->order, higher);
            }
            begin_phase(s, PARTS);
        }
        take_part(s, room);
#pragma omp barrier

        /* What was not worth taking. */
        for (int side = 0; side < SIDES; side++) {
            const list *l = &s->own[side];
#pragma omp for
            for (int n = l->next; n < l->end; n++) {
                int per = q->np[2], cell = s->order[n / per].cell;
                put(s, n, first_of(q, cell / q->np[1], cell % q->np[1], n % per));
            }
        }
    }

    pick_best(q, s->part, q->np[2], found);

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

    enum { MOST = 1 << 30 }; /* counters go past the end by what was asked for */
    search_state *s = allocate(1, sizeof *s, "the state of the search");
    *s = (search_state){.g = g, .percent = share_wanted()};
    if (parts_of(q) > MOST)
        fail("np: %zu (A, B, C), expected at most 2^30", parts_of(q));
    s->traces = allocate(q->ntraces, sizeof *s->traces, "the traces");
    s->part = allocate(parts_of(q), sizeof *s->part, "the best of each (A, B, C)");
    s->order = allocate(cells_of(q), sizeof *s->order, "the order of the search");

    int beside = 0;
    if (s->percent != 0) {
        s->device = device_begin(g, q, share_threads(1), &beside);

        /* A kernel's first launch costs more than the next: it is paid here, by one
         * piece of nothing, a trace that lies nowhere. The last time is the trip. */
        query nothing = *q;
        nothing.ntraces = nothing.np[3] = nothing.np[4] = 1;
        s->order[0] = (ranked){2, 0};
        for (int i = 0; i < 3; i++) {
            double now = seconds();
            s->all = (work){&nothing, s->traces, g->samples, 1};
            device_search(s->device, &s->all);
            device_bounds(s->device, 0, 1);
            device_take(s->device);
            s->trip = seconds() - now;
            device_order(s->device, s->order);
            device_parts(s->device, 0, 1, 0);
            device_take(s->device);
        }
    }
    s->threads = share_threads(beside);

    /* Threads are called for the first time here, and each touches its own room. */
    s->each = (room_of(q->ntraces, window_of(q)) + 15) / 16 * 16;
    s->room = untouched(s->each * s->threads, sizeof *s->room, "the hinges");
#pragma omp parallel num_threads(s->threads)
    memset(room_of_thread(s), 0xff, s->each * sizeof *s->room);

    t->init += seconds() - start;
    return s;
}

void search_end(search_state *s)
{
    double all = 0, of_device = 0, alone[SIDES] = {0};
    for (int phase = 0; phase < PHASES; phase++) {
        const done *h = &s->ever[HOST][phase], *d = &s->ever[DEVICE][phase];
        all += h->pieces + d->pieces;
        of_device += d->pieces;
        if (h->pieces + d->pieces == 0) continue;
        alone[HOST] += h->seconds * (h->pieces + d->pieces) / h->pieces;
        alone[DEVICE] += d->seconds * (h->pieces + d->pieces) / d->pieces;
    }
    printf("Share=%.1f\n", all > 0 ? 100 * of_device / all : 0);
    if (s->percent > 0 && s->percent < 100 && isfinite(alone[HOST] + alone[DEVICE]))
        printf("Share_even=%.1f\n", share_even(alone[HOST], alone[DEVICE]));
    share_trace();

    if (s->device) device_end(s->device);
    free(s->room);
    free(s->order);
    free(s->part);
    free(s->traces);
    free(s);
}
