/* journal.c - see journal.h. */
#define _POSIX_C_SOURCE 200809L

#include "journal.h"
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char job_tag[4] = {'S', 'e', 'm', 'b'};
enum { MARK = 228, TRID = 28 }; /* offsets in a header, in bytes */
enum { UNKNOWN = 255 };         /* as allocate() initializes a state */

static size_t row_bytes(const journal *j)
{
    return SU_HEADER_BYTES + (size_t)j->ns * sizeof(float);
}

static size_t file_bytes(const journal *j, int f)
{
    if (f < JOURNAL_SU) return j->traces * row_bytes(j);
    return j->npy_header +
           j->traces * (size_t)j->ns * (size_t)j->parameters * sizeof(float);
}

static void fail_file(const journal *j, int f, const char *what)
{
    fail("%s=%s: cannot be %s: %s", j->file[f].key, j->file[f].path, what,
         strerror(errno));
}

/* Ends by fail() with the message of a function of processes.h, if there is one. */
static void require_written(const journal *j, int f, const char *why)
{
    if (why) fail("%s=%s: cannot be written: %s", j->file[f].key, j->file[f].path, why);
}

/* For tests of resumed runs: SEMBLANCE_STOP=N ends the process, as a power failure
 * would, after N half writes of the journal. If N is odd, one half of a write is in the
 * file. A new file that gets its name counts as a write without a middle. Returns
 * whether the process has to end after the half write that follows. */
static bool stops(int halves)
{
    static long done = 0;
    const char *text = getenv("SEMBLANCE_STOP");
    if (!text) return false;
    long last = strtol(text, NULL, 10);
    if (last <= done) kill(getpid(), SIGKILL);
    done += halves;
    return last < done;
}

/* Writes bytes of file f at an offset, or the first half of them and no more if the
 * process has to stop there. */
static void write_bytes(const journal *j, int f, const void *bytes, size_t size,
                        size_t offset)
{
    bool half = stops(2);
    require_written(j, f, proc_write(f, bytes, half ? size / 2 : size, offset));
    if (half) kill(getpid(), SIGKILL);
}

/* Creates a complete file under a temporary name. */
static FILE *create_file(const journal *j, int f, const su_header *header)
{
    FILE *file = result_open(j->file[f].path);
    if (!file) fail_file(j, f, "written");
    /* Allocates the disk space now, so that a full disk is detected before the work. */
    errno = posix_fallocate(fileno(file), 0, (off_t)file_bytes(j, f));
    if (errno) fail_file(j, f, "written");
    bool written = true;
    if (f < JOURNAL_SU) {
        for (size_t i = 0; i < j->traces && written; i++)
            written = fseeko(file, (off_t)(i * row_bytes(j)), SEEK_SET) == 0 &&
                      fwrite(&header[i], sizeof *header, 1, file) == 1;
    } else {
        char bytes[NPY_HEADER];
        npy shape = {
            NPY_F4, 3, {j->traces, (size_t)j->ns, (size_t)j->parameters}, NULL};
        written = fwrite(bytes, npy_header(&shape, bytes), 1, file) == 1;
    }
    if (!written || fflush(file) != 0 || fsync(fileno(file)) != 0)
        fail_file(j, f, "written");
    return file;
}

/* Reads the states of the traces of an SU file into j->state; a trace is done only if
 * it is done in all files. Ends by fail() unless all headers are those of the job. */
static void read_states(journal *j, int f, const su_header *header)
{
    for (size_t i = 0; i < j->traces; i++) {
        su_header h, want = header[i];
        ssize_t got = pread(j->file[f].fd, &h, sizeof h, (off_t)(i * row_bytes(j)));
        if (got < 0) fail_file(j, f, "read");
        want.trid = h.trid;
        bool known = h.trid == 0 || h.trid == SU_DEAD || h.trid == j->live;
        if (got != sizeof h || !known || memcmp(&h, &want, sizeof h) != 0)
            fail("%s=%s: belongs to another job (trace %zu: other options, other input "
                 "or no section): remove it or name another file",
                 j->file[f].key, j->file[f].path, i + 1);
        int state = h.trid == j->live ? SU_LIVE : h.trid;
        if (j->state[i] == UNKNOWN || state == 0) j->state[i] = (unsigned char)state;
    }
}

void journal_foreign(const char *key, const char *path)
{
    fail("%s=%s: exists, but is not an output of this job: remove it or name another "
         "file",
         key, path);
}

/* Opens a file of the right size; returns false if there is none. */
static bool open_file(journal *j, int f)
{
    const char *key = j->file[f].key, *path = j->file[f].path;
    struct stat about;
    int fd = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        if (errno != ENOENT) fail_file(j, f, "written");
        return false;
    }
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) ||
        (uintmax_t)about.st_size != file_bytes(j, f))
        journal_foreign(key, path);
    j->file[f].fd = fd;
    return true;
}

