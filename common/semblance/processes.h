/* processes.h - operations that involve all processes of a job.
 *
 * A job is executed by one process, or by several without common memory. The front end
 * runs in each of them with the same arguments, and uses these functions to
 * communicate. processes.c has the default for one process, as weak symbols; a back-end
 * with several processes (mpi.c) defines all of them, and its definitions replace the
 * defaults. Errors end all processes by fail().
 */
#ifndef PROCESSES_H
#define PROCESSES_H

#include "semblance.h"

/* Reads a gather. The samples may be left in the file (su_read_headers()), or be read
 * as well (su_read()). */
int proc_read_headers(const char *path, su_order order, su_gather *g,
                      char why[SU_REASON_SIZE]);

/* Returns the traces low .. high of *g as a gather of their own, with their samples,
 * which g->trace refers to as well. */
su_gather proc_read_samples(const char *path, su_gather *g, int low, int high);

/* Returns whether this process is the one that may change samples of the gather of
 * proc_read_samples() that it shares with others. */
bool proc_owns_samples(void);

/* Frees what the two functions above have allocated, and begins proc_next_item() anew.
 */
void proc_free_gather(su_gather *g);

/* Searches one sample, in which all processes take part, like search() of semblance.h.
 * Only the first process gets the panel. */
void proc_search(search_state *s, const query *q, const int *indices,
                 search_result *result, run_times *t);

/* Ends by fail() unless all processes pass the same bytes; the message mentions `what`.
 */
void proc_require_same(const char *what, const void *bytes, size_t size);

/* Broadcasts the bytes of the first process to all. */
void proc_broadcast(void *bytes, size_t size);

/* Replaces each value by its sum over all processes. */
void proc_sum(double *value, int count);

/* Returns when all processes have called this function. */
static inline void proc_wait(void)
{
    double unused = 0;
    proc_sum(&unused, 1);
}

/* Returns the number of the next work item, 0, 1, ..; each number goes to one process.
 */
int proc_next_item(void);

/* Must be called now and then by a process that computes for long, so that the other
 * processes make progress: by a back-end that is used with several processes, after
 * each sample. */
void proc_progress(void);

/* Opens an existing file for writing by all processes, each at other positions.
 * proc_sync and proc_close return when the data are on the disk. All return NULL, or an
 * error message. */
const char *proc_open(int f, const char *path);
const char *proc_write(int f, const void *bytes, size_t size, size_t offset);
const char *proc_sync(int f);
const char *proc_close(int f);

#endif
