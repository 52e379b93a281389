/* run.c - implements run.h: error messages, memory, the clock, progress, input files
 * and result files.
 *
 * A result is written to path.XXXXXX and renamed, so that a reader of path sees either
 * the old file or the complete new one. A table holds the few results that are open at
 * a time; fail() and the signal handler remove the temporary files that it lists, and
 * the folder that was created for results, if it is empty.
 *
 * Left out: concurrent calls (only one thread may call the result functions), kill -9
 * (it leaves path.XXXXXX, but never a part of path), and fsync (a power failure may
 * lose a result).
 */
#define _GNU_SOURCE /* POSIX 2008, realpath, madvise and sched_getaffinity */

#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

const char *run_name = "run";
int run_rank;
void (*run_fail)(const char *line);
const char *run_device_hint = "";

/* The terminal shows a progress line without a line end. */
static bool line_open;

enum {
    RESULTS_MAX = 8,
    FILES_MAX = 64, /* files that the arguments of a program name */
    CACHE_LINE = 64,
    LARGE_BLOCK =
        4 << 20 /* two large pages of x86: fewer are not worth a system call */
};

/* Bytes after each block that AddressSanitizer forbids, more than its own redzone has.
 */
#ifdef __SANITIZE_ADDRESS__
enum { GUARD = 1 << 16 };
#else
enum { GUARD = 0 };
#define ASAN_POISON_MEMORY_REGION(p, bytes)   ((void)(p), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(p, bytes) ((void)(p), (void)(bytes))
#endif

static struct result {
    FILE *stream;    /* NULL: unused entry */
    char *path;      /* destination, links resolved; NULL: written in place */
    char *temporary; /* path.XXXXXX */
} results[RESULTS_MAX];

static const char *created_folder; /* NULL: none */

static struct result *result_find(const FILE *stream)
{
    for (int i = 0; i < RESULTS_MAX; i++)
        if (results[i].stream == stream) return &results[i];
    return NULL;
}

/* ---- lock of the table of results ---------------------------------------------------
 *
 * A signal can arrive while the table changes, in this thread or in another. A thread
 * therefore blocks these signals before it changes the table, and a handler in another
 * thread waits for the lock. The handler never releases it, because the program ends.
 */
static atomic_flag table_locked = ATOMIC_FLAG_INIT;
static atomic_bool terminating; /* from now on, only a signal handler may lock */
static const int fatal_signals[] = {SIGHUP, SIGINT, SIGTERM};
enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof fatal_signals[0] };

static sigset_t fatal_signal_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < FATAL_SIGNALS; i++) sigaddset(&set, fatal_signals[i]);
    return set;
}

static void wait_for_lock(void)
{
    while (atomic_flag_test_and_set(&table_locked)) poll(NULL, 0, 1);
}

/* Locks the table and returns the signal mask to restore. Keeps errno. */
static sigset_t table_lock(void)
{
    int saved = errno;
    sigset_t set = fatal_signal_set(), mask;
    pthread_sigmask(SIG_BLOCK, &set, &mask);
    while (terminating) poll(NULL, 0, 1);
    wait_for_lock();
    errno = saved;
    return mask;
}

/* Unlocks the table and restores the signal mask. Keeps errno. */
static void table_unlock(sigset_t mask)
{
    int saved = errno;
    atomic_flag_clear(&table_locked);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    errno = saved;
}

static void remove_temporaries(void)
{
    for (int i = 0; i < RESULTS_MAX; i++)
        if (results[i].stream && results[i].path) unlink(results[i].temporary);
    if (created_folder) rmdir(created_folder);
}

/* Signal handler: calls only async-signal-safe functions. The raised signal stays
 * blocked until the handler returns. */
static void terminate_by(int number)
{
    terminating = true;
    wait_for_lock();
    remove_temporaries();
    signal(number, SIG_DFL);
    raise(number);
}

void fail_in_handler(const char *line)
{
    terminating = true;
    wait_for_lock();
    remove_temporaries();
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written;
    _exit(1);
}

