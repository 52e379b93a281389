/* run_test.c - tests of common/run: error messages, memory limits, arguments, input and
 * result files; and of how items are divided among threads
 * (common/gridding/parallel.h).
 *
 * run_test            runs the tests
 * run_test FILE ..    copies arrays for test_npy.py, see copy_arrays()
 *
 * Functions that end in fail() run in a child process, whose exit status and output are
 * checked. Left out: progress() on a terminal.
 */
#define _POSIX_C_SOURCE 200809L

#include "../common/gridding/parallel.h"
#include "../common/run/run.h"

#include "c_test.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- helpers ------------------------------------------------------------------- */

static int files_here(void)
{
    glob_t found;
    int count = glob("*", 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
    globfree(&found);
    return count;
}

typedef struct {
    int status; /* of exit() */
    char out[8192], err[8192];
} outcome;

static void slurp(const char *path, char text[8192])
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    text[fread(text, 1, 8191, f)] = 0;
    fclose(f);
    unlink(path);
}

/* Runs body(data) in a child process; if body returns, the exit status is 0. */
static outcome in_child(void (*body)(const void *), const void *data)
{
    outcome o;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen("out", "w", stdout) || !freopen("err", "w", stderr)) _exit(99);
        body(data);
        exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    o.status = WEXITSTATUS(status);
    slurp("out", o.out);
    slurp("err", o.err);
    return o;
}

static void assert_fails(void (*body)(const void *), const void *data, const char *line)
{
    outcome o = in_child(body, data);
    assert_string_equal(o.err, line);
    assert_string_equal(o.out, "");
    assert_int_equal(o.status, 1);
}

/* A call that must fail with one line. */
typedef struct {
    const void *data;
    const char *line;
} failure;

static void assert_all_fail(void (*body)(const void *), const failure *f, size_t count)
{
    for (size_t i = 0; i < count; i++) assert_fails(body, f[i].data, f[i].line);
}

/* Each text must fail with a line, of which the format contains the text as %s. */
static void assert_each_fails(void (*body)(const void *), const char *const *texts,
                              size_t count, const char *format)
{
    char line[256];
    for (size_t i = 0; i < count; i++) {
        snprintf(line, sizeof line, format, *texts[i] == '\n' ? "?" : texts[i]);
        assert_fails(body, texts[i], line);
    }
}

/* ---- fail, seconds, progress --------------------------------------------------- */

static void fails_with(const void *text)
{
    fail("%s", (const char *)text);
}

TEST(fail_is_one_line)
{
    static const failure lines[] = {
        {"plain", "t: plain\n"},
        {"a\nb\r\x1b[2J\x7f\tc", "t: a?b??[2J??c\n"},
        {"Gr\xc3\xb6\xc3\x9f\x65", "t: Gr\xc3\xb6\xc3\x9f\x65\n"}};
    assert_all_fail(fails_with, lines, LENGTH(lines));

    char big[20000];
    memset(big, 'x', sizeof big);
    big[sizeof big - 1] = 0;
    outcome o = in_child(fails_with, big);
    assert_int_equal(o.status, 1);
    assert_ptr_equal(strchr(o.err, '\n'), o.err + strlen(o.err) - 1);

    run_name = big;
    o = in_child(fails_with, "end");
    run_name = "t";
    assert_non_null(strstr(o.err, "xend\n"));
}

static void fails_while_writing(const void *unused)
{
    (void)unused;
    FILE *f = result_open("one"), *g = result_open("two");
    if (!f || !g) _exit(98);
    fputs("half", f);
    fflush(f);
    fail("stop");
}

TEST(fail_removes_temporaries)
{
    assert_fails(fails_while_writing, NULL, "t: stop\n");
    assert_int_equal(files_here(), 0);
}

/* ---- signals --------------------------------------------------------------------- */

/* Runs body(ready) in a child process, waits until it writes a byte to `ready` and for
 * some nanoseconds more, sends it up to two signals (0: none), and returns its status.
 */
static int signalled(void (*body)(int ready), int first, int second, long nanoseconds)
{
    int ready[2], status;
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        body(ready[1]);
        _exit(97);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
    if (first) assert_int_equal(kill(child, first), 0);
    assert_int_equal(kill(child, second), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ready[0]);
    close(ready[1]);
    return status;
}

