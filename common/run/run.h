/* run.h - what every front end needs: error lines, a clock, key=value arguments, result
 * files. Nothing here is timed and no lesson edits it.
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

/* The name that opens every message; set once at the start of main. */
extern const char *run_name;

/* Where one program runs as many (common/mpi): which of them this is, and how fail()
 * ends them all, given the line. 0 and NULL where it runs alone. */
extern int run_rank;
extern void (*run_fail)(const char *line);

/* How to do without a device, where a program can: the end of each line that says that
 * there is none. */
extern const char *run_without_device;

/* One line on stderr, "name: message", then exit status 1. Files that are being written
 * are removed first: a failed run leaves nothing half done. */
#if defined(__GNUC__)
__attribute__((noreturn, format(printf, 1, 2)))
#endif
void fail(const char *format, ...);

/* How a reader refuses: one line in why, and -1 for it to return. */
enum { WHY = 256 };
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int refuse(char why[WHY], const char *format, ...);

/* count * size bytes for what (which the message names), from a line of the cache on.
 * fail() if they exceed the machine's memory. Give them back with free().
 *
 * allocate() sets every bit: as floats, NaN, so that what nobody wrote can never pass
 * for a result. It does so in the calling thread, and where memory has several places,
 * a page is in the place of the thread that wrote to it first: all of it in the
 * caller's. untouched() leaves that to whoever computes there: each thread must fill
 * its own part before anybody reads it. Both ask for large pages where a block has
 * many, and both take time, which counts as initialisation. */
void *allocate(size_t count, size_t size, const char *what);
void *untouched(size_t count, size_t size, const char *what);

/* Seconds since some fixed moment, monotonic. */
double seconds(void);

/* Progress: "name: what 42%" rewritten in place, on a terminal only, at most every
 * tenth of a second. done of total; progress(what, 1, 1) ends the line. */
void progress(const char *what, double done, double total);

/* ---- key=value arguments -----------------------------------------------------------
 *
 * A program declares its keys in a table ending in {0}, or in {.value = table}, whose
 * keys follow then; args_parse stores what the command line says. Errors go through
 * fail(): an argument without '=', an unknown key (the nearest known one is suggested),
 * a key given twice, a value that is not wholly a number or out of range. `help`, `-h`,
 * `--help` and a bare call print the table and exit; a bare call exits with 1. about
 * may go on with a line on how to call. */
typedef enum { ARG_INT, ARG_DOUBLE, ARG_TEXT, ARG_INTS } arg_type;

typedef struct {
    const char *key;   /* NULL ends the table */
    arg_type type;     /* ARG_INT: int *; ARG_DOUBLE: double *; ARG_TEXT: const char **;
                          ARG_INTS: int[], as many as about names first, "X,Y,Z: ..." */
    void *value;       /* where it goes; what it holds before is the default */
    double low, high;  /* numbers: the accepted range, ends included (NaN never is) */
    const char *about; /* one line for help, with the unit */
    bool given;        /* set by args_parse */
} arg;

/* A row {ARG_LOCAL(group)} of every program that has devices: int group[3], 0 where the
 * back-end is to choose. */
#define ARG_LOCAL(group)                                                               \
    "local", ARG_INTS, group, 1, 1024, "X,Y,Z: work-items a group, on a device", 0

/* What a back-end adds to every program's keys, if it defines these two: a table that
 * ends in ARG_LAST, and what is to be looked at when the words have been read. */
extern arg backend_keys[];
void backend_check(int argc, char **argv);
#define ARG_LAST                                                                       \
    {                                                                                  \
        .about = ""                                                                    \
    }

void args_parse(int argc, char **argv, arg *table, const char *about);
void args_help(const arg *table, const char *about);

/* The whole of text as a number, or fail("key=text: ..."), low <= number <= high. */
double parse_double(const char *key, const char *text, double low, double high);
int parse_int(const char *key, const char *text, int low, int high);

/* The words of text between commas, cut in room: as many as names has, which is text's
 * form, "P0,P1,N", or fail("key=text: expected P0,P1,N"). */
enum { PARSE_ROOM = 160 };
void parse_list(const char *key, const char *text, const char *names,
                char room[PARSE_ROOM], const char *word[]);

/* Which of the choices text is, counted from 0, or fail("key=text: expected auto,
 * little or big"), if that is how the choices are named. */
int parse_choice(const char *key, const char *text, const char *choices);

/* ---- files -------------------------------------------------------------------------
 *
 * Input is a regular file. input_open gives NULL and the stream *file, or else why
 * there is none, in a few words that do not repeat the path. Nothing is waited for, as
 * opening a FIFO would for somebody to write. */
const char *input_open(const char *path, FILE **file);

/* ---- result files ------------------------------------------------------------------
 *
 * A result is written to a temporary name beside path and renamed when it is complete.
 * result_open gives the stream, or NULL with errno set; result_close flushes and
 * renames, and result_drop removes: both end the stream. result_close returns 0, or -1
 * with errno set and the temporary removed. fail() removes what is still open, and so
 * do SIGHUP, SIGINT and SIGTERM, of which the program then dies. A path that is a
 * device or a pipe (/dev/null, /dev/stdout) is written in place. */
FILE *result_open(const char *path);
const char *result_temporary(FILE *stream); /* NULL: path is written in place */
int result_close(FILE *stream);
void result_drop(FILE *stream);

/* NumPy's .npy, version 1.0: C order, little-endian. */
typedef enum { NPY_F4, NPY_F8, NPY_I4, NPY_U1 } npy_type;

typedef struct {
    npy_type type;
    int dims;        /* 0 .. 8 */
    size_t shape[8]; /* slowest first */
    void *data;      /* product of shape elements */
} npy;

enum { NPY_WHY = WHY, NPY_HEADER = 512 };

/* fail() if path cannot be written. npy_writable tries it before long work begins and
 * leaves no file behind: fail("key=path: cannot be written: ..."). */
void npy_write(const char *path, const npy *a);
void npy_writable(const char *key, const char *path);

/* What comes before the elements, for who writes them himself: its length. */
size_t npy_header(const npy *a, char bytes[NPY_HEADER]);

/* 0 and a->data from malloc, or -1, an empty *a and one line in why[NPY_WHY], which
 * does not repeat the path: no such file, not .npy, a type or order not in npy_type, a
 * truncated or overlong file, a shape that overflows. An array of no elements is read:
 * npy_count is 0. */
int npy_read(const char *path, npy *a, char why[NPY_WHY]);
size_t npy_count(const npy *a);
size_t npy_size(npy_type type);

/* A picture as PNG (png.c): rows from the top, channels bytes a pixel, 1 gray or 3 RGB.
 * fail() if path cannot be written. */
void png_write(const char *path, int width, int height, int channels,
               const unsigned char *pixels);

#ifdef __cplusplus
}
#endif

#endif
