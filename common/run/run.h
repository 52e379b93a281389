/* run.h - services for every front end: error messages, memory, a clock, key=value
 * arguments, input and result files. Nothing here is timed and no lesson edits it.
 */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The program's name, which begins every message. main() sets it first. */
extern const char *run_name;

/* For programs that run as several processes (common/mpi): the rank of this process,
 * and a function that fail() calls with its message to end all processes. 0 and NULL in
 * a program that runs as one process. */
extern int run_rank;
extern void (*run_fail)(const char *line);

/* Advice for users without a device, appended to each message that reports that no
 * device was found. Empty if the program cannot run without one. */
extern const char *run_device_hint;

/* Prints one line, "name: message", on stderr and exits with status 1. Removes the
 * temporary files of unfinished results first, so that a failed run leaves no partial
 * result, and drops what stdout has buffered. Control characters are printed as '?'. */
#if defined(__GNUC__)
__attribute__((noreturn, format(printf, 1, 2)))
#endif
void fail(const char *format, ...);

/* Prints line and ends the program like fail(), from a signal handler. */
void fail_in_handler(const char *line);

/* Formats the reason of a failure into reason and returns -1, for functions that report
 * an error to their caller instead of calling fail(). */
enum { REASON_SIZE = 256 };
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int refuse(char reason[REASON_SIZE], const char *format, ...);

/* ---- memory ------------------------------------------------------------------------
 *
 * Both functions return count * size bytes, aligned to a cache line (64 bytes), which
 * the caller releases with free(). `what` names the data in error messages. Both call
 * fail() if the request exceeds memory_limit(). Large blocks are backed by large pages
 * if the system has them. The time that both take counts as initialization.
 *
 * allocate() sets every bit. Interpreted as floats this is NaN, so that an element that
 * was never written cannot pass for a result. The calling thread writes all pages, and
 * on a NUMA machine the operating system places a page on the node of the thread that
 * writes to it first.
 *
 * allocate_untouched() leaves the pages unwritten, so that each thread can place its
 * own part by writing to it first. Every element must be written before it is read. */
void *allocate(size_t count, size_t size, const char *what);
void *allocate_untouched(size_t count, size_t size, const char *what);

/* Bytes of memory that this process may use: the physical memory, or the limit of its
 * control group (version 1 or 2) if that is lower. cgroup_limit() returns the latter,
 * INFINITY if there is none, given the file that lists the groups of a process and the
 * folder where control groups are mounted. */
double memory_limit(void);
double cgroup_limit(const char *groups, const char *mount);

/* In a build with AddressSanitizer, every later access to these bytes is reported,
 * until memory_permit() is called for them or free() for their block. Both functions
 * have no effect in other builds. allocate_untouched() forbids the bytes after each
 * block. */
void memory_forbid(const void *p, size_t bytes);
void memory_permit(const void *p, size_t bytes);

/* Requests large pages for a block before it is written: each has one entry in the TLB,
 * which a sweep over tens of arrays would otherwise miss at each array. */
void memory_large_pages(void *p, size_t bytes);

/* fail("what: ...") if more than memory_limit() bytes are needed. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void memory_check(double bytes, const char *what, ...);

/* Updates a 64-bit digest of a sequence of bytes; the first call passes digest = 0. It
 * is FNV-1a, applied to 8 bytes at a time and then to each remaining byte. It detects
 * accidental differences, not those made by an attacker. */
uint64_t digest_update(uint64_t digest, const void *bytes, size_t size);

/* Returns number n, counted from 1, of the random sequence splitmix64 (Steele, Lea and
 * Flood 2014) with that start. It is the same on every machine. */
uint64_t splitmix64(uint64_t start, uint64_t n);

/* ---- the machine -------------------------------------------------------------------
 *
 * The size of the L2 cache of a core, in bytes, and the number of cores that this
 * process may use, as the operating system reports them. The environment variables
 * CACHE_L2 and PROCESSORS replace them, so that verification can try the decisions that
 * a program makes on other machines. OMP_NUM_THREADS and PROCESSORS are at most
 * THREADS_MAX: libraries end in a crash if they cannot start their threads. */
