/* sides.h - the two sides of a search as hybrid.c calls them: the host's threads
 * (cpu.c), and a device (opencl.c or cuda.cu).
 *
 * Work is counted in cells and in parts. Cell ia np[B] + ib is an (A, B), which gets a
 * bound. Part n is an (A, B, C) in the order of the search: value n % np[C] of C in
 * cell order[n / np[C]].
 */
#ifndef SIDES_H
#define SIDES_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One search, as both sides read it. It stays as it is until all chunks are taken. */
typedef struct {
    const query *q;
    const trace *traces;  /* [q->ntraces] */
    const float *samples; /* of the gather */
    int prune;            /* what cannot exceed the best so far is left out */
} search_input;

/* ---- the host: one piece, by the thread that calls it -----------------------------
 */

float host_bound(const search_input *input, int cell);

/* Value ic of C in cell r, with `least` the best so far; room is the thread's own, of
 * room_of() floats. */
point host_part(const search_input *input, cell_bound entry, int ic, float incumbent,
                float *storage);

/* ---- the device: chunks, in a queue that nobody waits for -------------------------
 *
 * Called by one thread. What is started comes to pass in the order of the calls.
 */

typedef struct device device;

/* Everything that is paid once. `largest` as in search_begin; beside: whether the
 * device is made of the cores of a host that computes with so many threads. */
device *device_begin(const su_gather *g, const query *largest, int host_threads,
                     int *shares_cores);
void device_end(device *d);

/* Parts that keep the whole device busy: fewer take it as long. */
int device_min_chunk(const device *d);

/* A new search, before its first chunk; and its cells in the order of the search,
 * before the first chunk of parts. Neither waits: what they point at must stay. */
void device_begin_search(device *d, const search_input *input);
void device_set_order(device *d, const cell_bound *order);

/* Starts a chunk, and does not wait: the bounds of cells first .. end - 1, or parts
 * first .. end - 1, with `least` the best so far. CHUNKS may be in flight. */
enum { CHUNKS = 2 };
void device_bounds(device *d, int first, int end);
void device_parts(device *d, int first, int end, float incumbent);

/* Whether the oldest chunk in flight has ended: a look, no waiting. */
int device_poll(const device *d);

/* The oldest chunk, which is waited for: what it was, [end - first] results, which stay
 * until as many chunks more are started, and when it ran, by seconds(). */
typedef struct {
    int first, end;
    const cell_bound *bounds; /* or */
    const point *parts;
    double began, ended;
} chunk;

chunk device_collect(device *d);

#ifdef __cplusplus
}
#endif

#endif
