/* ranks.c - implements ranks.h.
 *
 * Left out: ranks that run different programs, ranks that join or leave.
 */
#define _DEFAULT_SOURCE

#include "ranks.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

static int own, count = 1;

/* A counter of failed ranks in the memory of rank 0, accessible to all. */
static MPI_Win failures;
static int *failed;

/* Called by fail(). Only the first rank that fails prints its message and aborts the
 * job; the others wait to be aborted. */
static void print_and_abort(const char *line)
{
    int one = 1, earlier = 0;
    MPI_Fetch_and_op(&one, &earlier, MPI_INT, 0, 0, MPI_SUM, failures);
    MPI_Win_flush(0, failures);
    if (earlier) pause();
    fprintf(stderr, "%s\n", line);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void ranks_check(int err, const char *call, const char *file, int line)
{
    if (err == MPI_SUCCESS) return;
    char reason[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(err, reason, &length);
    fail("%s:%d: %s: %s", file, line, call, reason);
}

static void finalize(void)
{
    MPI_Win_unlock_all(failures);
    MPI_Win_free(&failures);
    MPI_Finalize();
}

__attribute__((constructor)) static void initialize(void)
{
    /* Defaults for Open MPI, unless the user has set others. One-sided communication:
     * Debian's build supports it between machines only without UCX. MPI-IO: a low
     * priority of OMPIO selects ROMIO, which reports a full disk only to its caller. */
    setenv("OMPI_MCA_osc", "^ucx", 0);
    setenv("OMPI_MCA_io_ompio_priority", "1", 0);

    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_CHECK(MPI_Win_allocate(own ? 0 : sizeof *failed, sizeof *failed, MPI_INFO_NULL,
                               MPI_COMM_WORLD, &failed, &failures));
    MPI_CHECK(MPI_Win_lock_all(MPI_MODE_NOCHECK, failures));
    if (!own) *failed = 0;
    MPI_CHECK(MPI_Win_sync(failures));
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    run_rank = own;
    if (count > 1) run_fail = print_and_abort;
    if (own && !freopen("/dev/null", "w", stdout)) fail("/dev/null: cannot be written");
    atexit(finalize);
}

int rank_own(void)
{
    return own;
}

int rank_count(void)
{
    return count;
}

void ranks_check_same(const char *what, const void *bytes, size_t size)
{
    uint64_t digest = digest_update(0, bytes, size), first = digest;
    MPI_CHECK(MPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    int differing = digest != first ? own : count, lowest;
    MPI_CHECK(MPI_Allreduce(&differing, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (lowest < count)
        fail("%s: rank %d differs from rank 0: expected the same on all ranks", what,
             lowest);
}

/* Checks that all ranks were started with the same arguments. */
void backend_check(int argc, char **argv)
{
    size_t size = 0;
    for (int i = 1; i < argc; i++) size += strlen(argv[i]) + 1;
    char *joined = allocate(size, 1, "the arguments"), *to = joined;
    for (int i = 1; i < argc; i++) to = stpcpy(to, argv[i]) + 1;
    ranks_check_same("the arguments", joined, size);
    free(joined);
}
