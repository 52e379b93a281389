/* hybrid.c - gridding and degridding by threads of the host and a device at once.
 *
 * What is to be computed is cut in units: of the grid, rectangles that are whole
 * segments of both sides; of sorted visibilities, some that follow each other. A cell
 * is computed by one side alone, from all visibilities that reach it, so no grid is
 * added to another. Units lie in a row. The device takes chunks of them from the front,
 * threads of the host single ones from the back, until they meet; or, where share= says
 * how much is the device's, up to where it says.
 *
 * Thread 0 feeds the device: before each unit of its own it looks whether a chunk has
 * ended, and starts another. Nobody waits for the device before the host has done its
 * part.
 */
#include "sides.h"

#include <omp.h>

#include "share.h"

#define VISIBILITIES 64 /* of a unit of degridding */
#define PIECES       64 /* the first chunk is a part of the work, one of so many */

typedef struct {
    const problem *p;
    const cplx *model; /* that is degridded; NULL: visibilities are gridded */
    cplx *result;
    double share; /* percent for the device; negative: what it can take */
    int threads;  /* on the host */
    device *d;    /* NULL: not one is wanted */
    blocks its;   /* the device's */

    int rows, columns;  /* of a unit */
    int along;          /* units from one row of them to the next */
    int units, *before; /* [units + 1]: visibilities in the units before this one */
    int front, back;    /* units that nobody has taken: front .. back - 1 */
    int cut;            /* the device's end, where a share is wanted */

    int chunk, flying; /* work of the next chunk; chunks that have not ended */
    double host, device, loaded; /* seconds that each took; when the device had all */
} sharing;

/* ---- who takes what -------------------------------------------------------------- */

static int host_takes(sharing *k)
{
    int unit = -1;
#pragma omp critical(units)
    if (k->back > (k->share < 0 ? k->front : k->cut)) unit = --k->back;
    return unit;
}

/* What n units from `first` on cost: their visibilities, and an empty one is written
 * as well. */
static int work_of(const sharing *k, int first, int n)
{
    return k->before[first + n] - k->before[first] + n;
}

/* Units for the device, from *first on; none is left, or all of them, where a share is
 * wanted. Else chunks grow until they are an eighth of the work that is left, and then
 * shrink with it: a device that is slow holds up nobody for long. A chunk is a
 * rectangle: a part of a row, or whole rows. */
static int device_takes(sharing *k, int *first)
{
    int n;
#pragma omp critical(units)
    {
        int left = (k->share < 0 ? k->back : k->cut) - k->front;
        n = left;
        if (k->share < 0 && left) {
            int most = work_of(k, k->front, left) / 8;
            if (k->chunk < most) {
                most = k->chunk;
                k->chunk *= 2;
            }
            for (n = 1; n < left && work_of(k, k->front, n + 1) <= most;) n++;
        }
        int rest = k->along - k->front % k->along; /* of a row */
        if (rest < k->along || n < rest)
            n = n < rest ? n : rest;
        else
            n -= n % k->along;
        *first = k->front;
        k->front += n;
    }
    return n;
}

static piece piece_of(const sharing *k, int first, int n)
{
    int along = n < k->along ? n : k->along;
    return (piece){first / k->along * k->rows, n / along * k->rows,
                   first % k->along * k->columns, along * k->columns};
}

/* ---- both at once ---------------------------------------------------------------- */

/* Chunks that have ended are noted; with wait, the oldest is waited for. */
static void look(sharing *k, int wait)
{
    double began, ended;
    while (k->flying && device_ended(k->d, wait, &began, &ended)) {
        k->flying--;
        k->device = ended - k->loaded;
        share_note("device", -1, "chunk", began, ended);
    }
}

static void feed(sharing *k)
{
    look(k, 0);
    int first, n;
    while (k->d && k->flying < IN_FLIGHT && (n = device_takes(k, &first)) > 0) {
        device_start(k->d, piece_of(k, first, n));
        k->flying++;
    }
}

static void compute(sharing *k, const real *taps, const sorted *o)
{
    double start = seconds();
#pragma omp parallel num_threads(k->threads)
    {
        int me = omp_get_thread_num(), unit;
        for (;;) {
            if (me == 0) feed(k);
            if ((unit = host_takes(k)) < 0) break;
            double began = seconds();
            if (k->model)
                host_degrid(k->p, taps, o, piece_of(k, unit, 1), k->model, k->result);
            else
                host_grid(k->p, taps, o, piece_of(k, unit, 1), k->result);
            share_note("host", me, "unit", began, seconds());
        }
    }
    k->host = seconds() - start;
    while (k->flying) {
        look(k, 1);
        feed(k);
    }
}

/* ---- before and after ------------------------------------------------------------ */

static int common_multiple(int a, int b)
{
    int n = a;
    while (n % b) n += a;
    return n;
}

