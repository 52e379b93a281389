/* mpi.c - communication between the ranks.
 *
 *     halo exchange      with both neighbours, after each half sweep
 *     global reduction   convergence flags, once per batch of sweeps
 *     plane exchange     planes from which the flow reaches a slab; any ranks
 *     all-to-all         transposes of the pressure solver, planes to rows and back
 *
 * Transfers that are repeated with the same buffers and sizes are persistent requests
 * (MPI_Send_init, MPI_Startall).
 *
 * Left out: splitting the box along y and x, too. A rank would have more neighbours and
 * smaller messages.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "ranks.h"
#include "slab.h"

enum { ABOVE, BELOW, SIDES };

static grid g;
static slab own_slab;
static MPI_Request halo[FIELDS][2][2 * SIDES]; /* for each colour */
static MPI_Request *to_row_requests, *to_plane_requests,
    *plane_transfers;       /* plane_transfers: at most 4 per rank */
static int *plane_requests; /* [ranks][2]: first and last plane that each rank needs */

static int first_plane(int rank)
{
    return rank_first(g.nz, rank, rank_count()) + 1;
}

/* Returns the rank that has an inner plane; MPI_PROC_NULL if the plane does not exist.
 */
static int owner(int k)
{
    int rank = 0;
    if (k < 1 || k > g.nz || own_slab.first > own_slab.last) return MPI_PROC_NULL;
    while (first_plane(rank + 1) <= k) rank++;
    return rank;
}

static slab rank_slab(int rank)
{
    slab s = {.first = first_plane(rank), .last = first_plane(rank + 1) - 1};
    s.bottom = s.first == 1 ? 0 : s.first;
    s.top = s.last == g.nz ? g.nz + 1 : s.last;
    if (s.first > s.last) s.bottom = 1, s.top = 0;
    s.first_row = rank_first(g.ny, rank, rank_count());
    s.rows = rank_first(g.ny, rank + 1, rank_count()) - s.first_row;
    return s;
}

slab find_slab(const setup *s)
{
    ranks_check_same("the events", &s->events, sizeof s->events);
    g = s->g;
    return own_slab = rank_slab(rank_own());
}

/* The cells of one colour in plane k: address and number, as MPI takes them. */
#define PLANE(x, k, colour)                                                            \
    (x) + half_plane(g, k, colour), (int)half_planes_length(g, k, k, colour), MPI_FLOAT

static void create_halo_requests(int f, float *x, int colour)
{
    int lowest = own_slab.first, highest = own_slab.last;
    int below = owner(lowest - 1), above = owner(highest + 1);
    MPI_Request *r = halo[f][colour];
    MPI_CHECK(MPI_Recv_init(PLANE(x, lowest - 1, colour), below, ABOVE, MPI_COMM_WORLD,
                            &r[0]));
    MPI_CHECK(MPI_Recv_init(PLANE(x, highest + 1, colour), above, BELOW, MPI_COMM_WORLD,
                            &r[1]));
    MPI_CHECK(
        MPI_Send_init(PLANE(x, lowest, colour), below, BELOW, MPI_COMM_WORLD, &r[2]));
    MPI_CHECK(
        MPI_Send_init(PLANE(x, highest, colour), above, ABOVE, MPI_COMM_WORLD, &r[3]));
}

/* Creates the requests of the two transposes. For each rank there is a block: this
 * rank's planes of that rank's rows. In modes a block is strided, one run of rows per
 * plane; in row_modes a block is contiguous. */
static void create_transpose_requests(float *modes, float *row_modes, size_t pitch)
{
    int own = own_slab.last - own_slab.first + 1, row_length = (int)pitch;
    for (int rank = 0; rank < rank_count(); rank++) {
        slab other = rank_slab(rank);
        MPI_Datatype block_type;
        MPI_CHECK(MPI_Type_vector(own, other.rows * row_length, g.ny * row_length,
                                  MPI_FLOAT, &block_type));
        MPI_CHECK(MPI_Type_commit(&block_type));
        float *in_planes = modes + pitch * (size_t)other.first_row, *in_rows;
        in_rows = row_modes + pitch * (size_t)own_slab.rows * (size_t)(other.first - 1);
        int size = (other.last - other.first + 1) * own_slab.rows * row_length;
        MPI_Request *forward = to_row_requests + 2 * rank,
                    *backward = to_plane_requests + 2 * rank;
        MPI_CHECK(MPI_Recv_init(in_rows, size, MPI_FLOAT, rank, 0, MPI_COMM_WORLD,
                                &forward[0]));
        MPI_CHECK(MPI_Send_init(in_planes, 1, block_type, rank, 0, MPI_COMM_WORLD,
                                &forward[1]));
        MPI_CHECK(MPI_Recv_init(in_planes, 1, block_type, rank, 1, MPI_COMM_WORLD,
                                &backward[0]));
        MPI_CHECK(MPI_Send_init(in_rows, size, MPI_FLOAT, rank, 1, MPI_COMM_WORLD,
                                &backward[1]));
        MPI_CHECK(MPI_Type_free(&block_type));
    }
}

