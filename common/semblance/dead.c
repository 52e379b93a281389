/* dead.c - fill=dead: the dead traces of the input are the output traces, and the
 * output file is the whole survey, in the order of the input, with these traces filled.
 *
 * A trace is dead if trid is 2, or if it has data and all its samples are zero. The
 * filled traces are written to STACK.filled, a section like others: an interrupted run
 * is resumed. When it is complete, the survey is assembled. Live and auxiliary traces
 * keep all their bytes. A dead trace keeps its header, except for trid and delrt. It
 * stays dead if it cannot be filled.
 */
#define _POSIX_C_SOURCE 200809L

#include "dead.h"
#include "journal.h"
#include "processes.h"
#include "section.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool all_zero(const su_trace *t, int ns)
{
    for (int k = 0; k < ns; k++)
        if (t->data[k] != 0) return false;
    return true;
}

/* Metres: a dead trace so far from the survey has a header without positions. */
static const double ELSEWHERE = 1e6;

static position place_of(const su_header *h, const line_axis *axis)
{
    trace_ends p = line_ends(h, axis);
    return (position){(p.source + p.receiver) / 2, (p.receiver - p.source) / 2};
}

/* Stores the numbers and the places of the dead traces of *g in r. Returns which of
 * them is the origin of coordinates: the first that is on the survey. */
static int find_dead(request *r, su_gather *g)
{
    char why[SU_REASON_SIZE];
    int marked = 0;
    r->dead = allocate(g->ntraces, sizeof *r->dead, "the dead traces");
    for (size_t i = 0; i < g->ntraces; i++) {
        su_trace *t = &g->trace[i];
        if (t->header.trid != SU_DEAD &&
            !(su_is_data(&t->header) && all_zero(t, g->ns)))
            continue;
        marked += t->header.trid == SU_DEAD;
        t->header.trid = SU_DEAD;
        r->dead[r->dead_count++] = (int)i;
    }
    if (!r->dead_count)
        fail("%s: no trace is dead (trid 2 or all zero): expected at least one for "
             "fill=dead",
             r->in);
    if (su_find_axis(g, &r->axis, why) != 0) fail("%s: %s", r->in, why);
    request_note(r,
                 "%s: %d of %zu traces are to be filled: %d with trid 2, %d all zero",
                 r->in, r->dead_count, g->ntraces, marked, r->dead_count - marked);
    r->positions = allocate((size_t)r->dead_count, sizeof *r->positions, "positions");
    for (int i = 0; i < r->dead_count; i++)
        r->positions[i] = place_of(&g->trace[r->dead[i]].header, &r->axis);
    size_t live = 0;
    while (live < g->ntraces - 1 && !su_is_data(&g->trace[live].header)) live++;
    position survey = place_of(&g->trace[live].header, &r->axis);
    int origin = 0;
    while (origin < r->dead_count - 1 &&
           fabs(r->positions[origin].m - survey.m) > ELSEWHERE)
        origin++;
    return origin;
}

/* Replaces the dead traces of *g by those of *filled. */
static void replace(const request *r, su_gather *g, const su_gather *filled)
{
    const int *dead = r->dead;
    const su_trace *live = g->trace;
    for (int i = 0; i < r->dead_count; i++) g->trace[dead[i]].header.trid = SU_DEAD;
    while (!su_is_data(&live->header)) live++;
    int16_t delay = live->header.delrt, scale = live->header.tscale;
    int first = section_first(r, g, live);
    for (int i = 0; i < r->dead_count; i++) {
        su_trace *t = &g->trace[dead[i]];
        t->header.trid = filled->trace[i].header.trid;
        t->header.delrt = delay;
        if (delay) t->header.tscale = scale;
        memset(t->data, 0, (size_t)g->ns * sizeof(float));
        memcpy(t->data + first, filled->trace[i].data,
               (size_t)filled->ns * sizeof(float));
    }
}

void dead_begin(request *r, const char *filled)
{
    int origin = 0;
    if (!run_rank) {
        if (access(r->stack, F_OK) == 0 && access(filled, F_OK) != 0)
            journal_foreign("stack", r->stack);
        result_check("stack", r->stack);
        su_gather g = section_read(r->in, r->order);
        origin = find_dead(r, &g);
        su_free(&g);
    }
    proc_broadcast(&r->dead_count, sizeof r->dead_count);
    proc_broadcast(&r->axis, sizeof r->axis);
    size_t count = (size_t)r->dead_count;
    if (run_rank) {
        r->dead = allocate(count, sizeof *r->dead, "the dead traces");
        r->positions = allocate(count, sizeof *r->positions, "positions");
    }
    proc_broadcast(r->dead, count * sizeof *r->dead);
    proc_broadcast(r->positions, count * sizeof *r->positions);
    request_set_positions(r, r->positions, r->dead_count);
    proc_broadcast(&origin, sizeof origin);
    r->m0.first = r->positions[origin].m;
    r->h0.first = r->positions[origin].h;
    r->stack = filled;
}

void dead_end(const request *r, const char *whole)
{
    if (run_rank) return;
    su_gather g = section_read(r->in, r->order);
    su_gather filled = section_read(r->stack, SU_DETECT);
    replace(r, &g, &filled);
    section_write(whole, &g);
    su_free(&filled);
    su_free(&g);
}
