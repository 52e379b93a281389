/* mpi.c - MPI's implementation of processes.h: a section is computed by many ranks.
 *
 * Output traces are distributed dynamically: each rank takes the number of its next
 * trace from a shared counter (MPI one-sided communication) and writes the result to
 * its place in the common file. There is no master. A failure of one rank ends the job;
 * the file records which traces are done, and the same command resumes it. To
 * distribute one search, the values of A are divided into consecutive ranges, one per
 * rank.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "processes.h"
#include "journal.h"
#include "ranks.h"
#include "body.h"

/* The number of the next trace, in memory of rank 0 that all ranks can access. */
static MPI_Win counter = MPI_WIN_NULL;

int proc_next_item(void)
{
    if (counter == MPI_WIN_NULL) { /* the first call is collective */
        int *next, first = !rank_own();
        MPI_CHECK(MPI_Win_allocate(first ? sizeof *next : 0, sizeof *next,
                                   MPI_INFO_NULL, MPI_COMM_WORLD, &next, &counter));
        MPI_CHECK(MPI_Win_lock_all(MPI_MODE_NOCHECK, counter));
        if (first) *next = 0;
        MPI_CHECK(MPI_Win_sync(counter));
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    }
    int increment = 1, item;
    MPI_CHECK(MPI_Fetch_and_op(&increment, &item, MPI_INT, 0, 0, MPI_SUM, counter));
    MPI_CHECK(MPI_Win_flush(0, counter));
    return item;
}

/* Progress of one-sided communication: on networks without remote atomics, rank 0
 * executes the others' additions inside its own MPI calls. So it must call MPI
 * regularly; MPI_Iprobe is such a call. */
void proc_progress(void)
{
    int pending;
    MPI_CHECK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &pending,
                         MPI_STATUS_IGNORE));
}

/* ---- one file, written by all ---- */

static MPI_File file[JOURNAL_FILES];

/* Returns NULL on success, otherwise the reason: the system's message if there is one,
 * because it is more specific than MPI's. */
static const char *why_not(int err)
{
    static char why[MPI_MAX_ERROR_STRING];
    int length;
    if (err == MPI_SUCCESS) return NULL;
    if (errno) return strerror(errno);
    MPI_Error_string(err, why, &length);
    return why;
}

/* Opens the file for this rank alone (MPI_COMM_SELF). On a file opened by all ranks,
 * MPI_File_sync would be collective, and the ranks would wait for each other. */
const char *proc_open(int f, const char *path)
{
    errno = 0;
    return why_not(
        MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file[f]));
}

const char *proc_write(int f, const void *bytes, size_t size, size_t offset)
{
    MPI_Status status;
    int written = 0;
    errno = 0;
    int err = MPI_File_write_at(file[f], (MPI_Offset)offset, bytes, (int)size, MPI_BYTE,
                                &status);
    if (err == MPI_SUCCESS) err = MPI_Get_count(&status, MPI_BYTE, &written);
    if (err == MPI_SUCCESS && written != (int)size)
        return "no space for the whole trace";
    return why_not(err);
}

const char *proc_sync(int f)
{
    errno = 0;
    return why_not(MPI_File_sync(file[f]));
}

const char *proc_close(int f)
{
    errno = 0;
    int err = MPI_File_sync(file[f]);
    return why_not(err == MPI_SUCCESS ? MPI_File_close(&file[f]) : err);
}

/* ---- the gather: read once per node ---- */

/* Reads all headers, in each rank: they are small, and select the traces of an
 * aperture. */
int proc_read_headers(const char *path, su_order order, su_gather *g,
                      char why[SU_REASON_SIZE])
{
    if (su_read_headers(path, order, g, why) != 0) return -1;
    uint64_t hash = 0;
    for (size_t i = 0; i < g->ntraces; i++)
        hash = digest_update(hash, &g->trace[i].header, SU_HEADER_BYTES);
    ranks_check_same(path, &hash, sizeof hash);
    return 0;
}

enum { HEADER = SU_HEADER_BYTES / sizeof(float), BATCH_BYTES = 4 << 20 };

/* Reads n consecutive traces, header and samples, from trace `low` of the file on; each
 * goes to a row of `pitch` floats, which may be longer than a trace of the file. About
 * BATCH_BYTES are read at a time. */
