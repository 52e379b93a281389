/* hybrid.c - the hybrid back-end: the grid is divided along z at plane `cut`. The host
 * updates the planes before the cut, and the device those from the cut on, at the same
 * time. Then they exchange the HALO planes next to the cut.
 *
 * The cut is fixed: share= chooses it, or it is measured before the first step.
 *
 * Left out: transfers during the update, and a device whose memory does not hold the
 * whole grid.
 */
#include <omp.h>
#include <string.h>

#include "fletcher.h"
#include "host.h"
#include "hybrid.h"
#include "sides.h"

static const grid *g;
static int cut, end; /* the device's first plane; the end of the planes to update */
static bool has_device;
static double host_seconds, device_seconds; /* in the steps since they were set to 0 */

static int cut_for(double percent)
{
    return end - (int)((end - HALO) * percent / 100 + 0.5);
}

/* Returns the device's share in percent for which both sides would have taken the same
 * time, or -1 if a side has not computed anything. */
static double balanced_share(void)
{
    if (!(host_seconds > 0) || !(device_seconds > 0)) return -1;
    return hybrid_balance(host_seconds / (cut - HALO), device_seconds / (end - cut));
}

/* Moves the cut to where both sides take the same time. Each side keeps at least one
 * plane. The fields are 0, and a step of zero fields gives zero fields: therefore
 * nothing has to be transferred, and the first real step begins with zero fields. */
static void measure_cut(void)
{
    enum { MEASUREMENTS = 4, STEPS = 2 }; /* chosen, not derived */
    for (int i = 0; i < MEASUREMENTS; i++) {
        host_seconds = device_seconds = 0;
        for (int step = 0; step < STEPS; step++) {
            Propagate();
            UpdatePointers(NULL, NULL);
        }
        /* The first launch takes several times as long as the next ones. */
        if (i == 0 || balanced_share() < 0) continue;
        cut = cut_for(balanced_share());
        if (cut <= HALO) cut = HALO + 1;
        if (cut >= end) cut = end - 1;
    }
}

size_t Initialize(const grid *input_grid, const float *medium)
{
    g = input_grid;
    end = g->sz - HALO;
    const double share = hybrid_device_percent(); /* negative: auto */
    has_device = share != 0;
    cut = cut_for(share < 0 ? 50 : share);

    int shares_cores = 0;
    size_t bytes =
        has_device ? device_begin(g, medium, hybrid_host_threads(1), &shares_cores) : 0;
    omp_set_num_threads(hybrid_host_threads(shares_cores));
    bytes += host_begin(g, medium);
    if (share < 0) measure_cut();
    host_seconds = device_seconds = 0;
    return bytes;
}

/* Both sides add the source, because both need it if it lies within HALO planes of the
 * cut. */
void InsertSource(float f)
{
    host_source(f);
    if (has_device) device_source(f);
}

double Propagate(void)
{
    const double start = seconds();
    if (cut < end) device_start(cut);
    const double host_start = seconds();
    host_planes(HALO, cut, NULL);
    const double host_end = seconds();
    if (cut > HALO) {
        host_seconds += host_end - host_start;
        hybrid_log("host", 0, "planes", host_start, host_end);
    }
    if (cut < end) device_seconds += device_wait();
    if (cut > HALO && cut < end) {
        device_store(cut - HALO, cut, pp, qp);
        device_fetch(cut, cut + HALO, pp, qp);
    }
    return seconds() - start;
}

void UpdatePointers(float *p, float *q)
{
    host_swap();
    if (p) memcpy(p, pc, field_size(g) * sizeof *p);
    if (q) memcpy(q, qc, field_size(g) * sizeof *q);
    if (!has_device) return;
    if (cut < end) device_fetch(cut, g->sz, p, q);
    device_swap();
}

void Finalize(void)
{
    printf("Share=%.1f\n", 100.0 * (end - cut) / (end - HALO));
    if (balanced_share() >= 0) printf("Share_even=%.1f\n", balanced_share());
    if (has_device) device_end();
    host_end();
    hybrid_log_write();
}
