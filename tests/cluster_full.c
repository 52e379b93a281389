/* cluster_full.c - a disk that fills, for LD_PRELOAD: of the writes to places of a
 * file, as MPI-IO makes them, each after the first FULL_AFTER finds no room;
 * FULL_PART=1: room for the half of it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

/* How much of so many bytes may be written. */
static size_t room(size_t size)
{
    static long writes;
    const char *after = getenv("FULL_AFTER"), *part = getenv("FULL_PART");
    if (!after || writes++ < atol(after)) return size;
    return part && size > 1 ? size / 2 : 0;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pwrite");
    size_t some = room(size);
    if (some) return real(fd, bytes, some, at);
    errno = ENOSPC;
    return -1;
}

ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
{
    size_t size = 0;
    for (int i = 0; i < n; i++) size += v[i].iov_len;
    if (n == 1) return pwrite(fd, v->iov_base, size, at);
    static ssize_t (*real)(int, const struct iovec *, int, off_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pwritev");
    return real(fd, v, n, at);
}
