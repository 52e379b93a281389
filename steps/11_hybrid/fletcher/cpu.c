/* cpu.c - the update of a range of planes in C: a thread takes a tile of a few rows
 * through all of these planes (march.h). The computation is in body.h. */
#include <omp.h>
#include <string.h>

#include "host.h"
#include "field.h"
#include "run.h"
#include "march.h"
#include "tile.h"

static const grid *g;
static const float *medium;
float *pp, *pc, *qp, *qc; /* p and q: previous and current step */

static int threads;       /* that share the tiles */
static int tile_rows;     /* rows of a tile */
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

size_t host_begin(const grid *input_grid, const float *input_medium)
{
    g = input_grid;
    medium = input_medium + V2PX * field_size(g);
    threads = omp_get_max_threads();
    tile_rows = rows_per_tile(g->sy - 2 * HALO, g->pitch, threads);
    size_t n = field_size(g), work = (size_t)threads * work_size(g->sx - 2 * HALO);
    pp = zero_field(n, "p of the previous step");
    pc = zero_field(n, "p of the current step");
    qp = zero_field(n, "q of the previous step");
    qc = zero_field(n, "q of the current step");
    workspaces = field_allocate(work, "workspaces");
    memset(workspaces, 0, work * sizeof *workspaces);
    return ((STORED_FIELDS - V2PX + 4) * n + work) * sizeof(float);
}

void host_source(float f)
{
    size_t i = (size_t)g->source_z * (size_t)g->plane + (size_t)g->source_offset;
    pc[i] += f;
    qc[i] += f;
}

void host_planes(int first, int end, void (*poll)(void))
{
    const fields f = {medium, pc, qc, pp, qp};

    /* There is no barrier: two neighbouring tiles both compute the derivatives that
     * both need. */
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int y = HALO; y < g->sy - HALO; y += tile_rows) {
        const int tile_end =
            y + tile_rows < g->sy - HALO ? y + tile_rows : g->sy - HALO;
        float *workspace =
            workspaces + (size_t)omp_get_thread_num() * work_size(g->sx - 2 * HALO);
        const row_range rows = {y, tile_end, HALO, g->sx - 2 * HALO};
        for (int z = first; z < end; z += 2) {
            march(g, &f, workspace, z, z + 1 < end ? 2 : 1, &rows);
            if (poll && omp_get_thread_num() == 0) poll();
        }
    }
}

void host_swap(void)
{
    float *swap = pp;
    pp = pc;
    pc = swap;
    swap = qp;
    qp = qc;
    qc = swap;
}

void host_end(void)
{
    field_free(pp);
    field_free(pc);
    field_free(qp);
    field_free(qc);
    field_free(workspaces);
}
