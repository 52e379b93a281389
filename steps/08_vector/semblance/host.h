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
 * parts (7 MB). Returns its size in samples: whole vectors, or one sample. */
#define CHUNK_SAMPLES 128
#define CHUNK_PARTS   (1 << 18)
static int chunk_samples(const query *largest, int lanes)
{
    size_t samples = CHUNK_PARTS / part_count(largest) / lanes * lanes;
    return samples == 0 ? 1 : samples < CHUNK_SAMPLES ? (int)samples : CHUNK_SAMPLES;
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
