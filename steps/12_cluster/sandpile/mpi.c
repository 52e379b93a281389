/* mpi.c - a pile toppled by many processes: who has which rows, and what they tell each
 * other.
 *
 * The column of rows (column.h) is dealt out evenly. A rank keeps `halo` rows of its
 * neighbours', which last for as many steps; then it is sent them anew. Its first rows
 * go up as soon as they are ready, early in an epoch; its last ones go down when it
 * ends. Whether all has come to rest is asked without waiting: the answer comes while
 * the next epoch is made, in vain if it is yes, since a stable pile stays what it is.
 *
 * Left out: rows that move to whoever is faster.
 */
#include <stdlib.h>

#include "column.h"
#include "ranks.h"

/* To lower ranks, which have the rows above, and to higher ones. */
enum { UP, DOWN };

static struct {
    column c;
    cell *edge[2]; /* its first `halo` rows, which go up, and its last */
    cell *kept[2]; /* of others: what went up comes from below */
    MPI_Request *send[2], *recv;
    int sends[2], recvs;
    MPI_Datatype row;
} own;

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static column of_rank(int rank)
{
    column c = own.c;
    int rows = inner_rows(&c, rows_of(&c));
    c.first = cut_at(&c, rank_first(rows, rank, rank_count()));
    c.after = cut_at(&c, rank_first(rows, rank + 1, rank_count()));
    return c;
}

/* The first rows that go up or down, and those that come that way. */
static int edge_at(int way)
{
    const column *c = &own.c;
    return way == UP ? c->first : larger(c->after - c->halo, c->first);
}

static int kept_at(int way)
{
    return way == UP ? own.c.after : first_kept(&own.c);
}

/* What goes from rank to rank, the same at every epoch. Where ranks have fewer rows
 * than are kept, these come from several. */
static void address(void)
{
    column *c = &own.c;
    size_t pitch = c->pitch;
    *c = of_rank(rank_own());
    own.sends[UP] = own.sends[DOWN] = own.recvs = 0;
    for (int r = 0; r < rank_count(); r++) {
        if (r == rank_own()) continue;
        column o = of_rank(r);
        int to = r < rank_own() ? UP : DOWN, from = r < rank_own() ? DOWN : UP;

        int first = larger(c->first, to == UP ? o.after : first_kept(&o));
        int after = smaller(c->after, to == UP ? after_kept(&o) : o.first);
        if (first < after)
            MPI_TRY(MPI_Send_init(own.edge[to] + (first - edge_at(to)) * pitch,
                                  after - first, own.row, r, to, MPI_COMM_WORLD,
                                  own.send[to] + own.sends[to]++));

        first = larger(o.first, from == UP ? c->after : first_kept(c));
        after = smaller(o.after, from == UP ? after_kept(c) : c->first);
        if (first < after)
            MPI_TRY(MPI_Recv_init(own.kept[from] + (first - kept_at(from)) * pitch,
                                  after - first, own.row, r, from, MPI_COMM_WORLD,
                                  own.recv + own.recvs++));
    }
}

static void forget(void)
{
    for (int i = 0; i < own.recvs; i++) MPI_TRY(MPI_Request_free(own.recv + i));
    for (int way = UP; way <= DOWN; way++)
        for (int i = 0; i < own.sends[way]; i++)
            MPI_TRY(MPI_Request_free(own.send[way] + i));
}

/* Sends the edge; what was sent before has left by then. */
static void send(int way)
{
    const column *c = &own.c;
    int first = edge_at(way), after = smaller(c->after, first + c->halo);
    int end = (c->first / c->side + 1) * c->side; /* of the grid whose rows go up */
    if (way == UP) after = smaller(after, end);
    if (!own.sends[way]) return;
    MPI_TRY(MPI_Waitall(own.sends[way], own.send[way], MPI_STATUSES_IGNORE));
    cpu_give(c, first, after, own.edge[way]);
    MPI_TRY(MPI_Startall(own.sends[way], own.send[way]));
}

static void send_up(void)
{
    send(UP);
}

/* Has every rank's rows put into rows, the whole column, of all ranks. */
static void gather(cell *rows)
{
    int ranks = rank_count();
    int *count = allocate(2 * ranks, sizeof *count, "who has how many rows");
    for (int r = 0; r < ranks; r++) {
        column o = of_rank(r);
        count[r] = o.after - o.first;
        count[ranks + r] = o.first;
    }
    cpu_give(&own.c, own.c.first, own.c.after,
             rows + own.c.first * (size_t)own.c.pitch);
    MPI_TRY(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rows, count,
                           count + ranks, own.row, MPI_COMM_WORLD));
    free(count);
}

/* What an epoch has come to, as one number a grid: how many of its steps left it
 * unstable, which are the first of them, and one more if the last left a cell above 7.
 * The largest of all ranks is the grid's. */
static void sum_up(const cell *found, int steps, int batch, int *live)
{
    for (int g = 0; g < batch; g++) {
        live[g] = 0;
        for (int s = 0; s < steps; s++)
            if (found[(size_t)s * batch + g] > 3) live[g] = s + 1;
        live[g] += found[(size_t)(steps - 1) * batch + g] > 7;
    }
}

/* The same for all grids, whose counts are noted if they have come to their end: 0 if
 * all are stable, above 3 if one is not, above 7 if a cell is. */
