/* column.h - a pile as one column of rows, part of which is toppled: by the threads of
 * cpu.c here, and by somebody else the rest.
 *
 * The rows of all grids, borders included, stand one grid under the other: row y of
 * grid g has number g side + y. So whoever has some rows that follow each other shares
 * two grids at most with others. Of these he keeps some of their rows, `halo` or as
 * many as there are: right when an epoch begins, of halo steps or less, and each step
 * spoils one.
 */
#ifndef COLUMN_H
#define COLUMN_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HALO_MOST = 1024 };

typedef struct {
    const pile *p;
    const plan *how;
    int mirror, halo;
    int packed;       /* are the cells bits, as in body.h? Else they are numbers */
    int side, pitch;  /* rows of a grid, and words of a row */
    int width;        /* words of a plane, if packed */
    int first, after; /* whose own rows: from the first to before `after` */
} column;

static inline int rows_of(const column *c)
{
    return c->p->batch * c->side;
}

/* The first row that is kept and the one after the last: beside its own none, where
 * these end between two grids. */
static inline int first_kept(const column *c)
{
    int above = c->first < c->after ? c->first % c->side : 0;
    return c->first - (above < c->halo ? above : c->halo);
}

static inline int after_kept(const column *c)
{
    int y = c->first < c->after ? c->after % c->side : 0, below = y ? c->side - y : 0;
    return c->after + (below < c->halo ? below : c->halo);
}

/* In the first and in the last of its grids, the first row that is right after so many
 * steps of an epoch, and the one after the last. */
static inline int first_right(const column *c, int steps)
{
    int y = c->first % c->side;
    return y > c->halo ? y - c->halo + steps : 1;
}

static inline int after_right(const column *c, int steps)
{
    int y = c->after % c->side;
    return y && y + c->halo < c->side ? y + c->halo - steps : c->side - 1;
}

/* The column's cut before which about that many of its rows lie, borders not counted;
 * and how many lie there. */
static inline int cut_at(const column *c, double rows)
{
    int inner = c->side - 2, whole = (int)(rows + 0.5);
    return whole / inner * c->side + (whole % inner ? whole % inner + 1 : 0);
}

static inline int inner_rows(const column *c, int cut)
{
    int y = cut % c->side;
    return cut / c->side * (c->side - 2) + (y ? y - 1 : 0);
}

/* ---- cpu.c -------------------------------------------------------------------------
 *
 * rows always points to the first of the rows that are meant. */

/* What is paid once, for a pile of *c's shape in bits. */
void cpu_begin(const column *c);
void cpu_end(void);

/* The threads' rows are those of *c from now on. What they hold is rows, from the first
 * to the last that is kept; masks are row 0 of any grid, if packed. */
void cpu_take(const column *c, const cell *rows, const cell *masks);

/* Rows first .. after - 1, of their own, as they are now; and those of others that they
 * keep, above and below their own. */
void cpu_give(const column *c, int first, int after, cell *rows);
void cpu_keep(const column *c, const cell *above, const cell *below);

/* Steps n .. n + steps - 1. In found[s][g] bits are set that step s left in grid g:
 * more than 3 if it is unstable. feed, unless NULL, is called by thread 0 as soon as
 * those of their first `halo` rows are ready. */
void cpu_steps(const column *c, int n, int steps, cell *found, void (*feed)(void));

/* Is told, unless NULL, which thread stepped from when to when, by seconds(). */
extern void (*cpu_busy)(int thread, double begin, double end);

#ifdef __cplusplus
}
#endif

#endif
