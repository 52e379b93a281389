/* mpi.c - a crew (crew.h) of ranks: sections on as many machines as there are.
 *
 * Every rank takes one output trace after another from a counter, and writes each to
 * its place in the one file: nobody is master, nobody waits. Left out: going on without
 * a rank that died. The file says what is done, and the same words do the rest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "processes.h"
#include "journal.h"
#include "ranks.h"
#include "body.h"

/* Rank 0's, in reach of all: the number of the next trace. */
static MPI_Win counter = MPI_WIN_NULL;

int proc_next_item(void)
{
    if (counter == MPI_WIN_NULL) { /* the first time, for which all come together */
        int *next, first = !rank_own();
        MPI_TRY(MPI_Win_allocate(first ? sizeof *next : 0, sizeof *next, MPI_INFO_NULL,
                                 MPI_COMM_WORLD, &next, &counter));
        MPI_TRY(MPI_Win_lock_all(MPI_MODE_NOCHECK, counter));
        if (first) *next = 0;
        MPI_TRY(MPI_Win_sync(counter));
        MPI_TRY(MPI_Barrier(MPI_COMM_WORLD));
    }
    int one = 1, mine;
    MPI_TRY(MPI_Fetch_and_op(&one, &mine, MPI_INT, 0, 0, MPI_SUM, counter));
    MPI_TRY(MPI_Win_flush(0, counter));
    return mine;
}

/* Where the network cannot add by itself, the counter is raised by rank 0, inside any
 * of its calls of MPI: it must make one now and then. */
void proc_progress(void)
{
    int there;
    MPI_TRY(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there,
                       MPI_STATUS_IGNORE));
}

/* ---- one file, written by all ------------------------------------------------------
 */

static MPI_File file[JOURNAL_FILES];

/* NULL where err is success; the system's words, which say more, where it has any. */
static const char *why_not(int err)
{
    static char why[MPI_MAX_ERROR_STRING];
    int length;
    if (err == MPI_SUCCESS) return NULL;
    if (errno) return strerror(errno);
    MPI_Error_string(err, why, &length);
    return why;
}

/* Each rank opens it for itself: what all have opened together they must sync together,
 * and nobody is to wait. */
const char *proc_open(int f, const char *path)
{
    errno = 0;
    return why_not(
        MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file[f]));
}

