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

/* Adds f to the current p and q at the source. */
void device_source(float f);

/* Starts the update of the planes from `cut` on, and returns at once. */
void device_start(int cut);

/* Waits for the end of that update. Returns its seconds by the device's clock. */
double device_wait(void);

/* Copies planes first .. end - 1 of the next p and q from the device to their place in
 * p and q, or to the device, and waits. device_fetch() skips a field that is NULL. */
void device_fetch(int first, int end, float *p, float *q);
void device_store(int first, int end, const float *p, const float *q);

/* Ends the step: the next fields become the current ones, and the current ones the
 * previous ones. */
void device_swap(void);

#ifdef __cplusplus
}
#endif

#endif
