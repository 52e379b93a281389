/* run.c - error lines, the clock, progress, and result files that appear complete or
 * not at all.
 *
 * A result is written to path.XXXXXX and renamed, so whoever reads path sees the old
 * file or the whole new one. The few that are open at a time are kept in a table, which
 * is how fail(), and the signals that end a program, know what to remove.
 *
 * Left out: threads (call these from one), kill -9 (which leaves path.XXXXXX behind,
 * never half of path) and fsync (a power cut).
 */
#define _DEFAULT_SOURCE /* POSIX 2008, realpath and madvise */

#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *run_name = "run";
int run_rank;
void (*run_fail)(const char *line);
const char *run_without_device = "";

/* A progress line stands on the terminal without its line end. */
static bool line_open;

enum { RESULTS = 8, LARGE = 4 << 20 };
static struct result {
    FILE *stream;    /* NULL: a free place */
    char *path;      /* where the result goes, links resolved; NULL: written in place */
    char *temporary; /* path.XXXXXX */
} results[RESULTS];

static struct result *result_find(const FILE *stream)
{
    for (int i = 0; i < RESULTS; i++)
        if (results[i].stream == stream) return &results[i];
    return NULL;
}

/* ---- who may touch the table --------------------------------------------------------
 *
 * A signal can come while the table changes, to this thread or to another. So the
 * thread that changes it takes no such signal meanwhile, and a handler in another
 * thread waits until it has done. What the handler has taken it keeps: the program
 * ends. */
static atomic_flag taken = ATOMIC_FLAG_INIT;
static atomic_bool end_is_near; /* nobody takes the table any more but a handler */
static const int ending[] = {SIGHUP, SIGINT, SIGTERM};
enum { ENDING = sizeof ending / sizeof ending[0] };

static sigset_t ending_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < ENDING; i++) sigaddset(&set, ending[i]);
    return set;
}

static void take(void)
{
    while (atomic_flag_test_and_set(&taken)) poll(NULL, 0, 1);
}

/* Both keep errno. */
static sigset_t table_take(void)
{
    int saved = errno;
    sigset_t set = ending_set(), before;
    pthread_sigmask(SIG_BLOCK, &set, &before);
    while (end_is_near) poll(NULL, 0, 1);
    take();
    errno = saved;
    return before;
}

static void table_give(sigset_t before)
{
    int saved = errno;
    atomic_flag_clear(&taken);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
}

static void remove_temporaries(void)
{
    for (int i = 0; i < RESULTS; i++)
        if (results[i].stream && results[i].path) unlink(results[i].temporary);
}

/* Calls nothing that a handler may not. The signal is held back until it returns. */
static void end_by(int number)
{
    end_is_near = true;
    take();
    remove_temporaries();
    signal(number, SIG_DFL);
    raise(number);
}

/* Once: a signal that would end the program removes the temporaries first, if nobody
 * ignores it (nohup) or handles it; a file beyond ulimit -f is an error as a full disk
 * is, not the end. */