static void waits_with_files_open(int ready)
{
    FILE *f = result_open("one"), *g = result_open("two");
    if (!f || !g || fputs("half", f) < 0 || fflush(f)) _exit(98);
    if (write(ready, "", 1) == 1) pause();
}

static void *waits(void *unused)
{
    for (;;) pause();
    return unused;
}

/* Spends nearly all time in result_open, result_close or result_drop, while another
 * thread can receive the signal. */
static void opens_for_ever(int ready)
{
    pthread_t other;
    if (pthread_create(&other, NULL, waits, NULL) || write(ready, "", 1) != 1)
        _exit(98);
    for (;;) {
        FILE *f = result_open("one"), *g = result_open("two");
        if (!f || !g || result_close(f)) _exit(96);
        result_drop(g);
    }
}

static void ignores_hangups(int ready)
{
    signal(SIGHUP, SIG_IGN);
    waits_with_files_open(ready);
}

TEST(signals_remove_temporaries)
{
    static const int number[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 103; i++) {
        bool idle = i < 3; /* the other runs receive the signal at a random moment */
        int sent = number[idle ? i : i % 2];
        int status = idle ? signalled(waits_with_files_open, 0, sent, 0)
                          : signalled(opens_for_ever, 0, sent, 20011L * i);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), sent);
        if (!idle) unlink("one");
        assert_int_equal(files_here(), 0);
    }
}

TEST(ignored_signals_stay_ignored)
{
    int status = signalled(ignores_hangups, SIGHUP, SIGTERM, 0);
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(files_here(), 0);
}

/* ---- memory and time ---------------------------------------------------------------
 */

/* Parts are consecutive, cover all items and differ by one at most, also where items
 * times threads exceeds the range of int. */
TEST(parts_of_items)
{
    static const int items[] = {0, 1, 7, 3200000, 100000000},
                     threads[] = {1, 2, 3, 700, 1024};
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
            int n = items[i], count = threads[k], smallest = n / count, at = 0;
            for (int t = 0; t < count; t++) {
                assert_int_equal(parallel_part(n, t, count), at);
                int end = parallel_part(n, t + 1, count);
                assert_in_range(end - at, smallest, smallest + 1);
                at = end;
            }
            assert_int_equal(at, n);
        }
}

/* Control groups of both versions, in a folder that stands for /sys/fs/cgroup. */
TEST(memory_of_control_groups)
{
    assert_true(isinf(cgroup_limit("none", ".")));
    static const char *const folders[] = {"a", "a/b", "memory", "memory/c"};
    for (size_t i = 0; i < LENGTH(folders); i++)
        assert_int_equal(mkdir(folders[i], 0777), 0);
    static const struct {
        const char *path, *text; /* written one after the other */
        double limit;            /* then */
    } files[] = {
        /* The lowest limit from the group to the root applies. */
        {"groups", "0::/a/b\n", INFINITY},
        {"a/b/memory.max", "max\n", INFINITY},
        {"a/memory.max", "1000000\n", 1000000},
        {"a/b/memory.max", "4096\n", 4096},
        {"memory.max", "12\n", 12}, /* the root as a container sees it */
        {"groups", "0::/elsewhere\n", 12},
        {"memory/c/memory.limit_in_bytes", "8192\n", 12},
        {"groups", "13:cpu:/a\n4:memory:/c\n", 8192},
        {"groups", "no colon\n1:cpu\n", INFINITY},
    };
    for (size_t i = 0; i < LENGTH(files); i++) {
        write_text(files[i].path, files[i].text);
        assert_true(cgroup_limit("groups", ".") == files[i].limit);
    }
    double memory = memory_limit();
    assert_true(memory > 1e6 && memory == memory_limit());
}

static void needs_memory(const void *bytes)
{
    memory_check(*(const double *)bytes, "n=%d", 3);
    free(allocate((size_t) * (const double *)bytes, 1, "a block"));
}

TEST(memory_is_refused)
{
    double bytes = 1000;
    assert_int_equal(in_child(needs_memory, &bytes).status, 0);
    bytes = 1e18;
    outcome o = in_child(needs_memory, &bytes);
    assert_int_equal(o.status, 1);
    assert_ptr_equal(strstr(o.err, "t: n=3: too large (1e+09 GB): expected at most "),
                     o.err);
}

TEST(memory_starts_as_nan)
{
    float *block = allocate(3, sizeof *block, "a block");
    for (int i = 0; i < 3; i++) assert_true(isnan(block[i]));
    free(block);
}