static void read_rows(const char *path, const su_gather *g, size_t low, size_t n,
                      float *row, int pitch)
{
    MPI_File file;
    MPI_Datatype trace, spaced;
    int bytes = g->pitch * (int)sizeof(float), batch = 1 + BATCH_BYTES / bytes;
    MPI_CHECK(MPI_Type_contiguous(bytes, MPI_BYTE, &trace));
    MPI_CHECK(
        MPI_Type_create_resized(trace, 0, pitch * (MPI_Aint)sizeof(float), &spaced));
    MPI_CHECK(MPI_Type_commit(&spaced));
    MPI_CHECK(
        MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    for (size_t i = 0; i < n; i += (size_t)batch) {
        int count = n - i < (size_t)batch ? (int)(n - i) : batch, received;
        MPI_Status status;
        MPI_CHECK(MPI_File_read_at(file, (MPI_Offset)(low + i) * bytes,
                                   row + i * (size_t)pitch, count, spaced, &status));
        MPI_CHECK(MPI_Get_count(&status, spaced, &received));
        if (received != count) fail("%s: became shorter while it was read", path);
    }
    MPI_CHECK(MPI_File_close(&file));
    MPI_CHECK(MPI_Type_free(&spaced));
    MPI_CHECK(MPI_Type_free(&trace));
}

static MPI_Win samples = MPI_WIN_NULL; /* shared by the ranks of a node */
static int node_rank;

bool proc_owns_samples(void)
{
    return !node_rank;
}

su_gather proc_read_samples(const char *path, su_gather *g, int low, int high)
{
    MPI_Comm node;
    MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                                  MPI_INFO_NULL, &node));
    MPI_CHECK(MPI_Comm_rank(node, &node_rank));

    /* A row holds g->first free floats, then the trace as the file has it: HEADER
     * floats of header, then the samples. When the header has been read, the data of
     * the trace begin HEADER + skipped floats after the start of the row: g->first
     * zeros, which may overwrite the header, then the recorded samples from time 0 on.
     */
    su_gather part = *g;
    part.trace += low;
    part.ntraces = (size_t)(high - low + 1);
    part.pitch = g->first + g->pitch;
    int skipped = g->pitch - HEADER - (g->ns - g->first); /* samples before time 0 */

    /* One rank of a node allocates the shared memory; the others look up its address.
     */
    MPI_Aint size = node_rank ? 0 : (MPI_Aint)(part.ntraces * (size_t)part.pitch);
    float *row;
    int unit;
    MPI_CHECK(MPI_Win_allocate_shared(size * (MPI_Aint)sizeof(float), sizeof(float),
                                      MPI_INFO_NULL, node, &row, &samples));
    MPI_CHECK(MPI_Win_shared_query(samples, 0, &size, &unit, &row));
    part.samples = row + HEADER + skipped;
    for (size_t i = 0; i < part.ntraces; i++)
        part.trace[i].data = part.samples + i * (size_t)part.pitch;

    uint64_t hash = 0;
    MPI_CHECK(MPI_Win_fence(0, samples));
    if (!node_rank) {
        char why[SU_REASON_SIZE];
        read_rows(path, g, (size_t)low, part.ntraces, row + g->first, part.pitch);
        for (size_t i = 0; i < part.ntraces; i++) {
            memset(part.trace[i].data, 0, (size_t)g->first * sizeof(float));
            hash =
                digest_update(hash, part.trace[i].data, (size_t)g->ns * sizeof(float));
        }
        if (su_check_samples(&part, (size_t)low, why) != 0) fail("%s: %s", path, why);
    }
    MPI_CHECK(MPI_Win_fence(0, samples));

    MPI_CHECK(MPI_Bcast(&hash, 1, MPI_UINT64_T, 0, node));
    ranks_check_same(path, &hash, sizeof hash);
    MPI_CHECK(MPI_Comm_free(&node));
    return part;
}

/* ---- agreement, and the end ---- */

void proc_require_same(const char *what, const void *bytes, size_t size)
{
    ranks_check_same(what, bytes, size);
}

void proc_broadcast(void *bytes, size_t size)
{
    MPI_CHECK(MPI_Bcast(bytes, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD));
}

void proc_sum(double *value, int count)
{
    MPI_CHECK(
        MPI_Allreduce(MPI_IN_PLACE, value, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
}

void proc_free_gather(su_gather *g)
{
    if (samples != MPI_WIN_NULL) MPI_CHECK(MPI_Win_free(&samples));
    if (counter != MPI_WIN_NULL) {
        MPI_CHECK(MPI_Win_unlock_all(counter));
        MPI_CHECK(MPI_Win_free(&counter));
    }
    su_free(g);
}

/* ---- one search ----
 *
 * Each rank searches a consecutive range of A, one value at a time: a query with a
 * single value of A is the largest piece whose parameter values are rounded as in the
 * whole query. Of equal results that of the lowest rank wins; rank 0 receives all rows
 * of the panel.
 */
void proc_search(search_state *s, const query *q, const int *indices,
                 search_result *result, run_times *t)
{
    int rank = rank_own(), ranks = rank_count();
    ranks_check_same("the query", q, sizeof *q);

    point rank_best = {.semblance = -1};
    for (int ia = rank_first(q->np[A], rank, ranks);
         ia < rank_first(q->np[A], rank + 1, ranks); ia++) {
        query single = *q;
        single.np[A] = 1;
        single.p0[A] = single.p1[A] = value(q, A, ia);
        search_result own_result = {.best.semblance = NAN};
        if (result->panel) own_result.panel = result->panel + (size_t)ia * q->np[B];
        search(s, &single, 1, indices, &own_result, t);
        if (own_result.best.semblance > rank_best.semblance)
            rank_best = own_result.best;
    }

    enum { FLOATS = sizeof(point) / sizeof(float) };
    point *rank_bests = allocate(ranks, sizeof *rank_bests, "the ranks' best");
    MPI_CHECK(MPI_Allgather(&rank_best, FLOATS, MPI_FLOAT, rank_bests, FLOATS,
                            MPI_FLOAT, MPI_COMM_WORLD));
    result->best = rank_bests[0];
    for (int r = 1; r < ranks; r++)
        if (rank_bests[r].semblance > result->best.semblance)
            result->best = rank_bests[r];
    free(rank_bests);
    if (!result->panel) return;

    MPI_Datatype row;
    int *count = allocate(ranks, sizeof *count, "the ranks' rows");
    int *first = allocate(ranks, sizeof *first, "the ranks' rows");
    for (int r = 0; r < ranks; r++) {
        first[r] = rank_first(q->np[A], r, ranks);
        count[r] = rank_first(q->np[A], r + 1, ranks) - first[r];
    }
    MPI_CHECK(MPI_Type_contiguous(q->np[B], MPI_FLOAT, &row));
    MPI_CHECK(MPI_Type_commit(&row));
    float *rows = result->panel + (size_t)first[rank] * q->np[B];
    MPI_CHECK(MPI_Gatherv(rank ? rows : MPI_IN_PLACE, count[rank], row, result->panel,
                          count, first, row, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Type_free(&row));
    free(first);
    free(count);
}
