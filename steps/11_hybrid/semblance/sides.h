/* sides.h - the two sides of a search, as hybrid.c calls them: host threads (cpu.c) and
 * a device (opencl.c or cuda.cu).
 */
#ifndef SIDES_H
#define SIDES_H

#include "host.h"
#include "part.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of items of a work list. BOUNDS: a cell of a single sample, whose bound is
 * computed. NODES: a part of a single sample; there are np[C] for each cell, in the
 * order of the cells. BLOCKS: a part of all samples of a chunk. */
typedef enum { BOUNDS, NODES, BLOCKS, KINDS } work_kind;

/* The current search, of one chunk of samples, and its results, which both sides write.
 * Part n of a single sample is value n % np[C] of C in cell order[n / np[C]].cell,
 * which is ia np[B] + ib; the parts of a chunk are in the order [np[A]][np[B]][np[C]].
 */
typedef struct {
    const query *q;       /* [samples] */
    const trace *traces;  /* [q->ntraces] */
    const float *samples; /* all samples of the gather */
    chunk host, device;   /* the chunk in blocks of either side */
    int prune;            /* parts that cannot exceed the incumbent are not searched */
    cell_bound *order;    /* [cells]: of a single sample, the cells and their bounds */
    point *part;          /* [parts][samples]: the best point of each part; order
                             follows in the same block of memory */
} search_input;

/* ---- the host: one item, computed by the calling thread ---------------------------
 */

void host_bound(const search_input *input, int cell);
void host_nodes(const search_input *input, int n, float incumbent);
void host_blocks(const search_input *input, int n);

/* ---- the device: batches of items, enqueued without waiting -----------------------
 *
 * All of these are called by the same thread; the device executes the commands in the
 * order of the calls.
 */

typedef struct device device;

/* The properties of a device that hybrid.c uses. */
typedef struct {
    int lanes;         /* of its vectors */
    int shares_cores;  /* it computes on cores of the host */
    double busy_items; /* work-items of a batch that keeps it busy */
} device_traits;

/* Sets up the device for searches with the arrays of input, among the traces of g.
 * `largest` is as in search_begin(); the host computes with host_threads threads. */
device *device_begin(const su_gather *g, const query *largest,
                     const search_input *input, int host_threads,
                     device_traits *traits);
void device_end(device *d);

/* Transfers the input, before the first batch of a phase of this kind. Returns at once:
 * the input must not change until all batches are collected. */
void device_begin_phase(device *d, const search_input *input, work_kind kind);

/* Enqueues the items first .. end - 1. Returns at once; up to BATCHES may be in flight.
 * Their results are copied to input->order or input->part. */
enum { BATCHES = 2 };
void device_start(device *d, int first, int end, float incumbent);

/* Returns whether the oldest batch in flight has completed, without waiting. */
int device_poll(const device *d);

/* Waits for the oldest batch in flight. Returns when it completed, by seconds(). */
double device_collect(device *d);

#ifdef __cplusplus
}
#endif

#endif
