/* oracle_fluid.h - the fluid in double precision for the checker: the query, the
 * result, and the permitted deviation of a float program.
 *
 * It shares only the syntax of key=value with the programs; options, events files,
 * boundary conditions, solvers and time step are implemented a second time.
 */
#ifndef ORACLE_FLUID_H
#define ORACLE_FLUID_H

#include "../common/run/run.h"

enum { X, Y, Z };

/* An event, which acts on the middle cell at the start of a step. */
typedef struct {
    int step;
    bool force;      /* false: a source, value[0] */
    double value[3]; /* velocity, or density */
} fluid_event;

typedef struct {
    int n[3], steps;
    double dt, diff, visc;
    int sweep_limit;  /* maximum number of sweeps per solve */
    double tolerance; /* negative: fixed number of sweeps */
    bool lexicographic, keep_sources;
    bool direct_pressure; /* pressures are solved directly, not by relaxation */
    fluid_event *event;
    size_t events;
    double max_source; /* largest source among the steps that are computed */
} query;

/* Parses a query; calls fail() if it is invalid. extra: table of further keys. */
query query_read(int argc, char **argv, arg *extra, const char *about);

static inline size_t inner_cells(const query *q)
{
    return (size_t)q->n[X] * (size_t)q->n[Y] * (size_t)q->n[Z];
}

/* Iterates over all inner cells in memory order. */
#define FOR_EACH_CELL(q, i, j, k)                                                      \
    for (int k = 1; k <= (q)->n[Z]; k++)                                               \
        for (int j = 1; j <= (q)->n[Y]; j++)                                           \
            for (int i = 1; i <= (q)->n[X]; i++)

enum { OUTPUTS = 4 }; /* velocity along x, y, z; density */

/* Result of the oracle, stored as doubles: this header, then for each output the
 * values of the inner cells [nz][ny][nx], then, if has_budget, the budgets of the same
 * cells. */
typedef struct {
    double has_budget;
    double sweeps, min_sweeps,
        max_sweeps;             /* in double; range for a correct float program */
    double total, total_budget; /* density; with ghosts if keep_sources */
} header;

enum { HEADER = sizeof(header) / sizeof(double) };

bool can_afford_budget(
    const query *q); /* true: the query is small enough for budgets */
void solve_query(const query *q, double *dst); /* writes header, values, budgets */

/* Sets the ghost cells at both walls across each axis of x[nz + 2][ny + 2][nx + 2] to
 * their inner neighbours, or to minus these across the axis negated_axis; -1: no such
 * axis. */
void set_walls(const query *q, double *x, int negated_axis);

#endif
