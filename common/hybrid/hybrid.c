/* hybrid.c - implements hybrid.h.
 *
 * Left out: more than one device.
 */
#include "hybrid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static const char *share = "auto", *busy;

/* Keys that every program with a hybrid back-end has in addition to its own. */
arg backend_keys[] = {
    {"share", ARG_TEXT, &share, 0, 0, "percent of the work for the device, or auto", 0},
    {"busy", ARG_TEXT, &busy, 0, 0, "FILE.csv: a timeline of host and device", 0},
    ARG_END};

void backend_check(int argc, char **argv)
{
    (void)argc, (void)argv;
    hybrid_device_percent();
    run_device_hint = "; share=0 computes on the host alone";
    if (busy) result_check("busy", busy);
}

double hybrid_device_percent(void)
{
    if (!strcmp(share, "auto")) return -1;
    char *end;
    double percent = strtod(share, &end);
    if (end == share || *end || !(percent >= 0 && percent <= 100))
        fail("share=%.200s: expected auto, or 0 to 100 percent for the device", share);
    return percent;
}

int hybrid_host_threads(int shares_cores)
{
    const char *text = getenv("OMP_NUM_THREADS");
    int requested = text ? atoi(text) : 0, cores = machine_processors();
    return requested > 0 ? requested : shares_cores ? (cores + 1) / 2 : cores;
}

double hybrid_balance(double host, double device)
{
    return 100 * host / (host + device);
}

/* ---- the timeline -------------------------------------------------------------------
 */

typedef struct {
    double begin, end;
    char actor[16];
    const char *what;
} interval;

static interval *intervals;
static size_t used, capacity;

void hybrid_log(const char *actor, int thread, const char *what, double begin,
                double end)
{
    if (!busy) return;
    interval n = {.begin = begin, .end = end, .what = what};
    if (thread < 0)
        snprintf(n.actor, sizeof n.actor, "%s", actor);
    else
        snprintf(n.actor, sizeof n.actor, "%s %d", actor, thread);
#pragma omp critical(hybrid_log)
    {
        if (used == capacity) {
            capacity = capacity ? 2 * capacity : 1024;
            intervals = realloc(intervals, capacity * sizeof *intervals);
            if (!intervals) fail("busy: not enough memory for %zu lines", capacity);
        }
        intervals[used++] = n;
    }
}

static int compare_begin(const void *a, const void *b)
{
    const interval *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

void hybrid_log_write(void)
{
    if (!busy) return;
    FILE *out = result_open(busy);
    if (!out) fail("busy=%s: cannot be written: %s", busy, strerror(errno));
    if (used) qsort(intervals, used, sizeof *intervals, compare_begin);
    fprintf(out, "begin,end,who,what\n");
    for (size_t i = 0; i < used; i++)
        fprintf(out, "%.9f,%.9f,%s,%s\n", intervals[i].begin - intervals[0].begin,
                intervals[i].end - intervals[0].begin, intervals[i].actor,
                intervals[i].what);
    if (result_close(out))
        fail("busy=%s: cannot be written: %s", busy, strerror(errno));
}
