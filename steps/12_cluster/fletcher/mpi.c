/* mpi.c - the MPI back-end: the grid is divided along z into slabs, one per rank, and
 * neighbours exchange the HALO planes at their common border.
 *
 *     rank r - 1   .. inner | border |  halo  |
 *                                v        ^           HALO planes of p and q each way
 *     rank r                |  halo  | border | inner ..
 *
 * In each step a rank updates its border planes first, starts the exchange, updates its
 * inner planes while the messages are in flight, and then waits for the planes of its
 * neighbours. All steps exchange the same planes, so the program creates persistent
 * requests once and restarts them in each step. Planes are contiguous, so MPI sends
 * them from the fields without a copy.
 *
 * Left out: a division along y as well, which more ranks than planes / HALO would need.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fletcher.h"
#include "host.h"
#include "ranks.h"
#include "slab.h"

static grid g;           /* this rank's slab, with HALO planes on each side */
static int below, above; /* neighbouring ranks, or MPI_PROC_NULL */

/* Eight messages per step: p and q, to and from both neighbours. The two sets of
 * requests alternate, since the fields of the next step alternate. */
enum { MESSAGES = 8 };
static MPI_Request requests[2][MESSAGES];
static int slot;

/* ---- division of the grid -----------------------------------------------------------
 */

static int planes, active_ranks; /* planes of the whole grid; ranks that have a slab */

/* The first plane that rank r updates. Its last one precedes first_plane(r + 1). */
static int first_plane(int r)
{
    return HALO + rank_first(planes - 2 * HALO, r < active_ranks ? r : active_ranks,
                             active_ranks);
}

/* The first plane that rank r writes to files. The first and the last rank also write
 * the halo planes of the grid. */
static int first_written_plane(int r)
{
    return r <= 0 ? 0 : r < active_ranks ? first_plane(r) : planes;
}

/* A slab has at least HALO planes, so that each rank needs planes of its neighbours
 * only. If there are too many ranks for that, the last ones have no planes. */
slab slab_of(grid *whole_grid)
{
    const int r = rank_own(), max_ranks = (whole_grid->sz - 2 * HALO) / HALO;
    planes = whole_grid->sz;
    active_ranks = rank_count() < max_ranks ? rank_count()
                   : max_ranks > 1          ? max_ranks
                                            : 1;

    const int first = first_plane(r) - HALO;
    whole_grid->sz = first_plane(r + 1) + HALO - first;
    whole_grid->source_z -= first;
    return (slab){.total = planes,
                  .first = first,
                  .own_first = first_written_plane(r) - first,
                  .own_end = first_written_plane(r + 1) - first};
}

/* ---- the five functions of fletcher.h -----------------------------------------------
 */

/* Creates the requests for the HALO planes at both ends of p and q. Without a neighbour
 * the rank is MPI_PROC_NULL, and the request does nothing. */
static void prepare(MPI_Request *request, float *p, float *q)
{
    const int n = HALO * g.plane;
    for (int tag = 0; tag < 2; tag++) {
        float *first = tag ? q : p;
        float *last = first + (size_t)(g.sz - HALO) * (size_t)g.plane;
        MPI_Comm world = MPI_COMM_WORLD;
        MPI_CHECK(MPI_Recv_init(first, n, MPI_FLOAT, below, tag, world, request++));
        MPI_CHECK(MPI_Recv_init(last, n, MPI_FLOAT, above, tag, world, request++));
        MPI_CHECK(MPI_Send_init(first + n, n, MPI_FLOAT, below, tag, world, request++));
        MPI_CHECK(MPI_Send_init(last - n, n, MPI_FLOAT, above, tag, world, request++));
    }
}

size_t Initialize(const grid *input_grid, const float *medium)
{
    g = *input_grid;
    const int r = rank_own();
    below = r > 0 && r < active_ranks ? r - 1 : MPI_PROC_NULL;
    above = r + 1 < active_ranks ? r + 1 : MPI_PROC_NULL;

    unsigned long long own_bytes = host_begin(input_grid, medium), total_bytes;
    prepare(requests[0], pp, qp);
    prepare(requests[1], pc, qc);
    slot = 0;
    MPI_CHECK(MPI_Allreduce(&own_bytes, &total_bytes, 1, MPI_UNSIGNED_LONG_LONG,
                            MPI_SUM, MPI_COMM_WORLD));
    return total_bytes;
}

/* The source is also added in the halo: the planes that were received do not contain it
 * yet. */
void InsertSource(float f)
{
    if (g.source_z >= 0 && g.source_z < g.sz) host_source(f);
}

/* Lets MPI make progress: long messages advance only while a rank executes an MPI
 * function. */
static void poll_messages(void)
{
    int completed;
    MPI_CHECK(MPI_Testall(MESSAGES, requests[slot], &completed, MPI_STATUSES_IGNORE));
}