/* Opens or creates the files and reads the states; executed by the first process only.
 */
static void inspect_files(journal *j, const su_header *header)
{
    bool exists[JOURNAL_FILES] = {0};
    int known = -1, missing = -1;
    for (int f = 0; f < JOURNAL_FILES; f++) {
        if (!j->file[f].path) continue;
        exists[f] = open_file(j, f);
        if (exists[f] && f < JOURNAL_SU) read_states(j, f, header);
        *(exists[f] ? &known : &missing) = f;
    }
    for (size_t i = 0; i < j->traces; i++) {
        if (j->state[i] == UNKNOWN) j->state[i] = 0;
        if (j->state[i] && missing >= 0)
            fail("%s=%s: is missing, but %s=%s has completed traces: restore it, or "
                 "remove both",
                 j->file[missing].key, j->file[missing].path, j->file[known].key,
                 j->file[known].path);
    }
    /* The .npy does not say whose it is, but gets its name after the SU files. */
    if (exists[JOURNAL_SU] && missing >= 0)
        journal_foreign(j->file[JOURNAL_SU].key, j->file[JOURNAL_SU].path);
    FILE *created[JOURNAL_FILES] = {0};
    for (int f = 0; f < JOURNAL_FILES; f++)
        if (j->file[f].path && !exists[f]) created[f] = create_file(j, f, header);
    for (int f = 0; f < JOURNAL_FILES; f++) {
        if (!created[f]) continue;
        stops(1);
        if (result_close(created[f]) != 0 || !open_file(j, f))
            fail_file(j, f, "written");
    }
    for (int f = 0; f < JOURNAL_FILES; f++)
        if (j->file[f].path) close(j->file[f].fd);
}

void journal_open(journal *j, const su_header *header, uint64_t job)
{
    npy shape = {NPY_F4, 3, {j->traces, (size_t)j->ns, (size_t)j->parameters}, NULL};
    char bytes[NPY_HEADER];
    j->npy_header = npy_header(&shape, bytes);
    j->state = allocate(j->traces, 1, "the states of the traces");
    su_header *marked = allocate(j->traces, sizeof *marked, "the headers");
    memcpy(marked, header, j->traces * sizeof *marked);
    for (size_t i = 0; i < j->traces; i++) {
        unsigned char *mark = (unsigned char *)&marked[i] + MARK;
        memcpy(mark, job_tag, sizeof job_tag);
        memcpy(mark + sizeof job_tag, &job, sizeof job);
        marked[i].trid = 0;
    }
    if (!run_rank) inspect_files(j, marked);
    proc_broadcast(j->state, j->traces);
    for (int f = 0; f < JOURNAL_FILES; f++)
        if (j->file[f].path) require_written(j, f, proc_open(f, j->file[f].path));
    for (size_t i = 0; i < j->traces; i++) j->done_before += j->state[i] != 0;
    j->unmarked = allocate(j->traces, sizeof *j->unmarked, "the traces to be marked");
    const char *interval = getenv("SEMBLANCE_SYNC");
    j->interval = interval ? parse_double("SEMBLANCE_SYNC", interval, 0, 1e9) : 1;
    j->synced = seconds();
    free(marked);
}

/* Marks the traces that are written, after they have reached the disk. */
static void mark_written(journal *j)
{
    for (int f = 0; f < JOURNAL_FILES; f++)
        if (j->file[f].path) require_written(j, f, proc_sync(f));
    for (size_t n = 0; n < j->unmarked_count; n++) {
        size_t i = j->unmarked[n];
        int16_t trid = j->state[i] == SU_LIVE ? j->live : SU_DEAD;
        for (int f = 0; f < JOURNAL_SU; f++)
            if (j->file[f].path)
                write_bytes(j, f, &trid, sizeof trid, i * row_bytes(j) + TRID);
    }
    j->unmarked_count = 0;
    j->synced = seconds();
}

void journal_write(journal *j, size_t i, int state, const float *const row[])
{
    for (int f = 0; f < JOURNAL_FILES; f++) {
        if (!j->file[f].path) continue;
        size_t floats = (size_t)j->ns * (size_t)(f < JOURNAL_SU ? 1 : j->parameters);
        size_t size = floats * sizeof(float);
        size_t offset = f < JOURNAL_SU ? i * row_bytes(j) + SU_HEADER_BYTES
                                       : j->npy_header + i * size;
        write_bytes(j, f, row[f], size, offset);
    }
    j->state[i] = (unsigned char)state;
    j->unmarked[j->unmarked_count++] = i;
    if (seconds() - j->synced >= j->interval) mark_written(j);
}

void journal_close(journal *j)
{
    if (j->unmarked_count) mark_written(j);
    for (int f = 0; f < JOURNAL_FILES; f++)
        if (j->file[f].path) require_written(j, f, proc_close(f));
    free(j->unmarked);
    free(j->state);
}