enum { THREADS_MAX = 4096 };
long machine_l2_cache(void);
int machine_processors(void);

/* Binds the calling thread, number `thread` of `threads`, to a core of its own if the
 * process may use exactly as many cores. Otherwise the system may place two threads on
 * one core, where the one spins at a barrier while the other should compute. Does
 * nothing if OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY is set. */
void bind_thread(int thread, int threads);

/* ---- time --------------------------------------------------------------------------
 *
 * Seconds on a monotonic clock, counted from an arbitrary moment. */
double seconds(void);

/* Shows "name: what 42%" in place, at most ten times per second and only if stderr is a
 * terminal. progress(what, 1, 1) ends the line. */
void progress(const char *what, double done, double total);

/* ---- key=value arguments -----------------------------------------------------------
 *
 * A program declares its keys in a table that ends in {0}, or in {.value = table} to
 * continue with a further table. args_parse() stores the values of the command line. It
 * calls fail() for an argument without '=', an unknown key (and suggests the most
 * similar one), a key that occurs twice, and a value that is not a number or out of
 * range. `help`, `-h` and `--help` print the table and exit with status 0, `keys`
 * prints it for programs: key, type (int, double, text or ints), low, high and count,
 * with tabs; without any argument the table is printed and the status is 1. `about`
 * describes the program there, possibly in several lines. From then on stdout is
 * buffered until it is flushed, so that a run that fails prints no results. */
typedef enum { ARG_INT, ARG_DOUBLE, ARG_TEXT, ARG_INTS } arg_type;

typedef struct {
    const char *key;  /* NULL ends the table */
    arg_type type;    /* ARG_INT: int *; ARG_DOUBLE: double *; ARG_TEXT: const char **;
                         ARG_INTS: int[count], written as a comma-separated list */
    void *value;      /* the variable to store to; its initial value is the default */
    double low, high; /* accepted range of numbers, ends included (never NaN); ARG_TEXT:
                         that of the numbers in the text, for help, or 0, 0 */
    const char *about; /* one line for help, with the unit */
    int count;         /* ARG_INTS: number of ints, at most ARG_INTS_MAX; else 0 */
} arg;

enum { ARG_INTS_MAX = 8 };

/* The row {ARG_LOCAL(group)} declares the key local= of all programs with devices: the
 * work-group size, int group[3], with 0 for "chosen by the back-end". */
#define ARG_LOCAL(group)                                                               \
    "local", ARG_INTS, group, 1, 1024,                                                 \
        "X,Y,Z: work-items per work-group on the device", 3

/* A back-end may define further keys and a check for all programs: a table that ends in
 * ARG_END, and a function that is called after the arguments have been parsed. */
extern arg backend_keys[];
void backend_check(int argc, char **argv);
#define ARG_END                                                                        \
    {                                                                                  \
        .about = ""                                                                    \
    }

void args_parse(int argc, char **argv, arg *table, const char *about);
void args_help(const arg *table, const char *about);

/* Converts the whole of text to a number; fail("key=text: ...") unless
 * low <= number <= high. */
double parse_double(const char *key, const char *text, double low, double high);
int parse_int(const char *key, const char *text, int low, int high);

/* Splits text at its commas: item[0 .. count - 1] point into buffer, which holds a
 * copy. fail("key=text: expected form") unless there are exactly count items. */
enum { PARSE_SIZE = 160 };
void parse_list(const char *key, const char *text, int count, const char *form,
                char buffer[PARSE_SIZE], const char *item[]);

/* Returns the index of text among the names that follow, as in
 * parse_choice("order", text, "auto", "little", "big");
 * fail("order=text: expected auto, little or big") if it is none of them. */
#define parse_choice(key, text, ...)                                                   \
    parse_choice_of(key, text, (const char *const[]){__VA_ARGS__, NULL})
int parse_choice_of(const char *key, const char *text, const char *const names[]);

/* ---- input files -------------------------------------------------------------------
 *
 * input_open() opens a regular file, or a symbolic link to one. It returns NULL and the
 * stream *file, or the reason of the failure in a few words that do not repeat the
 * path. It never blocks, not even for a FIFO without a writer. */
