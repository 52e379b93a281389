/* events.c - see events.h. Left out: events anywhere but in the middle. */
#define _POSIX_C_SOURCE 200809L

#include "events.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_ = 256, WORDS = 6, STEPS_MAX = 1000000 };

/* The words of a line, cut in place; returns how many, WORDS at most. */
static int split(char *line, char *word[WORDS])
{
    int n = 0;
    for (char *c = strtok(line, " \t\r\n"); c && n < WORDS; c = strtok(NULL, " \t\r\n"))
        word[n++] = c;
    return n;
}

static float to_float(const char *path, int number, const char *text, bool negative)
{
    char *end;
    double x = strtod(text, &end), low = negative ? -FLT_MAX : 0;
    if (end == text || *end || !(x >= low && x <= FLT_MAX))
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
    if ((list->count & (list->count - 1)) == 0) { /* full at the powers of two */
        size_t room = list->count ? 2 * list->count : 1;
        event *grown = realloc(list->at, room * sizeof e);
        if (!grown) fail("no memory for %zu events", room);
        list->at = grown;
    }
    list->at[list->count++] = e;
}

static void read_line(event_list *list, const char *path, int number, char *line)
{
    char *word[WORDS];
    int n = split(line, word);
    if (n == 0 || word[0][0] == '#') return;

    if (!strcmp(word[0], "time")) {
        if (n != 2) fail("%s:%d: expected time N", path, number);
        if (list->count || list->steps >= 0)
            fail("%s:%d: time must be the first line that says anything", path, number);
        list->steps = to_step(path, number, word[1]);
        return;
    }
    event e = {.line = number, .is_force = !strcmp(word[0], "force")};
    int values = e.is_force ? 3 : 1;
    if (!e.is_force && strcmp(word[0], "source"))
        fail("%s:%d: %.40s: expected source, force or time", path, number, word[0]);
    if (n != values + 2)
        fail("%s:%d: %d words, expected %s", path, number, n,
             e.is_force ? "force X Y Z T" : "source D T");
    for (int i = 0; i < values; i++)
        e.value[i] = to_float(path, number, word[1 + i], e.is_force);
    e.step = to_step(path, number, word[1 + values]);
    if (list->count && e.step < list->at[list->count - 1].step)
        fail("%s:%d: step %d comes after step %d: expected times that do not fall",
             path, number, e.step, list->at[list->count - 1].step);
    if (!e.is_force) list->densest = fmaxf(list->densest, e.value[0]);
    add(list, e);
}

event_list events_read(const char *path)
{
    FILE *f;
    const char *problem = input_open(path, &f);
    if (problem) fail("events=%s: cannot be read: %s", path, problem);

    event_list list = {.steps = -1};
    char line[LINE_MAX_];
    int number = 0;
    while (fgets(line, sizeof line, f)) {
        number++;
        size_t length = strlen(line);
        if (length + 1 == sizeof line && line[length - 1] != '\n')
            fail("%s:%d: a line of more than %d bytes", path, number, LINE_MAX_ - 2);
        if (length == 0 || (line[length - 1] != '\n' && !feof(f)))
            fail("%s:%d: a zero byte: expected text", path, number);
        read_line(&list, path, number, line);
    }
    if (ferror(f)) fail("events=%s: cannot be read: %s", path, strerror(errno));
    fclose(f);
    if (!list.count) fail("%s: no event in %d lines", path, number);
    return list;
}

void events_free(event_list *list)
{
    free(list->at);
    *list = (event_list){0};
}
