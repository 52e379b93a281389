/* mpi.c - gridding by MPI ranks with threads.
 *
 * Each rank owns consecutive bands of the grid and selects the visibilities
 * that reach them. A visibility that reaches bands of two ranks is gridded by both,
 * each for its own rows. So no cell is summed in two places: rank 0 gathers the rows
 * and makes the image.
 *
 * Every rank has read all visibilities, so nothing is sent before the
 * computation. The sums are formed in the order of step 10 for any number of ranks, so
 * the result does not depend on it, byte for byte.
 */
#include <stdlib.h>

#include "ranks.h"
#include "part.h"

/* Cost of a block without visibilities (it is written all the same), in units of adding
 * one visibility to one block. An estimate, not derived. */
enum { EMPTY_BLOCK_COST = 10 };

/* Returns the first row of a band; beyond the last band, the size of the grid. */
static int band_row(const problem *p, int band)
{
    return band * ROWS < p->dims.size ? band * ROWS : p->dims.size;
}

/* Returns the width of the footprints of each plane. The caller frees it. */
static int *plane_widths(const problem *p)
{
    int *plane_width =
        allocate((size_t)p->dims.planes, sizeof *plane_width, "the widths");
    for (int i = 0; i < p->dims.planes; i++)
        plane_width[i] = 2 * plane_support(p, i) + 1;
    return plane_width;
}

/* Returns the first band of each rank, [ranks + 1], such that all have about the same
 * work. The caller frees it. */
static int *split_bands(const problem *p, const int *plane_width, int ranks)
{
    int n = CEIL_DIV(p->dims.size, ROWS);
    double *work = allocate((size_t)n + 1, sizeof *work, "the bands");
    int *begin = allocate((size_t)ranks + 1, sizeof *begin, "the ranks");

    /* work[i]: blocks of band i that visibilities touch, minus those of band i - 1. */
    for (int i = 0; i <= n; i++) work[i] = 0;
    for (int k = 0; k < p->dims.visibilities; k++) {
        int width = plane_width[p->footprints[k].plane],
            top = p->footprints[k].v + (p->dims.width - width) / 2;
        int blocks = CEIL_DIV(width, COLUMNS) + 1;
        work[top / ROWS] += blocks;
        work[(top + width - 1) / ROWS + 1] -= blocks;
    }
    /* work[i]: the work of all bands before band i. */
    double in_band = (double)EMPTY_BLOCK_COST * CEIL_DIV(p->dims.size, COLUMNS),
           sum = 0;
    for (int i = 0; i <= n; i++) {
        in_band += work[i];
        work[i] = sum;
        sum += in_band;
    }
    for (int r = 0, band = 0; r < ranks; r++) {
        while (band < n && work[band] * ranks < work[n] * r) band++;
        begin[r] = band;
    }
    begin[ranks] = n;
    free(work);
    return begin;
}

/* Returns the problem restricted to the visibilities that reach rows first .. end - 1,
 * in their order. */
static problem select_visibilities(const problem *p, int first, int end)
{
    size_t n = (size_t)p->dims.visibilities, count = 0;
    footprint *footprints =
        allocate_untouched(n, sizeof *footprints, "the rank's footprints");
    double(*value)[2] = allocate_untouched(n, sizeof *value, "the rank's visibilities");
    for (size_t k = 0; k < n; k++) {
        if (p->footprints[k].v >= end || p->footprints[k].v + p->dims.width <= first)
            continue;
        footprints[count] = p->footprints[k];
        memcpy(value[count++], p->value + 2 * k, sizeof *value);
    }
    problem subset = *p;
    subset.dims.visibilities = (int)count;
    subset.footprints = footprints;
    subset.value = (double *)value;
    return subset;
}

/* Gathers rows of cells on rank 0, in place: rank r has rows begin[r] ..
 * begin[r + 1] - 1 of so many cells. */
static void gather(cplx *result, const int *begin, int cells)
{
    int ranks = rank_count(), rank = rank_own();
    int *count = allocate((size_t)ranks, sizeof *count, "the ranks' counts");
    for (int r = 0; r < ranks; r++) count[r] = begin[r + 1] - begin[r];
    MPI_Datatype row; /* counting rows, an int suffices for any grid */
    MPI_CHECK(MPI_Type_contiguous(2 * cells, sizeof(real) == 8 ? MPI_DOUBLE : MPI_FLOAT,
                                  &row));
    MPI_CHECK(MPI_Type_commit(&row));
    cplx *rank_rows = result + (size_t)begin[rank] * (size_t)cells;
    MPI_CHECK(MPI_Gatherv(rank ? rank_rows : MPI_IN_PLACE, count[rank], row, result,
                          count, begin, row, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Type_free(&row));
    free(count);
}

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();
    int ranks = rank_count(), rank = rank_own();
    size_t n = (size_t)p->dims.visibilities;

    real *table = make_table(p, ROWS, COLUMNS);
    binning bins = allocate_binning(p, own_sizes());
    int *plane_width = plane_widths(p);
    t->copies = 1;
    ranks_check_same("the footprints", p->footprints, n * sizeof *p->footprints);
    ranks_check_same("the visibilities", p->value, n * 2 * sizeof *p->value);
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));

    double run_start = seconds();

    int *begin = split_bands(p, plane_width, ranks);
    problem subset = select_visibilities(p, begin[rank] * ROWS, begin[rank + 1] * ROWS);
    bin_visibilities(&subset, &bins);
    double sort_seconds = seconds() - run_start;
    grid_bands(&subset, table, &bins, begin[rank], begin[rank + 1], result);
    double gridding_end = seconds();
    for (int r = 0; r <= ranks; r++) begin[r] = band_row(p, begin[r]);
    gather(result, begin, p->dims.pitch);

    double end = seconds();
    t->init = run_start - start;
    t->sort = sort_seconds;
    t->run = end - run_start;
    t->kernel = gridding_end - run_start - sort_seconds;
    free_binning(&bins);
    free((void *)subset.footprints);
    free((void *)subset.value);
    free(begin);
    free(plane_width);
    free(table);
    return 0;
}
