/* sides.h - the device side of the hybrid back-end, implemented by opencl.c and cuda.cu
 * and called by hybrid.c. The host side is cpu.c (slab.h).
 *
 * The device has the first rows of the pile and the host the others, so at most one
 * grid is split, however many there are.
 */
#ifndef SIDES_H
#define SIDES_H

#include "slab.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All functions are called by one thread, and commands execute in the order of the
 * calls.
 *
 * device_begin allocates memory for a pile of the shape of *c in bit planes.
 * host_threads is the number of threads that the host computes with; *shares_cores
 * becomes nonzero if the device runs on the host's cores. */
void device_begin(const slab *c, int host_threads, int *shares_cores);
void device_end(void);

/* Copies rows first .. end - 1 to or from the device, and waits for the copy. */
void device_write_rows(const slab *c, int first, int end, const cell *rows);
void device_read_rows(const slab *c, int first, int end, cell *rows);

/* Starts steps n .. n + steps - 1 of the slab *c on the device, after copying the ghost
 * rows to it. Does not wait. At most MAX_IN_FLIGHT temporal blocks may be in flight. */
enum { MAX_IN_FLIGHT = 2 };
void device_start(const slab *c, int n, int steps, const cell *ghosts);

/* The first of the device's rows that the host stores as ghost rows. */
static inline int first_host_ghost(const slab *c)
{
    slab host = *c;
    host.first = c->end;
    host.end = slab_total_rows(c);
    return slab_first_stored(&host);
}

/* Waits for the oldest temporal block in flight. Sets bits of step_flags as cpu_steps
 * does, and *ghosts to the device's rows from first_host_ghost on; these stay valid
 * until the next block is started. Returns the seconds that the device computed. */
double device_wait(const slab *c, cell *step_flags, const cell **ghosts);

#ifdef __cplusplus
}
#endif

#endif
