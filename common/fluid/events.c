/* events.c - implements events.h. Limitation: events act on the middle cell only. */
#define _POSIX_C_SOURCE 200809L

#include "events.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 256, MAX_TOKENS = 6, STEPS_MAX = 1000000 };

/* Splits a line in place at white space. Returns the number of tokens, at most
 * MAX_TOKENS. */
static int split(char *line, char *token[MAX_TOKENS])
{
    int n = 0;
    for (char *c = strtok(line, " \t\r\n"); c && n < MAX_TOKENS;
         c = strtok(NULL, " \t\r\n"))
        token[n++] = c;
    return n;
}

static float to_float(const char *path, int number, const char *text, bool negative)
{
    char *end;
    double x = strtod(text, &end), min = negative ? -FLT_MAX : 0;
    if (end == text || *end || !(x >= min && x <= FLT_MAX))
        fail("%s:%d: %.40s: expected a number from %s to 3.4e38", path, number, text,
             negative ? "-3.4e38" : "0");
    return (float)x;
}

static int to_step(const char *path, int number, const char *text)
{
    char *end;
    errno = 0;
    long t = strtol(text, &end, 10);
    if (end == text || *end || errno || t < 0 || t > STEPS_MAX)
        fail("%s:%d: %.40s: expected a step, a whole number from 0 to %d", path, number,
             text, STEPS_MAX);
    return (int)t;
}

static void add(event_list *list, event e)
{
    if ((list->count & (list->count - 1)) == 0) { /* full: double the capacity */
        size_t capacity = list->count ? 2 * list->count : 1;
        event *larger = realloc(list->item, capacity * sizeof e);
        if (!larger) fail("no memory for %zu events", capacity);
        list->item = larger;
    }
    list->item[list->count++] = e;
}

static void read_line(event_list *list, const char *path, int number, char *line)
{
    char *token[MAX_TOKENS];
    int n = split(line, token);
    if (n == 0 || token[0][0] == '#') return;

    if (!strcmp(token[0], "time")) {
        if (n != 2) fail("%s:%d: expected time N", path, number);
        if (list->count || list->steps >= 0)
            fail("%s:%d: time: not the first entry: expected before all sources and "
                 "forces",
                 path, number);
        list->steps = to_step(path, number, token[1]);
        return;
    }
    event e = {.line = number, .is_force = !strcmp(token[0], "force")};
    int values = e.is_force ? 3 : 1;
    if (!e.is_force && strcmp(token[0], "source"))
        fail("%s:%d: %.40s: expected source, force or time", path, number, token[0]);
    if (n != values + 2)
        fail("%s:%d: wrong number of fields (%d): expected %s", path, number, n,
             e.is_force ? "force X Y Z T" : "source D T");
    for (int i = 0; i < values; i++)
        e.value[i] = to_float(path, number, token[1 + i], e.is_force);
    e.step = to_step(path, number, token[1 + values]);
    if (list->count && e.step < list->item[list->count - 1].step)
        fail("%s:%d: step %d comes after step %d: expected steps that do not decrease",
             path, number, e.step, list->item[list->count - 1].step);
    if (!e.is_force) list->max_source = fmaxf(list->max_source, e.value[0]);
    add(list, e);
}

event_list events_read(const char *path)
{
    FILE *f;
    const char *problem = input_open(path, &f);
    if (problem) fail("events=%s: cannot be read: %s", path, problem);

    event_list list = {.steps = -1};
    char line[MAX_LINE], reason[REASON_SIZE];
    int number = 0, found;
    while ((found = input_line(f, line, sizeof line, reason)) > 0) {
        number++;
        list.digest = digest_update(list.digest, line, strlen(line) + 1);
        read_line(&list, path, number, line);
    }
    if (found < 0) fail("%s:%d: %s", path, number + 1, reason);
    fclose(f);
    if (!list.count) fail("%s: no event in %d lines", path, number);
    return list;
}

void events_free(event_list *list)
{
    free(list->item);
    *list = (event_list){0};
}