TEST(digests_and_random_numbers)
{
    /* The first numbers of splitmix64 with the seeds 0 and 1234567, as published. */
    assert_true(splitmix64(0, 1) == 0xe220a8397b1dcdafu);
    assert_true(splitmix64(1234567, 1) == 6457827717110365317u);

    /* FNV-1a of "" and "a", from its specification; any change of one byte counts. */
    assert_true(digest_update(0, "", 0) == 0xcbf29ce484222325u);
    assert_true(digest_update(0, "a", 1) == 0xaf63dc4c8601ec8cu);
    char text[] = "the digest of a text of 37 characters";
    uint64_t digest = digest_update(0, text, sizeof text);
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] ^= 1;
        assert_true(digest_update(0, text, sizeof text) != digest);
        text[i] ^= 1;
    }
    assert_true(digest_update(digest_update(0, "a", 1), "b", 1) ==
                digest_update(0, "ab", 2));
}

static void shows_progress(const void *unused)
{
    (void)unused;
    progress("work", 0, 10);
    progress("work", 1, 1);
}

TEST(clock_and_progress)
{
    double before = seconds();
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    double passed = seconds() - before;
    assert_true(passed >= 0.002 && passed < 10);
    assert_string_equal(in_child(shows_progress, NULL).err, ""); /* not a terminal */
}

/* ---- numbers ------------------------------------------------------------------- */

static void parses_t0(const void *text)
{
    printf("%.17g", parse_double("t0", text, 0, 1e6));
}

static void parses_n(const void *text)
{
    printf("%d", parse_int("n", text, -5, 70000));
}

TEST(numbers)
{
    static const char *const bad[] = {
        "nan", "-nan", "inf",   "-inf", "1e400", "",    " 1", "1 ",  "1,5", "0x",   "x",
        "1e",  "-1",   "1e6.0", "1e7",  "--1",   "1 2", "1s", "NAN", "\n",  "1e-1x"};
    static const char *const bad_int[] = {
        "",   "1.0",  "1e3",         "nan", "70001", "-6", " 1",
        "1 ", "0x10", "99999999999", "inf", "-",     "+",  "9999999999999999999999"};
    assert_each_fails(parses_t0, bad, LENGTH(bad),
                      "t: t0=%s: expected a number from 0 to 1e6\n");
    assert_each_fails(parses_n, bad_int, LENGTH(bad_int),
                      "t: n=%s: expected a whole number from -5 to 70000\n");
    assert_true(parse_double("x", "1e6", 0, 1e6) == 1e6);
    assert_true(parse_double("x", "0.1", 0, 1) == 0.1); /* in double, not in float */
    assert_true(parse_double("x", "-0.5", -0.5, 0) == -0.5);
    assert_true(parse_double("x", "0x1p-3", 0, 1) == 0.125);
    assert_true(parse_double("x", ".25", -INFINITY, INFINITY) == 0.25);
    assert_int_equal(parse_int("n", "-5", -5, 5), -5);
    assert_int_equal(parse_int("n", "+5", -5, 5), 5);
    assert_int_equal(parse_int("n", "010", 0, 10), 10);
}

/* ---- arguments ----------------------------------------------------------------- */

static double tau;
static int threads, group[3], strips[2];
static const char *in;

static arg table[] = {{"in", ARG_TEXT, &in, 0, 0, "traces, SU", 0},
                      {"tau", ARG_DOUBLE, &tau, 1e-4, 1e6, "window, s", 0},
                      {"threads", ARG_INT, &threads, 1, 1e12, "how many", 0},
                      {0}};
static arg second[] = {{"in", ARG_TEXT, &in, 0, 0, "traces, SU", 0},
                       {"strips", ARG_INTS, strips, 1, 9, "ROWS,COLUMNS: of a grid", 2},
                       {0}};
static arg two_tables[] = {{"threads", ARG_INT, &threads, 1, 8, "how many", 0},
                           {ARG_LOCAL(group)},
                           {.value = second}};
static arg *keys = table; /* the table that parses() uses */

