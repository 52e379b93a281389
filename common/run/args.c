/* args.c - SU-style key=value arguments, checked against a table of the keys.
 *
 * All values are validated here, so that a program receives only numbers in range: a
 * number must take up the whole value, and NaN and infinity are never in range.
 *
 * Left out: lists of variable length, parameter files (par=), required keys (a program
 * gives them a default that marks "not set"), decimal commas (numbers are read in the C
 * locale).
 */
#define _POSIX_C_SOURCE 200809L

#include "run.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "args.c must see NaN: build it without -ffast-math"
#endif

enum {
    NUMBER_SIZE = 32, /* %.17g needs 24 characters */
    RANGE_SIZE = 2 * NUMBER_SIZE + 32,
    KEY_SHOWN = 200 /* characters of a key or value that messages show: "%.200s" */
};

/* Formats x with at least 6 digits, and as many as it takes to read back the same
 * double; exponents as 1e6, not 1e+06. */
static const char *format_number(double x, char text[NUMBER_SIZE])
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, NUMBER_SIZE, "%.*g", digits, x);
        if (strtod(text, NULL) == x) break;
    }
    char *e = strchr(text, 'e');
    if (e) {
        char *to = e[1] == '-' ? e + 2 : e + 1;
        char *from = e + 2;
        while (*from == '0') from++;
        memmove(to, from, strlen(from) + 1);
    }
    return text;
}

/* Formats a range: " from 0 to 1e6", ", 0 or more", ", 1 or less", or "" if it is
 * unbounded. */
static const char *format_range(double low, double high, char text[RANGE_SIZE])
{
    char a[NUMBER_SIZE], b[NUMBER_SIZE];
    bool below = low > -DBL_MAX, above = high < DBL_MAX;
    format_number(low, a);
    format_number(high, b);
    if (below && above)
        snprintf(text, RANGE_SIZE, " from %s to %s", a, b);
    else if (below)
        snprintf(text, RANGE_SIZE, ", %s or more", a);
    else if (above)
        snprintf(text, RANGE_SIZE, ", %s or less", b);
    else
        text[0] = 0;
    return text;
}

double parse_double(const char *key, const char *text, double low, double high)
{
    char *end, expected[RANGE_SIZE];
    double x = strtod(text, &end);
    bool whole = end != text && !*end && !isspace((unsigned char)*text);
    if (!whole || !isfinite(x) || x < low || x > high)
        fail("%s=%.200s: expected a number%s", key, text,
             format_range(low, high, expected));
    return x;
}

int parse_int(const char *key, const char *text, int low, int high)
{
    char *end;
    errno = 0;
    long i = strtol(text, &end, 10);
    bool whole = end != text && !*end && !isspace((unsigned char)*text);
    if (!whole || errno || i < low || i > high)
        fail("%s=%.200s: expected a whole number from %d to %d", key, text, low, high);
    return (int)i;
}

void parse_list(const char *key, const char *text, int count, const char *form,
                char buffer[PARSE_SIZE], const char *item[])
{
    int found = 0;
    bool fits = snprintf(buffer, PARSE_SIZE, "%s", text) < PARSE_SIZE;
    for (char *c = buffer; c; found++) {
        if (found < count) item[found] = c;
        c = strchr(c, ',');
        if (c) *c++ = '\0';
    }
    if (found != count || !fits) fail("%s=%.200s: expected %s", key, text, form);
}

int parse_choice_of(const char *key, const char *text, const char *const names[])
{
    int count = 0;
    for (; names[count]; count++)
        if (!strcmp(text, names[count])) return count;

    char expected[256] = "";
    for (int i = 0; i < count; i++) {
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, "%s%s",
                 i == 0          ? ""
                 : i < count - 1 ? ", "
                                 : " or ",
                 names[i]);
    }
    fail("%s=%.200s: expected %s", key, text, expected);
}

