/* mpi.c - topples a pile with MPI processes: which rank has which rows, and which
 * messages the ranks exchange.
 *
 * The rows of the pile are divided evenly into slabs (slab.h). A rank stores `halo`
 * ghost rows of each neighbor, which are sufficient for a temporal block of `halo`
 * steps; then the neighbors send them again. The first own rows are sent as soon as
 * they are ready, early in a block; the last own rows are sent at its end. The test for
 * stability is a nonblocking reduction: its result arrives during the next block, which
 * is then superfluous but harmless, because further steps do not change a stable pile.
 *
 * Left out: load balancing.
 */
#include <stdlib.h>

#include "slab.h"
#include "ranks.h"

/* UP: to lower ranks, which have the rows above. DOWN: to higher ranks. */
enum { UP, DOWN };

static struct {
    slab slab;
    cell *edge[2];  /* own rows to send: the first `halo` go up, the last go down */
    cell *ghost[2]; /* ghost rows: ghost[UP] come from below, ghost[DOWN] from above */
    MPI_Request *send[2], *recv;
    int sends[2], recvs;
    MPI_Datatype row;
} state;

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

static slab slab_of_rank(int rank)
{
    slab c = state.slab;
    int rows = inner_rows(&c, slab_total_rows(&c));
    c.first = split_at(&c, rank_first(rows, rank, rank_count()));
    c.end = split_at(&c, rank_first(rows, rank + 1, rank_count()));
    return c;
}

/* edge_first: the first own row to send in a direction. ghost_first: the first ghost
 * row that arrives with messages of that direction. */
static int edge_first(int way)
{
    const slab *c = &state.slab;
    return way == UP ? c->first : max_int(c->end - c->halo, c->first);
}

static int ghost_first(int way)
{
    return way == UP ? state.slab.end : slab_first_stored(&state.slab);
}

/* Creates the persistent requests, which are the same for every temporal block. If a
 * rank has fewer rows than the ghost zone, its neighbors receive from several ranks. */
static void create_requests(void)
{
    slab *c = &state.slab;
    size_t pitch = c->pitch;
    *c = slab_of_rank(rank_own());
    state.sends[UP] = state.sends[DOWN] = state.recvs = 0;
    for (int r = 0; r < rank_count(); r++) {
        if (r == rank_own()) continue;
        slab other = slab_of_rank(r);
        int send_way = r < rank_own() ? UP : DOWN,
            recv_way = r < rank_own() ? DOWN : UP;

        int first =
            max_int(c->first, send_way == UP ? other.end : slab_first_stored(&other));
        int end =
            min_int(c->end, send_way == UP ? slab_end_stored(&other) : other.first);
        if (first < end)
            MPI_CHECK(MPI_Send_init(state.edge[send_way] +
                                        (first - edge_first(send_way)) * pitch,
                                    end - first, state.row, r, send_way, MPI_COMM_WORLD,
                                    state.send[send_way] + state.sends[send_way]++));

        first = max_int(other.first, recv_way == UP ? c->end : slab_first_stored(c));
        end = min_int(other.end, recv_way == UP ? slab_end_stored(c) : c->first);
        if (first < end)
            MPI_CHECK(MPI_Recv_init(state.ghost[recv_way] +
                                        (first - ghost_first(recv_way)) * pitch,
                                    end - first, state.row, r, recv_way, MPI_COMM_WORLD,
                                    state.recv + state.recvs++));
    }
}

static void free_requests(void)
{
    for (int i = 0; i < state.recvs; i++) MPI_CHECK(MPI_Request_free(state.recv + i));
    for (int way = UP; way <= DOWN; way++)
        for (int i = 0; i < state.sends[way]; i++)
            MPI_CHECK(MPI_Request_free(state.send[way] + i));
}

