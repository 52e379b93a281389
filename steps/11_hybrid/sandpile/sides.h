/* sides.h - the two sides that topple a pile as hybrid.c calls them: the host's threads
 * (cpu.c, see column.h), and a device (opencl.c or cuda.cu).
 *
 * The device has the first rows of the column, the host the rest: so one grid at most
 * is cut, however many there are.
 */
#ifndef SIDES_H
#define SIDES_H

#include "column.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called by one thread. What is asked for is done in the order of the calls.
 *
 * What is paid once, for a pile of *c's shape in bits; beside: is the device made of
 * the cores of the host, which computes with so many threads? */
void device_begin(const column *c, int host_threads, int *beside);
void device_end(void);

/* Rows first .. after - 1, to it and from it. Both are waited for. */
void device_take(const column *c, int first, int after, const cell *rows);
void device_give(const column *c, int first, int after, cell *rows);

/* Has steps n .. n + steps - 1 made of its rows, those of *c, after it was given those
 * of the host's that it keeps. Does not wait. EPOCHS may be under way. */
enum { EPOCHS = 2 };
void device_start(const column *c, int n, int steps, const cell *kept);

/* The first of its rows that the host keeps. */
static inline int first_wanted(const column *c)
{
    column host = *c;
    host.first = c->after;
    host.after = rows_of(c);
    return first_kept(&host);
}

/* Waits for the oldest of them: sets bits of found as cpu_steps does, and *last to its
 * rows from first_wanted on, there until the next are started. Returns the seconds that
 * the device took. */
double device_wait(const column *c, cell *found, const cell **last);

#ifdef __cplusplus
}
#endif

#endif
