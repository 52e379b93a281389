/* mpi.c - what ranks tell one another.
 *
 * Neighbours tell what lies at their border, half sweep by half sweep. All tell all
 * whether something still moves, once in some sweeps; the planes from which the flow
 * comes, which may be far; and the waves of a pressure, which need the box as rows
 * after they had it as planes.
 *
 * What is sent again and again from the same place, and as much, is said once, as a
 * request that is started as often as it is needed.
 *
 * Left out: cuts along y and x, by which a rank would have more neighbours and less to
 * tell each.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "ranks.h"
#include "slab.h"

enum { ABOVE, BELOW, SIDES };

static grid g;
static slab mine;
static MPI_Request halo[FIELDS][2][2 * SIDES];     /* of each colour */
static MPI_Request *to_columns, *to_planes, *some; /* 4 a rank at most */
static int *wishes;                                /* [ranks][2]: planes */

static int first_plane(int rank)
{
    return rank_first(g.nz, rank, rank_count()) + 1;
}

/* Who has an inner plane; nobody, if there is none. */
static int owner(int k)
{
    int rank = 0;
    if (k < 1 || k > g.nz || mine.first > mine.last) return MPI_PROC_NULL;
    while (first_plane(rank + 1) <= k) rank++;
    return rank;
}

static slab slab_of_rank(int rank)
{
    slab s = {.first = first_plane(rank), .last = first_plane(rank + 1) - 1};
    s.bottom = s.first == 1 ? 0 : s.first;
    s.top = s.last == g.nz ? g.nz + 1 : s.last;
    if (s.first > s.last) s.bottom = 1, s.top = 0;
    s.rows_from = rank_first(g.ny, rank, rank_count());
    s.rows = rank_first(g.ny, rank + 1, rank_count()) - s.rows_from;
    return s;
}

slab slab_of(grid box)
{
    g = box;
    return mine = slab_of_rank(rank_own());
}

static float *plane_at(float *x, int colour, int k)
{
    return x + (colour == RED ? 0 : half_of(g)) + (size_t)plane_of(g) * (size_t)k;
}

static void say_halo(int f, float *x, int colour)
{
    int size = plane_of(g), below = owner(mine.first - 1), above = owner(mine.last + 1);
    MPI_Request *r = halo[f][colour];
    float *lowest = plane_at(x, colour, mine.first), *highest;
    highest = plane_at(x, colour, mine.last);
    MPI_TRY(MPI_Recv_init(lowest - size, size, MPI_FLOAT, below, ABOVE, MPI_COMM_WORLD,
                          &r[0]));
    MPI_TRY(MPI_Recv_init(highest + size, size, MPI_FLOAT, above, BELOW, MPI_COMM_WORLD,
                          &r[1]));
    MPI_TRY(
        MPI_Send_init(lowest, size, MPI_FLOAT, below, BELOW, MPI_COMM_WORLD, &r[2]));
    MPI_TRY(
        MPI_Send_init(highest, size, MPI_FLOAT, above, ABOVE, MPI_COMM_WORLD, &r[3]));
}

/* This rank's planes have a piece for each rank, its rows, and its columns have one of
 * each rank, its planes. In planes a piece is as many stretches as there are planes; in
 * columns it lies in one. */
static void say_waves(float *waves, float *columns, size_t pitch)
{
    int own = mine.last - mine.first + 1, wide = (int)pitch;
    for (int rank = 0; rank < rank_count(); rank++) {
        slab other = slab_of_rank(rank);
        MPI_Datatype piece;
        MPI_TRY(
            MPI_Type_vector(own, other.rows * wide, g.ny * wide, MPI_FLOAT, &piece));
        MPI_TRY(MPI_Type_commit(&piece));
        float *in_planes = waves + pitch * (size_t)other.rows_from, *in_columns;
        in_columns = columns + pitch * (size_t)mine.rows * (size_t)(other.first - 1);
        int size = (other.last - other.first + 1) * mine.rows * wide;
        MPI_Request *there = to_columns + 2 * rank, *back = to_planes + 2 * rank;
        MPI_TRY(MPI_Recv_init(in_columns, size, MPI_FLOAT, rank, 0, MPI_COMM_WORLD,
                              &there[0]));
        MPI_TRY(MPI_Send_init(in_planes, 1, piece, rank, 0, MPI_COMM_WORLD, &there[1]));
        MPI_TRY(MPI_Recv_init(in_planes, 1, piece, rank, 1, MPI_COMM_WORLD, &back[0]));
        MPI_TRY(MPI_Send_init(in_columns, size, MPI_FLOAT, rank, 1, MPI_COMM_WORLD,
                              &back[1]));
        MPI_TRY(MPI_Type_free(&piece));
    }
}

