/* sides.h - the interface between hybrid.c and the device (opencl.c or cuda.cu).
 *
 * Host and device both have memory for the whole grid. The host updates the planes
 * before plane `cut`, the device plane `cut` and those after it. Each side also has
 * valid copies of the HALO planes beyond the cut:
 *
 *     planes       .. | cut - HALO .. cut - 1 | cut .. cut + HALO - 1 | ..
 *     host     updates  updates, sends          receives
 *     device            receives                updates, sends          updates
 */
#ifndef SIDES_H
#define SIDES_H

#include "grid.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates p and q on the device and clears them. host_threads is the number of
 * threads that compute on the host. Sets *shares_cores to 1 if the device consists of
 * the same cores. Returns the bytes of all arrays that a step uses. */
size_t device_begin(const grid *g, const float *medium, int host_threads,
                    int *shares_cores);
void device_end(void);

/* The following functions are asynchronous: they return at once, and the device
 * executes them in the order of the calls. */

/* Adds f to the current p and q at the source. */
void device_source(float f);

/* Updates the first HALO planes from the cut on, starts their transfer to the host, and
 * updates the rest. There is no transfer if the host has no planes (cut is HALO). */
void device_step(int cut);

/* Sends the last HALO planes of the host's next p and q to the device. The caller may
 * change them as soon as this returns. */
void device_send(int cut, const float *p, const float *q);

/* Ends the step: the next fields become the current ones, and the current ones the
 * previous ones. */
void device_swap(void);

/* The following functions wait: */

/* Copies the planes that device_step() sent to their place in p and q. Up to two steps
 * are in flight: when the planes of one step have arrived, the previous step has ended.
 * Returns the seconds of that previous step by the device's clock, 0 if there was none.
 */
double device_receive(int cut, float *p, float *q);

/* Copies planes first .. end - 1 of pp, pc, qp and qc from the device, or to it. NULL
 * skips a field. */
void device_fetch(int first, int end, float *const field[4]);
void device_store(int first, int end, float *const field[4]);

#ifdef __cplusplus
}
#endif

#endif