const char *input_open(const char *path, FILE **file);

/* Reads the next line of a text file into line[size], without its line end. Returns 1,
 * 0 at the end of the file, or -1 with a reason: the line is too long, contains a zero
 * byte, or cannot be read. */
int input_line(FILE *file, char *line, size_t size, char reason[REASON_SIZE]);

/* ---- result files ------------------------------------------------------------------
 *
 * A result is written to a temporary file next to path, which is renamed when it is
 * complete. result_open() returns its stream, or NULL with errno set. result_close()
 * flushes and renames; it returns 0, or -1 with errno set and the temporary file
 * removed. result_drop() removes the temporary file and an empty folder of
 * result_folder(). Both close the stream. fail(), SIGHUP, SIGINT and SIGTERM remove
 * those of all open results. A symbolic link must lead to a file, because rename()
 * would replace the link. If path exists and is a device or a pipe (/dev/null,
 * /dev/stdout), it is written in place. */
FILE *result_open(const char *path);
const char *result_temporary(FILE *stream); /* NULL if path is written in place */
int result_close(FILE *stream);
void result_drop(FILE *stream);

/* Creates a folder for results, unless it exists: fail("key=path: not a folder and
 * cannot be created"). fail() and the signals remove it if it is empty. `path` must
 * stay valid. */
void result_folder(const char *key, const char *path);

/* Installs the handlers of these signals, once. SIGXFSZ is ignored, so that a file
 * larger than `ulimit -f` makes write() fail, as on a full disk. args_parse() and
 * result_open() call this function. */
void install_handlers(void);

/* Record the file that an argument names. fail("key= and key= name the same file: ...")
 * if two arguments name one regular file and at least one of them is for a result.
 * Paths that lead to one file through links are the same. */
void name_input(const char *key, const char *path);
void name_result(const char *key, const char *path);

/* True if both paths name the same file, or, if that does not exist yet, the same name
 * in the same folder. Symbolic links are followed. */
bool same_file(const char *path, const char *other);

/* Calls fail() as name_result() does, but does not record the file: for one of a series
 * of results in a folder. */
void result_distinct(const char *key, const char *path);

/* Calls name_result(), and checks before long work begins that path can be written,
 * without leaving a file: fail("key=path: cannot be written: ..."). */
void result_check(const char *key, const char *path);

/* ---- NumPy's .npy, version 1.0: C order, little-endian -----------------------------
 */

typedef enum { NPY_F4, NPY_F8, NPY_I4, NPY_U1 } npy_type;

typedef struct {
    npy_type type;
    int dims;        /* 0 .. 8 */
    size_t shape[8]; /* slowest first */
    void *data;      /* product of shape elements */
} npy;

enum { NPY_HEADER = 512 };

/* Writes an array; fail() if path cannot be written. */
void npy_write(const char *path, const npy *a);

/* Formats the .npy header and returns its length, for callers that write the elements
 * themselves. */
size_t npy_header(const npy *a, char bytes[NPY_HEADER]);

/* Reads an array. Returns 0 and a->data from malloc, or -1 with an empty *a and a
 * reason, one line that does not repeat the path: no such file, not .npy, a type or
 * order that is not supported, a file that is too short or too long, a shape that
 * overflows. An array without elements is accepted: npy_count() returns 0. */
int npy_read(const char *path, npy *a, char reason[REASON_SIZE]);
size_t npy_count(const npy *a);
size_t npy_size(npy_type type);

/* Reads an array, or calls fail() with key=path and the reason; without key= if it is
 * NULL. */
npy npy_load(const char *key, const char *path);

/* Returns element i of an array of any type as a double. */
double npy_element(const npy *a, size_t i);

/* Writes a picture as PNG (png.c): rows from the top, `channels` bytes per pixel, 1 for
 * gray or 3 for RGB. fail() if path cannot be written, or if a side is longer than
 * PNG_SIDE_MAX, the limit of libpng. */
enum { PNG_SIDE_MAX = 1000000 };
void png_write(const char *path, int width, int height, int channels,
               const unsigned char *pixels);

#ifdef __cplusplus
}
#endif

#endif
