/* sides.h - the two sides of a search, as hybrid.c calls them: host threads (cpu.c) and
 * a device (opencl.c or cuda.cu).
 *
 * The items of a search are cells and parts. Cell ia np[B] + ib is an (A, B), which
 * gets a bound. Part n is an (A, B, C) in search order: value n % np[C] of C in cell
 * order[n / np[C]].
 */
#ifndef SIDES_H
#define SIDES_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The input of one search for both sides. It must not change until all chunks are
 * collected. */
typedef struct {
    const query *q;
    const trace *traces;  /* [q->ntraces] */
    const float *samples; /* all samples of the gather */
    int prune;            /* parts that cannot exceed the incumbent are not searched */
} search_input;

/* ---- the host: one item, computed by the calling thread ---------------------------
 */

float host_bound(const search_input *input, int cell);

/* Searches value ic of C in a cell. incumbent is the largest semblance so far; storage
 * is the calling thread's workspace of workspace_floats() floats. */
point host_part(const search_input *input, cell_bound entry, int ic, float incumbent,
                float *storage);

/* Searches one (A, B, C) for a block of samples of an output trace; input->q has the
 * samples of the chunk. The results go to part, which has `parts` for each sample. */
void host_block(const search_input *input, const chunk *c, int block, int ia, int ib,
                int ic, point *part, int parts);

/* ---- the device: chunks, enqueued without waiting ---------------------------------
 *
 * All of these are called by the same thread; the device executes the commands in the
 * order of the calls.
 */

typedef struct device device;

/* Sets up the device; `largest` as in search_begin(). *shares_cores tells whether the
 * device computes on the cores of the host, which uses host_threads threads. */
device *device_begin(const su_gather *g, const query *largest, int host_threads,
                     int *shares_cores);
void device_end(device *d);

/* Returns the smallest chunk that occupies the whole device; a smaller one takes as
 * long. */
int device_min_chunk(const device *d);

/* Transfers a new search, before its first chunk, and the search order of its cells,
 * before the first chunk of parts. Both return at once: the data must not change until
 * the chunks are collected. */
void device_begin_search(device *d, const search_input *input);
void device_set_order(device *d, const cell_bound *order);

/* Enqueues a chunk: bounds of the cells first .. end - 1, or search of the parts first
 * .. end - 1. Returns at once; up to CHUNKS may be in flight. */
enum { CHUNKS = 2 };
void device_bounds(device *d, int first, int end);
void device_parts(device *d, int first, int end, float incumbent);

/* Returns whether the oldest chunk in flight has completed, without waiting. */
int device_poll(const device *d);

/* A completed chunk: its range, its [end - first] results, which stay valid until
 * CHUNKS more are enqueued, and when it ran, by seconds(). */
typedef struct {
    int first, end;
    const cell_bound *bounds; /* or */
    const point *parts;
    double began, ended;
} device_chunk;

device_chunk device_collect(device *d);

#ifdef __cplusplus
}
#endif

#endif
