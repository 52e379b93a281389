/* ranks.h - starts and ends MPI and makes errors end all ranks. Communication between
 * ranks is part of the lesson, in the steps' mpi.c.
 *
 * Every rank runs the whole front end: it parses the arguments, reads the input and
 * calls the back-end. Only rank 0 prints and writes results: on the other ranks,
 * standard output is discarded and result_open() returns /dev/null. MPI is initialized
 * before main() and finalized after it.
 */
#ifndef RANKS_H
#define RANKS_H

#include <mpi.h>
#include <stddef.h>

/* Unless call returns MPI_SUCCESS, fail() with file, line, call and MPI's message. */
#define MPI_CHECK(call) ranks_check((call), #call, __FILE__, __LINE__)
void ranks_check(int err, const char *call, const char *file, int line);

/* The number of this rank and of all ranks. */
int rank_own(void);
int rank_count(void);

/* fail("what: ...") unless all ranks have the same bytes. Collective. */
void ranks_check_same(const char *what, const void *bytes, size_t size);

/* Returns the first of the elements of rank r if n elements are distributed as evenly
 * as possible over `ranks` ranks. Rank r has the elements rank_first(r) to rank_first(r
 * + 1) - 1, possibly none. */
static inline int rank_first(int n, int r, int ranks)
{
    return (int)((long long)n * r / ranks);
}

#endif
