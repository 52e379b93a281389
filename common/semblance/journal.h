/* journal.h - the files of a section: SU traces that say of themselves whether they are
 * done.
 *
 * A file has its full length and all its headers from the moment that it has its name.
 * A trace that is still to come has trid 0 and samples of 0; it becomes live (trid 1),
 * or dead (2) where there was nothing to fill it from, when its samples are on the
 * disk. So whoever comes back after a kill, a full disk or a power cut sees what is
 * done, and does the rest. Every header has the job's number, a hash of all that the
 * answer depends on, in SU's unassigned bytes (229-240): what belongs to another job is
 * refused.
 *
 * All processes of a crew write the files, each its traces; the first alone makes them
 * and says what is there.
 *
 * Left out: two programs that write the same files at a time.
 */
#ifndef JOURNAL_H
#define JOURNAL_H

#include "su.h"

enum { JOURNAL_SU = 2, JOURNAL_FILES = JOURNAL_SU + 1 };

/* What a section is written to. */
typedef struct {
    struct {
        const char *key, *path; /* path is NULL where the file is not wanted */
        int fd;                 /* while it is looked at */
    } file[JOURNAL_FILES];      /* SU traces; the last: parameters, .npy */
    size_t traces;
    int ns, parameters;   /* of a trace: samples; floats a sample in the .npy */
    size_t npy_header;    /* bytes */
    unsigned char *state; /* [traces]: trid */
    size_t done_before;   /* how many were done when it was opened */
} journal;

/* Makes the files, or opens those that an earlier run of the same job has left. header
 * is [traces], with all but trid and the job's number; key and path of each file are
 * set. fail() where they cannot be made or belong to another job: nothing is left then
 * of what was not there. */
void journal_open(journal *j, const su_header *header, uint64_t job);

/* Trace number i, counted from 0: what its files get, row[f] of file f, and then that
 * it is SU_LIVE or SU_DEAD. fail()s where it cannot be written, the trace not done. */
void journal_write(journal *j, size_t i, int state, const float *const row[]);

void journal_close(journal *j);

/* Carries a hash on over more bytes; begin with hash = 0. */
uint64_t journal_hash(uint64_t hash, const void *bytes, size_t size);

#endif
