/* hybrid.c - gridding by the host's threads and a device at the same time.
 *
 * The grid is divided into units, rectangles of cells that are whole segments of both
 * sides. Each cell is computed by one side, from all visibilities that reach it, so no
 * grid is added to another.
 *
 *     unit 0                                                   unit units - 1
 *     | device: chunks of units  -->   |   not taken   |   <--  host: single units |
 *                                     front          back
 *
 * Without share=, the sides take units until front = back. With share=, the device
 * takes the units before device_limit, and the host the others.
 *
 * Thread 0 feeds the device: before each of its own units it polls for completed chunks
 * and starts the next. No thread waits for the device before all host units are done.
 */
#include "sides.h"

#include <omp.h>

#include "hybrid.h"

/* The first chunk has 1 / 64 of the work, no chunk more than 1 / 8 of the work that is
 * left. Chosen so that a slow device delays the end only slightly and a fast one soon
 * gets large chunks; not tuned further. */
#define FIRST_CHUNK_DIVISOR   64
#define LARGEST_CHUNK_DIVISOR 8

typedef struct {
    const problem *p;
    cplx *result;
    double share;             /* percent for the device; negative: dynamic */
    int threads;              /* on the host */
    device *d;                /* NULL if the device has no share */
    block_shape device_block; /* the device's block shape */

    int rows, columns; /* of a unit */
    int units_per_row;
    int units;
    int *count_before; /* [units + 1]: visibilities in all units before this one */
    int front, back;   /* units not yet taken: front .. back - 1 */
    int device_limit;  /* end of the device's units if share= is set */

    int chunk, in_flight; /* work of the next chunk; chunks not yet completed */
    double host_seconds, device_seconds; /* that each side was busy */
    double load_time;                    /* when the device had its data */
} hybrid_run;

/* ---- distribution of units ------------------------------------------------------- */

/* Takes a unit for a host thread; -1 if none is left. */
static int take_host_unit(hybrid_run *h)
{
    int unit = -1;
#pragma omp critical(units)
    if (h->back > (h->share < 0 ? h->front : h->device_limit)) unit = --h->back;
    return unit;
}

/* Returns the work of n units from `first` on: their visibilities, plus 1 per unit,
 * because an empty unit is written as well. */
static int chunk_work(const hybrid_run *h, int first, int n)
{
    return h->count_before[first + n] - h->count_before[first] + n;
}

/* Takes a chunk of units for the device: returns their number and sets *first; 0 if
 * none is left. With share= it takes all units up to device_limit at once. Otherwise
 * each chunk has twice the work of the one before, but at most 1 /
 * LARGEST_CHUNK_DIVISOR of the work that is left: a slow device then delays the end
 * only slightly. A chunk is a rectangle: a part of a row of units, or whole rows. */
static int take_device_chunk(hybrid_run *h, int *first)
{
    int n;
#pragma omp critical(units)
    {
        int left = (h->share < 0 ? h->back : h->device_limit) - h->front;
        n = left;
        if (h->share < 0 && left) {
            int limit = chunk_work(h, h->front, left) / LARGEST_CHUNK_DIVISOR;
            if (h->chunk < limit) {
                limit = h->chunk;
                h->chunk *= 2;
            }
            for (n = 1; n < left && chunk_work(h, h->front, n + 1) <= limit;) n++;
        }
        /* units to the end of the row */
        int row_rest = h->units_per_row - h->front % h->units_per_row;
        if (row_rest < h->units_per_row || n < row_rest)
            n = n < row_rest ? n : row_rest;
        else
            n -= n % h->units_per_row;
        *first = h->front;
        h->front += n;
    }
    return n;
}

/* Returns the region of n units from `first` on. */
static work_region make_region(const hybrid_run *h, int first, int n)
{
    int columns = n < h->units_per_row ? n : h->units_per_row;
    return (work_region){first / h->units_per_row * h->rows, n / columns * h->rows,
                         first % h->units_per_row * h->columns, columns * h->columns};
}

/* ---- execution ------------------------------------------------------------------ */

/* Records completed chunks. With `wait`, waits for the oldest first. */
static void poll_device(hybrid_run *h, int wait)
{
    double begin_time, end_time;
    while (h->in_flight && device_poll(h->d, wait, &begin_time, &end_time)) {
        h->in_flight--;
        h->device_seconds = end_time - h->load_time;
        hybrid_log("device", -1, "chunk", begin_time, end_time);
    }
}

/* Starts chunks until MAX_IN_FLIGHT are in flight or no unit is left. */
static void feed_device(hybrid_run *h)
{
    poll_device(h, 0);
    int first, n;
    while (h->d && h->in_flight < MAX_IN_FLIGHT &&
           (n = take_device_chunk(h, &first)) > 0) {
        device_start(h->d, make_region(h, first, n));
        h->in_flight++;
    }
}

