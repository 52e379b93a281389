/* pile.c - what front end and back-ends share: looking at a grid, noting a tile. */
#include <string.h>

#include "sandpile.h"

cell pile_bits(const cell *grid, int dim)
{
    cell bits = 0;
    for (size_t i = 0; i < (size_t)dim * (size_t)dim; i++) bits |= grid[i];
    return bits;
}

void pile_border(cell *grid, int dim)
{
    size_t n = (size_t)dim;
    for (size_t i = 0; i < n; i++)
        grid[i] = grid[(n - 1) * n + i] = grid[i * n] = grid[i * n + n - 1] = 0;
}

void trace_tile(trace *t, int iteration, int grid, const int tile[4], double begin,
                int who)
{
    if (!t) return;
    size_t place = __atomic_fetch_add(&t->used, 1, __ATOMIC_RELAXED);
    if (place >= t->room) return;
    t->tile[place] = (traced){.iteration = iteration,
                              .grid = grid,
                              .worker = who,
                              .x = tile[0],
                              .y = tile[1],
                              .w = tile[2],
                              .h = tile[3],
                              .begin = begin,
                              .end = seconds()};
}
