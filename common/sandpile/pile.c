/* pile.c - functions that the front end and the back-ends share. */
#include <string.h>

#include "sandpile.h"

cell pile_or(const cell *grid, int dim)
{
    cell or_values = 0;
    for (size_t i = 0; i < (size_t)dim * (size_t)dim; i++) or_values |= grid[i];
    return or_values;
}

void pile_to_bytes(const pile *p, size_t pitch, size_t first, cell8 *to)
{
    size_t dim = (size_t)p->dim;
    memset(to, 0, dim * pitch);
    for (size_t y = 0; y < dim; y++)
        for (size_t x = 0; x < dim; x++)
            to[y * pitch + first + x] = (cell8)p->grid[y * dim + x];
}

void pile_from_bytes(pile *p, size_t pitch, size_t first, const cell8 *from)
{
    size_t dim = (size_t)p->dim;
    for (size_t y = 0; y < dim; y++)
        for (size_t x = 0; x < dim; x++)
            p->grid[y * dim + x] = from[y * pitch + first + x];
}

void pile_clear_border(cell *grid, int dim)
{
    size_t n = (size_t)dim;
    for (size_t i = 0; i < n; i++)
        grid[i] = grid[(n - 1) * n + i] = grid[i * n] = grid[i * n + n - 1] = 0;
}

void reject_cpu_options(const run_plan *plan)
{
    if (plan->rule == ASYNC)
        fail("rule=async: not supported by this back-end: expected sync, or the "
             "back-end seq or omp");
    if (plan->trace)
        fail("trace=: not supported by this back-end: expected the back-end omp");
}

void trace_tile(tile_trace *t, int iteration, const int tile[4], double begin,
                int thread)
{
    if (!t) return;
    size_t slot = __atomic_fetch_add(&t->count, 1, __ATOMIC_RELAXED);
    if (slot >= t->capacity) return;
    t->record[slot] = (trace_record){.iteration = iteration,
                                     .grid = t->grid,
                                     .worker = thread,
                                     .x = tile[0],
                                     .y = tile[1],
                                     .w = tile[2],
                                     .h = tile[3],
                                     .begin = begin,
                                     .end = seconds()};
}