/* A signal that is ignored (nohup) or handled already stays so. */
void install_handlers(void)
{
    static bool installed;
    if (installed) return;
    installed = true;
    /* No file may become stdin, stdout or stderr; what is written there is lost. */
    int null = 0;
    while (null <= STDERR_FILENO && null >= 0) null = open("/dev/null", O_RDONLY);
    if (null > STDERR_FILENO) close(null);
    struct sigaction action = {.sa_handler = terminate_by}, old;
    action.sa_mask = fatal_signal_set();
    for (int i = 0; i < FATAL_SIGNALS; i++)
        if (sigaction(fatal_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(fatal_signals[i], &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

/* ---- error messages ----------------------------------------------------------------
 */

int refuse(char reason[REASON_SIZE], const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(reason, REASON_SIZE, format, values);
    va_end(values);
    return -1;
}

/* Drops what stdout has buffered: a run that fails prints no results. */
static void discard_output(void)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) dup2(null, STDOUT_FILENO);
}

void fail(const char *format, ...)
{
    char line[4096];
    int start = snprintf(line, sizeof line / 2, "%s: ", run_name);
    if (start < 0) start = 0;
    if (start >= (int)sizeof line / 2) start = sizeof line / 2 - 1;

    va_list values;
    va_start(values, format);
    vsnprintf(line + start, sizeof line - (size_t)start, format, values);
    va_end(values);

    /* Text from outside must neither begin a second line nor control the terminal. */
    for (unsigned char *c = (unsigned char *)line; *c; c++)
        if (*c < ' ' || *c == 127) *c = '?';

    sigset_t mask = table_lock();
    remove_temporaries();
    table_unlock(mask);
    discard_output();
    if (run_fail) run_fail(line);
    fprintf(stderr, "%s%s\n", line_open ? "\n" : "", line);
    exit(1);
}

/* ---- memory ------------------------------------------------------------------------
 */

/* The number in a file of a control group; INFINITY for "max" or without a file. */
static double limit_in(const char *path)
{
    double limit;
    FILE *file = fopen(path, "r");
    bool found = file && fscanf(file, "%lf", &limit) == 1;
    if (file) fclose(file);
    return found ? limit : INFINITY;
}

/* A line of /proc/self/cgroup is "0::/path" (version 2) or "number:controllers:/path"
 * (version 1, one line per hierarchy). A limit of a parent group applies as well. In a
 * container, only the root of the hierarchy may be visible. */
double cgroup_limit(const char *groups, const char *mount)
{
    double limit = INFINITY;
    char line[2048], file[4096];
    FILE *f = fopen(groups, "r");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(++controllers, ':') : NULL;
        if (!path) continue;
        *path++ = '\0';
        bool version_2 = !*controllers;
        if (!version_2 && !strstr(controllers, "memory")) continue;
        for (char *end = path + strlen(path); end; end = strrchr(path, '/')) {
            *end = '\0';
            snprintf(file, sizeof file, "%s%s%s/%s", mount, version_2 ? "" : "/memory",
                     path, version_2 ? "memory.max" : "memory.limit_in_bytes");
            limit = fmin(limit, limit_in(file));
        }
    }
    if (f) fclose(f);
    return limit;
}

static double usable_memory;

static void find_usable_memory(void)
{
    usable_memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    usable_memory =
        fmin(usable_memory, cgroup_limit("/proc/self/cgroup", "/sys/fs/cgroup"));
}

double memory_limit(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_usable_memory);
    return usable_memory;
}

void memory_check(double bytes, const char *what, ...)
{
    if (bytes <= memory_limit()) return;
    char text[REASON_SIZE];
    va_list values;
    va_start(values, what);
    vsnprintf(text, sizeof text, what, values);
    va_end(values);
    fail("%s: too large (%.3g GB): expected at most %.3g GB, the memory limit", text,
         bytes / 1e9, memory_limit() / 1e9);
}

void memory_large_pages(void *p, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), offset = -(uintptr_t)p % page;
    if (bytes >= LARGE_BLOCK)
        madvise((char *)p + offset, bytes - offset, MADV_HUGEPAGE);
}

void memory_forbid(const void *p, size_t bytes)
{
    ASAN_POISON_MEMORY_REGION(p, bytes);
}

void memory_permit(const void *p, size_t bytes)
{
    ASAN_UNPOISON_MEMORY_REGION(p, bytes);
}

void *allocate_untouched(size_t count, size_t size, const char *what)
{
    memory_check((double)count * (double)size, "%s", what);
    size_t bytes = count * size;
    void *p = NULL;
    if (posix_memalign(&p, CACHE_LINE, (bytes ? bytes : 1) + GUARD))
        fail("%s: not enough memory for %zu bytes", what, bytes);
    memory_forbid((char *)p + bytes, GUARD);
    memory_large_pages(p, bytes);
    return p;
}

void *allocate(size_t count, size_t size, const char *what)
{
    return memset(allocate_untouched(count, size, what), 0xff, count * size);
}

uint64_t digest_update(uint64_t digest, const void *bytes, size_t size)
{
    const uint64_t offset_basis = 0xcbf29ce484222325u, prime = 0x100000001b3u;
    const unsigned char *p = bytes;
    if (!digest) digest = offset_basis;
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        digest = (digest ^ word) * prime;
        digest ^= digest >> 29; /* the product carries only upwards: mix downwards */
    }
    for (; size > 0; size--) digest = (digest ^ *p++) * prime;
    return digest;
}