const char *proc_write(int f, const void *bytes, size_t size, size_t at)
{
    MPI_Status status;
    int went = 0;
    errno = 0;
    int err =
        MPI_File_write_at(file[f], (MPI_Offset)at, bytes, (int)size, MPI_BYTE, &status);
    if (err == MPI_SUCCESS) err = MPI_Get_count(&status, MPI_BYTE, &went);
    if (err == MPI_SUCCESS && went != (int)size) return "no room for all of a trace";
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

/* ---- the gather: read once a node --------------------------------------------------
 */

/* Headers are each rank's own: they are few, and the apertures are found among them. */
int proc_read_headers(const char *path, su_order order, su_gather *g, char why[SU_WHY])
{
    if (su_headers(path, order, g, why) != 0) return -1;
    uint64_t number = 0;
    for (size_t i = 0; i < g->ntraces; i++)
        number = journal_hash(number, &g->trace[i].header, SU_HEADER_BYTES);
    ranks_same(path, &number, sizeof number);
    return 0;
}

enum { HEADER = SU_HEADER_BYTES / sizeof(float), AT_A_TIME = 4 << 20 };

/* Brings n traces as they lie in the file, which are g's from number `low` on, to rows
 * of so many floats: a batch of some megabytes at a time, into rows that may be longer
 * than those of the file. */
static void read_rows(const char *path, const su_gather *g, size_t low, size_t n,
                      float *row, int pitch)
{
    MPI_File file;
    MPI_Datatype trace, spaced;
    int bytes = g->pitch * (int)sizeof(float), batch = 1 + AT_A_TIME / bytes;
    MPI_TRY(MPI_Type_contiguous(bytes, MPI_BYTE, &trace));
    MPI_TRY(
        MPI_Type_create_resized(trace, 0, pitch * (MPI_Aint)sizeof(float), &spaced));
    MPI_TRY(MPI_Type_commit(&spaced));
    MPI_TRY(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    for (size_t i = 0; i < n; i += (size_t)batch) {
        int candidate = n - i < (size_t)batch ? (int)(n - i) : batch, came;
        MPI_Status status;
        MPI_TRY(MPI_File_read_at(file, (MPI_Offset)(low + i) * bytes,
                                 row + i * (size_t)pitch, candidate, spaced, &status));
        MPI_TRY(MPI_Get_count(&status, spaced, &came));
        if (came != candidate) fail("%s: became shorter while it was read", path);
    }
    MPI_TRY(MPI_File_close(&file));
    MPI_TRY(MPI_Type_free(&spaced));
    MPI_TRY(MPI_Type_free(&trace));
}

static MPI_Win samples = MPI_WIN_NULL; /* those of a node */

su_gather proc_read_samples(const char *path, su_gather *g, int low, int high)
{
    MPI_Comm node;
    int on_node;
    MPI_TRY(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                                &node));
    MPI_TRY(MPI_Comm_rank(node, &on_node));

    /* A row has the trace as the file has it, behind as many floats as are to be 0
     * before its samples: they may then take the place of its header. */
    su_gather part = *g;
    part.trace += low;
    part.ntraces = (size_t)(high - low + 1);
    part.pitch = g->first + g->pitch;
    int skipped = g->pitch - HEADER - (g->ns - g->first); /* lie before time 0 */

    /* One rank of a node has room for all, the others find out where it is. */
    MPI_Aint size = on_node ? 0 : (MPI_Aint)(part.ntraces * (size_t)part.pitch);
    float *row;
    int unit;
    MPI_TRY(MPI_Win_allocate_shared(size * (MPI_Aint)sizeof(float), sizeof(float),
                                    MPI_INFO_NULL, node, &row, &samples));
    MPI_TRY(MPI_Win_shared_query(samples, 0, &size, &unit, &row));
    part.samples = row + HEADER + skipped;
    for (size_t i = 0; i < part.ntraces; i++)
        part.trace[i].data = part.samples + i * (size_t)part.pitch;

    uint64_t number = 0;
    MPI_TRY(MPI_Win_fence(0, samples));
    if (!on_node) {
        char why[SU_WHY];
        read_rows(path, g, (size_t)low, part.ntraces, row + g->first, part.pitch);
        for (size_t i = 0; i < part.ntraces; i++) {
            memset(part.trace[i].data, 0, (size_t)g->first * sizeof(float));
            number =
                journal_hash(number, part.trace[i].data, (size_t)g->ns * sizeof(float));
        }
        if (su_arrived(&part, (size_t)low, why) != 0) fail("%s: %s", path, why);
    }
    MPI_TRY(MPI_Win_fence(0, samples));

    MPI_TRY(MPI_Bcast(&number, 1, MPI_UINT64_T, 0, node));
    ranks_same(path, &number, sizeof number);
    MPI_TRY(MPI_Comm_free(&node));
    return part;
}

/* ---- what all must know, and the end -----------------------------------------------
 */

void proc_require_same(const char *what, const void *bytes, size_t size)
{
    ranks_same(what, bytes, size);
}

void proc_broadcast(void *bytes, size_t size)
{
    MPI_TRY(MPI_Bcast(bytes, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD));
}

void proc_sum(double *value, int count)
{
    MPI_TRY(
        MPI_Allreduce(MPI_IN_PLACE, value, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
}

void proc_free_gather(su_gather *g)
{
    if (samples != MPI_WIN_NULL) MPI_TRY(MPI_Win_free(&samples));
    if (counter != MPI_WIN_NULL) {
        MPI_TRY(MPI_Win_unlock_all(counter));
        MPI_TRY(MPI_Win_free(&counter));
    }
    su_free(g);
}

/* ---- one point ---------------------------------------------------------------------
 *
 * Values of A are dealt out, each a search of its own with a single A: the least that a
 * query can be cut into without another rounding. The first of the largest wins, and
 * rank 0 gets the rows of the panel.
 */
void proc_search(search_state *s, const query *q, const int *indices,
                 search_result *result, run_times *t)
{
    int own = rank_own(), ranks = rank_count();
    ranks_same("the query", q, sizeof *q);

    point mine = {.semblance = -1};
    for (int ia = rank_first(q->np[A], own, ranks);
         ia < rank_first(q->np[A], own + 1, ranks); ia++) {
        query one = *q;
        one.np[A] = 1;
        one.p0[A] = one.p1[A] = value(q, A, ia);
        search_result own_result = {.best.semblance = NAN};
        if (result->panel) own_result.panel = result->panel + (size_t)ia * q->np[B];
        search(s, &one, indices, &own_result, t);
        if (own_result.best.semblance > mine.semblance) mine = own_result.best;
    }

    enum { FLOATS = sizeof(point) / sizeof(float) };
    point *all = allocate(ranks, sizeof *all, "the ranks' best");
    MPI_TRY(MPI_Allgather(&mine, FLOATS, MPI_FLOAT, all, FLOATS, MPI_FLOAT,
                          MPI_COMM_WORLD));
    result->best = all[0];
    for (int r = 1; r < ranks; r++)
        if (all[r].semblance > result->best.semblance) result->best = all[r];
    free(all);
    if (!result->panel) return;

    MPI_Datatype row;
    int *count = allocate(ranks, sizeof *count, "the ranks' rows");
    int *first = allocate(ranks, sizeof *first, "the ranks' rows");
    for (int r = 0; r < ranks; r++) {
        first[r] = rank_first(q->np[A], r, ranks);
        count[r] = rank_first(q->np[A], r + 1, ranks) - first[r];
    }
    MPI_TRY(MPI_Type_contiguous(q->np[B], MPI_FLOAT, &row));
    MPI_TRY(MPI_Type_commit(&row));
    float *rows = result->panel + (size_t)first[own] * q->np[B];
    MPI_TRY(MPI_Gatherv(own ? rows : MPI_IN_PLACE, count[own], row, result->panel,
                        count, first, row, 0, MPI_COMM_WORLD));
    MPI_TRY(MPI_Type_free(&row));
    free(first);
    free(count);
}
