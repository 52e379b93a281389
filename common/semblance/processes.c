/* processes.c - see processes.h: the defaults for a job of one process. proc_search is
 * in main.c. */
#define _POSIX_C_SOURCE 200809L

#include "processes.h"
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define WEAK __attribute__((weak))

WEAK int proc_read_headers(const char *path, su_order order, su_gather *g,
                           char why[SU_REASON_SIZE])
{
    return su_read(path, order, g, why);
}

WEAK su_gather proc_read_samples(const char *path, su_gather *g, int low, int high)
{
    (void)path;
    su_gather part = *g;
    part.trace += low;
    part.samples += (size_t)low * (size_t)part.pitch;
    part.ntraces = (size_t)(high - low + 1);
    return part;
}

WEAK bool proc_owns_samples(void)
{
    return true;
}

static int next_item;

WEAK void proc_free_gather(su_gather *g)
{
    next_item = 0;
    su_free(g);
}

WEAK void proc_require_same(const char *what, const void *bytes, size_t size)
{
    (void)what, (void)bytes, (void)size;
}

WEAK void proc_broadcast(void *bytes, size_t size)
{
    (void)bytes, (void)size;
}

WEAK void proc_sum(double *value, int count)
{
    (void)value, (void)count;
}

WEAK int proc_next_item(void)
{
    return next_item++;
}

WEAK void proc_progress(void)
{
}

static int file[JOURNAL_FILES];

WEAK const char *proc_open(int f, const char *path)
{
    file[f] = open(path, O_RDWR);
    return file[f] < 0 ? strerror(errno) : NULL;
}

WEAK const char *proc_write(int f, const void *bytes, size_t size, size_t offset)
{
    const char *p = bytes;
    while (size > 0) {
        ssize_t done = pwrite(file[f], p, size, (off_t)offset);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return strerror(errno);
        p += done;
        size -= (size_t)done;
        offset += (size_t)done;
    }
    return NULL;
}

WEAK const char *proc_sync(int f)
{
    return fdatasync(file[f]) != 0 ? strerror(errno) : NULL;
}

WEAK const char *proc_close(int f)
{
    return fsync(file[f]) != 0 || close(file[f]) != 0 ? strerror(errno) : NULL;
}