/* An int key's range is declared in doubles, which may exceed the range of int. */
static int to_int(double bound)
{
    return bound >= INT_MAX ? INT_MAX : bound <= INT_MIN ? INT_MIN : (int)bound;
}

/* Defaults for a back-end without keys of its own. */
__attribute__((weak)) arg backend_keys[] = {ARG_END};
__attribute__((weak)) void backend_check(int argc, char **argv)
{
    (void)argc, (void)argv;
}

/* Returns row a, or, at the end of a table, the first row of the table that continues
 * it; the table of the back-end is the last. */
static arg *next_key(const arg *a)
{
    while (!a->key && !a->about) a = a->value ? a->value : backend_keys;
    return (arg *)a;
}

/* Levenshtein distance between a and b: the number of characters to insert, remove or
 * replace. Ignores case and all but the first 31 characters. */
static int edit_distance(const char *a, const char *b)
{
    enum { LENGTH_MAX = 31 };
    int m = (int)strnlen(a, LENGTH_MAX), n = (int)strnlen(b, LENGTH_MAX);
    int row[LENGTH_MAX + 1]; /* row[j]: distance of the first i and j characters */
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; i <= m; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            bool same =
                tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            int shortest = diagonal + !same;
            if (row[j] + 1 < shortest) shortest = row[j] + 1;
            if (row[j - 1] + 1 < shortest) shortest = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = shortest;
        }
    }
    return row[n];
}

static void unknown_key(const arg *table, const char *key)
{
    char known[1024] = "";
    const arg *nearest = next_key(table);
    for (arg *a = next_key(table); a->key; a = next_key(a + 1)) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? " " : "", a->key);
        if (edit_distance(key, a->key) < edit_distance(key, nearest->key)) nearest = a;
    }
    if (!nearest->key) fail("unknown key '%.200s'; no keys are known", key);
    fail("unknown key '%.200s' (did you mean '%s'?); known keys: %s", key, nearest->key,
         known);
}

static void store_ints(const arg *a, const char *text)
{
    char buffer[PARSE_SIZE];
    const char *item[ARG_INTS_MAX];
    parse_list(a->key, text, a->count, a->about, buffer, item);
    for (int i = 0; i < a->count; i++)
        ((int *)a->value)[i] =
            parse_int(a->key, item[i], to_int(a->low), to_int(a->high));
}

/* Stores the value of one argument, text; its key ends at `equals`. */
static void store(arg *table, const char *text, const char *equals)
{
    size_t length = (size_t)(equals - text);
    arg *a = next_key(table);
    while (a->key && (strlen(a->key) != length || strncmp(a->key, text, length) != 0))
        a = next_key(a + 1);
    if (!a->key) {
        char key[KEY_SHOWN + 1];
        snprintf(key, sizeof key, "%.*s", length > KEY_SHOWN ? KEY_SHOWN : (int)length,
                 text);
        unknown_key(table, key);
    }

    const char *value = equals + 1;
    switch (a->type) {
    case ARG_INT:
        *(int *)a->value = parse_int(a->key, value, to_int(a->low), to_int(a->high));
        break;
    case ARG_DOUBLE:
        *(double *)a->value = parse_double(a->key, value, a->low, a->high);
        break;
    case ARG_TEXT:
        if (!*value) fail("%s=: expected a text", a->key);
        *(const char **)a->value = value;
        break;
    case ARG_INTS:
        store_ints(a, value);
        break;
    }
}

static bool asks_help(const char *text)
{
    return !strcmp(text, "help") || !strcmp(text, "-h") || !strcmp(text, "--help");
}

/* Calls fail() if OMP_NUM_THREADS asks for more threads than OpenMP can start: libgomp
 * would end in a segmentation fault. An entry per nested level, separated by commas. */
