/* host.h - preparation on the host, the same for all back-ends. */
#include <math.h>

#include "semblance.h"
#include "block.h"
#include "bound.h"

/* Number of parts of a search; each gives a best point of its own. */
static size_t part_count(const query *q)
{
    return (size_t)q->np[A] * q->np[B] * q->np[C];
}

/* Number of cells of the panel, that is of (A, B). */
static size_t cell_count(const query *q)
{
    return (size_t)q->np[A] * q->np[B];
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

/* Returns the chunk of the samples q[0 .. samples - 1]. Lanes run along t0 or along (D,
 * E), whichever leaves fewer of them without work. */
static chunk make_chunk(const query *q, int samples, int lanes)
{
    chunk c = {samples, 1, samples, {0}};
    for (int k = 0; k < samples; k++)
        for (int i = 0; i < PARAMETERS; i++)
            if (c.np[i] < q[k].np[i]) c.np[i] = q[k].np[i];
    size_t values = (size_t)c.np[D] * c.np[E];
    double along_t0 = samples / ceil((double)samples / lanes);
    double along_de = values / ceil((double)values / lanes);
    c.block = samples > 1 && along_t0 >= along_de ? lanes : 1;
    c.blocks = (samples + c.block - 1) / c.block;
    return c;
}

/* Number of parts of a sample of a chunk: the largest one among the samples. */
static inline int sample_parts(const chunk *c)
{
    return c->np[A] * c->np[B] * c->np[C];
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
        pick_best(&q[k], part + (size_t)k * sample_parts(c), q[k].np[C], &result[k]);
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

/* Compares for qsort: higher bounds first. A large incumbent early prunes more. */
static int by_bound(const void *a, const void *b)
{
    const cell_bound *x = (const cell_bound *)a, *y = (const cell_bound *)b;
    if (x->bound != y->bound) return x->bound < y->bound ? 1 : -1;
    return x->cell - y->cell;
}
