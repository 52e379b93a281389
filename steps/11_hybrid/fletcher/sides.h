/* sides.h - the two sides as hybrid.c calls them: the host's threads (cpu.c) and a
 * device (opencl.c or cuda.cu).
 *
 * Each has room for the whole grid. Of the planes that are updated the host has those
 * before plane `cut`, the device that one and those after it, and each also has the
 * HALO planes across the cut.
 */
#ifndef SIDES_H
#define SIDES_H

#include "grid.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes p and q, all 0. The host computes with so many threads; beside: whether the
 * device is made of the same cores. Returns the bytes of all that a step takes. */
size_t device_begin(const grid *g, const float *medium, int host_threads,
                    int *shares_cores);
void device_end(void);

/* What follows comes to pass in the order of the calls. These do not wait for it: */

/* Adds f to p and q of now at the source. */
void device_source(float f);

/* One step: first of the HALO planes from the cut on, which then are sent to the host,
 * unless the host has nothing (cut is HALO); then of the rest. */
void device_step(int cut);

/* The host's last HALO planes of p and q, which are the fields of next. They may change
 * when this returns. */
void device_send(int cut, const float *p, const float *q);

/* What was next is now, what was now is before. */
void device_swap(void);

/* These wait: */

/* The planes that device_step sent, to their place in p and q. Two steps may be in
 * flight: when those of one have come, the step before has ended. Returns its seconds
 * by the device's clock; 0: there was none. */
double device_receive(int cut, float *p, float *q);

/* Planes first .. end - 1 of pp, pc, qp and qc from the device, and to it; of those
 * that are not NULL. */
void device_fetch(int first, int end, float *const field[4]);
void device_store(int first, int end, float *const field[4]);

#ifdef __cplusplus
}
#endif

#endif