void ranks_begin(float *const field[FIELDS], float *waves, float *columns, size_t pitch)
{
    size_t ranks = (size_t)rank_count();
    to_columns = allocate(2 * ranks, sizeof *some, "requests");
    to_planes = allocate(2 * ranks, sizeof *some, "requests");
    some = allocate(4 * ranks, sizeof *some, "requests");
    wishes = allocate(2 * ranks, sizeof *wishes, "wishes");
    for (int f = 0; f < FIELDS; f++)
        for (int colour = RED; colour <= BLACK; colour++) say_halo(f, field[f], colour);
    say_waves(waves, columns, pitch);
}

static void forget(MPI_Request *r, int count)
{
    for (int n = 0; n < count; n++) MPI_TRY(MPI_Request_free(&r[n]));
}

void ranks_end(void)
{
    for (int f = 0; f < FIELDS; f++)
        for (int colour = RED; colour <= BLACK; colour++)
            forget(halo[f][colour], 2 * SIDES);
    forget(to_columns, 2 * rank_count());
    forget(to_planes, 2 * rank_count());
    free(to_columns);
    free(to_planes);
    free(some);
    free(wishes);
}

void halo_begin(int field, int colour)
{
    MPI_TRY(MPI_Startall(2 * SIDES, halo[field][colour]));
}

void halo_end(int field, int colour)
{
    MPI_TRY(MPI_Waitall(2 * SIDES, halo[field][colour], MPI_STATUSES_IGNORE));
}

void waves_to_columns(void)
{
    MPI_TRY(MPI_Startall(2 * rank_count(), to_columns));
    MPI_TRY(MPI_Waitall(2 * rank_count(), to_columns, MPI_STATUSES_IGNORE));
}

void waves_to_planes(void)
{
    MPI_TRY(MPI_Startall(2 * rank_count(), to_planes));
    MPI_TRY(MPI_Waitall(2 * rank_count(), to_planes, MPI_STATUSES_IGNORE));
}

void agree(int *far, int count)
{
    MPI_TRY(MPI_Allreduce(MPI_IN_PLACE, far, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
}

/* The planes that are both had and wanted. */
static slab common(slab has, const int *wish)
{
    slab both = {.first = wish[0], .last = wish[1]};
    if (both.first < has.bottom) both.first = has.bottom;
    if (both.last > has.top) both.last = has.top;
    return both;
}

void planes_from_all(float *x, int low, int high)
{
    int requests = 0, *wish = wishes + 2 * rank_own();
    wish[0] = low;
    wish[1] = high;
    MPI_TRY(
        MPI_Allgather(MPI_IN_PLACE, 2, MPI_INT, wishes, 2, MPI_INT, MPI_COMM_WORLD));
    for (int rank = 0; rank < rank_count(); rank++) {
        slab theirs = common(slab_of_rank(rank), wish);
        slab ours = common(mine, wishes + 2 * rank);
        if (rank == rank_own()) continue;
        for (int colour = RED; colour <= BLACK; colour++) {
            int in = theirs.last - theirs.first + 1, out = ours.last - ours.first + 1;
            if (in > 0)
                MPI_TRY(MPI_Irecv(plane_at(x, colour, theirs.first), in * plane_of(g),
                                  MPI_FLOAT, rank, colour, MPI_COMM_WORLD,
                                  &some[requests++]));
            if (out > 0)
                MPI_TRY(MPI_Isend(plane_at(x, colour, ours.first), out * plane_of(g),
                                  MPI_FLOAT, rank, colour, MPI_COMM_WORLD,
                                  &some[requests++]));
        }
    }
    MPI_TRY(MPI_Waitall(requests, some, MPI_STATUSES_IGNORE));
}

void planes_to_first(float *x)
{
    planes_from_all(x, 0, rank_own() ? -1 : g.nz + 1);
}
