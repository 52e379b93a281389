/* sides.h - the interface of hybrid.c to the host's threads (cpu.c) and to the device
 * (opencl.c or cuda.cu).
 *
 * All sources are compiled twice, for float and for double (real.h). The macros below
 * give the functions for double other names.
 */
#ifndef SIDES_H
#define SIDES_H

#include "host.h"

#if REAL_BYTES == 8
#define host_grid     host_grid_double
#define device_begin  device_begin_double
#define device_blocks device_blocks_double
#define device_load   device_load_double
#define device_start  device_start_double
#define device_poll   device_poll_double
#define device_end    device_end_double
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A part of the work: rows x columns cells from (row, column) on, whole segments of
 * both sides. It may extend beyond the grid. */
typedef struct {
    int row, rows, column, columns;
} work_region;

/* ---- the host: the calling thread computes one region ---------------------------- */

/* bins and taps are for blocks of ROWS x COLUMNS. */
void host_grid(const problem *p, const real *taps, const binning *bins,
               work_region region, cplx *grid);

/* ---- the device: a queue of regions ----------------------------------------------
 *
 * One thread calls these functions. Regions are executed in the order of the calls. */

typedef struct device device;

/* Sets the device up (not part of the run time). Its cells will be written to `result`,
 * the grid. The present contents of `result` are copied to the device, so that cells
 * that are never computed stay NaN. *shares_cores is set
 * if the device consists of cores of the host, which computes with host_threads
 * threads. */
device *device_begin(const problem *p, cplx *result, int host_threads,
                     int *shares_cores);
void device_end(device *d);

/* The device's blocks and bins, and the number of rows of one of its segments. */
typedef struct {
    block_sizes sizes;
    int segment;
} block_shape;
block_shape device_blocks(const device *d);

/* Transfers the sorted visibilities and the taps. Does not wait: the arguments must
 * stay valid until device_end(). */
void device_load(device *d, const real *taps, const binning *bins);

/* Starts a region and the transfer of its result, and does not wait. At most
 * MAX_IN_FLIGHT regions may be in flight: one executes while the next is queued. */
enum { MAX_IN_FLIGHT = 2 };
void device_start(device *d, work_region region);

/* Returns 1 if the oldest region in flight has completed, and sets the times, by
 * seconds(), at which it began and ended. With `wait`, waits for it. */
int device_poll(device *d, int wait, double *begin_time, double *end_time);

#ifdef __cplusplus
}
#endif

#endif
