/* cpu.c - the C back-end: a thread takes a tile of a few rows through all planes (2.5-D
 * blocking), plane by plane (march.h). The computation is in body.h. */
#include <string.h>

#include "fletcher.h"
#include "field.h"
#include "run.h"
#include "march.h"
#include "tile.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q: previous and current step */

static int tile_rows; /* the rows of a tile */

/* The workspace of march.h; each thread has its own. */
static float *workspace;
#pragma omp threadprivate(workspace)

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

/* Allocates the workspace of the calling thread, if it has none yet. Returns its number
 * of floats. */
static size_t allocate_workspace(void)
{
    size_t n = work_size(g->sx - 2 * HALO);
    if (!workspace)
        workspace =
            memset(field_allocate(n, "the workspace"), 0, n * sizeof *workspace);
    return n;
}

size_t Initialize(const grid *input_grid, const float *input_medium)
{
    g = input_grid;
    medium = input_medium + V2PX * field_size(g);
    size_t n = field_size(g), total = (STORED_FIELDS - V2PX + 4) * n;
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads++;
    tile_rows = rows_per_tile(g->sy - 2 * HALO, g->pitch, threads);
    pp = zero_field(n, "p of the previous step");
    pc = zero_field(n, "p of the current step");
    qp = zero_field(n, "q of the previous step");
    qc = zero_field(n, "q of the current step");
#pragma omp parallel reduction(+ : total)
    total += allocate_workspace();
    return total * sizeof(float);
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

    /* There is no barrier: two neighbouring tiles both compute the derivatives that
     * both need. */
#pragma omp parallel
    {
        allocate_workspace(); /* the number of threads may have grown */
#pragma omp for schedule(dynamic)
        for (int y = HALO; y < g->sy - HALO; y += tile_rows) {
            int end = y + tile_rows < g->sy - HALO ? y + tile_rows : g->sy - HALO;
            for (int z = HALO; z < g->sz - HALO; z += 2)
                march(g, medium, pc, qc, pp, qp, workspace, z,
                      z + 1 < g->sz - HALO ? 2 : 1, y, end, points_of_row(g));
        }
    }

    return seconds() - start;
}

void UpdatePointers(float *p, float *q)
{
    float *swap = pp;
    pp = pc;
    pc = swap;
    swap = qp;
    qp = qc;
    qc = swap;
    if (p) memcpy(p, pc, field_size(g) * sizeof *p);
    if (q) memcpy(q, qc, field_size(g) * sizeof *q);
}

void Finalize(void)
{
    field_free(pp);
    field_free(pc);
    field_free(qp);
    field_free(qc);
#pragma omp parallel
    {
        field_free(workspace);
        workspace = NULL; /* for another grid */
    }
}
