/* mpi.c - gridding and degridding by ranks, each of which has threads.
 *
 * Gridding: a rank has some bands of the grid, one below the other, and takes the
 * visibilities that reach them; those that reach bands of two ranks are gridded by
 * both, each its own rows. So no grid is added to another: what ranks have is gathered
 * where rank 0 makes the image. Degridding: a rank has some of the visibilities, and
 * their values are gathered.
 *
 * The front end has read the visibilities, and what is degridded, in every rank, so
 * nothing is sent before the work. Sums are made in the order of step 10, whoever makes
 * them: any number of ranks gives the same bytes.
 */
#include <stdlib.h>

#include "ranks.h"
#include "part.h"

/* What a block costs in which nothing falls, in visibilities that touch it. */
enum { EMPTY = 10 };

static int row_of(const problem *p, int band)
{
    return band * ROWS < p->is.size ? band * ROWS : p->is.size;
}

/* How wide footprints are in each plane. To be freed. */
static int *widths(const problem *p)
{
    int *width = allocate((size_t)p->is.planes, sizeof *width, "the widths");
    for (int i = 0; i < p->is.planes; i++) width[i] = 2 * reach_of(p, i) + 1;
    return width;
}

/* Where the bands of each rank begin, [ranks + 1]: all have about as much to do. To be
 * freed. */
static int *bands_of_ranks(const problem *p, const int *width, int ranks)
{
    int n = BINS_OF(p->is.size, ROWS);
    double *work = allocate((size_t)n + 1, sizeof *work, "the bands");
    int *begin = allocate((size_t)ranks + 1, sizeof *begin, "the ranks");

    /* The blocks that visibilities touch in a band, less those of the band before. */
    for (int i = 0; i <= n; i++) work[i] = 0;
    for (int k = 0; k < p->is.samples; k++) {
        int wide = width[p->at[k].plane], top = p->at[k].v + (p->is.width - wide) / 2;
        int blocks = BINS_OF(wide, COLUMNS) + 1;
        work[top / ROWS] += blocks;
        work[(top + wide - 1) / ROWS + 1] -= blocks;
    }
    /* All that is to be done in the bands before this one. */
    double here = (double)EMPTY * BINS_OF(p->is.size, COLUMNS), sum = 0;
    for (int i = 0; i <= n; i++) {
        here += work[i];
        work[i] = sum;
        sum += here;
    }
    for (int r = 0, band = 0; r < ranks; r++) {
        while (band < n && work[band] * ranks < work[n] * r) band++;
        begin[r] = band;
    }
    begin[ranks] = n;
    free(work);
    return begin;
}

/* The problem with those visibilities only that reach rows first .. end - 1, in their
 * order. */
static problem that_reach(const problem *p, int first, int end)
{
    size_t n = (size_t)p->is.samples, count = 0;
    place *at = untouched(n, sizeof *at, "the rank's places");
    double(*value)[2] = untouched(n, sizeof *value, "the rank's visibilities");
    for (size_t k = 0; k < n; k++) {
        if (p->at[k].v >= end || p->at[k].v + p->is.width <= first) continue;
        at[count] = p->at[k];
        memcpy(value[count++], p->value + 2 * k, sizeof *value);
    }
    problem part = *p;
    part.is.samples = (int)count;
    part.at = at;
    part.value = (double *)value;
    return part;
}

/* Rows of cells, or values, of all ranks to rank 0, in place: rank r has those from
 * begin[r] on, each of so many cells. */
static void gather(cplx *result, const int *begin, int cells)
{
    int ranks = rank_count(), own = rank_own();
    int *count = allocate((size_t)ranks, sizeof *count, "the ranks' counts");
    for (int r = 0; r < ranks; r++) count[r] = begin[r + 1] - begin[r];
    MPI_Datatype row; /* counts of it are ints, however large the grid */
    MPI_TRY(MPI_Type_contiguous(2 * cells, sizeof(real) == 8 ? MPI_DOUBLE : MPI_FLOAT,
                                &row));
    MPI_TRY(MPI_Type_commit(&row));
    cplx *mine = result + (size_t)begin[own] * (size_t)cells;
    MPI_TRY(MPI_Gatherv(own ? mine : MPI_IN_PLACE, count[own], row, result, count,
                        begin, row, 0, MPI_COMM_WORLD));
    MPI_TRY(MPI_Type_free(&row));
    free(count);
}

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();
    int ranks = rank_count(), own = rank_own();
    size_t n = (size_t)p->is.samples;

    real *table = table_of(p, ROWS, COLUMNS);
    sorted o = sorted_for(p, ROWS, COLUMNS);
    int *width = widths(p);
    t->copies = 1;
    ranks_same("the places of visibilities", p->at, n * sizeof *p->at);
    ranks_same("the visibilities", p->value, n * 2 * sizeof *p->value);
    MPI_TRY(MPI_Barrier(MPI_COMM_WORLD));

    double ready = seconds();

    int *begin = bands_of_ranks(p, width, ranks);
    problem part = that_reach(p, begin[own] * ROWS, begin[own + 1] * ROWS);
    sort(&part, &o);
    double sorting = seconds() - ready;
    grid_bands(&part, table, &o, begin[own], begin[own + 1], result);
    double gridded = seconds();
    for (int r = 0; r <= ranks; r++) begin[r] = row_of(p, begin[r]);
    gather(result, begin, p->is.pitch);

    double end = seconds();
    t->init = ready - start;
    t->sort = sorting;
    t->run = end - ready;
    t->kernel = gridded - ready - sorting;
    sorted_free(&o);
    free((void *)part.at);
    free((void *)part.value);
    free(begin);
    free(width);
    free(table);
    return 0;
}

int degridding(const problem *p, const void *model, void *result, run_times *t)
{
    double start = seconds();
    int ranks = rank_count(), own = rank_own(), n = p->is.samples;
    cplx *value = result;

    real *table = table_of(p, ROWS, COLUMNS);
    sorted o = sorted_for(p, ROWS, COLUMNS);
    t->copies = 1;
    ranks_same("the places of visibilities", p->at, (size_t)n * sizeof *p->at);
    ranks_same("the model", model,
               (size_t)p->is.size * (size_t)p->is.pitch * sizeof(cplx));
    MPI_TRY(MPI_Barrier(MPI_COMM_WORLD));

    double ready = seconds();

    int *begin = allocate((size_t)ranks + 1, sizeof *begin, "the ranks");
    for (int r = 0; r <= ranks; r++) begin[r] = rank_first(n, r, ranks);
    problem part = *p;
    part.is.samples = begin[own + 1] - begin[own];
    part.at += begin[own];
    part.value += 2 * begin[own];
    sort(&part, &o);
    double sorting = seconds() - ready;
    degrid_all(&part, table, &o, model, value + begin[own]);
    double computed = seconds();
    gather(value, begin, 1);

    double end = seconds();
    t->init = ready - start;
    t->sort = sorting;
    t->run = end - ready;
    t->kernel = computed - ready - sorting;
    sorted_free(&o);
    free(begin);
    free(table);
    return 0;
}