static cell judge(pile *p, const plan *how, const int *live, int n, int steps)
{
    cell bits = 0;
    for (int g = 0; g < p->batch; g++) {
        bool stable = live[g] < steps;
        int end = stable ? n + live[g] + 1 : n + steps;
        if (p->iterations[g] < 0 && (stable || end == how->max_iterations))
            p->iterations[g] = end;
        bits |= stable ? 0 : live[g] > steps ? 8 : 4;
    }
    return bits;
}

/* Steps rows, the whole column, from step n on until no grid has a cell above `low` or
 * the limit is reached. Returns the step, and in *left what judge says of the last. */
static int topple_rows(pile *p, cell *rows, int n, cell low, cell *left)
{
    column *c = &own.c;
    size_t pitch = c->pitch, batch = p->batch;
    int limit = c->how->max_iterations;
    cell *found = allocate(batch * c->halo, sizeof *found, "what a step has found");
    int *live = allocate(2 * batch, sizeof *live, "what an epoch has come to");
    MPI_Request asked = MPI_REQUEST_NULL;
    int before =
        0; /* steps of the epoch that is asked about, which ended with step n */

    MPI_TRY(MPI_Type_contiguous(pitch, MPI_UINT32_T, &own.row));
    MPI_TRY(MPI_Type_commit(&own.row));
    address();
    cpu_take(c, rows + first_kept(c) * pitch, rows);
    *left = low + 1;
    while (*left > low && n < limit) {
        int steps = smaller(c->halo, limit - n);
        for (size_t i = 0; i < steps * batch; i++) found[i] = 0;
        MPI_TRY(MPI_Startall(own.recvs, own.recv));
        cpu_steps(c, n, steps, found, send_up);
        send(DOWN);
        if (before) {
            MPI_TRY(MPI_Wait(&asked, MPI_STATUS_IGNORE));
            *left = judge(p, c->how, live, n - before, before);
        }
        sum_up(found, steps, batch, live + batch);
        MPI_TRY(MPI_Iallreduce(live + batch, live, batch, MPI_INT, MPI_MAX,
                               MPI_COMM_WORLD, &asked));
        before = steps;
        n += steps;
        if (!c->packed || n == limit) {
            MPI_TRY(MPI_Wait(&asked, MPI_STATUS_IGNORE));
            *left = judge(p, c->how, live, n - before, before);
            before = 0;
        }
        MPI_TRY(MPI_Waitall(own.recvs, own.recv, MPI_STATUSES_IGNORE));
        cpu_keep(c, own.kept[DOWN], own.kept[UP]);
    }
    MPI_TRY(MPI_Wait(&asked, MPI_STATUS_IGNORE));
    for (int way = UP; way <= DOWN; way++)
        MPI_TRY(MPI_Waitall(own.sends[way], own.send[way], MPI_STATUSES_IGNORE));
    gather(rows);
    forget();
    MPI_TRY(MPI_Type_free(&own.row));
    free(live);
    free(found);
    return n;
}

/* The pile as numbers, or as bits. */
static void shape(int packed)
{
    column *c = &own.c;
    c->packed = packed;
    c->side = packed ? side_of(c->p->dim, c->mirror) : c->p->dim;
    c->pitch = packed ? pitch_of(c->width) : c->side;
}

int topple(pile *p, const plan *how, run_times *t)
{
    enum { HALO = 32 };
    double start = seconds();

    if (how->tiles) fail("trace=: the back-end omp has it");
    size_t cells = pile_cells(p), batch = p->batch;
    ranks_same("the pile", p->grid, batch * cells * sizeof *p->grid);
    int mirror = mirror_of(p), side = side_of(p->dim, mirror);
    column *c = &own.c;
    *c =
        (column){p, how, mirror, how->halo ? how->halo : HALO, .width = width_of(side)};
    shape(1);
    cpu_begin(c);
    size_t edge = (size_t)c->halo * larger(c->pitch, p->dim);
    for (int way = UP; way <= DOWN; way++) {
        own.edge[way] = allocate(edge, sizeof(cell), "rows for other ranks");
        own.kept[way] = allocate(edge, sizeof(cell), "rows of other ranks");
        own.send[way] = allocate(rank_count(), sizeof(MPI_Request), "who is sent rows");
    }
    own.recv = allocate(2 * rank_count(), sizeof(MPI_Request), "who sends rows");
    cell *bits = allocate(batch, sizeof *bits, "the bits of each grid");
    cell *planes = allocate(words_of(p, side), sizeof *planes, "the grids in bits");
    MPI_TRY(MPI_Barrier(MPI_COMM_WORLD));

    double ready = seconds();

    int n = 0;
    for (size_t g = 0; g < batch; g++) bits[g] = pile_bits(p->grid + g * cells, p->dim);
    cell left = note(p, how, bits, n);
    if (left > 7) {
        shape(0);
        n = topple_rows(p, p->grid, n, 7, &left);
        shape(1);
    }
    if (left <= 7) {
        pack_bits(p, mirror, n, planes);
        if (left > 3) n = topple_rows(p, planes, n, 3, &left);
        unpack_bits(planes, mirror, n, p);
    }

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    for (int way = UP; way <= DOWN; way++) {
        free(own.send[way]);
        free(own.kept[way]);
        free(own.edge[way]);
    }
    free(own.recv);
    free(planes);
    free(bits);
    cpu_end();
    return 0;
}
