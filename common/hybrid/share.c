/* share.c - see share.h.
 *
 * Left out: more than one device.
 */
#define _GNU_SOURCE /* sched_getaffinity */

#include "share.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static const char *share = "auto", *file;

/* args.c asks for these after a program's own. */
arg backend_keys[] = {
    {"share", ARG_TEXT, &share, 0, 0, "auto, or 0 to 100: percent for the device", 0},
    {"busy", ARG_TEXT, &file, 0, 0, "FILE.csv: who was busy when", 0},
    ARG_LAST};

void backend_check(int argc, char **argv)
{
    (void)argc, (void)argv;
    share_wanted();
    run_without_device = "; share=0 computes on the host alone";
    if (file) npy_writable("busy", file);
}

double share_wanted(void)
{
    if (!strcmp(share, "auto")) return -1;
    char *end;
    double percent = strtod(share, &end);
    if (end == share || *end || !(percent >= 0 && percent <= 100))
        fail("share=%.200s: expected auto, or percent for the device, 0 to 100", share);
    return percent;
}

int share_cores(void)
{
    cpu_set_t own;
    return sched_getaffinity(0, sizeof own, &own) ? 1 : CPU_COUNT(&own);
}

int share_threads(int beside)
{
    const char *said = getenv("OMP_NUM_THREADS");
    int wanted = said ? atoi(said) : 0, cores = share_cores();
    return wanted > 0 ? wanted : beside ? (cores + 1) / 2 : cores;
}

double share_even(double host, double device)
{
    return 100 * host / (host + device);
}

/* ---- who was busy when --------------------------------------------------------------
 */

typedef struct {
    double begin, end;
    char who[16];
    const char *what;
} note;

static note *notes;
static size_t used, room;

void share_note(const char *who, int thread, const char *what, double begin, double end)
{
    if (!file) return;
    note n = {.begin = begin, .end = end, .what = what};
    if (thread < 0)
        snprintf(n.who, sizeof n.who, "%s", who);
    else
        snprintf(n.who, sizeof n.who, "%s %d", who, thread);
#pragma omp critical(share_notes)
    {
        if (used == room) {
            room = room ? 2 * room : 1024;
            notes = realloc(notes, room * sizeof *notes);
            if (!notes) fail("busy: no memory for %zu lines", room);
        }
        notes[used++] = n;
    }
}

static int earlier(const void *a, const void *b)
{
    const note *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

void share_trace(void)
{
    if (!file) return;
    FILE *out = result_open(file);
    if (!out) fail("busy=%s: cannot be written", file);
    qsort(notes, used, sizeof *notes, earlier);
    fprintf(out, "begin,end,who,what\n");
    for (size_t i = 0; i < used; i++)
        fprintf(out, "%.9f,%.9f,%s,%s\n", notes[i].begin - notes[0].begin,
                notes[i].end - notes[0].begin, notes[i].who, notes[i].what);
    if (result_close(out)) fail("busy=%s: cannot be written", file);
    free(notes);
    notes = NULL;
    used = room = 0;
}