/* Sends own rows, after the previous send in this direction has completed. */
static void send_edge(int way)
{
    const slab *c = &state.slab;
    int first = edge_first(way), end = min_int(c->end, first + c->halo);
    int grid_end =
        (c->first / c->side + 1) * c->side; /* end of the grid whose rows go up */
    if (way == UP) end = min_int(end, grid_end);
    if (!state.sends[way]) return;
    MPI_CHECK(MPI_Waitall(state.sends[way], state.send[way], MPI_STATUSES_IGNORE));
    cpu_read_rows(c, first, end, state.edge[way]);
    MPI_CHECK(MPI_Startall(state.sends[way], state.send[way]));
}

static void send_up(void)
{
    send_edge(UP);
}

/* Collects the own rows of all ranks into `rows`, which holds all rows of the pile, on
 * every rank. */
static void gather_rows(cell *rows)
{
    int ranks = rank_count();
    int *counts = allocate(2 * ranks, sizeof *counts, "the rows of each rank");
    for (int r = 0; r < ranks; r++) {
        slab other = slab_of_rank(r);
        counts[r] = other.end - other.first;
        counts[ranks + r] = other.first;
    }
    cpu_read_rows(&state.slab, state.slab.first, state.slab.end,
                  rows + state.slab.first * (size_t)state.slab.pitch);
    MPI_CHECK(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rows, counts,
                             counts + ranks, state.row, MPI_COMM_WORLD));
    free(counts);
}

/* Summarizes a temporal block as one number per grid: the number of steps after which
 * the grid was still unstable (these are the first steps of the block), plus one if the
 * last step left a cell above 7. The maximum over all ranks is that of the whole grid.
 */
static void count_active_steps(const cell *step_flags, int steps, int batch,
                               int *active_steps)
{
    for (int g = 0; g < batch; g++) {
        active_steps[g] = 0;
        for (int s = 0; s < steps; s++)
            if (step_flags[(size_t)s * batch + g] > 3) active_steps[g] = s + 1;
        active_steps[g] += step_flags[(size_t)(steps - 1) * batch + g] > 7;
    }
}

/* Records the iteration counts of grids that finished in the block. Returns 0 if all
 * grids are stable, more than 3 if one is unstable, and more than 7 if a cell exceeds
 * 7. */
static cell record_block(pile *p, const run_plan *plan, const int *active_steps, int n,
                         int steps)
{
    cell flags = 0;
    for (int g = 0; g < p->batch; g++) {
        bool stable = active_steps[g] < steps;
        int end = stable ? n + active_steps[g] + 1 : n + steps;
        if (p->iterations[g] < 0 && (stable || end == plan->max_iterations))
            p->iterations[g] = end;
        flags |= stable ? 0 : active_steps[g] > steps ? 8 : 4;
    }
    return flags;
}

/* Computes steps from step n until no cell exceeds `threshold` or the limit is reached.
 * rows contains all rows of the pile. Returns the number of steps, and in *any_flags
 * what record_block returned for the last block. */