/* share=0 looks for no device. `target` is where the device's results go. */
static sharing sharing_begin(const problem *p, const void *model, void *result,
                             void *target)
{
    sharing k = {.p = p, .model = model, .result = result, .share = share_wanted()};
    int beside = 0;
    if (k.share != 0) {
        k.d = device_begin(p, model != NULL, target, share_threads(1), &beside);
        k.its = device_blocks(k.d);
    } else
        k.its = (blocks){ROWS, COLUMNS, BLOCKS * ROWS};
    k.threads = share_threads(beside);

    k.rows = model ? VISIBILITIES : common_multiple(BLOCKS * ROWS, k.its.segment);
    k.columns = model ? 1 : common_multiple(COLUMNS, k.its.columns);
    k.along = model ? 1 : BINS_OF(p->is.size, k.columns);
    k.units = k.along * BINS_OF(model ? p->is.samples : p->is.size, k.rows);
    k.before = allocate((size_t)k.units + 1, sizeof *k.before, "the units");
    k.back = k.units;
    return k;
}

/* The unit in which the middle of a footprint lies. */
static int unit_of(const sharing *k, const place *at)
{
    int half = k->p->is.width / 2;
    return (at->v + half) / k->rows * k->along + (at->u + half) / k->columns;
}

/* How many visibilities lie before each unit. */
static void count(sharing *k)
{
    int n = k->p->is.samples, *before = k->before;
    memset(before, 0, ((size_t)k->units + 1) * sizeof *before);
    for (int i = 0; i < n; i++)
        before[1 + (k->model ? i / VISIBILITIES : unit_of(k, &k->p->at[i]))]++;
    for (int i = 0; i < k->units; i++) before[i + 1] += before[i];
}

/* Where it is known how much the device gets, that is as nearly the share wanted as
 * whole units can be; else how much at first. */
static void cut(sharing *k)
{
    if (!k->d) return;
    count(k);
    const int *before = k->before;
    double wanted = k->share * k->p->is.samples / 100;
    while (k->cut < k->units && before[k->cut + 1] <= wanted) k->cut++;
    if (k->cut < k->units && wanted - before[k->cut] > before[k->cut + 1] - wanted)
        k->cut++;
    k->chunk = work_of(k, 0, k->units) / PIECES + 1;
}

static void sharing_end(sharing *k)
{
    int all = k->p->is.samples, its = k->front ? k->before[k->front] : 0,
        own = all - its;
    printf("Share=%.1f\n", 100. * its / all);
    if (its && own) /* what each would take alone */
        printf("Share_even=%.1f\n",
               share_even(k->host * all / own, k->device * all / its));
    if (k->d) device_end(k->d);
    free(k->before);
    share_trace();
}

/* Sorts, which is noted. */
static void put_in_order(const problem *p, sorted *o, run_times *t)
{
    double start = seconds();
    sort(p, o);
    share_note("host", 0, "sort", start, seconds());
    t->sort += o->seconds;
}

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();

    sharing k = sharing_begin(p, NULL, result, result);
    int alike = k.its.rows == ROWS && k.its.columns == COLUMNS;
    real *taps = table_of(p, ROWS, COLUMNS);
    real *its_taps = alike ? taps : table_of(p, k.its.rows, k.its.columns);
    sorted its = sorted_for(p, k.its.rows, k.its.columns), own = its;
    int two = !alike && k.share < 100; /* orders */
    if (two) own = sorted_for(p, ROWS, COLUMNS);
    t->copies = 1;

    double ready = seconds();

    cut(&k);
    t->sort = 0;
    put_in_order(p, &its, t);
    if (k.d) {
        k.loaded = seconds();
        device_load(k.d, its_taps, &its, NULL);
        feed(&k);
    }
    if (two) put_in_order(p, &own, t);
    compute(&k, taps, &own);

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    t->kernel = t->run - t->sort;
    sharing_end(&k);
    if (two) sorted_free(&own);
    if (!alike) free(its_taps);
    sorted_free(&its);
    free(taps);
    return 0;
}

/* There is one order, the device's, where there is one: what comes from it is put in
 * its place at the end. */
int degridding(const problem *p, const void *model, void *result, run_times *t)
{
    double start = seconds();

    cplx *from_device = allocate((size_t)p->is.samples, sizeof *from_device,
                                 "the device's visibilities"),
         *value = result;
    sharing k = sharing_begin(p, model, result, from_device);
    real *taps = table_of(p, ROWS, COLUMNS);
    real *its_taps = table_of(p, k.its.rows, k.its.columns);
    sorted o = sorted_for(p, k.its.rows, k.its.columns);
    t->copies = 1;

    double ready = seconds();

    cut(&k);
    t->sort = 0;
    put_in_order(p, &o, t);
    if (k.d) {
        k.loaded = seconds();
        device_load(k.d, its_taps, &o, model);
        feed(&k);
    }
    compute(&k, taps, &o);
    for (int i = 0; i < k.front * VISIBILITIES && i < p->is.samples; i++)
        value[o.from[i]] = from_device[i];

    double end = seconds();
    t->init = ready - start;
    t->run = end - ready;
    t->kernel = t->run - t->sort;
    sharing_end(&k);
    sorted_free(&o);
    free(its_taps);
    free(taps);
    free(from_device);
    return 0;
}
