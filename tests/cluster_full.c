/* cluster_full.c - simulates a full disk (LD_PRELOAD): pwrite() and pwritev(), which
 * MPI-IO calls, fail with ENOSPC after the first FULL_AFTER calls. With FULL_PART=1
 * these calls write half of the data instead. rmdir() of a relative path takes
 * FULL_RMDIR microseconds, as on a busy machine. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

/* Returns the number of bytes, out of size, that this call may write. */
static size_t writable(size_t size)
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
    size_t part = writable(size);
    if (part) return real(fd, bytes, part, at);
    errno = ENOSPC;
    return -1;
}

int rmdir(const char *path)
{
    const char *delay = getenv("FULL_RMDIR");
    if (delay && *path != '/') usleep((useconds_t)atol(delay));
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
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
