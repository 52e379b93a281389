/* cpu.c - the sequential C back-end: three nested loops over the points of the grid.
 * The update of a point is update_point() in body.h. */
#include <string.h>

#include "fletcher.h"
#include "field.h"
#include "body.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q: previous and current step */

static float *zero_field(size_t n, const char *name)
{
    return memset(field_allocate(n, name), 0, n * sizeof(float));
}

size_t Initialize(const grid *input_grid, const float *input_medium)
{
    g = input_grid;
    medium = input_medium;
    size_t n = field_size(g);
    pp = zero_field(n, "p of the previous step");
    pc = zero_field(n, "p of the current step");
    qp = zero_field(n, "q of the previous step");
    qc = zero_field(n, "q of the current step");
    return (MEDIUM_FIELDS + 4) * n * sizeof(float);
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

    for (int z = HALO; z < g->sz - HALO; z++)
        for (int y = HALO; y < g->sy - HALO; y++) {
            size_t row = row_start(g, y, z);
            for (int x = HALO; x < g->sx - HALO; x++)
                update_point(g, medium, pc, qc, pp, qp, row + (size_t)x);
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
}