static void watch_signals(void)
{
    static bool done;
    if (done) return;
    done = true;
    struct sigaction act = {.sa_handler = end_by}, before;
    act.sa_mask = ending_set();
    for (int i = 0; i < ENDING; i++)
        if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(ending[i], &act, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

/* ---- error lines, memory, the clock -------------------------------------------------
 */

int refuse(char why[WHY], const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(why, WHY, format, list);
    va_end(list);
    return -1;
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

    /* Text from outside must not start a second line or drive the terminal. */
    for (unsigned char *c = (unsigned char *)line; *c; c++)
        if (*c < ' ' || *c == 127) *c = '?';

    sigset_t before = table_take();
    remove_temporaries();
    table_give(before);
    fflush(stdout);
    if (run_fail) run_fail(line);
    fprintf(stderr, "%s%s\n", line_open ? "\n" : "", line);
    exit(1);
}

/* Asks for pages of megabytes under a block of many: a sweep over tens of arrays needs
 * the address of a page of each at a time, and a processor remembers few. Where the
 * system has none, nothing is lost. */
static void ask_for_large_pages(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = -(uintptr_t)p % page;
    if (bytes >= LARGE) madvise((char *)p + before, bytes - before, MADV_HUGEPAGE);
#else
    (void)p, (void)bytes;
#endif
}

void *untouched(size_t count, size_t size, const char *what)
{
    double wanted = (double)count * (double)size;
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (wanted > memory)
        fail("%s: %.3g GB needed, this machine has %.3g GB", what, wanted / 1e9,
             memory / 1e9);
    size_t bytes = count * size;
    void *p;
    if (posix_memalign(&p, 64, bytes ? bytes : 1))
        fail("%s: no memory for %zu bytes", what, bytes);
    ask_for_large_pages(p, bytes);
    return p;
}

void *allocate(size_t count, size_t size, const char *what)
{
    return memset(untouched(count, size, what), 0xff, count * size);
}

double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress(const char *what, double done, double total)
{
    static double shown_at = -1;
    if (!isatty(STDERR_FILENO)) return;

    bool end = !(done < total);
    double now = seconds();
    if (!end && now - shown_at < 0.1) return;
    if (end && !line_open) return; /* too short to have shown anything */

    double share = end ? 1 : done > 0 ? done / total : 0;
    fprintf(stderr, "\r%s: %s %d%%\033[K%s", run_name, what, (int)(100 * share),
            end ? "\n" : "");
    shown_at = now;
    line_open = !end;
}

/* ---- files --------------------------------------------------------------------------
 */

const char *input_open(const char *path, FILE **file)
{
    *file = NULL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return strerror(errno);
    struct stat about;
    bool regular = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    *file = regular ? fdopen(fd, "rb") : NULL;
    if (*file) return NULL;
    close(fd);
    return regular ? strerror(errno) : "not a regular file";
}

/* Frees the place and keeps errno. */
static void result_forget(struct result *r)
{
    int saved = errno;
    free(r->path);
    free(r->temporary);
    *r = (struct result){0};
    errno = saved;
}

/* Opens path.XXXXXX with the permissions that path itself would have got. */
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

FILE *result_open(const char *path)
{
    struct result *r = result_find(NULL);
    if (!r) {
        errno = EMFILE;
        return NULL;
    }
    if (!*path) {
        errno = ENOENT;
        return NULL;
    }
    watch_signals();
    if (run_rank) return r->stream = fopen("/dev/null", "wb");
    struct stat there;
    bool exists = stat(path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode)) {
        errno = EISDIR;
        return NULL;
    }
    /* A rename would replace a device or a link, not write to it. */
    if (exists) r->path = S_ISREG(there.st_mode) ? realpath(path, NULL) : NULL;
    if (exists && !r->path) return r->stream = fopen(path, "wb");

    if (!exists) r->path = strdup(path);
    size_t size = r->path ? strlen(r->path) + sizeof ".XXXXXX" : 0;
    if (size) r->temporary = malloc(size);
    if (r->temporary) {
        snprintf(r->temporary, size, "%s.XXXXXX", r->path);
        sigset_t before = table_take();
        r->stream = temporary_open(r->temporary);
        table_give(before);
    }
    FILE *stream = r->stream;
    if (!stream) result_forget(r);
    return stream;
}

const char *result_temporary(FILE *stream)
{
    return result_find(stream)->temporary;
}

/* Why a write failed whose reason is long forgotten: what stopped it stops one more
 * byte. */
static int reason_again(FILE *stream)
{
    return write(fileno(stream), "", 1) < 0 ? errno : EIO;
}

int result_close(FILE *stream)
{
    struct result *r = result_find(stream);
    int why = ferror(stream) ? reason_again(stream) : fflush(stream) ? errno : 0;
    sigset_t before = table_take();
    if (fclose(stream) != 0 && !why) why = errno;
    if (r->path) {
        if (!why && rename(r->temporary, r->path) != 0) why = errno;
        if (why) unlink(r->temporary);
    }
    result_forget(r);
    table_give(before);
    errno = why;
    return why ? -1 : 0;
}

void result_drop(FILE *stream)
{
    struct result *r = result_find(stream);
    sigset_t before = table_take();
    fclose(stream);
    if (r->path) unlink(r->temporary);
    result_forget(r);
    table_give(before);
}