static int topple_rows(pile *p, cell *rows, int n, cell threshold, cell *any_flags)
{
    slab *c = &state.slab;
    size_t pitch = c->pitch, batch = p->batch;
    int limit = c->plan->max_iterations;
    cell *step_flags =
        allocate(batch * c->halo, sizeof *step_flags, "the flags of each step");
    int *active_steps =
        allocate(2 * batch, sizeof *active_steps, "the step counts of a block");
    MPI_Request reduction = MPI_REQUEST_NULL;
    int pending_steps = 0; /* steps of the block whose reduction is pending; 0: none */

    MPI_CHECK(MPI_Type_contiguous(pitch, MPI_UINT32_T, &state.row));
    MPI_CHECK(MPI_Type_commit(&state.row));
    create_requests();
    cpu_assign(c, rows + slab_first_stored(c) * pitch, rows);
    *any_flags = threshold + 1;
    while (*any_flags > threshold && n < limit) {
        int steps = min_int(c->halo, limit - n);
        for (size_t i = 0; i < steps * batch; i++) step_flags[i] = 0;
        MPI_CHECK(MPI_Startall(state.recvs, state.recv));
        cpu_steps(c, n, steps, step_flags, send_up);
        send_edge(DOWN);
        if (pending_steps) {
            MPI_CHECK(MPI_Wait(&reduction, MPI_STATUS_IGNORE));
            *any_flags = record_block(p, c->plan, active_steps, n - pending_steps,
                                      pending_steps);
        }
        count_active_steps(step_flags, steps, batch, active_steps + batch);
        MPI_CHECK(MPI_Iallreduce(active_steps + batch, active_steps, batch, MPI_INT,
                                 MPI_MAX, MPI_COMM_WORLD, &reduction));
        pending_steps = steps;
        n += steps;
        if (!c->packed || n == limit) {
            MPI_CHECK(MPI_Wait(&reduction, MPI_STATUS_IGNORE));
            *any_flags = record_block(p, c->plan, active_steps, n - pending_steps,
                                      pending_steps);
            pending_steps = 0;
        }
        MPI_CHECK(MPI_Waitall(state.recvs, state.recv, MPI_STATUSES_IGNORE));
        cpu_set_ghosts(c, state.ghost[DOWN], state.ghost[UP]);
    }
    MPI_CHECK(MPI_Wait(&reduction, MPI_STATUS_IGNORE));
    for (int way = UP; way <= DOWN; way++)
        MPI_CHECK(MPI_Waitall(state.sends[way], state.send[way], MPI_STATUSES_IGNORE));
    gather_rows(rows);
    free_requests();
    MPI_CHECK(MPI_Type_free(&state.row));
    free(active_steps);
    free(step_flags);
    return n;
}

/* Selects bit planes (packed) or one word per cell. */
static void set_packed(int packed)
{
    slab *c = &state.slab;
    c->packed = packed;
    c->side = packed ? stored_side(c->p->dim, c->mirror) : c->p->dim;
    c->pitch = packed ? row_pitch(c->width) : c->side;
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    enum { HALO = 32 }; /* enough in shared memory: see the lesson */
    double start = seconds();

    if (plan->trace)
        fail("trace=: not supported by this back-end: expected the back-end omp");
    size_t cells = pile_cells(p), batch = p->batch;
    ranks_check_same("the pile", p->grid, batch * cells * sizeof *p->grid);
    int mirror = find_mirror(p), side = stored_side(p->dim, mirror);
    slab *c = &state.slab;
    *c = (slab){p, plan, mirror, plan->halo ? plan->halo : HALO,
                .width = plane_width(side)};
    set_packed(1);
    cpu_begin(c);
    size_t edge = (size_t)c->halo * max_int(c->pitch, p->dim);
    for (int way = UP; way <= DOWN; way++) {
        state.edge[way] = allocate(edge, sizeof(cell), "the rows to send");
        state.ghost[way] = allocate(edge, sizeof(cell), "the ghost rows");
        state.send[way] =
            allocate(rank_count(), sizeof(MPI_Request), "the send requests");
    }
    state.recv =
        allocate(2 * rank_count(), sizeof(MPI_Request), "the receive requests");
    cell *flags = allocate(batch, sizeof *flags, "the flags of each grid");
    cell *planes = allocate(total_words(p, side), sizeof *planes, "the bit planes");
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));

    double ready = seconds();

    int n = 0;
    for (size_t g = 0; g < batch; g++) flags[g] = pile_or(p->grid + g * cells, p->dim);
    cell any_flags = record_finished(p, plan, flags, n);
    if (any_flags > 7) {
        set_packed(0);
        n = topple_rows(p, p->grid, n, 7, &any_flags);
        set_packed(1);
    }
    if (any_flags <= 7) {
        pack_planes(p, mirror, n, planes);
        if (any_flags > 3) n = topple_rows(p, planes, n, 3, &any_flags);
        unpack_planes(planes, mirror, n, p);
    }

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    for (int way = UP; way <= DOWN; way++) {
        free(state.send[way]);
        free(state.ghost[way]);
        free(state.edge[way]);
    }
    free(state.recv);
    free(planes);
    free(flags);
    cpu_end();
    return 0;
}
