/* hybrid.c - the drivers for host and device together: the grid is cut along z, and
 * what lies before the cut is the host's, what lies behind it the device's.
 *
 * Each step needs HALO planes from the other side. So each side makes those first that
 * the other waits for; they travel while it makes the rest. The device is told all of a
 * step at once and is not waited for until the host's own share is done; then only its
 * first planes are, so that it may be one step behind.
 *
 * Left out: a device that lacks room for the whole grid.
 */
#include <omp.h>
#include <string.h>

#include "fletcher.h"
#include "host.h"
#include "share.h"
#include "sides.h"

static const grid *g;
static int cut;                /* the device's first plane */
static double requested_share; /* percent for the device; negative: auto */
static bool has_device;

/* What a side took for its planes, since the cut is where it is. A step that is not to
 * count, the first or one of another cut, is counted from -1. */
typedef struct {
    double seconds;
    int steps;
} timing;
static timing host_time = {0, -1}, device_time = {0, -1};

static double device_planes, all_planes; /* planes that were made so far */

/* Steps before the first real one, and steps from a look at the times to the next:
 * then, and after. */
enum { WARMUP_STEPS = 7, SHORT_WINDOW = 2, LONG_WINDOW = 8 };
static int window = LONG_WINDOW;

/* The cut stays unless another promises a step that is so many times as fast. */
static const double MIN_SPEEDUP = 1.04;

/* ---- where to cut -------------------------------------------------------------------
 */

/* The planes that are updated end here. */
static int planes_end(void)
{
    return g->sz - HALO;
}

static int cut_for(double percent)
{
    return planes_end() - (int)((g->sz - 2 * HALO) * percent / 100 + 0.5);
}

/* Who gets planes gets p and q of them, of before and of now, and a halo. */
static void move_cut(int new_cut)
{
    float *const field[] = {pp, pc, qp, qc};
    if (new_cut < cut) device_store(new_cut - HALO, cut, field);
    if (new_cut > cut) device_fetch(cut, new_cut + HALO, field);
    cut = new_cut;
}

/* Seconds that a side takes for a plane. */
static double seconds_per_plane(const timing *side, int planes)
{
    return side->seconds / side->steps / planes;
}

/* The device's share with which both would have ended at once, if that is known. */
static double balanced_share(void)
{
    if (host_time.steps < 1 || device_time.steps < 1) return -1;
    return share_even(seconds_per_plane(&host_time, cut - HALO),
                      seconds_per_plane(&device_time, planes_end() - cut));
}

/* Moves the cut to where both sides end at once, if that is worth it. Each side keeps a
 * plane, so that it is measured again. */
static void balance(void)
{
    if (requested_share >= 0 || host_time.steps < window ||
        device_time.steps < window - 1)
        return;
    int new_cut = cut_for(balanced_share());
    if (new_cut <= HALO) new_cut = HALO + 1;
    if (new_cut >= planes_end()) new_cut = planes_end() - 1;

    double h = seconds_per_plane(&host_time, 1),
           d = seconds_per_plane(&device_time, 1); /* a step */
    double current = h > d ? h : d;
    h *= (double)(new_cut - HALO) / (cut - HALO);
    d *= (double)(planes_end() - new_cut) / (planes_end() - cut);
    host_time = device_time = (timing){0, 0};
    if (current < MIN_SPEEDUP * (h > d ? h : d)) return;
    move_cut(new_cut);
    device_time.steps = -1; /* the next time that is known is from before */
}

/* ---- the drivers --------------------------------------------------------------------
 */

size_t Initialize(const grid *input_grid, const float *medium)
{
    g = input_grid;
    requested_share = share_wanted();
    has_device = requested_share != 0;
    cut = cut_for(requested_share < 0 ? 50 : requested_share);

    int shares_cores = 0;
    size_t bytes =
        has_device ? device_begin(g, medium, share_threads(1), &shares_cores) : 0;
    omp_set_num_threads(share_threads(shares_cores));
    bytes += host_begin(g, medium);

    /* A step of zeros makes zeros: what it takes can be tried out. */
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

/* Both have it, for where it is within HALO planes of the cut both need it. */
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

    /* The device is told all that it has to do, and begins. */
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
        share_note("host", 0, "ends", border_begin, border_end);
        share_note("host", 0, "inside", inner_begin, inner_end);
    }

    /* Only now the host waits, and only for what it needs. */
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
    share_trace();
}
