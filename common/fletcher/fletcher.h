/* fletcher.h - the interface between the front end (main.c) and the back-ends in
 * steps/: five functions, named as in the paper that this program follows (Panetta,
 * Lopes and Machado, Descricao Modelagem Fletcher 3.0, 2019).
 *
 * The front end handles arguments, the medium, the source's signal, the loop over time,
 * input and output. A back-end handles memory, devices, transfers and the loops over
 * the grid.
 */
#ifndef FLETCHER_H
#define FLETCHER_H

#include "grid.h"
#include "run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates the current and the previous p and q, and clears them. medium holds
 * STORED_FIELDS fields of field_size(g) floats each, and stays valid until Finalize().
 * Returns the bytes of all arrays that a step uses, including the medium. */
size_t Initialize(const grid *g, const float *medium);

/* Adds f to the current p and q at the source. */
void InsertSource(float f);

/* Computes the next p and q at all points except the halo, in place of the previous
 * ones. Returns the seconds that the kernels took, by the device's clock if it has one.
 */
double Propagate(void);

/* Ends the step: the next fields become the current ones, and the current ones the
 * previous ones. Copies the current fields to p and q, unless they are NULL; both have
 * field_size(g) floats in the layout of grid.h. */
void UpdatePointers(float *p, float *q);

/* Frees everything that Initialize() allocated. */
void Finalize(void);

#ifdef __cplusplus
}
#endif

#endif
