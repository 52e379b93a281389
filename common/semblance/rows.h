/* rows.h - text files of rows of numbers: ranges=, positions= and velocity=. */
#ifndef ROWS_H
#define ROWS_H

#include <stdbool.h>
#include <stdio.h>

/* The row that was read last. */
typedef struct {
    const char *key, *path;
    FILE *file;
    int number; /* of the line, from 1 */
    int rows;   /* number of rows so far, with this one */
    char line[1024];
    char where[4200]; /* "key=path, line number", for messages */
    int items;        /* columns */
    char *item[18];   /* the first of them */
} row_reader;

/* Opens the file of key=path. fail() if that is impossible; the message ends in `form`.
 */
row_reader rows_open(const char *key, const char *path, const char *form);

/* Reads the next row that is not empty; # begins a comment. Returns false after the
 * last one, and closes the file. fail() if the file has no rows. */
bool rows_next(row_reader *in);

/* Returns the array `block` of `count` elements with space for one more. */
void *rows_grow(const row_reader *in, void *block, int count, size_t size);

#endif
