/* events.h - what happens to the fluid from outside, read from a text file.
 *
 *     # a comment; empty lines are skipped
 *     time N              steps, unless the command line says (first, if there at all)
 *     source D T          at step T the density of the middle cell becomes D
 *     force X Y Z T       at step T the velocity of the middle cell becomes (X, Y, Z)
 *
 * Steps are counted from 0, and T never falls from line to line.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include "run.h"

typedef struct {
    int step;
    int line;       /* of the file */
    bool is_force;  /* or else a source */
    float value[3]; /* the velocity; or the density */
} event;

typedef struct {
    event *item; /* in the order of the file */
    size_t count;
    int steps;        /* of the line `time`; -1 without one */
    float max_source; /* the largest source, 0 without one */
} event_list;

/* fail() with file and line where it is not as above. */
event_list events_read(const char *path);
void events_free(event_list *list);

#endif
