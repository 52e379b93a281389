/* cpu.c - the C back-end: a thread takes a tile of a few rows through all planes (2.5-D
 * blocking), plane by plane (march.h). Only the box that the wave can have reached is
 * updated (box.h). The computation is in body.h. */
#include <omp.h>
#include <string.h>

#include "fletcher.h"
#include "field.h"
#include "run.h"
#include "box.h"
#include "march.h"
#include "tile.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q: previous and current step */

static int steps;         /* time steps computed */
static int threads;       /* that share the tiles */
static float *workspaces; /* of march.h, one per thread */

/* Returns a field of zeros. No thread owns planes here, so the threads clear planes in
 * equal parts: on a machine with several sockets, the pages are spread over the
 * memories of all of them (first touch). */
static float *zero_field(size_t n, const char *name)
{
    float *field = field_allocate(n, name);
#pragma omp parallel for
    for (int z = HALO; z < g->sz - HALO; z++) {
        size_t from = z == HALO ? 0 : (size_t)z * (size_t)g->plane;
        size_t end = z == g->sz - HALO - 1 ? n : (size_t)(z + 1) * (size_t)g->plane;
        memset(field + from, 0, (end - from) * sizeof *field);
    }
    return field;
}

size_t Initialize(const grid *input_grid, const float *input_medium)
{
    g = input_grid;
    medium = input_medium + V2PX * field_size(g);
    steps = 0;
    threads = omp_get_max_threads();
    size_t n = field_size(g), work = (size_t)threads * work_size(g->sx - 2 * HALO);
    pp = zero_field(n, "p of the previous step");
    pc = zero_field(n, "p of the current step");
    qp = zero_field(n, "q of the previous step");
    qc = zero_field(n, "q of the current step");
    workspaces = field_allocate(work, "workspaces");
    memset(workspaces, 0, work * sizeof *workspaces);
    return ((STORED_FIELDS - V2PX + 4) * n + work) * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g->source_z * (size_t)g->plane + (size_t)g->source_offset;
    pc[i] += f;
    qc[i] += f;
}

double Propagate(void)
{
    double start = seconds();
    const fields f = {medium, pc, qc, pp, qp};
    const box b = active_box(g, ++steps);
    const int rows = rows_per_tile(b.end[1] - b.first[1], g->pitch, threads);

    /* There is no barrier: two neighbouring tiles both compute the derivatives that
     * both need. */
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int y = b.first[1]; y < b.end[1]; y += rows) {
        const int end = y + rows < b.end[1] ? y + rows : b.end[1];
        float *workspace =
            workspaces + (size_t)omp_get_thread_num() * work_size(g->sx - 2 * HALO);
        const row_range r = {y, end, b.first[0], b.end[0] - b.first[0]};
        for (int z = b.first[2]; z < b.end[2]; z += 2)
            march(g, &f, workspace, z, z + 1 < b.end[2] ? 2 : 1, &r);
    }

    return seconds() - start;
}

/* Copies the current field f. The planes outside the box are 0 and need not be read. */
static void copy_field(const float *f, float *to)
{
    const box b = active_box(g, steps);
    const size_t plane = (size_t)g->plane;
#pragma omp parallel for
    for (int z = 0; z < g->sz; z++) {
        const size_t i = (size_t)z * plane;
        if (z >= b.first[2] && z < b.end[2])
            memcpy(to + i, f + i, plane * sizeof *to);
        else
            memset(to + i, 0, plane * sizeof *to);
    }
    memset(to + (size_t)g->sz * plane, 0, FIELD_GAP * sizeof *to);
}

void UpdatePointers(float *p, float *q)
{
    float *swap = pp;
    pp = pc;
    pc = swap;
    swap = qp;
    qp = qc;
    qc = swap;
    if (p) copy_field(pc, p);
    if (q) copy_field(qc, q);
}

void Finalize(void)
{
    field_free(pp);
    field_free(pc);
    field_free(qp);
    field_free(qc);
    field_free(workspaces);
}
