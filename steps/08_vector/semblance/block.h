/* block.h - the search of LANES points at a time: of neighbouring samples of the output
 * trace, or of one sample. */
#include "body.h"

/* Traces whose arrivals are computed together, before their windows are added. On a CPU
 * two short loops are faster than a long one (the lesson of step 08 has the times). */
#define ARRIVALS (LANES == 1 ? 1 : 16)

/* The range of a parameter in each lane. */
typedef struct {
    lanes p0, width, count;
} lane_range;

/* Returns value i of the parameter in each lane; beyond the last value, the last. */
FN lanes values(const lane_range *r, lanes i)
{
    i = pick(i < r->count, i, r->count - 1);
    return r->p0 + i / r->count * r->width;
}

/* A chunk of an output trace: samples that are searched together, in blocks of LANES
 * samples or of one. np are the largest numbers of values among the samples. A part of
 * a sample is one (A, B, C), whose values of D and E are searched together (split is
 * 1), or one (A, B, C, D) (split is np[D]). */
typedef struct {
    int samples, block, blocks, split;
    int np[PARAMETERS];
} chunk;

/* Searches one part of all samples of a block, in windows of w samples: the work of one
 * thread or work-item. id0 is the index of the part's first D, 0 unless split > 1. In a
 * block of LANES samples each has a lane of its own, and lanes after the last sample
 * repeat it. In a block of one, LANES values of (D, E) are searched at a time.
 *
 * q has one query per sample of the chunk. The best point of sample k goes to part[k *
 * parts + part_index(..) * split + id0].
 */
FN void search_block(int block, int ia, int ib, int ic, int id0,
                     CONSTANT const trace *traces, GLOBAL const float *samples,
                     CONSTANT const query *q, const chunk *ch, int w,
                     GLOBAL point *part, int parts)
{
    int k0 = block * ch->block;
    int k1 = k0 + ch->block < ch->samples ? k0 + ch->block : ch->samples;
    lanes num[MAX_WINDOW];

    int along_de = k1 - k0 == 1;
    lanes t0 = each(0);
    lane_range range[PARAMETERS];
    for (int l = 0; l < LANES; l++) {
        CONSTANT const query *ql = &q[k0 + l < k1 ? k0 + l : k1 - 1];
        lane(t0, l) = ql->t0 * ql->idt;
        UNROLL
        for (int i = 0; i < PARAMETERS; i++) {
            lane(range[i].p0, l) = ql->p0[i];
            lane(range[i].width, l) = ql->p1[i] - ql->p0[i];
            lane(range[i].count, l) = ql->np[i];
        }
    }
    lanes a = values(&range[A], each(ia));
    lanes b = values(&range[B], each(ib));
    lanes c = values(&range[C], each(ic));
    lane_points best = {each(0), each(0), each(0), each(-1)};

    /* Lanes along (D, E) take the next LANES of the part's (D, E), E first. Those after
     * the last one repeat the last D. */
    float ne = ch->np[E];
    size_t nde = (size_t)ch->np[D] / ch->split * ch->np[E];
    lanes id = each(id0), ie = each(0);
    for (int l = 0; l < LANES && along_de; l++) lane(ie, l) = l;
    for (size_t n = 0; n < nde; n += along_de ? LANES : 1) {
        lanes carry = real(whole((ie + 0.5f) / ne));
        id += carry;
        ie -= carry * ne;
        lanes d = values(&range[D], id);
        lanes e = values(&range[E], ie);

        UNROLL
        for (int j = 0; j < w; j++) num[j] = each(0);
        lanes den = each(0), skipped = each(0);

        for (int n = 0; n < q->ntraces && !all(skipped >= 2); n += ARRIVALS) {
            int rest = q->ntraces - n; /* at least 1 */
            int count = ARRIVALS == 1 || rest > ARRIVALS ? ARRIVALS : rest;
            lanes x[ARRIVALS]; /* in samples; NaN where the operator has none */
            for (int i = 0; i < count; i++) {
                float dm = traces[n + i].dm, dh = traces[n + i].dh;
                lanes t = t0 + a * dm + b * dh;
                x[i] = root(t * t + c * (dh * dh) + dm * (d * dm + e * dh));
            }
            for (int i = 0; i < count; i++)
                add_trace(samples + (size_t)traces[n + i].row * q->pitch, q->ns, w,
                          x[i], num, &den, &skipped);
        }

        lanes squares = each(0);
        UNROLL
        for (int j = 0; j < w; j++) squares += num[j] * num[j];
        lanes used = (float)q->ntraces - skipped;
        mask valid = (skipped < 2) & (den > 0);
        lanes s = pick(valid, squares / (den * used), each(0));

        lanes best_semblance = pick(s > best.semblance, s, best.semblance);
        mask unchanged = best_semblance == best.semblance;
        if (!all(unchanged)) { /* rare: few points exceed the best one found before
                                */
            lanes sum = each(0);
            UNROLL
            for (int j = 0; j < w; j++) sum += num[j];
            sum = pick(valid, sum / (used * (float)w), each(0));
            best.semblance = best_semblance;
            best.stack = pick(unchanged, best.stack, sum);
            best.id = pick(unchanged, best.id, id);
            best.ie = pick(unchanged, best.ie, ie);
        }
        ie += along_de ? (float)LANES : 1;
    }

    int winner = 0; /* of lanes along (D, E): of several equal ones the first */
    for (int l = 1; l < LANES && along_de; l++) {
        float gain = lane(best.semblance, l) - lane(best.semblance, winner);
        float order = lane(best.id, l) - lane(best.id, winner);
        if (order == 0) order = lane(best.ie, l) - lane(best.ie, winner);
        if (gain > 0 || (gain == 0 && order < 0)) winner = l;
    }
    lanes d = values(&range[D], best.id), e = values(&range[E], best.ie);
    UNROLL
    for (int l = 0; l < LANES; l++) {
        if (along_de ? l != winner : k0 + l >= k1) continue;
        int k = along_de ? k0 : k0 + l;
        CONSTANT const query *ql = &q[k];
        point p = {lane(a, l),
                   lane(b, l),
                   lane(c, l),
                   lane(d, l),
                   lane(e, l),
                   lane(best.stack, l),
                   lane(best.semblance, l)};
        if (ia < ql->np[A] && ib < ql->np[B] && ic < ql->np[C])
            part[(size_t)k * parts + part_index(ql, ia, ib, ic) * ch->split + id0] = p;
    }
}

/* A part of a sample and its semblance. */
typedef struct {
    int part;
    float semblance;
} candidate;

/* Returns the better one: of two equal parts the first. */
FN candidate better(candidate x, candidate y)
{
    if (x.semblance == y.semblance) return x.part < y.part ? x : y;
    return x.semblance > y.semblance ? x : y;
}

/* Returns the best of the parts first, first + step, .. < count. A part whose semblance
 * is not finite, for example because it was never written, is better than all others,
 * so that the host detects it. */
FN candidate best_part(GLOBAL const point *part, int count, int first, int step)
{
    candidate best = {0, -2}; /* below every semblance */
    for (int n = first; n < count; n += step) {
        candidate c = {n, part[n].semblance};
        if (!isfinite(c.semblance)) c.semblance = INFINITY;
        best = better(best, c);
    }
    return best;
}

/* Threads, or work-items, that pick the best part of a sample together. */
#define PICKERS 256
