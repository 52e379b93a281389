/* journal_order.c - records the order of writes, synchronizations and renames
 * (LD_PRELOAD): lines "process operation offset bytes path" in the file that
 * JOURNAL_ORDER names. MPI-IO calls pwritev().
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name)                                                                     \
    static __typeof__(name) *real;                                                     \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

static void record(const char *operation, off_t at, size_t size, const char *path)
{
    char line[8192];
    int length = snprintf(line, sizeof line, "%d %s %lld %zu %s\n", (int)getpid(),
                          operation, (long long)at, size, path);
    int fd = open(getenv("JOURNAL_ORDER"), O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd < 0 || write(fd, line, (size_t)length) != length) abort();
    close(fd);
}

static void record_file(const char *operation, off_t at, size_t size, int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = '\0';
    record(operation, at, size, path);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    REAL(pwrite);
    record_file("write", at, size, fd);
    return real(fd, bytes, size, at);
}

ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
{
    REAL(pwritev);
    size_t size = 0;
    for (int i = 0; i < n; i++) size += v[i].iov_len;
    record_file("write", at, size, fd);
    return real(fd, v, n, at);
}

int fdatasync(int fd)
{
    REAL(fdatasync);
    int result = real(fd);
    record_file("sync", 0, 0, fd);
    return result;
}

int fsync(int fd)
{
    REAL(fsync);
    int result = real(fd);
    record_file("sync", 0, 0, fd);
    return result;
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    record("from", 0, 0, from);
    record("rename", 0, 0, to);
    return real(from, to);
}
