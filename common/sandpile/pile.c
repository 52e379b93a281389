/* pile.c - functions that the front end and the back-ends share. */
#include <string.h>

#include "sandpile.h"

cell pile_or(const cell *grid, int dim)
{
    cell or_values = 0;
    for (size_t i = 0; i < (size_t)dim * (size_t)dim; i++) or_values |= grid[i];
    return or_values;
}

void pile_clear_border(cell *grid, int dim)
{
    size_t n = (size_t)dim;
    for (size_t i = 0; i < n; i++)
        grid[i] = grid[(n - 1) * n + i] = grid[i * n] = grid[i * n + n - 1] = 0;
}

void trace_tile(tile_trace *t, int iteration, int grid, const int tile[4], double begin,
                int thread)
{
    if (!t) return;
    size_t slot = __atomic_fetch_add(&t->count, 1, __ATOMIC_RELAXED);
    if (slot >= t->capacity) return;
    t->record[slot] = (trace_record){.iteration = iteration,
                                     .grid = grid,
                                     .worker = thread,
                                     .x = tile[0],
                                     .y = tile[1],
                                     .w = tile[2],
                                     .h = tile[3],
                                     .begin = begin,
                                     .end = seconds()};
}
