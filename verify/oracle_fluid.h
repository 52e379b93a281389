/* oracle_fluid.h - the fluid in double precision, for the checker: what a query asks
 * for, what comes out, and how far from it a program in float may be.
 *
 * Nothing is shared with the programs but the syntax of key=value: words, event files,
 * the box, walls, solver and time step are written here a second time.
 */
#ifndef ORACLE_FLUID_H
#define ORACLE_FLUID_H

#include "../common/run/run.h"

enum { X, Y, Z };

/* What happens to the middle cell at the start of a step. */
typedef struct {
    int step;
    bool force;      /* or else a source: value[0] */
    double value[3]; /* velocity */
} fluid_event;

typedef struct {
    int n[3], steps;
    double dt, diff, visc;
    int most;         /* sweeps a solve */
    double tolerance; /* that ends one; negative: none */
    bool lexicographic, keep_sources;
    bool direct_pressure; /* pressures are solved, not relaxed */
    fluid_event *event;
    size_t events;
    double max_source; /* the largest source that happens */
} query;

/* The query that words are: fail() where they are none. extra: further keys. */
query query_read(int argc, char **argv, arg *extra, const char *about);

static inline size_t inner_cells(const query *q)
{
    return (size_t)q->n[X] * (size_t)q->n[Y] * (size_t)q->n[Z];
}

enum { OUTPUTS = 4 }; /* velocity along x, y, z, and density */

/* What is right: for each outcome of each inner cell, [nz][ny][nx], its value and, if
 * rated, how far from it a float may be; else that is for the reader to say. All of it
 * doubles, as they lie in a file. */
typedef struct {
    double has_budget;
    double sweeps, min_sweeps, most; /* sweeps in double; of a right program */
    double total, total_budget;      /* of density, with ghosts where q->keep */
} header;

enum { HEADER = sizeof(header) / sizeof(double) };

bool can_afford_budget(const query *q);       /* whether it is cheap enough */
void solve_query(const query *q, double *to); /* heading, values, budgets if rated */

/* The ghosts at both walls across each axis of x, [nz + 2][ny + 2][nx + 2]: as their
 * neighbours, or minus those across the axis `turned`; -1 for none. */
void set_walls(const query *q, double *x, int negated_axis);

#endif
