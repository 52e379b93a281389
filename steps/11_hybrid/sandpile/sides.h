/* sides.h - the device side of the hybrid back-end, implemented by opencl.c and cuda.cu
 * and called by hybrid.c. The host side is cpu.c (slab.h).
 *
 * The device has the first rows of the grid, and the host the others.
 */
#ifndef SIDES_H
#define SIDES_H

#include "slab.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates memory for all rows. host_threads is the number of threads that the host
 * computes with; *shares_cores becomes nonzero if the device runs on the host's cores.
 */
void device_begin(const grid_shape *shape, int host_threads, int *shares_cores);
void device_end(void);

/* Copies rows first .. end - 1 between planes, all rows of the grid, and the device. */
void device_write_rows(int first, int end, const cell *planes);
void device_read_rows(int first, int end, cell *planes);

/* Starts steps n .. n + steps - 1, at most shape->halo, of rows 1 .. end - 1, and of
 * ghost rows from row `end` on. Does not wait. */
void device_start(int end, int n, int steps);

/* Waits for these steps, and sets flags as cpu_steps does. Returns the seconds that the
 * device computed. */
double device_wait(int steps, cell *flags);

#ifdef __cplusplus
}
#endif

#endif