uint64_t splitmix64(uint64_t start, uint64_t n)
{
    uint64_t z = start + n * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- the machine --------------------------------------------------------------------
 */

/* The value of an environment variable, 1 to `most`, or `reported` if it is not set. */
static long replaced_by(const char *variable, int most, long reported)
{
    const char *text = getenv(variable);
    return text && *text ? parse_int(variable, text, 1, most) : reported;
}

long machine_l2_cache(void)
{
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); /* 0 or -1 if unknown */
    return replaced_by("CACHE_L2", INT_MAX, bytes > 0 ? bytes : 1 << 20);
}

int machine_processors(void)
{
    cpu_set_t allowed;
    bool known = !sched_getaffinity(0, sizeof allowed, &allowed);
    return (int)replaced_by("PROCESSORS", THREADS_MAX, known ? CPU_COUNT(&allowed) : 1);
}

void bind_thread(int thread, int threads)
{
    if (getenv("OMP_PROC_BIND") || getenv("OMP_PLACES") || getenv("GOMP_CPU_AFFINITY"))
        return;
    cpu_set_t allowed, own;
    if (sched_getaffinity(0, sizeof allowed, &allowed) ||
        CPU_COUNT(&allowed) != threads)
        return;
    int core = 0;
    for (int before = 0; before < thread || !CPU_ISSET(core, &allowed); core++)
        before += CPU_ISSET(core, &allowed);
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    sched_setaffinity(0, sizeof own, &own);
}

/* ---- time --------------------------------------------------------------------------
 */

double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress(const char *what, double done, double total)
{
    static const double interval = 0.1; /* seconds between two updates */
    static double shown_at = -1;
    if (!isatty(STDERR_FILENO)) return;

    bool end = !(done < total);
    double now = seconds();
    if (!end && now - shown_at < interval) return;
    if (end && !line_open) return; /* finished before the first update */

    double fraction = end ? 1 : done > 0 ? done / total : 0;
    fprintf(stderr, "\r%s: %s %d%%\033[K%s", run_name, what, (int)(100 * fraction),
            end ? "\n" : "");
    shown_at = now;
    line_open = !end;
}

/* ---- input files -------------------------------------------------------------------
 */

const char *input_open(const char *path, FILE **file)
{
    *file = NULL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return strerror(errno);
    struct stat status;
    bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    *file = regular ? fdopen(fd, "rb") : NULL;
    if (*file) return NULL;
    close(fd);
    return regular ? strerror(errno) : "not a regular file";
}

int input_line(FILE *file, char *line, size_t size, char reason[REASON_SIZE])
{
    size_t length = 0;
    int c;
    while ((c = getc(file)) != EOF && c != '\n') {
        if (c == '\0') return refuse(reason, "a zero byte: expected text");
        if (length + 1 == size)
            return refuse(reason, "too long: expected at most %zu bytes", size - 1);
        line[length++] = (char)c;
    }
    line[length] = '\0';
    if (ferror(file)) return refuse(reason, "cannot be read: %s", strerror(errno));
    return c != EOF || length > 0;
}

/* ---- result files ------------------------------------------------------------------
 */

/* Clears an entry of the table. Keeps errno. */
static void result_clear(struct result *r)
{
    int saved = errno;
    free(r->path);
    free(r->temporary);
    *r = (struct result){0};
    errno = saved;
}

/* Creates path.XXXXXX with the permissions that a new file at path would have. */
static FILE *temporary_open(char *temporary)
{
    int fd = mkstemp(temporary);
    if (fd < 0) return NULL;

    mode_t mask = umask(0);
    umask(mask);
    FILE *stream = NULL;
    if (fchmod(fd, 0666 & ~mask) == 0) stream = fdopen(fd, "wb");
    if (!stream) {
        int saved = errno;
        close(fd);
        unlink(temporary);
        errno = saved;
    }
    return stream;
}

/* Opens a device or a pipe for writing. If path has become a regular file meanwhile, it
 * is neither truncated nor written: EBUSY. */
static FILE *device_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return NULL;
    struct stat status;
    FILE *stream = NULL;
    errno = EBUSY;
    if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)) stream = fdopen(fd, "wb");
    if (!stream) {
        int saved = errno;
        close(fd);
        errno = saved;
    }
    return stream;
}

/* Fills an entry of the table, except for the stream, for a new or regular file. */
static bool result_names(struct result *r, const char *path, bool exists)
{
    /* rename() would replace a symbolic link: follow it. */
    r->path = exists ? realpath(path, NULL) : strdup(path);
    if (!r->path) return false;
    size_t size = strlen(r->path) + sizeof ".XXXXXX";
    r->temporary = malloc(size);
    if (!r->temporary) return false;
    snprintf(r->temporary, size, "%s.XXXXXX", r->path);
    return true;
}