/* Parses up to 8 arguments, after which there is a NULL. */
static void parses(const void *arguments)
{
    char *argv[10] = {"t"};
    int argc = 1;
    for (char *const *a = arguments; *a; a++) argv[argc++] = *a;
    tau = 0.02;
    threads = 4;
    in = NULL;
    memset(group, 0, sizeof group);
    strips[0] = 5;
    strips[1] = 2;
    args_parse(argc, argv, keys, "looks for things");
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(arguments_are_stored)
{
    keys = table;
    parses(ARGS("threads=7", "in=a=b.su"));
    assert_int_equal(threads, 7);
    assert_string_equal(in, "a=b.su");
    assert_true(tau == 0.02);

    parses(ARGS("tau=1e6", "threads=2147483647"));
    assert_true(tau == 1e6 && threads == 2147483647 && !in);
}

TEST(arguments_are_refused)
{
    keys = table;
#define UNKNOWN(key, nearest)                                                          \
    "t: unknown key '" key "' (did you mean '" nearest                                 \
    "'?); known keys: in tau threads\n"
    const failure bad[] = {
        {ARGS("foo=1"), UNKNOWN("foo", "in")},
        {ARGS("TUA=1"), UNKNOWN("TUA", "tau")},
        {ARGS("thread=1"), UNKNOWN("thread", "threads")},
        {ARGS("=1"), UNKNOWN("", "in")},
        {ARGS("tau=1", "tau=1"), "t: tau is given twice\n"},
        {ARGS("tau=1", "in=x", "tau=2"), "t: tau is given twice\n"},
        {ARGS("tau"), "t: tau: expected key=value; `t help` lists the keys\n"},
        {ARGS(""), "t: : expected key=value; `t help` lists the keys\n"},
        {ARGS("in="), "t: in=: expected a text\n"},
        {ARGS("tau="), "t: tau=: expected a number from 0.0001 to 1e6\n"},
        {ARGS("threads=0"),
         "t: threads=0: expected a whole number from 1 to 2147483647\n"}};
    assert_all_fail(parses, bad, LENGTH(bad));
    char big[3000] = "";
    memset(big, 'k', sizeof big - 3);
    memcpy(big + sizeof big - 3, "=1", 3);
    outcome o = in_child(parses, ARGS(big));
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "known keys: in tau threads\n"));
    o = in_child(parses, ARGS(big, big));
    assert_non_null(strstr(o.err, "known keys: in tau threads\n"));
}

/* ---- lists, choices and joined tables ------------------------------------------ */

static void parses_local(const void *text)
{
    char local[64];
    snprintf(local, sizeof local, "local=%s", (const char *)text);
    parses(ARGS(local));
}

TEST(tables_are_joined)
{
    keys = two_tables;
    parses(ARGS("strips=3,9", "threads=2", "local=1024,1,7", "in=x"));
    assert_int_equal(threads, 2);
    assert_string_equal(in, "x");
    assert_true(strips[0] == 3 && strips[1] == 9);
    assert_true(group[0] == 1024 && group[1] == 1 && group[2] == 7);
    parses(ARGS("in=y"));
    assert_true(strips[0] == 5 && group[0] == 0);

    assert_fails(parses, ARGS("stripes=1,1"),
                 "t: unknown key 'stripes' (did you mean 'strips'?); known keys: "
                 "threads local in strips\n");
    assert_fails(parses, ARGS("in=x", "in=x"), "t: in is given twice\n");
    outcome o = in_child(parses, ARGS("help"));
    assert_string_equal(o.out,
                        "t - looks for things\n\n"
                        "key=default:\n"
                        "  threads=4   how many (from 1 to 8)\n"
                        "  local=      X,Y,Z: work-items per work-group on the device "
                        "(from 1 to 1024)\n"
                        "  in=         traces, SU\n"
                        "  strips=5,2  ROWS,COLUMNS: of a grid (from 1 to 9)\n");

    /* A table may contain only the link to the next, which may be empty. */
    arg none[] = {{0}}, link[] = {{.value = none}}, links[] = {{.value = link}};
    keys = links;
    assert_fails(parses, ARGS("a=1"), "t: unknown key 'a'; no keys are known\n");
}