static void require_threads(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    while (text && *text) {
        char *end;
        long long threads = strtoll(text, &end, 10);
        bool is_number = end != text;
        text = end + strspn(end, " ");
        if (!is_number || threads < 1 || threads > THREADS_MAX ||
            (*text && *text != ','))
            fail("OMP_NUM_THREADS=%s: expected a whole number from 1 to %d",
                 getenv("OMP_NUM_THREADS"), THREADS_MAX);
        text += *text == ',';
    }
}

/* Prints a line for each key, with tabs: key, type, low, high, count. */
static void list_keys(const arg *table)
{
    static const char *const type[] = {"int", "double", "text", "ints"};
    for (arg *a = next_key(table); a->key; a = next_key(a + 1))
        printf("%s\t%s\t%.17g\t%.17g\t%d\n", a->key, type[a->type], a->low, a->high,
               a->count);
}

void args_parse(int argc, char **argv, arg *table, const char *about)
{
    require_threads();
    static char output[1 << 16]; /* larger than what a program prints */
    setvbuf(stdout, output, _IOFBF, sizeof output);
    install_handlers();
    for (int i = 1; i < argc; i++) {
        bool list = !strcmp(argv[i], "keys");
        if (!list && !asks_help(argv[i])) continue;
        if (list)
            list_keys(table);
        else
            args_help(table, about);
        if (fflush(stdout)) fail("standard output: cannot be written");
        exit(0);
    }
    if (argc < 2) {
        args_help(table, about);
        exit(1);
    }
    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        if (!equals)
            fail("%.200s: expected key=value; `%s help` lists the keys", argv[i],
                 run_name);
        size_t length = (size_t)(equals - argv[i]);
        for (int j = 1; j < i; j++)
            if (!strncmp(argv[i], argv[j], length + 1))
                fail("%.*s is given twice",
                     length > KEY_SHOWN ? KEY_SHOWN : (int)length, argv[i]);
        store(table, argv[i], equals);
    }
    backend_check(argc, argv);
}

/* Formats "key=default". Without a default (NaN, NULL, or a list whose first number is
 * out of range) the value is empty. Returns the length. */
static int format_default(const arg *a, char *text, size_t size)
{
    enum { INT_SIZE = 12 }; /* "-2147483648," */
    char numbers[ARG_INTS_MAX * INT_SIZE + NUMBER_SIZE] = "";
    const char *value = numbers;
    switch (a->type) {
    case ARG_INT:
        snprintf(numbers, sizeof numbers, "%d", *(const int *)a->value);
        break;
    case ARG_DOUBLE:
        if (!isnan(*(const double *)a->value))
            format_number(*(const double *)a->value, numbers);
        break;
    case ARG_TEXT:
        value = *(const char **)a->value;
        break;
    case ARG_INTS:
        for (int i = 0, used = 0; i < a->count && *(int *)a->value >= a->low; i++)
            used += snprintf(numbers + used, sizeof numbers - (size_t)used,
                             i ? ",%d" : "%d", ((const int *)a->value)[i]);
        break;
    }
    return snprintf(text, size, "%s=%s", a->key, value ? value : "");
}

void args_help(const arg *table, const char *about)
{
    enum { COLUMN_MAX = 24 }; /* a longer key=default moves only its own line */
    char text[256], expected[RANGE_SIZE];
    int width = 0;
    for (arg *a = next_key(table); a->key; a = next_key(a + 1)) {
        int length = format_default(a, text, sizeof text);
        if (length > width && length <= COLUMN_MAX) width = length;
    }
    printf("%s - %s\n\nkey=default:\n", run_name, about);
    for (arg *a = next_key(table); a->key; a = next_key(a + 1)) {
        format_default(a, text, sizeof text);
        printf("  %-*s  %s", width, text, a->about ? a->about : "");
        if (a->low < a->high) {
            const char *r = format_range(a->low, a->high, expected);
            if (*r) printf(" (%s)", r + strspn(r, " ,"));
        }
        putchar('\n');
    }
}