void ranks_begin(float *const field[FIELDS], float *modes, float *row_modes,
                 size_t pitch)
{
    size_t ranks = (size_t)rank_count();
    to_row_requests = allocate(2 * ranks, sizeof *plane_transfers, "requests");
    to_plane_requests = allocate(2 * ranks, sizeof *plane_transfers, "requests");
    plane_transfers = allocate(4 * ranks, sizeof *plane_transfers, "requests");
    plane_requests = allocate(2 * ranks, sizeof *plane_requests, "plane requests");
    for (int f = 0; f < FIELDS; f++)
        for (int colour = RED; colour <= BLACK; colour++)
            create_halo_requests(f, field[f], colour);
    create_transpose_requests(modes, row_modes, pitch);
}

static void free_requests(MPI_Request *r, int count)
{
    for (int n = 0; n < count; n++) MPI_CHECK(MPI_Request_free(&r[n]));
}

void ranks_end(void)
{
    for (int f = 0; f < FIELDS; f++)
        for (int colour = RED; colour <= BLACK; colour++)
            free_requests(halo[f][colour], 2 * SIDES);
    free_requests(to_row_requests, 2 * rank_count());
    free_requests(to_plane_requests, 2 * rank_count());
    free(to_row_requests);
    free(to_plane_requests);
    free(plane_transfers);
    free(plane_requests);
}

void halo_begin(int field, int colour)
{
    MPI_CHECK(MPI_Startall(2 * SIDES, halo[field][colour]));
}

void halo_end(int field, int colour)
{
    MPI_CHECK(MPI_Waitall(2 * SIDES, halo[field][colour], MPI_STATUSES_IGNORE));
}

void transpose_to_rows(void)
{
    MPI_CHECK(MPI_Startall(2 * rank_count(), to_row_requests));
    MPI_CHECK(MPI_Waitall(2 * rank_count(), to_row_requests, MPI_STATUSES_IGNORE));
}

void transpose_to_planes(void)
{
    MPI_CHECK(MPI_Startall(2 * rank_count(), to_plane_requests));
    MPI_CHECK(MPI_Waitall(2 * rank_count(), to_plane_requests, MPI_STATUSES_IGNORE));
}

void reduce_flags(int *far, int count)
{
    MPI_CHECK(
        MPI_Allreduce(MPI_IN_PLACE, far, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
}

/* Intersection of the planes of a slab with a requested range. */
static slab intersect(slab available, const int *request)
{
    slab both = {.first = request[0], .last = request[1]};
    if (both.first < available.bottom) both.first = available.bottom;
    if (both.last > available.top) both.last = available.top;
    return both;
}

void gather_planes(float *x, int low, int high)
{
    int request_count = 0, *request = plane_requests + 2 * rank_own();
    request[0] = low;
    request[1] = high;
    MPI_CHECK(MPI_Allgather(MPI_IN_PLACE, 2, MPI_INT, plane_requests, 2, MPI_INT,
                            MPI_COMM_WORLD));
    for (int rank = 0; rank < rank_count(); rank++) {
        slab incoming = intersect(rank_slab(rank), request);
        slab outgoing = intersect(own_slab, plane_requests + 2 * rank);
        if (rank == rank_own()) continue;
        for (int colour = RED; colour <= BLACK; colour++) {
            if (incoming.first <= incoming.last)
                MPI_CHECK(MPI_Irecv(
                    x + half_plane(g, incoming.first, colour),
                    (int)half_planes_length(g, incoming.first, incoming.last, colour),
                    MPI_FLOAT, rank, colour, MPI_COMM_WORLD,
                    &plane_transfers[request_count++]));
            if (outgoing.first <= outgoing.last)
                MPI_CHECK(MPI_Isend(
                    x + half_plane(g, outgoing.first, colour),
                    (int)half_planes_length(g, outgoing.first, outgoing.last, colour),
                    MPI_FLOAT, rank, colour, MPI_COMM_WORLD,
                    &plane_transfers[request_count++]));
        }
    }
    MPI_CHECK(MPI_Waitall(request_count, plane_transfers, MPI_STATUSES_IGNORE));
}

void gather_on_rank_0(float *x)
{
    gather_planes(x, 0, rank_own() ? -1 : g.nz + 1);
}