TEST(lists_are_refused)
{
    keys = two_tables;
    static const char *const bad[] = {"",       "4",      "4,4",   "4,4,4,4", ",",
                                      "4,4,4,", ",4,4,4", "4;4;4", ",,,"};
    assert_each_fails(
        parses_local, bad, LENGTH(bad),
        "t: local=%s: expected X,Y,Z: work-items per work-group on the device\n");
    const failure other[] = {
        {ARGS("local=4,0,4"), "t: local=0: expected a whole number from 1 to 1024\n"},
        {ARGS("local=4,,4"), "t: local=: expected a whole number from 1 to 1024\n"},
        {ARGS("strips=1,10"), "t: strips=10: expected a whole number from 1 to 9\n"},
        {ARGS("strips=1, 2"), "t: strips= 2: expected a whole number from 1 to 9\n"},
        {ARGS("strips=1,1,1"), "t: strips=1,1,1: expected ROWS,COLUMNS: of a grid\n"}};
    assert_all_fail(parses, other, LENGTH(other));
    char big[400] = "local=1,1,";
    memset(big + 10, '1', 300);
    outcome o = in_child(parses, ARGS(big));
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "1: expected X,Y,Z"));
}

/* The default of a list of the largest numbers is shown in full. */
TEST(longest_default)
{
    int list[ARG_INTS_MAX];
    for (int i = 0; i < ARG_INTS_MAX; i++) list[i] = INT32_MIN;
    arg lists[] = {{"k", ARG_INTS, list, -1e300, 1e300, "numbers", ARG_INTS_MAX}, {0}};
    keys = lists;
    outcome o = in_child(parses, ARGS("help"));
    const char *at = strstr(o.out, "k=");
    for (int i = 0; i < ARG_INTS_MAX; i++, at += 11) {
        assert_non_null(at = strstr(at, "-2147483648"));
    }
    assert_int_equal(o.status, 0);
}

static void chooses(const void *text)
{
    printf("%d", parse_choice("order", text, "auto", "little", "big"));
}

TEST(choices)
{
    assert_int_equal(parse_choice("k", "auto", "auto", "little", "big"), 0);
    assert_int_equal(parse_choice("k", "little", "auto", "little", "big"), 1);
    assert_int_equal(parse_choice("k", "big", "auto", "little", "big"), 2);
    assert_int_equal(parse_choice("k", "order", "or", "order"), 1);
    assert_int_equal(parse_choice("k", "d", "a", "b", "c", "d"), 3);
    assert_int_equal(parse_choice("k", "alone", "alone"), 0);
    static const char *const bad[] = {"",     "or",           "aut",   "autos", "bi",
                                      "AUTO", "auto, little", "auto,", " auto", "big "};
    assert_each_fails(chooses, bad, LENGTH(bad),
                      "t: order=%s: expected auto, little or big\n");
}

TEST(help)
{
    keys = table;
    const char *text = "t - looks for things\n\n"
                       "key=default:\n"
                       "  in=        traces, SU\n"
                       "  tau=0.02   window, s (from 0.0001 to 1e6)\n"
                       "  threads=4  how many (from 1 to 1e12)\n";
    outcome o = in_child(parses, (const char *const[]){NULL});
    assert_int_equal(o.status, 1);
    assert_string_equal(o.out, text);
    assert_string_equal(o.err, "");
    const char *const asks[] = {"help", "-h", "--help"};
    for (int i = 0; i < 3; i++) {
        o = in_child(parses, ARGS("tau=7", asks[i]));
        assert_int_equal(o.status, 0);
        assert_string_equal(o.out, text);
    }
}

/* ---- result files -------------------------------------------------------------- */

TEST(result_names)
{
    unsigned char byte = 7;
    npy a = {NPY_U1, 1, {1}, &byte};
    struct stat s;

    /* A result has the permissions of any new file. */
    mode_t mask = umask(027);
    npy_write("a.npy", &a);
    umask(mask);
    assert_int_equal(stat("a.npy", &s), 0);
    assert_int_equal(s.st_mode & 0777, 0640);

    /* A symbolic link is followed, not replaced. */
    assert_int_equal(symlink("a.npy", "link.npy"), 0);
    byte = 8;
    npy_write("link.npy", &a);
    assert_int_equal(lstat("link.npy", &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    npy b;
    char reason[REASON_SIZE];
    assert_int_equal(npy_read("a.npy", &b, reason), 0);
    assert_int_equal(*(unsigned char *)b.data, 8);
    free(b.data);

    /* A symbolic link that leads nowhere is not replaced either. */
    assert_int_equal(symlink("none", "to_none"), 0);
    assert_null(result_open("to_none"));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(unlink("to_none"), 0);

    /* A device stays a device. */
    npy_write("/dev/null", &a);
    result_check("out", "/dev/null");
    assert_int_equal(stat("/dev/null", &s), 0);
    assert_true(S_ISCHR(s.st_mode));

    /* result_check changes neither an existing file nor the folder. */
    result_check("out", "a.npy");
    result_check("out", "new.npy");
    assert_int_equal(stat("a.npy", &s), 0);
    assert_int_equal(s.st_size, 129);
    assert_int_equal(files_here(), 2);
}

static void checks(const void *path)
{
    result_check("out", path);
}

static void writes(const void *path)
{
    npy_write(path, &(npy){.type = NPY_U1, .dims = 0, .data = "x"});
}

static void writes_much(const void *path)
{
    static char zeros[100000];
    npy_write(path, &(npy){NPY_U1, 1, {sizeof zeros}, zeros});
}

static void writes_9_dims(const void *path)
{
    npy_write(path, &(npy){.type = NPY_U1, .dims = 9, .data = "x"});
}

/* Simulates a disk with 1000 free bytes. */
static void writes_beyond_the_limit(const void *path)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, 1000});
    writes_much(path);
}

