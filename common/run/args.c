/* args.c - SU-style key=value arguments, checked against a table of the keys.
 *
 * Everything the user types is judged here, so that a program sees only numbers in
 * range: a number must take up the whole value, and NaN and infinity are never in
 * range.
 *
 * Left out: lists of any length, parameter files (par=), required keys (a program
 * checks `given` itself), decimal commas (numbers are read in the C locale).
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

/* The shortest of at least 6 digits that reads back as x, exponents as 1e6, not 1e+06.
 */
static const char *number(double x, char text[32])
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, x);
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

/* "from 0 to 1e6", or the one side that is bounded, or "" where none is. */
static const char *range(double low, double high, char text[96])
{
    char a[32], b[32];
    bool below = low > -DBL_MAX, above = high < DBL_MAX;
    number(low, a);
    number(high, b);
    if (below && above)
        snprintf(text, 96, " from %s to %s", a, b);
    else if (below)
        snprintf(text, 96, ", %s or more", a);
    else if (above)
        snprintf(text, 96, ", %s or less", b);
    else
        text[0] = 0;
    return text;
}

double parse_double(const char *key, const char *text, double low, double high)
{
    char *end, words[96];
    double x = strtod(text, &end);
    bool whole = end != text && !*end && !isspace((unsigned char)*text);
    if (!whole || !isfinite(x) || x < low || x > high)
        fail("%s=%.200s: expected a number%s", key, text, range(low, high, words));
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

/* How many names there are in "X,Y,Z" or "X,Y,Z: what they are". */
static int names_in(const char *names)
{
    int count = 1;
    for (const char *c = names; *c && *c != ':'; c++) count += *c == ',';
    return count;
}

void parse_list(const char *key, const char *text, const char *names,
                char room[PARSE_ROOM], const char *word[])
{
    int wanted = names_in(names), found = 0;
    bool fits = snprintf(room, PARSE_ROOM, "%s", text) < PARSE_ROOM;
    for (char *c = room; c; found++) {
        if (found < wanted) word[found] = c;
        c = strchr(c, ',');
        if (c) *c++ = '\0';
    }
    if (found != wanted || !fits)
        fail("%s=%.200s: expected %.*s", key, text, (int)strcspn(names, ":"), names);
}

int parse_choice(const char *key, const char *text, const char *choices)
{
    size_t length = strlen(text);
    int n = 0;
    for (const char *c = choices; *c; n++) {
        size_t word = strcspn(c, ", ");
        if (word == length && !strncmp(c, text, length)) return n;
        c += word + strspn(c + word, ", ");
        if (!strncmp(c, "or ", 3)) c += 3;
    }
    fail("%s=%.200s: expected %s", key, text, choices);
}

/* An int key's range is declared in doubles, which can lie beyond int. */
static int to_int(double bound)
{
    return bound >= INT_MAX ? INT_MAX : bound <= INT_MIN ? INT_MIN : (int)bound;
}

/* Those of a back-end that has words of its own. */
__attribute__((weak)) arg backend_keys[] = {ARG_LAST};
__attribute__((weak)) void backend_check(int argc, char **argv)
{
    (void)argc, (void)argv;
}

/* The key at or behind a, in the table that it leads to where there is one, and in that
 * of the back-end in the end. */
static arg *key_at(const arg *a)
{
    while (!a->key && !a->about) a = a->value ? a->value : backend_keys;
    return (arg *)a;
}

/* How many letters must be inserted, removed or exchanged to turn a into b
 * (Levenshtein), case ignored; keys of up to 31 letters. */
static int distance(const char *a, const char *b)
{
    enum { LONGEST = 31 };
    int m = (int)strnlen(a, LONGEST), n = (int)strnlen(b, LONGEST);
    int row[LONGEST +
            1]; /* row[j]: from the first i letters of a to the first j of b */
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; i <= m; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            bool same =
                tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            int best = diagonal + !same;
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

static void unknown_key(const arg *table, const char *key)
{
    char known[1024] = "";
    const arg *nearest = key_at(table);
    for (arg *a = key_at(table); a->key; a = key_at(a + 1)) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? " " : "", a->key);
        if (distance(key, a->key) < distance(key, nearest->key)) nearest = a;
    }
    if (!nearest->key) fail("unknown key '%.200s'; no keys are known", key);
    fail("unknown key '%.200s' (did you mean '%s'?); known keys: %s", key, nearest->key,
         known);
}

static void store_ints(const arg *a, const char *value)
{
    char room[PARSE_ROOM];
    const char *word[PARSE_ROOM / 2];
    parse_list(a->key, value, a->about, room, word);
    for (int i = 0; i < names_in(a->about); i++)
        ((int *)a->value)[i] =
            parse_int(a->key, word[i], to_int(a->low), to_int(a->high));
}

/* text is key=value. */
static void store(arg *table, const char *text, const char *equals)
{
    size_t length = (size_t)(equals - text);
    arg *a = key_at(table);
    while (a->key && (strlen(a->key) != length || strncmp(a->key, text, length) != 0))
        a = key_at(a + 1);
    if (!a->key) {
        char key[201];
        snprintf(key, sizeof key, "%.*s", length > 200 ? 200 : (int)length, text);
        unknown_key(table, key);
    }
    if (a->given) fail("%s is given twice", a->key);
    a->given = true;

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

void args_parse(int argc, char **argv, arg *table, const char *about)
{
    for (arg *a = key_at(table); a->key; a = key_at(a + 1)) a->given = false;
    for (int i = 1; i < argc; i++) {
        if (!asks_help(argv[i])) continue;
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
        store(table, argv[i], equals);
    }
    backend_check(argc, argv);
}

/* "key=default"; a NaN or NULL default means that there is none, and so does a list
 * that begins below its range. */
static int key_and_default(const arg *a, char *text, size_t size)
{
    char digits[96] = ""; /* or a list of up to 8 */
    const char *value = digits;
    if (a->type == ARG_INT)
        snprintf(digits, sizeof digits, "%d", *(const int *)a->value);
    if (a->type == ARG_DOUBLE && !isnan(*(const double *)a->value))
        number(*(const double *)a->value, digits);
    if (a->type == ARG_TEXT) value = *(const char **)a->value;
    const int *list = a->value;
    int listed = a->type == ARG_INTS && *list >= a->low ? names_in(a->about) : 0;
    for (int i = 0, at = 0; i < listed; i++)
        at += snprintf(digits + at, sizeof digits - (size_t)at, i ? ",%d" : "%d",
                       list[i]);
    return snprintf(text, size, "%s=%s", a->key, value ? value : "");
}

void args_help(const arg *table, const char *about)
{
    char text[256], words[96];
    int width = 0;
    for (arg *a = key_at(table); a->key; a = key_at(a + 1)) {
        int length = key_and_default(a, text, sizeof text);
        if (length > width && length <= 24) width = length;
    }
    printf("%s - %s\n\nkey=default:\n", run_name, about);
    for (arg *a = key_at(table); a->key; a = key_at(a + 1)) {
        key_and_default(a, text, sizeof text);
        printf("  %-*s  %s", width, text, a->about ? a->about : "");
        if (a->type != ARG_TEXT) {
            const char *r = range(a->low, a->high, words);
            if (*r) printf(" (%s)", r + strspn(r, " ,"));
        }
        putchar('\n');
    }
}
