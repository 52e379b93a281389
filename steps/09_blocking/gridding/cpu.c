/* cpu.c - gridding. Each thread owns segments of the grid, so it needs
 * neither a copy of the grid nor atomic additions.
 */
#include "host.h"

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();
    const shape *s = &p->dims;
    cplx *grid = result;

    real *table = make_table(p, ROWS, COLUMNS);
    binning bins = allocate_binning(p, ROWS, COLUMNS);
    t->copies = 1;

    double run_start = seconds();

    bin_visibilities(p, &bins);

#pragma omp parallel for schedule(dynamic) collapse(2)
    for (int band = 0; band < bins.bands; band += BLOCKS)
        for (int column = 0; column < s->size; column += COLUMNS)
            grid_segment(s, table, bins.first, bins.visibilities,
                         make_segment(band, bins.bands, column), grid);

    double end = seconds();
    t->init = run_start - start;
    t->sort = bins.seconds;
    t->run = end - run_start;
    t->kernel = t->run - t->sort;
    free_binning(&bins);
    free(table);
    return 0;
}
