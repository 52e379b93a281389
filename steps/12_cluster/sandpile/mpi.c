/* mpi.c - topples a pile with MPI processes: which rank has which rows, and which
 * messages the ranks exchange.
 *
 * The rows are divided evenly into slabs (slab.h). A rank stores `halo` ghost rows of
 * each neighbor, which are sufficient for a block of `halo` steps; then the neighbors
 * send them again. The test for stability is a nonblocking reduction: its result
 * arrives during the next block, which is then superfluous but harmless, because
 * further steps do not change a stable pile.
 *
 * Left out: load balancing.
 */
#include <stdlib.h>
#include <string.h>

#include "slab.h"
#include "ranks.h"

static struct {
    grid_shape shape;
    cell *planes;   /* all rows of the grid; the own rows are current after a read */
    int ranks;      /* that have rows */
    int first, end; /* own rows */
} state;

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* Returns the first row of a rank. A rank that has none begins at the last row. */
static int first_row(int rank)
{
    return 1 +
           rank_first(state.shape.side - 2, min_int(rank, state.ranks), state.ranks);
}

/* Distributes the rows. A rank has at least as many rows as its neighbors have ghost
 * rows, so that each receives them from one rank. */
static void distribute_rows(void)
{
    int rows = state.shape.side - 2;
    state.ranks = min_int(rank_count(), rows);
    state.shape.halo = min_int(state.shape.halo, rows / state.ranks);
    state.first = first_row(rank_own());
    state.end = first_row(rank_own() + 1);
}

/* Sends `halo` rows from row `first` on to rank `to`, and receives as many from rank
 * `from`, which become the ghost rows from row `ghosts` on. */
static void exchange(int to, int first, int from, int ghosts)
{
    size_t pitch = row_pitch(state.shape.width);
    int words = state.shape.halo * (int)pitch;
    if (to < 0 || to >= state.ranks) to = MPI_PROC_NULL, first = 0;
    if (from < 0 || from >= state.ranks) from = MPI_PROC_NULL, ghosts = 0;
    MPI_CHECK(MPI_Sendrecv(state.planes + first * pitch, words, MPI_UINT32_T, to, 0,
                           state.planes + ghosts * pitch, words, MPI_UINT32_T, from, 0,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Exchanges ghost rows with the ranks that have the rows above and below. */
static void exchange_ghosts(void)
{
    int own = rank_own(), halo = state.shape.halo;
    int first = state.first, end = state.end;
    if (own >= state.ranks) return;
    cpu_read_rows(first, first + halo, state.planes);
    cpu_read_rows(end - halo, end, state.planes);
    exchange(own - 1, first, own + 1, end);
    exchange(own + 1, end - halo, own - 1, first - halo);
    cpu_write_ghosts(state.planes);
}

/* Collects the own rows of all ranks into planes, on every rank. */
static void gather_rows(void)
{
    int pitch = row_pitch(state.shape.width), ranks = rank_count();
    int *counts = allocate(2 * ranks, sizeof *counts, "the rows of each rank");
    MPI_Datatype row;
    for (int r = 0; r < ranks; r++) {
        counts[r] = first_row(r + 1) - first_row(r);
        counts[ranks + r] = first_row(r);
    }
    cpu_read_rows(state.first, state.end, state.planes);
    MPI_CHECK(MPI_Type_contiguous(pitch, MPI_UINT32_T, &row));
    MPI_CHECK(MPI_Type_commit(&row));
    MPI_CHECK(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, state.planes, counts,
                             counts + ranks, row, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Type_free(&row));
    free(counts);
}

/* Returns the number of steps after which the own rows were last unstable. The maximum
 * over all ranks is the number of steps of the block that left the grid unstable. */
static int active_steps(const cell *flags, int steps)
{
    while (steps > 0 && !flags[steps - 1]) steps--;
    return steps;
}

/* Topples the grid from step n on. Returns the number of the last step. The reduction
 * of the block of `pending` steps from step n on is under way while the next block is
 * computed. */
static int topple_rows(int n)
{
    int limit = state.shape.plan->max_iterations, halo = state.shape.halo;
    int own_active, active, pending = 0;
    cell flags[MAX_HALO];
    MPI_Request reduction;

    cpu_assign(state.first, state.end, state.planes);
    while (n < limit) {
        int begin = n + pending, steps = min_int(halo, limit - begin);
        if (steps) {
            memset(flags, 0, sizeof flags);
            cpu_steps(begin, steps, flags);
            exchange_ghosts();
        }
        if (pending) {
            MPI_CHECK(MPI_Wait(&reduction, MPI_STATUS_IGNORE));
            n += active < pending ? active + 1 : pending;
            if (active < pending) break;
        }
        if (steps) {
            own_active = active_steps(flags, steps);
            MPI_CHECK(MPI_Iallreduce(&own_active, &active, 1, MPI_INT, MPI_MAX,
                                     MPI_COMM_WORLD, &reduction));
        }
        pending = steps;
    }
    gather_rows();
    return n;
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    enum { HALO = 32 }; /* enough in shared memory: see the lesson */
    double start = seconds();

    if (plan->trace)
        fail("trace=: not supported by this back-end: expected the back-end omp");
    ranks_check_same("the pile", p->grid, pile_cells(p) * sizeof *p->grid);
    int mirror = find_mirror(p), side = stored_side(p->dim, mirror);
    state.shape = (grid_shape){plan, side, plane_width(side), mirror,
                               plan->halo ? plan->halo : HALO};
    distribute_rows();
    cpu_begin(&state.shape);
    state.planes = allocate(total_words(side), sizeof(cell), "the bit planes");
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));

    double ready = seconds();

    int n = topple_tall(p, plan, 7);
    if (n < plan->max_iterations && pile_or(p->grid, p->dim) > 3) {
        pack_planes(p, mirror, n, state.planes);
        n = topple_rows(n);
        unpack_planes(state.planes, mirror, n, p);
    }
    *p->iterations = n;

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(state.planes);
    cpu_end();
    return 0;
}