double Propagate(void)
{
    double start = seconds();
    const int first = HALO, end = g.sz - HALO;
    const int inner_first = below == MPI_PROC_NULL ? first : first + HALO;
    int inner_end = above == MPI_PROC_NULL ? end : end - HALO;
    if (inner_end < inner_first)
        inner_end = inner_first; /* a thin slab: all of its planes are border planes */

    host_planes(first, inner_first, NULL);
    host_planes(inner_end, end, NULL);
    MPI_CHECK(MPI_Startall(MESSAGES, requests[slot]));
    host_planes(inner_first, inner_end, poll_messages);
    MPI_CHECK(MPI_Waitall(MESSAGES, requests[slot], MPI_STATUSES_IGNORE));
    return seconds() - start;
}

void UpdatePointers(float *p, float *q)
{
    host_swap();
    slot = !slot;
    if (p) memcpy(p, pc, field_size(&g) * sizeof *p);
    if (q) memcpy(q, qc, field_size(&g) * sizeof *q);
    if (q)
        MPI_CHECK(MPI_Barrier(
            MPI_COMM_WORLD)); /* the run ends when the last rank has ended */
}

void Finalize(void)
{
    for (int i = 0; i < 2 * MESSAGES; i++)
        MPI_CHECK(MPI_Request_free(&requests[i / MESSAGES][i % MESSAGES]));
    host_end();
    printf("Ranks=%d\n", rank_count());
}

/* ---- files --------------------------------------------------------------------------
 */

void slab_require_equal(const char *what, const void *bytes, size_t size)
{
    ranks_check_same(what, bytes, size);
}

static MPI_Datatype plane_type(size_t size)
{
    MPI_Datatype plane;
    MPI_CHECK(MPI_Type_contiguous((int)size, MPI_BYTE, &plane));
    MPI_CHECK(MPI_Type_commit(&plane));
    return plane;
}

void slab_gather(const slab *s, void *array, size_t size)
{
    const int ranks = rank_count(), own_planes = s->own_end - s->own_first;
    int *counts = allocate(2 * (size_t)ranks, sizeof *counts, "planes of ranks");
    int *displacements = counts + ranks;
    for (int r = 0; r < ranks; r++) {
        displacements[r] = first_written_plane(r);
        counts[r] = first_written_plane(r + 1) - first_written_plane(r);
    }
    MPI_Datatype plane = plane_type(size);
    char *own_data = (char *)array + (size_t)(s->first + s->own_first) * size;
    MPI_CHECK(MPI_Gatherv(rank_own() ? own_data : MPI_IN_PLACE, own_planes, plane,
                          array, counts, displacements, plane, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Type_free(&plane));
    free(counts);
}

/* All ranks write their planes into one file with MPI-IO. Rank 0 opens the file and
 * writes the header; on the other ranks `result` is /dev/null. A path that is not a
 * regular file (a pipe) has no offsets, so its planes go through rank 0. */
void slab_write(const slab *s, const char *path, const npy *a)
{
    char header[NPY_HEADER], temporary_name[4096] = "";
    const size_t header_size = npy_header(a, header),
                 total_size = npy_count(a) * npy_size(a->type);
    const size_t plane_bytes = total_size / (size_t)s->total,
                 offset = (size_t)(s->first + s->own_first) * plane_bytes;
    const int own_planes = s->own_end - s->own_first;

    FILE *result = result_open(path);
    const char *temporary_path =
        result && !rank_own() ? result_temporary(result) : NULL;
    if (!result || (temporary_path && strlen(temporary_path) >= sizeof temporary_name))
        fail("%s: cannot be written: %s", path,
             strerror(result ? ENAMETOOLONG : errno));
    if (temporary_path) strcpy(temporary_name, temporary_path);
    MPI_CHECK(
        MPI_Bcast(temporary_name, sizeof temporary_name, MPI_CHAR, 0, MPI_COMM_WORLD));

    int error = 0;
    fwrite(header, 1, header_size, result);
    if (*temporary_name) {
        MPI_File file;
        MPI_Status status;
        MPI_Datatype plane = plane_type(plane_bytes);
        int written = 0;
        MPI_CHECK(MPI_File_open(MPI_COMM_WORLD, temporary_name, MPI_MODE_WRONLY,
                                MPI_INFO_NULL, &file));
        errno = 0;
        int err = MPI_File_write_at(file, (MPI_Offset)(header_size + offset), a->data,
                                    own_planes, plane, &status);
        if (!err) err = MPI_Get_count(&status, plane, &written);
        /* A file takes a part of a write if the disk is full. */
        if (err || written < own_planes) error = errno ? errno : err ? EIO : ENOSPC;
        MPI_CHECK(MPI_File_close(&file));
        MPI_CHECK(MPI_Type_free(&plane));
    } else {
        char *all_planes = allocate(total_size, 1, path);
        memcpy(all_planes + offset, a->data, (size_t)own_planes * plane_bytes);
        slab_gather(s, all_planes, plane_bytes);
        fwrite(all_planes, 1, total_size, result);
        free(all_planes);
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (error) {
        /* Rank 0 removes its file, then the rank that created the folder removes that
         * one, before the first rank that fails aborts the job. */
        for (int turn = 0; turn < 2; turn++) {
            if (turn == (rank_own() > 0)) result_drop(result);
            MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
        }
    } else if (result_close(result)) {
        error = errno;
    }
    if (error) fail("%s: cannot be written: %s", path, strerror(error));
}
