/* crew.c - see crew.h: one process that does it all; its search is in main.c. */
#define _POSIX_C_SOURCE 200809L

#include "crew.h"
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define MAY_BE_ANOTHER __attribute__((weak))

MAY_BE_ANOTHER int crew_headers(const char *path, su_order order, su_gather *g,
                                char why[SU_WHY])
{
    return su_read(path, order, g, why);
}

MAY_BE_ANOTHER su_gather crew_samples(const char *path, su_gather *g, int low, int high)
{
    (void)path;
    su_gather part = *g;
    part.trace += low;
    part.samples += (size_t)low * (size_t)part.pitch;
    part.ntraces = (size_t)(high - low + 1);
    return part;
}

MAY_BE_ANOTHER void crew_free(su_gather *g)
{
    su_free(g);
}

MAY_BE_ANOTHER void crew_same(const char *what, const void *bytes, size_t size)
{
    (void)what, (void)bytes, (void)size;
}

MAY_BE_ANOTHER void crew_tell(void *bytes, size_t size)
{
    (void)bytes, (void)size;
}

MAY_BE_ANOTHER void crew_sum(double *value, int count)
{
    (void)value, (void)count;
}

MAY_BE_ANOTHER int crew_next(void)
{
    static int next;
    return next++;
}

MAY_BE_ANOTHER void crew_turn(void)
{
}

static int file[JOURNAL_FILES];

MAY_BE_ANOTHER const char *crew_open(int f, const char *path)
{
    file[f] = open(path, O_RDWR);
    return file[f] < 0 ? strerror(errno) : NULL;
}

MAY_BE_ANOTHER const char *crew_write(int f, const void *bytes, size_t size, size_t at)
{
    const char *p = bytes;
    while (size > 0) {
        ssize_t done = pwrite(file[f], p, size, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return strerror(errno);
        p += done;
        size -= (size_t)done;
        at += (size_t)done;
    }
    return NULL;
}

MAY_BE_ANOTHER const char *crew_sync(int f)
{
    return fdatasync(file[f]) != 0 ? strerror(errno) : NULL;
}

MAY_BE_ANOTHER const char *crew_close(int f)
{
    return fsync(file[f]) != 0 || close(file[f]) != 0 ? strerror(errno) : NULL;
}
