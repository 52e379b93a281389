/* events.h - the external sources and forces, read from a text file.
 *
 *     # a comment; empty lines are skipped
 *     time N              number of steps, used if steps= is not given; first line only
 *     source D T          sets the density of the middle cell to D at step T
 *     force X Y Z T       sets the velocity of the middle cell to (X, Y, Z) at step T
 *
 * Steps are counted from 0. T must not decrease from line to line.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include "run.h"

typedef struct {
    int step;
    int line;       /* line number in the file */
    bool is_force;  /* false: a source */
    float value[3]; /* velocity of a force; value[0]: density of a source */
} event;

typedef struct {
    event *item; /* in file order */
    size_t count;
    int steps;        /* value of the line `time`; -1: no such line */
    float max_source; /* largest density of a source; 0: no source */
    uint64_t digest;  /* of all lines */
} event_list;

/* Reads an events file; calls fail() with file and line if it is not in this format. */
event_list events_read(const char *path);
void events_free(event_list *list);

#endif
