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
static int cut;       /* the device's first plane */
static double wanted; /* percent for the device; negative: auto */
static bool has_device;

/* What a side took for its planes, since the cut is where it is. A step that is not to
 * count, the first or one of another cut, is counted from -1. */
typedef struct {
    double seconds;
    int steps;
} taken;
static taken host = {0, -1}, device = {0, -1};

static double of_device, of_all; /* planes that were made so far */

/* Steps before the first real one, and steps from a look at the times to the next:
 * then, and after. */
enum { REHEARSAL = 7, SHORT = 2, LONG = 8 };
static int window = LONG;

/* The cut stays unless another promises a step that is so many times as fast. */
static const double WORTH = 1.04;

/* ---- where to cut -------------------------------------------------------------------
 */

/* The planes that are updated end here. */
static int end_of(void)
{
    return g->sz - HALO;
}

static int cut_for(double percent)
{
    return end_of() - (int)((g->sz - 2 * HALO) * percent / 100 + 0.5);
}

/* Who gets planes gets p and q of them, of before and of now, and a halo. */
static void move(int to)
{
    float *const field[] = {pp, pc, qp, qc};
    if (to < cut) device_store(to - HALO, cut, field);
    if (to > cut) device_fetch(cut, to + HALO, field);
    cut = to;
}

/* Seconds that a side takes for a plane. */
static double a_plane(const taken *side, int planes)
{
    return side->seconds / side->steps / planes;
}

/* The device's share with which both would have ended at once, if that is known. */
static double even(void)
{
    if (host.steps < 1 || device.steps < 1) return -1;
    return share_even(a_plane(&host, cut - HALO), a_plane(&device, end_of() - cut));
}

/* Moves the cut to where both sides end at once, if that is worth it. Each side keeps a
 * plane, so that it is measured again. */
static void balance(void)
{
    if (wanted >= 0 || host.steps < window || device.steps < window - 1) return;
    int to = cut_for(even());
    if (to <= HALO) to = HALO + 1;
    if (to >= end_of()) to = end_of() - 1;

    double h = a_plane(&host, 1), d = a_plane(&device, 1); /* a step */
    double now = h > d ? h : d;
    h *= (double)(to - HALO) / (cut - HALO);
    d *= (double)(end_of() - to) / (end_of() - cut);
    host = device = (taken){0, 0};
    if (now < WORTH * (h > d ? h : d)) return;
    move(to);
    device.steps = -1; /* the next time that is known is from before */
}

/* ---- the drivers --------------------------------------------------------------------
 */

size_t Initialize(const grid *the_grid, const float *medium)
{
    g = the_grid;
    wanted = share_wanted();
    has_device = wanted != 0;
    cut = cut_for(wanted < 0 ? 50 : wanted);

    int beside = 0;
    size_t bytes = has_device ? device_begin(g, medium, share_threads(1), &beside) : 0;
    omp_set_num_threads(share_threads(beside));
    bytes += host_begin(g, medium);

    /* A step of zeros makes zeros: what it takes can be tried out. */
    if (wanted < 0) {
        window = SHORT;
        for (int i = 0; i < REHEARSAL; i++) {
            Propagate();
            UpdatePointers(NULL, NULL);
        }
        window = LONG;
    }
    of_device = of_all = 0;
    return bytes;
}

/* Both have it, for where it is within HALO planes of the cut both need it. */
void InsertSource(float f)
{
    host_source(f);
    if (has_device) device_source(f);
}

static void add(taken *side, double took)
{
    if (took > 0 && side->steps++ >= 0) side->seconds += took;
}

double Propagate(void)
{
    double start = seconds();
    balance();

    /* The device is told all that it has to do, and begins. */
    const bool beside = cut < end_of();
    if (beside) device_step(cut);

    if (cut > HALO) {
        double begin = seconds();
        int last = !beside ? cut : cut - HALO > HALO ? cut - HALO : HALO;
        host_planes(last, cut, NULL);
        double sent = seconds();
        if (beside) device_send(cut, pp, qp);
        double again = seconds();
        host_planes(HALO, last, NULL);
        double end = seconds();
        add(&host, end - again + sent - begin);
        share_note("host", 0, "ends", begin, sent);
        share_note("host", 0, "inside", again, end);
    }

    /* Only now the host waits, and only for what it needs. */
    if (beside) add(&device, device_receive(cut, pp, qp));
    of_device += end_of() - cut;
    of_all += g->sz - 2 * HALO;
    return seconds() - start;
}

void UpdatePointers(float *p, float *q)
{
    host_turn();
    if (has_device) device_turn();
    if (p) memcpy(p, pc, field_size(g) * sizeof *p);
    if (q) memcpy(q, qc, field_size(g) * sizeof *q);
    if (cut < end_of() && (p || q))
        device_fetch(cut, g->sz, (float *const[]){NULL, p, NULL, q});
}

void Finalize(void)
{
    printf("Share=%.1f\n", 100 * of_device / of_all);
    if (even() >= 0) printf("Share_even=%.1f\n", even());
    if (has_device) device_end();
    host_end();
    share_trace();
}
