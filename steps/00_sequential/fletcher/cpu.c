/* cpu.c - the drivers in C: one point after the other. */
#include <string.h>

#include "fletcher.h"
#include "field.h"
#include "body.h"

static const grid *g;
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q, of before and of now */

static float *floats(size_t n, const char *name)
{
    return memset(field_make(n, name), 0, n * sizeof(float));
}

size_t Initialize(const grid *the_grid, const float *the_medium)
{
    g = the_grid;
    medium = the_medium;
    size_t n = field_size(g);
    pp = floats(n, "p of before");
    pc = floats(n, "p of now");
    qp = floats(n, "q of before");
    qc = floats(n, "q of now");
    return (MEDIUM + 4) * n * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g->source_z * (size_t)g->plane + (size_t)g->source;
    pc[i] += f;
    qc[i] += f;
}

double Propagate(void)
{
    double start = seconds();

    for (int z = HALO; z < g->sz - HALO; z++)
        for (int y = HALO; y < g->sy - HALO; y++) {
            size_t row = row_of(g, y, z);
            for (int x = HALO; x < g->sx - HALO; x++)
                sample(g, medium, pc, qc, pp, qp, row + (size_t)x);
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
