/* ranks.h - one program that runs as many: MPI's chores. Who sends what to whom is in
 * the steps, in plain sight.
 *
 * Every rank runs the whole front end: reads the words and the input, and calls the
 * back-end. Rank 0 alone prints and writes results: of the others, standard output goes
 * nowhere and result_open() gives /dev/null. MPI is begun before main and ended after
 * it.
 */
#ifndef RANKS_H
#define RANKS_H

#include <mpi.h>
#include <stddef.h>

/* Ends the program unless call returns MPI_SUCCESS: file, line, call and MPI's words.
 */
#define MPI_TRY(call) ranks_try((call), #call, __FILE__, __LINE__)
void ranks_try(int err, const char *call, const char *file, int line);

/* Which rank this is, and of how many. */
int rank_own(void);
int rank_count(void);

/* fail() unless all ranks have the same bytes; what is named in the message.
 * Collective. */
void ranks_same(const char *what, const void *bytes, size_t size);

/* Where part r of n things begins that are dealt out to as many ranks as there are, as
 * evenly as whole things can be: part r is first(r) .. first(r + 1) - 1, and may be
 * empty. */
static inline int rank_first(int n, int r, int ranks)
{
    return (int)((long long)n * r / ranks);
}

#endif