/* Computes all units on the host and the device. */
static void compute(hybrid_run *h, const real *taps, const binning *bins)
{
    double start = seconds();
#pragma omp parallel num_threads(h->threads)
    {
        int thread = omp_get_thread_num(), unit;
        for (;;) {
            if (thread == 0) feed_device(h);
            if ((unit = take_host_unit(h)) < 0) break;
            double begin_time = seconds();
            host_grid(h->p, taps, bins, make_region(h, unit, 1), h->result);
            hybrid_log("host", thread, "unit", begin_time, seconds());
        }
    }
    h->host_seconds = seconds() - start;
    while (h->in_flight) {
        poll_device(h, 1);
        feed_device(h);
    }
}

/* ---- preparation and results ---------------------------------------------------- */

static int common_multiple(int a, int b)
{
    int n = a;
    while (n % b) n += a;
    return n;
}

/* Starts the device unless share=0. */
static hybrid_run hybrid_begin(const problem *p, cplx *result)
{
    hybrid_run h = {.p = p, .result = result, .share = hybrid_device_percent()};
    int shares_cores = 0;
    if (h.share != 0) {
        h.d = device_begin(p, result, hybrid_host_threads(1), &shares_cores);
        h.device_block = device_blocks(h.d);
    } else
        h.device_block = (block_shape){own_sizes(), BLOCKS * ROWS};
    h.threads = hybrid_host_threads(shares_cores);

    h.rows = common_multiple(BLOCKS * ROWS, h.device_block.segment);
    h.columns = common_multiple(COLUMNS, h.device_block.sizes.columns);
    h.units_per_row = CEIL_DIV(p->dims.size, h.columns);
    h.units = h.units_per_row * CEIL_DIV(p->dims.size, h.rows);
    h.count_before = allocate((size_t)h.units + 1, sizeof *h.count_before, "the units");
    h.back = h.units;
    return h;
}

/* Returns the unit that contains the middle of a footprint. */
static int unit_index(const hybrid_run *h, const footprint *fp)
{
    int half = h->p->dims.width / 2;
    return (fp->v + half) / h->rows * h->units_per_row + (fp->u + half) / h->columns;
}

/* Counts the visibilities before each unit. */
static void count_visibilities(hybrid_run *h)
{
    int n = h->p->dims.visibilities, *count_before = h->count_before;
    memset(count_before, 0, ((size_t)h->units + 1) * sizeof *count_before);
    for (int i = 0; i < n; i++) count_before[1 + unit_index(h, &h->p->footprints[i])]++;
    for (int i = 0; i < h->units; i++) count_before[i + 1] += count_before[i];
}

/* Sets device_limit to the unit boundary nearest to the requested share, and the work
 * of the first chunk. */
static void set_device_limit(hybrid_run *h)
{
    if (!h->d) return;
    count_visibilities(h);
    const int *count_before = h->count_before;
    double target_count = h->share * h->p->dims.visibilities / 100;
    while (h->device_limit < h->units &&
           count_before[h->device_limit + 1] <= target_count)
        h->device_limit++;
    if (h->device_limit < h->units &&
        target_count - count_before[h->device_limit] >
            count_before[h->device_limit + 1] - target_count)
        h->device_limit++;
    h->chunk = chunk_work(h, 0, h->units) / FIRST_CHUNK_DIVISOR + 1;
}

static void hybrid_end(hybrid_run *h)
{
    int total = h->p->dims.visibilities,
        device_count = h->front ? h->count_before[h->front] : 0,
        host_count = total - device_count;
    printf("Share=%.1f\n", 100. * device_count / total);
    if (device_count && host_count) /* each side alone */
        printf("Share_even=%.1f\n",
               hybrid_balance(h->host_seconds * total / host_count,
                              h->device_seconds * total / device_count));
    if (h->d) device_end(h->d);
    free(h->count_before);
    hybrid_log_write();
}

/* Sorts the visibilities and records the time in the trace. */
static void bin_and_trace(const problem *p, binning *bins, run_times *t)
{
    double start = seconds();
    bin_visibilities(p, bins);
    hybrid_log("host", 0, "sort", start, seconds());
    t->sort += bins->seconds;
}

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();

    hybrid_run h = hybrid_begin(p, result);
    const block_sizes own = own_sizes(), device = h.device_block.sizes;
    int same_blocks = !memcmp(&own, &device, sizeof own);
    real *taps = make_table(p, ROWS, COLUMNS);
    real *device_taps = same_blocks ? taps : make_table(p, device.rows, device.columns);
    binning device_bins = allocate_binning(p, device), host_bins = device_bins;
    int two_orders = !same_blocks && h.share < 100; /* orders of the visibilities */
    if (two_orders) host_bins = allocate_binning(p, own);
    t->copies = 1;

    double run_start = seconds();

    set_device_limit(&h);
    t->sort = 0;
    bin_and_trace(p, &device_bins, t);
    if (h.d) {
        h.load_time = seconds();
        device_load(h.d, device_taps, &device_bins);
        feed_device(&h);
    }
    if (two_orders) bin_and_trace(p, &host_bins, t);
    compute(&h, taps, &host_bins);

    double end = seconds();
    t->init = run_start - start;
    t->run = end - run_start;
    t->kernel = t->run - t->sort;
    hybrid_end(&h);
    if (two_orders) free_binning(&host_bins);
    if (!same_blocks) free(device_taps);
    free_binning(&device_bins);
    free(taps);
    return 0;
}
