/* ranks.c - see ranks.h.
 *
 * Left out: ranks of programs that differ, ranks that come and go.
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

/* Rank 0's: how many ranks have failed. The first to count speaks for all. */
static MPI_Win failures;
static int *failed;

/* Called by fail(): one line for the job, whoever failed, and the end of all ranks. Who
 * is not the first waits for that end. */
static void speak_and_end(const char *line)
{
    int one = 1, before = 0;
    MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, failures);
    MPI_Win_flush(0, failures);
    if (before) pause();
    fprintf(stderr, "%s\n", line);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void ranks_try(int err, const char *call, const char *file, int line)
{
    if (err == MPI_SUCCESS) return;
    char why[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(err, why, &length);
    fail("%s:%d: %s: %s", file, line, call, why);
}

static void end(void)
{
    MPI_Win_unlock_all(failures);
    MPI_Win_free(&failures);
    MPI_Finalize();
}

__attribute__((constructor)) static void begin(void)
{
    /* Open MPI's, unless somebody has asked for others: calls of one side, which
     * Debian's has between machines only if asked; and of its two MPI-IOs the one that
     * leaves it to us to say that a disk is full. */
    setenv("OMPI_MCA_osc", "^ucx", 0);
    setenv("OMPI_MCA_io_ompio_priority", "1", 0);

    int given;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_TRY(MPI_Win_allocate(own ? 0 : sizeof *failed, sizeof *failed, MPI_INFO_NULL,
                             MPI_COMM_WORLD, &failed, &failures));
    MPI_TRY(MPI_Win_lock_all(MPI_MODE_NOCHECK, failures));
    if (!own) *failed = 0;
    MPI_TRY(MPI_Win_sync(failures));
    MPI_TRY(MPI_Barrier(MPI_COMM_WORLD));
    run_rank = own;
    if (count > 1) run_fail = speak_and_end;
    if (own && !freopen("/dev/null", "w", stdout)) fail("/dev/null: cannot be written");
    atexit(end);
}

int rank_own(void)
{
    return own;
}

int rank_count(void)
{
    return count;
}

/* FNV-1a. */
static uint64_t number_of(const unsigned char *byte, size_t size)
{
    uint64_t number = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) number = (number ^ byte[i]) * 1099511628211u;
    return number;
}

void ranks_same(const char *what, const void *bytes, size_t size)
{
    uint64_t mine = number_of(bytes, size), first = mine;
    MPI_TRY(MPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    int differs = mine != first ? own : count, least;
    MPI_TRY(MPI_Allreduce(&differs, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (least < count)
        fail("%s: rank %d sees another than rank 0; all ranks must see the same", what,
             least);
}

/* The words, rank by rank. */
void backend_check(int argc, char **argv)
{
    size_t size = 0;
    for (int i = 1; i < argc; i++) size += strlen(argv[i]) + 1;
    char *all = allocate(size, 1, "the words"), *to = all;
    for (int i = 1; i < argc; i++) to = stpcpy(to, argv[i]) + 1;
    ranks_same("the words", all, size);
    free(all);
}