FILE *result_open(const char *path)
{
    struct result *r = result_find(NULL);
    if (!r) {
        errno = EMFILE;
        return NULL;
    }
    install_handlers();
    if (run_rank) return r->stream = fopen("/dev/null", "wb");

    struct stat status;
    bool exists = stat(path, &status) == 0;
    if (!exists && (errno != ENOENT || !*path)) return NULL;
    if (!exists && lstat(path, &status) == 0) { /* a link that leads nowhere */
        errno = ENOENT;
        return NULL;
    }
    if (exists && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return NULL;
    }
    if (exists && !S_ISREG(status.st_mode)) return r->stream = device_open(path);

    if (result_names(r, path, exists)) {
        sigset_t mask = table_lock();
        r->stream = temporary_open(r->temporary);
        table_unlock(mask);
    }
    FILE *stream = r->stream;
    if (!stream) result_clear(r);
    return stream;
}

const char *result_temporary(FILE *stream)
{
    return result_find(stream)->temporary;
}

/* The reason of an earlier write error, which errno no longer holds. The condition that
 * stopped that write stops the write of one more byte, too. */
static int repeated_error(FILE *stream)
{
    return write(fileno(stream), "", 1) < 0 ? errno : EIO;
}

int result_close(FILE *stream)
{
    struct result *r = result_find(stream);
    int error = ferror(stream) ? repeated_error(stream) : fflush(stream) ? errno : 0;
    sigset_t mask = table_lock();
    if (fclose(stream) != 0 && !error) error = errno;
    if (r->path) {
        if (!error && rename(r->temporary, r->path) != 0) error = errno;
        if (error) unlink(r->temporary);
    }
    result_clear(r);
    table_unlock(mask);
    errno = error;
    return error ? -1 : 0;
}

void result_drop(FILE *stream)
{
    struct result *r = result_find(stream);
    sigset_t mask = table_lock();
    fclose(stream);
    if (r->path) unlink(r->temporary);
    if (created_folder) rmdir(created_folder);
    result_clear(r);
    table_unlock(mask);
}

void result_folder(const char *key, const char *path)
{
    name_result(key, path);
    struct stat status;
    if (mkdir(path, 0777) == 0)
        created_folder = path;
    else if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        fail("%s=%s: not a folder and cannot be created", key, path);
}

static bool same_inode(const char *path, const char *other)
{
    struct stat a, b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Copies path without its last name to folder; returns the last name. */
static const char *split_path(const char *path, char *folder)
{
    const char *slash = strrchr(path, '/');
    strcpy(folder, slash ? path : ".");
    if (slash) folder[slash == path ? 1 : slash - path] = '\0';
    return slash ? slash + 1 : path;
}

bool same_file(const char *path, const char *other)
{
    if (!strcmp(path, other)) return true;
    if (access(path, F_OK) == 0 || access(other, F_OK) == 0)
        return same_inode(path, other);
    char *folder = allocate(strlen(path) + 2, 1, path);
    char *other_folder = allocate(strlen(other) + 2, 1, other);
    const char *name = split_path(path, folder);
    bool same = !strcmp(name, split_path(other, other_folder)) &&
                same_inode(folder, other_folder);
    free(other_folder);
    free(folder);
    return same;
}

/* The files that arguments have named. */
static struct {
    const char *key;
    char *path;
    bool is_result;
} named[FILES_MAX];

/* Calls fail() if an argument names this file and one of the two is for a result.
 * Returns the number of named files. */
static int require_distinct(const char *key, const char *path, bool is_result)
{
    int i = 0;
    for (; i < FILES_MAX && named[i].key; i++)
        if ((is_result || named[i].is_result) && same_file(path, named[i].path))
            fail("%s= and %s= name the same file: %s", named[i].key, key, path);
    return i;
}

/* Two arguments may name one device, or one input. */
static void name_file(const char *key, const char *path, bool is_result)
{
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) return;
    int i = require_distinct(key, path, is_result);
    if (i == FILES_MAX) fail("internal error: more than %d named files", FILES_MAX);
    named[i].key = key;
    named[i].path = strdup(path);
    if (!named[i].path) fail("%s=%s: not enough memory", key, path);
    named[i].is_result = is_result;
}

void name_input(const char *key, const char *path)
{
    name_file(key, path, false);
}

void name_result(const char *key, const char *path)
{
    name_file(key, path, true);
}

void result_distinct(const char *key, const char *path)
{
    require_distinct(key, path, true);
}

void result_check(const char *key, const char *path)
{
    name_result(key, path);
    /* Opening and closing a pipe would end the input of its reader. */
    struct stat status;
    if (stat(path, &status) == 0 && S_ISFIFO(status.st_mode)) {
        if (access(path, W_OK))
            fail("%s=%s: cannot be written: %s", key, path, strerror(errno));
        return;
    }
    FILE *f = result_open(path);
    if (!f) fail("%s=%s: cannot be written: %s", key, path, strerror(errno));
    result_drop(f);
}
