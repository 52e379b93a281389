/* sides.h - the two sides as hybrid.c calls them: the host's threads (cpu.c), and a
 * device (opencl.c or cuda.cu).
 *
 * Sources are compiled once more for double (real.h), and what they share needs other
 * names then.
 */
#ifndef SIDES_H
#define SIDES_H

#include "host.h"

#if REAL_BYTES == 8
#define host_grid     host_grid_double
#define host_degrid   host_degrid_double
#define device_begin  device_begin_double
#define device_blocks device_blocks_double
#define device_load   device_load_double
#define device_start  device_start_double
#define device_ended  device_ended_double
#define device_end    device_end_double
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A part of what is to be computed. Gridding: cells, rows x columns of them, which are
 * whole segments of both sides. Degridding: visibilities row .. row + rows - 1 of the
 * sorted ones; columns is 1. It may go beyond the last of either. */
typedef struct {
    int row, rows, column, columns;
} work_region;

/* ---- the host: one piece, by the thread that calls it ---------------------------- */

/* o and taps are made for blocks of ROWS x COLUMNS. */
void host_grid(const problem *p, const real *taps, const binning *bins,
               work_region region, cplx *grid);

/* o may be of any blocks. value is in the order of the problem. */
void host_degrid(const problem *p, const real *taps, const binning *bins,
                 work_region region, const cplx *grid, cplx *value);

/* ---- the device: pieces, in a queue that nobody waits for ---------------------------
 *
 * Called by one thread. What is started comes to pass in the order of the calls. */

typedef struct device device;

/* Everything that is paid once. Results will go to `result`, in the problem's order of
 * cells, or the sorted order of visibilities; what it holds now is copied, so that what
 * is never computed shows. beside: whether the device is made of the cores of a host
 * that computes with so many threads. */
device *device_begin(const problem *p, int degrid, void *result, int host_threads,
                     int *same_cores);
void device_end(device *d);

/* How it wants taps and visibilities: for blocks of rows x columns; and how many rows
 * one of its segments has. */
typedef struct {
    int rows, columns, segment;
} block_shape;
block_shape device_blocks(const device *d);

/* Gives it the problem, and what is to be degridded. Does not wait: what is pointed at
 * must stay until the end. */
void device_load(device *d, const real *taps, const binning *bins, const cplx *model);

/* Starts a piece, whose result comes by itself, and does not wait. IN_FLIGHT of them
 * may be on their way. */
enum { MAX_IN_FLIGHT = 2 };
void device_start(device *d, work_region region);

/* Whether the oldest piece on its way has come, and when it began and ended, by
 * seconds(). With wait: once it has. */
int device_ended(device *d, int wait, double *begin_time, double *end_time);

#ifdef __cplusplus
}
#endif

#endif
