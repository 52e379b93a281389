/* tables.h - the options that name text files of rows of numbers. */
#ifndef TABLES_H
#define TABLES_H

#include "job.h"

/* Upper bounds on arguments: seconds (no bound, the traces have their own); metres
 * (beyond any place on Earth); A to E, s/m and s^2/m^2 (rock is below 0.01). */
#define TIME_MAX      1e30
#define DISTANCE_MAX  1e9
#define PARAMETER_MAX 1e3

/* Parses P0, P1 and N of parameter k. */
void parse_range(ranges *row, int k, const char *key, const char *const item[3]);

/* Read a file into r: ranges=, and positions=, whose rows are m0 and h0, or, after a
 * row "sx gx", the coordinates of source and receiver. */
void read_ranges(request *r, const char *path);
void read_positions(request *r, const char *path);

/* Parse velocity=VMIN,VMAX and mute=STRETCH, which is for velocity=, or read a file. */
void read_velocity(request *r, const char *velocity);
void read_mute(request *r, const char *mute);

#endif
