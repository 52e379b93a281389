/* section.c - a section in one pass, or in two with passes=2.
 *
 * If two events cross, a search finds only the stronger one. So the first pass also
 * predicts each live trace of an aperture from its neighbours, without the trace
 * itself, and subtracts the prediction. The second pass searches in these residual
 * traces, in which the second event is now the strongest, and adds what it finds to the
 * result of the first pass.
 *
 * Three files next to the output file STACK hold what a job needs to be resumed:
 * STACK.first and STACK.live have the results of the first pass, for the output traces
 * and for the live ones, and STACK.residual the input less the latter. They are not
 * removed, so that the same command finds that a job is complete. coherence= and
 * parameters= are those of the first pass.
 */
#include "section.h"
#include "pass.h"
#include "processes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char FIRST[] = ".first", LIVE[] = ".live", RESIDUAL[] = ".residual";

char *section_file(const char *stack, const char *suffix)
{
    size_t size = strlen(stack) + strlen(suffix) + 1;
    char *path = allocate(size, 1, "a file name");
    snprintf(path, size, "%s%s", stack, suffix);
    return path;
}

su_gather section_read(const char *path, su_order order)
{
    su_gather g;
    char why[SU_REASON_SIZE];
    if (su_read(path, order, &g, why) != 0) fail("%s: %s", path, why);
    return g;
}

void section_write(const char *path, const su_gather *g)
{
    char why[SU_REASON_SIZE];
    if (su_write(path, g->big_endian ? SU_BIG : SU_LITTLE, g, why) != 0)
        fail("%s: %s", path, why);
}

static const char *const all_files[] = {"", FIRST, LIVE, RESIDUAL};
enum { ALL_FILES = sizeof all_files / sizeof *all_files };

void section_name(const char *stack)
{
    for (int i = 0; i < ALL_FILES; i++) {
        char *path = section_file(stack, all_files[i]);
        name_result("choose", path);
        free(path);
    }
}

void section_remove(const char *stack)
{
    proc_wait();
    for (int i = 0; i < ALL_FILES; i++) {
        char *path = section_file(stack, all_files[i]);
        if (!run_rank) unlink(path);
        free(path);
    }
    proc_wait();
}

int section_first(const request *r, const su_gather *g, const su_trace *t)
{
    return (int)lround((r->t0.first * 1e6 - su_delay(&t->header)) / g->dt);
}

bool *section_used(const survey *line, const request *r)
{
    size_t n = line->g.ntraces;
    int *indices = allocate(n, sizeof *indices, "an aperture");
    bool *used = allocate(n, sizeof *used, "the live traces");
    memset(used, 0, n * sizeof *used);
    for (int i = 0; i < request_traces(r); i++) {
        position at = request_position(r, i);
        int count = survey_select(line, r, at.m, at.h, indices);
        for (int k = 0; k < count; k++) used[indices[k]] = true;
    }
    free(indices);
    return used;
}

/* Makes the live traces in the apertures of r's output traces the output traces.
 * Returns their numbers in the file. */
static int *request_live_traces(request *r)
{
    survey line = survey_read(r);
    size_t n = line.g.ntraces;
    int *number = allocate(n, sizeof *number, "the live traces"), count = 0;
    bool *used = section_used(&line, r);
    position *at = allocate(n, sizeof *at, "the live traces");
    for (int i = 0; i < line.live; i++) {
        const trace_place *p = &line.places[i];
        if (!used[p->number]) continue;
        number[count] = p->number;
        at[count++] = (position){p->m, p->h};
    }
    request_set_positions(r, at, count);
    free(used);
    survey_free(&line);
    return number;
}

/* Writes the input traces of r less their predictions, which are r's output traces. */
static void write_residual(const request *r, const int *number, const char *live,
                           const char *residual)
{
    su_gather g = section_read(r->in, r->order), prediction = {0};
    if (r->position_count) prediction = section_read(live, SU_DETECT);
    for (int i = 0; i < r->position_count; i++) {
        su_trace *t = &g.trace[number[i]];
        int first = section_first(r, &g, t);
        for (int k = 0; k < r->t0.count; k++)
            t->data[first + k] -= prediction.trace[i].data[k];
    }
    section_write(residual, &g);
    su_free(&g);
    if (r->position_count) su_free(&prediction);
}

/* The second of two passes: the live traces, predicted into the file `live`, and the
 * search in the residual, to which the first result is added. */
static void second_pass(request *r, const char *first, const char *live,
                        const char *residual, pass_totals *total)
{
    request asked = *r;
    r->coherence = r->parameters = r->ranges_out = NULL;
    r->silent = true;
    r->stack = live;
    int *number = request_live_traces(r), predicted = r->position_count;
    if (predicted) pass_execute(r, &(pass){.number = 2, .own = number}, total);
    if (!run_rank) write_residual(r, number, live, residual);
    proc_wait();

    free(r->positions);
    r->positions = asked.positions;
    r->position_count = asked.position_count;
    r->m0 = asked.m0;
    r->h0 = asked.h0;
    r->stack = asked.stack;
    r->in = residual;
    su_gather base = section_read(first, SU_DETECT), predictions = {0};
    if (predicted) predictions = section_read(live, SU_DETECT);
    pass_execute(r,
                 &(pass){.number = 3,
                         .base = &base,
                         .predicted = number,
                         .predicted_count = predicted,
                         .predictions = &predictions,
                         .last = !r->trial},
                 total);
    if (predicted) su_free(&predictions);
    su_free(&base);
    free(number);
    r->in = asked.in;
    r->coherence = asked.coherence;
    r->parameters = asked.parameters;
    r->ranges_out = asked.ranges_out;
    r->silent = asked.silent;
}

void section(request *r)
{
    pass_totals total = {0};
    bool two = r->passes > 1;
    const char *stack = r->stack;
    if (two && !r->trial) {
        char *path = section_file(stack, RESIDUAL);
        name_result("stack", path);
        free(path);
    }
    char *first = two ? section_file(stack, FIRST) : NULL;
    if (two) r->stack = first;
    pass_execute(r, &(pass){.number = 1, .last = !two && !r->trial}, &total);
    r->stack = stack;
    if (!two) return;
    char *live = section_file(stack, LIVE), *residual = section_file(stack, RESIDUAL);
    second_pass(r, first, live, residual, &total);
    free(residual);
    free(live);
    free(first);
}
