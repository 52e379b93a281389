/* tall.h - topples a pile whose cells are too tall for the cell format of a back-end,
 * with 32 bits per cell, on the host. Piles spread: after few steps, compared with all
 * steps to the stable grid, every cell fits.
 */
#ifndef TALL_H
#define TALL_H

#include <stdlib.h>
#include <string.h>

#include "sandpile.h"

/* Computes one step of the rows y .. y + h - 1. Returns the OR of all new cells. */
static inline cell topple_tall_rows(const cell *in, cell *out, int dim, int y, int h)
{
    cell or_values = 0;
    for (int j = y; j < y + h; j++) {
        const cell *c = in + (size_t)j * dim;
        cell *next = out + (size_t)j * dim;
        for (int x = 1; x < dim - 1; x++) {
            next[x] = (c[x] & 3) + (c[x - 1] >> 2) + (c[x + 1] >> 2) +
                      (c[x - dim] >> 2) + (c[x + dim] >> 2);
            or_values |= next[x];
        }
    }
    return or_values;
}

/* Topples the grid of *p, all cells at once in each step, until no cell exceeds
 * `limit`, a power of two minus one, or plan->max_iterations is reached. Returns the
 * number of steps. */
static inline int topple_tall(pile *p, const run_plan *plan, cell limit)
{
    int dim = p->dim, n = 0;
    cell or_values = pile_or(p->grid, dim);
    if (or_values <= limit) return 0;

    cell *buffer = (cell *)allocate(pile_cells(p), sizeof *buffer, "the tall pile");
    cell *in = p->grid, *out = buffer;
    pile_clear_border(out, dim);
    while (or_values > limit && n < plan->max_iterations) {
        or_values = 0;
#ifdef _OPENMP
#pragma omp parallel for reduction(| : or_values) schedule(runtime)
#endif
        for (int y = 1; y < dim - 1; y += plan->tileh) {
            int h = dim - 1 - y < plan->tileh ? dim - 1 - y : plan->tileh;
            int tile[4] = {1, y, dim - 2, h};
            double begin = plan->trace ? seconds() : 0;
            or_values |= topple_tall_rows(in, out, dim, y, h);
            trace_tile(plan->trace, n, tile, begin, thread_number());
        }
        cell *swap = in;
        in = out;
        out = swap;
        n++;
    }
    if (in == buffer) memcpy(p->grid, buffer, pile_cells(p) * sizeof *buffer);
    free(buffer);
    return n;
}

#endif
