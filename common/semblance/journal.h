/* journal.h - the output files of a section: SU traces whose headers record which
 * traces are done.
 *
 * A file has its full length and all its headers from the moment that it has its name.
 * A trace that is not computed yet has trid 0 and samples of 0. It becomes live (trid
 * of the survey), or dead (2) if its aperture has too few traces, when its samples are
 * on the disk. To wait for the disk after each trace would take as long as a short
 * search, so that happens once a second; the environment variable SEMBLANCE_SYNC sets
 * other seconds. So a job that was stopped, by a signal, a full disk or a power
 * failure, can be resumed. Bytes 229-240 of every header, which SU does not use, hold a
 * hash of everything that the result depends on: files of another job are rejected.
 *
 * All processes of a job write to the files, each its own traces. Only the first one
 * creates the files and reads their state.
 *
 * Left out: two jobs that write the same files at the same time.
 */
#ifndef JOURNAL_H
#define JOURNAL_H

#include "su.h"

enum { JOURNAL_SU = 2, JOURNAL_FILES = JOURNAL_SU + 1 };

/* The output files of a section. */
typedef struct {
    struct {
        const char *key, *path; /* path is NULL if the file is not wanted */
        int fd;                 /* while the first process inspects it */
    } file[JOURNAL_FILES];      /* SU files; the last is the .npy of parameters */
    size_t traces;
    int ns, parameters;   /* samples per trace; floats per sample in the .npy */
    size_t npy_header;    /* size in bytes */
    int16_t live;         /* trid of a live trace */
    unsigned char *state; /* [traces]: 0, SU_LIVE or SU_DEAD */
    size_t done_before;   /* traces that were done when the files were opened */
    size_t *unmarked; /* [unmarked_count]: traces that are written, but not marked */
    size_t unmarked_count;
    double interval, synced; /* seconds: between two waits for the disk; of the last */
} journal;

/* Creates the files, or opens those of an earlier run of the same job. header is
 * [traces], complete except for trid and the job's hash; key and path of each file are
 * set. Ends by fail() if they cannot be created or belong to another job; new files are
 * then removed. */
void journal_open(journal *j, const su_header *header, uint64_t job);

/* Writes trace i: row[f] to file f; its state, SU_LIVE or SU_DEAD, follows when the
 * samples are on the disk. Ends by fail() if that is impossible; the trace is then not
 * marked as done. */
void journal_write(journal *j, size_t i, int state, const float *const row[]);

/* Marks all traces that are written as done, and closes the files. */
void journal_close(journal *j);

/* Ends by fail(): an output file exists that the job has not written. */
void journal_foreign(const char *key, const char *path);

#endif
