/* hybrid.c - the hybrid back-end: the grid is divided along z at plane `cut`. The host
 * updates the planes before the cut, the device those from the cut on.
 *
 * Each step needs HALO planes from the other side. Therefore each side updates these
 * border planes first, and they are transferred while it updates the rest. The host
 * enqueues all work of the device at the start of a step, updates its own planes, and
 * then waits only for the border planes of the device. The device may lag by one
 * step.
 *
 * The cut is moved to where both sides would end at the same time, according to the
 * measured times.
 *
 * Left out: a device whose memory does not hold the whole grid.
 */
#include <omp.h>
#include <string.h>

#include "fletcher.h"
#include "host.h"
#include "hybrid.h"
#include "sides.h"

static const grid *g;
static int cut;                /* the device's first plane */
static double requested_share; /* percent for the device; negative: auto */
static bool has_device;

/* The time of one side since the cut was last moved. Counting starts at -1, so that the
 * first step after that is not timed. */
typedef struct {
    double seconds;
    int steps;
} timing;
static timing host_time = {0, -1}, device_time = {0, -1};

static double device_planes, all_planes; /* planes updated so far */

/* Steps of zero fields before the first real one, and the number of steps between two
 * decisions about the cut: during these steps, and later. The three values are tuned.
 */
enum { WARMUP_STEPS = 7, SHORT_WINDOW = 2, LONG_WINDOW = 8 };
static int window = LONG_WINDOW;

/* The cut is moved only if the predicted step is faster by this factor. Tuned, not
 * derived. */
static const double MIN_SPEEDUP = 1.04;

/* ---- the cut ------------------------------------------------------------------------
 */

/* The end of the planes that are updated. */
static int planes_end(void)
{
    return g->sz - HALO;
}

static int cut_for(double percent)
{
    return planes_end() - (int)((g->sz - 2 * HALO) * percent / 100 + 0.5);
}

/* Moves the cut. The side that gains planes receives p and q of both steps, and HALO
 * planes beyond the new cut. */
static void move_cut(int new_cut)
{
    float *const field[] = {pp, pc, qp, qc};
    if (new_cut < cut) device_store(new_cut - HALO, cut, field);
    if (new_cut > cut) device_fetch(cut, new_cut + HALO, field);
    cut = new_cut;
}

/* Seconds per step and plane of one side. */
static double seconds_per_plane(const timing *side, int planes)
{
    return side->seconds / side->steps / planes;
}

/* Returns the device's share in percent for which both sides would have ended at the
 * same time, or -1 if it is unknown. */
static double balanced_share(void)
{
    if (host_time.steps < 1 || device_time.steps < 1) return -1;
    return hybrid_balance(seconds_per_plane(&host_time, cut - HALO),
                          seconds_per_plane(&device_time, planes_end() - cut));
}

/* Moves the cut to where both sides end at the same time, if that is worth it. Each
 * side keeps at least one plane, so that its speed can still be measured. */
static void balance(void)
{
    if (requested_share >= 0 || host_time.steps < window ||
        device_time.steps < window - 1)
        return;
    int new_cut = cut_for(balanced_share());
    if (new_cut <= HALO) new_cut = HALO + 1;
    if (new_cut >= planes_end()) new_cut = planes_end() - 1;

    double h = seconds_per_plane(&host_time, 1),
           d = seconds_per_plane(&device_time, 1); /* seconds per step */
    double current = h > d ? h : d;
    h *= (double)(new_cut - HALO) / (cut - HALO);
    d *= (double)(planes_end() - new_cut) / (planes_end() - cut);
    host_time = device_time = (timing){0, 0};
    if (current < MIN_SPEEDUP * (h > d ? h : d)) return;
    move_cut(new_cut);
    device_time.steps = -1; /* device_receive() returns the time of the step before */
}

/* ---- the five functions of fletcher.h -----------------------------------------------
 */

size_t Initialize(const grid *input_grid, const float *medium)
{
    g = input_grid;
    requested_share = hybrid_device_percent();
    has_device = requested_share != 0;
    cut = cut_for(requested_share < 0 ? 50 : requested_share);

    int shares_cores = 0;
    size_t bytes =
        has_device ? device_begin(g, medium, hybrid_host_threads(1), &shares_cores) : 0;
    omp_set_num_threads(hybrid_host_threads(shares_cores));
    bytes += host_begin(g, medium);

    /* A step of zero fields gives zero fields, so the cut can be tuned before the first
     * real step. */
    if (requested_share < 0) {
        window = SHORT_WINDOW;
        for (int i = 0; i < WARMUP_STEPS; i++) {
            Propagate();
            UpdatePointers(NULL, NULL);
        }
        window = LONG_WINDOW;
    }
    device_planes = all_planes = 0;
    return bytes;
}

/* Both sides add the source, because both need it if it lies within HALO planes of the
 * cut. */
void InsertSource(float f)
{
    host_source(f);
    if (has_device) device_source(f);
}

static void add_time(timing *side, double time)
{
    if (time > 0 && side->steps++ >= 0) side->seconds += time;
}

double Propagate(void)
{
    double start = seconds();
    balance();

    /* The device starts first: it gets all work of this step. */
    const bool device_used = cut < planes_end();
    if (device_used) device_step(cut);

    if (cut > HALO) {
        double border_begin = seconds();
        int border_start = !device_used ? cut : cut - HALO > HALO ? cut - HALO : HALO;
        host_planes(border_start, cut, NULL);
        double border_end = seconds();
        if (device_used) device_send(cut, pp, qp);
        double inner_begin = seconds();
        host_planes(HALO, border_start, NULL);
        double inner_end = seconds();
        add_time(&host_time, inner_end - inner_begin + border_end - border_begin);
        hybrid_log("host", 0, "ends", border_begin, border_end);
        hybrid_log("host", 0, "inside", inner_begin, inner_end);
    }

    /* The host waits only for the planes that it needs next. */
    if (device_used) add_time(&device_time, device_receive(cut, pp, qp));
    device_planes += planes_end() - cut;
    all_planes += g->sz - 2 * HALO;
    return seconds() - start;
}

void UpdatePointers(float *p, float *q)
{
    host_swap();
    if (has_device) device_swap();
    if (p) memcpy(p, pc, field_size(g) * sizeof *p);
    if (q) memcpy(q, qc, field_size(g) * sizeof *q);
    if (cut < planes_end() && (p || q))
        device_fetch(cut, g->sz, (float *const[]){NULL, p, NULL, q});
}

void Finalize(void)
{
    printf("Share=%.1f\n", 100 * device_planes / all_planes);
    if (balanced_share() >= 0) printf("Share_even=%.1f\n", balanced_share());
    if (has_device) device_end();
    host_end();
    hybrid_log_write();
}
