/* host.h - preparation on the host, the same for all back-ends. */
#include <math.h>

#include "semblance.h"
#include "block.h"

/* Number of parts of a search; each gives a best point of its own. */
static size_t part_count(const query *q)
{
    return (size_t)q->np[A] * q->np[B] * q->np[C];
}

/* An output trace is searched in chunks. A chunk has at most CHUNK_SAMPLES samples, so
 * that its queries (13 KB) fit into a device's constant memory, and at most CHUNK_PARTS
 * parts (7 MB), or one sample. Returns its size in samples: whole vectors, or one. */
#define CHUNK_SAMPLES 128
#define CHUNK_PARTS   (1 << 18)
static int chunk_samples(const query *largest, int lanes)
{
    size_t samples = CHUNK_PARTS / part_count(largest) / lanes * lanes;
    return samples == 0 ? 1 : samples < CHUNK_SAMPLES ? (int)samples : CHUNK_SAMPLES;
}

/* Number of parts that a chunk of such queries can have. */
static inline size_t part_capacity(const query *largest)
{
    size_t parts = part_count(largest);
    return parts > CHUNK_PARTS ? parts : CHUNK_PARTS;
}

/* Returns the chunk of the samples q[0 .. samples - 1]. In blocks, lanes run along t0
 * or along (D, E), whichever leaves fewer of them without work. On a GPU (one lane) the
 * (A, B, C) of a single sample are fewer than the threads, so each D is a part of its
 * own. */
static chunk make_chunk(const query *q, int samples, int lanes)
{
    chunk c = {samples, 1, samples, 1, {0}};
    for (int k = 0; k < samples; k++)
        for (int i = 0; i < PARAMETERS; i++)
            if (c.np[i] < q[k].np[i]) c.np[i] = q[k].np[i];
    size_t values = (size_t)c.np[D] * c.np[E];
    double along_t0 = samples / ceil((double)samples / lanes);
    double along_de = values / ceil((double)values / lanes);
    c.block = samples > 1 && along_t0 >= along_de ? lanes : 1;
    c.blocks = (samples + c.block - 1) / c.block;
    if (samples == 1 && lanes == 1 && part_count(q) * c.np[D] <= CHUNK_PARTS)
        c.split = c.np[D];
    return c;
}

/* Number of parts of a sample of a chunk: the largest one among the samples. */
static inline int sample_parts(const chunk *c)
{
    return c->np[A] * c->np[B] * c->np[C] * c->split;
}

/* Stores the best points that a device has picked. Returns false if the host needs all
 * parts, for a panel or for the message if one was never written. */
static inline int store_best(const point *best, int samples, search_result *result)
{
    int enough = 1;
    for (int k = 0; k < samples; k++) {
        result[k].best = best[k];
        if (result[k].panel || !isfinite(best[k].semblance)) enough = 0;
    }
    return enough;
}

/* Picks the best part of each sample of a chunk from all parts. */
static inline void pick_samples(const query *q, const chunk *c, const point *part,
                                search_result *result)
{
    for (int k = 0; k < c->samples; k++)
        pick_best(&q[k], part + (size_t)k * sample_parts(c),
                  (size_t)q[k].np[C] * c->split, &result[k]);
}

/* Extracts what the search needs of its traces, in double until the last rounding. */
static void prepare(const su_gather *g, const query *q, const int *indices,
                    trace *traces)
{
    for (int i = 0; i < q->ntraces; i++) {
        const su_header *h = &g->trace[indices[i]].header;
        double scale = su_scale(h->scalco);
        double midpoint = scale * ((double)h->gy + h->sy) / 2;
        double half_offset = scale * ((double)h->gy - h->sy) / 2;
        traces[i].dm = (float)((midpoint - q->m0) * q->idt);
        traces[i].dh = (float)((half_offset - q->h0) * q->idt);
        traces[i].row = indices[i];
    }
}

/* Completes the traces for one sample, with the values that depend on its ranges: the
 * extremes of D dm^2 + E dh dm, which is linear in D and in E, are at corners of (D,
 * E). */
static void prepare_sample(const query *q, trace *traces)
{
    for (int i = 0; i < q->ntraces; i++) {
        double dm = traces[i].dm, dh = traces[i].dh;
        double d0 = value(q, D, 0) * dm * dm, d1 = value(q, D, q->np[D] - 1) * dm * dm;
        double e0 = value(q, E, 0) * dh * dm, e1 = value(q, E, q->np[E] - 1) * dh * dm;
        traces[i].de_min = (float)(fmin(d0, d1) + fmin(e0, e1));
        traces[i].de_max = (float)(fmax(d0, d1) + fmax(e0, e1));
    }
}

/* Returns true if the samples of a chunk are to be searched one after another, by
 * knots, and false if they are to be searched in blocks.
 *
 * A GPU (one lane) has no cache that holds the knots of all its threads. On a CPU, a
 * block visits each trace once for each (D, E) and each vector of samples. To reduce a
 * trace to knots takes about as long as KNOT_VISITS visits, once for each sample, so
 * knots are faster if there are many (D, E). And each trace must have few knots: all
 * (D, E) move the arrivals by less than MAX_KNOT_SPAN samples, on the average of the
 * traces. The terms of D and E change t^2 by at most s = de_max - de_min, so they
 * change t by about s / 2t. The ranges of the chunk's middle sample decide. */
#define KNOT_VISITS   4
#define MAX_KNOT_SPAN 1
static inline int few_knots(const query *q, const chunk *c, int lanes, trace *traces)
{
    if (lanes == 1) return 0;
    q += c->samples / 2;
    prepare_sample(q, traces);
    double span = 0;
    for (int i = 0; i < q->ntraces; i++)
        span += (traces[i].de_max - traces[i].de_min) / (2 * q->t0 * q->idt + 1);
    return c->samples == 1 || (c->np[D] * c->np[E] >= KNOT_VISITS * lanes &&
                               span < MAX_KNOT_SPAN * q->ntraces);
}

/* Limit for the workspaces on a device: 256 MiB hold more than run at a time. */
#ifndef WORKSPACE_BYTES
#define WORKSPACE_BYTES (256 << 20)
#endif

/* Reduces a range of work-items, by whole groups (but to no less than one group), to
 * max_items and until their workspaces of floats_each floats fit into WORKSPACE_BYTES;
 * returns the bytes needed. */
static inline size_t fit_workspaces(size_t global[3], const size_t local[3],
                                    size_t floats_each, size_t max_items)
{
    size_t workspaces = WORKSPACE_BYTES / sizeof(float) / floats_each;
    if (workspaces > max_items) workspaces = max_items;
    for (int i = 0; i < 3; i++) {
        size_t slab = global[0] * global[1] * global[2] / global[i] * local[i];
        size_t slabs = workspaces / slab;
        if (slabs == 0) slabs = 1;
        if (slabs * local[i] < global[i]) global[i] = slabs * local[i];
    }
    return global[0] * global[1] * global[2] * floats_each * sizeof(float);
}