/* result_close() reports the error of an earlier write. */
static void prints_beyond_the_limit(const void *path)
{
    FILE *f = result_open(path);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, 1000});
    for (int i = 0; i < 100000; i++) fprintf(f, "%d\n", i);
    errno = 0;
    if (result_close(f)) fail("%s", strerror(errno));
}

/* The reader of a pipe receives the whole result although it is checked before. */
TEST(pipes)
{
    assert_int_equal(mkfifo("pipe", 0666), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        result_check("out", "pipe");
        writes("pipe");
        _exit(0);
    }
    char bytes[512];
    size_t size = 0;
    FILE *f = fopen("pipe", "rb");
    assert_non_null(f);
    size = fread(bytes, 1, sizeof bytes, f);
    assert_int_equal(size, 129);
    fclose(f);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST(unwritable)
{
    const char *large = "t: a.npy: cannot be written: File too large\n";
    outcome o = in_child(writes_beyond_the_limit, "a.npy");
    assert_string_equal(o.err, large);
    assert_int_equal(o.status, 1);
    assert_string_equal(in_child(prints_beyond_the_limit, "a.npy").err,
                        "t: File too large\n");
    assert_int_equal(files_here(), 0);
#define CANNOT ": cannot be written: "
    assert_fails(checks, "", "t: out=" CANNOT "No such file or directory\n");
    assert_fails(writes, "no/a.npy",
                 "t: no/a.npy" CANNOT "No such file or directory\n");
    assert_fails(writes_9_dims, "a.npy", "t: a.npy: 9 dimensions: expected 0 to 8\n");
    char longest[300];
    memset(longest, 'a', 299);
    longest[299] = 0;
    assert_non_null(strstr(in_child(checks, longest).err, "File name too long\n"));

    /* A full disk, detected by the last flush and by an earlier write. */
    struct stat s;
    if (stat("/dev/full", &s) == 0) {
        const char *line = "t: /dev/full: cannot be written: No space left on device\n";
        assert_fails(writes, "/dev/full", line);
        assert_fails(writes_much, "/dev/full", line);
    }
    assert_int_equal(files_here(), 0);
}

/* If no temporary file can be created, an existing result is not overwritten in place:
 * a failed run must not destroy it. */
TEST(never_in_place)
{
    assert_int_equal(mkdir("locked", 0777), 0);
    write_text("locked/a.npy", "old");
    assert_int_equal(chmod("locked", 0555), 0);
    if (access("locked", W_OK) == 0) { /* root may write anywhere: use a long name */
        assert_int_equal(chmod("locked", 0777), 0);
        char name[256], line[512];
        memset(name, 'n', 255);
        name[255] = 0; /* valid, but NAME.XXXXXX is not */
        write_text(name, "old");
        snprintf(line, sizeof line, "t: out=%s" CANNOT "File name too long\n", name);
        assert_fails(checks, name, line);
        struct stat s;
        assert_int_equal(stat(name, &s), 0);
        assert_int_equal(s.st_size, 3);
    } else {
        assert_fails(checks, "locked/a.npy",
                     "t: out=locked/a.npy" CANNOT "Permission denied\n");
        assert_int_equal(chmod("locked", 0777), 0);
    }
}

TEST(same_files)
{
    assert_int_equal(mkdir("d", 0777), 0);
    assert_int_equal(symlink("d", "e"), 0);
    write_text("d/old", "");
    assert_int_equal(link("d/old", "hard"), 0);
    assert_int_equal(symlink("d/old", "soft"), 0);
    static const struct {
        const char *path, *other;
        bool same;
    } pairs[] = {{"new", "new", true},
                 {"new", "./new", true},
                 {"d/new", "e/new", true},
                 {"d/new", "d/./../d/new", true},
                 {"new", "d/new", false},
                 {"new", "newer", false},
                 {"d/old", "e/old", true},
                 {"d/old", "hard", true},
                 {"soft", "hard", true},
                 {"d/old", "d/new", false},
                 {"no/new", "no/new", true},
                 {"no/new", "none/new", false},
                 {"/new", "/new", true},
                 {"/new", "//new", true},
                 {"/dev/null", "/dev/zero", false}};
    for (size_t i = 0; i < LENGTH(pairs); i++) {
        assert_int_equal(same_file(pairs[i].path, pairs[i].other), pairs[i].same);
        assert_int_equal(same_file(pairs[i].other, pairs[i].path), pairs[i].same);
    }
}

/* ---- text files ---------------------------------------------------------------- */

TEST(lines)
{
    static const struct {
        const char *text;
        size_t size;
        const char *line[3]; /* NULL: end of file */
        const char *reason;  /* NULL: no failure follows */
    } files[] = {
        {"", 0, {NULL}, NULL},
        {"\n", 1, {"", NULL}, NULL},
        {"ab\nc\n", 5, {"ab", "c", NULL}, NULL},
        {"ab\nc", 4, {"ab", "c", NULL}, NULL},
        {"1234567\n", 8, {"1234567", NULL}, NULL},
        {"a\n12345678\n", 11, {"a", NULL}, "too long: expected at most 7 bytes"},
        {"12345678", 8, {NULL}, "too long: expected at most 7 bytes"},
        {"a\nb\0c\n", 6, {"a", NULL}, "a zero byte: expected text"},
        {"\0", 1, {NULL}, "a zero byte: expected text"}};
    for (size_t i = 0; i < LENGTH(files); i++) {
        char line[8], reason[REASON_SIZE] = "";
        write_bytes("text", files[i].text, files[i].size);
        FILE *f;
        assert_null(input_open("text", &f));
        for (int n = 0; files[i].line[n]; n++) {
            assert_int_equal(input_line(f, line, sizeof line, reason), 1);
            assert_string_equal(line, files[i].line[n]);
        }
        assert_int_equal(input_line(f, line, sizeof line, reason),
                         files[i].reason ? -1 : 0);
        if (files[i].reason) assert_string_equal(reason, files[i].reason);
        fclose(f);
    }
}

/* A link to a regular file is opened; a link to a pipe is not, and does not block. */
TEST(input_links)
{
    FILE *f;
    write_text("file", "x");
    assert_int_equal(mkfifo("pipe", 0666), 0);
    assert_int_equal(symlink("file", "to_file"), 0);
    assert_int_equal(symlink("pipe", "to_pipe"), 0);
    assert_int_equal(symlink("none", "to_none"), 0);
    assert_null(input_open("to_file", &f));
    assert_int_equal(getc(f), 'x');
    fclose(f);
    alarm(20);
    assert_string_equal(input_open("to_pipe", &f), "not a regular file");
    assert_null(f);
    assert_string_equal(input_open("to_none", &f), "No such file or directory");
    alarm(0);
}

/* ---- for test_npy.py ------------------------------------------------------------- */

/* Copies each array to FILE.copy. Prints a line per file: the reason why it cannot be
 * read, or nothing. */
static void copy_arrays(int count, char **paths)
{
    for (int i = 0; i < count; i++) {
        npy a;
        char reason[REASON_SIZE] = "", copy[4096];
        int status = npy_read(paths[i], &a, reason);
        if ((status != 0) != (*reason != 0) || (status != 0) != !a.data)
            fail("%s: status, reason and data contradict each other", paths[i]);
        puts(reason);
        if (!a.data) continue;
        snprintf(copy, sizeof copy, "%s.copy", paths[i]);
        npy_write(copy, &a);
        free(a.data);
    }
}

int main(int argc, char **argv)
{
    /* A shell that starts this in the background may ignore these signals. */
    signal(SIGHUP, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    run_name = "t";
    if (argc > 1) {
        copy_arrays(argc - 1, argv + 1);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
