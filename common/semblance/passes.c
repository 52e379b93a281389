/* passes.c - a section in two passes, passes=2.
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
#include "processes.h"
#include "section.h"
#include "survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    int *indices = allocate(n, sizeof *indices, "the live traces");
    bool *used = section_used(&line, r);
    r->positions = allocate(n, sizeof *r->positions, "the live traces");
    r->position_count = 0;
    for (int i = 0; i < line.live; i++) {
        const trace_place *p = &line.places[i];
        if (!used[p->number]) continue;
        indices[r->position_count] = p->number;
        r->positions[r->position_count++] = (position){p->m, p->h};
    }
    if (r->position_count) {
        r->m0 = (series){r->positions[0].m, 0, 1};
        r->h0 = (series){r->positions[0].h, 0, 1};
    }
    free(used);
    survey_free(&line);
    return indices;
}

/* Writes the input traces of r less their predictions, which are r's output traces. */
static void write_residual(const request *r, const int *number, const char *live,
                           const char *residual)
{
    char why[SU_REASON_SIZE];
    su_gather g = section_read(r->in, r->order), prediction = {0};
    if (r->position_count) prediction = section_read(live, SU_DETECT);
    for (int i = 0; i < r->position_count; i++) {
        su_trace *t = &g.trace[number[i]];
        int first = section_first(r, &g, t);
        for (int k = 0; k < r->t0.count; k++)
            t->data[first + k] -= prediction.trace[i].data[k];
    }
    if (su_write(residual, g.big_endian ? SU_BIG : SU_LITTLE, &g, why) != 0)
        fail("%s: %s", residual, why);
    su_free(&g);
    if (r->position_count) su_free(&prediction);
}

void section_passes(request *r)
{
    if (r->passes == 1) {
        section_pass(r, &(pass){.number = 1, .last = !r->trial});
        return;
    }
    request asked = *r;
    char *first = section_file(r->stack, ".first");
    char *live = section_file(r->stack, ".live");
    char *residual = section_file(r->stack, ".residual");

    r->stack = first;
    section_pass(r, &(pass){.number = 1});

    r->coherence = r->parameters = r->ranges_out = NULL;
    r->silent = true;
    r->stack = live;
    int *number = request_live_traces(r);
    if (r->position_count) section_pass(r, &(pass){.number = 2, .own = number});
    if (!run_rank) write_residual(r, number, live, residual);
    double barrier = 0;
    proc_sum(&barrier, 1);

    int predicted = r->position_count;
    free(r->positions);
    r->positions = asked.positions;
    r->position_count = asked.position_count;
    r->m0 = asked.m0;
    r->h0 = asked.h0;
    r->stack = asked.stack;
    r->in = residual;
    section_pass(r, &(pass){.number = 3,
                            .base = first,
                            .live = live,
                            .predicted = number,
                            .predicted_count = predicted,
                            .last = !r->trial});
    free(number);
    free(residual);
    free(live);
    free(first);
}
