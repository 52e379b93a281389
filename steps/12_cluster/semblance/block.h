/* block.h - the search of LANES points at a time: of neighbouring samples of the output
 * trace, or of one sample. */
#include "body.h"

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
 * a sample is one (A, B, C), whose values of D and E are searched together. */
typedef struct {
    int samples, block, blocks;
    int np[PARAMETERS];
} chunk;

/* The best point of each lane. The indices id and ie are floats, which pick() can
 * select like the other members; they are exact below 2^24. */
typedef struct {
    lanes id, ie;
    lane_values value;
} lane_points;

/* Keeps the points that are better than the best ones before. */
FN void keep_better(lane_points *best, lanes id, lanes ie, lane_values value)
{
    mask better = value.semblance > best->value.semblance;
    best->value.semblance = pick(better, value.semblance, best->value.semblance);
    best->value.stack = pick(better, value.stack, best->value.stack);
    best->id = pick(better, id, best->id);
    best->ie = pick(better, ie, best->ie);
}

/* Returns the lane that has the best point: of several equal ones the first in D, then
 * in E. */
FN int best_lane(const lane_points *points)
{
    lane_points best = *points;
    int winner = 0;
    for (int l = 1; l < LANES; l++) {
        float gain = lane(best.value.semblance, l) - lane(best.value.semblance, winner);
        float order = lane(best.id, l) - lane(best.id, winner);
        if (order == 0) order = lane(best.ie, l) - lane(best.ie, winner);
        if (gain > 0 || (gain == 0 && order < 0)) winner = l;
    }
    return winner;
}

/* Searches one part of all samples of a block, in windows of w samples: the work of one
 * thread or work-item. In a block of LANES samples each has a lane of its own, and
 * lanes after the last sample repeat it. In a block of one, LANES values of (D, E) are
 * searched at a time.
 *
 * q has one query per sample of the chunk. The best point of sample k goes to part[k *
 * parts + part_index(..)].
 */
FN void search_block(int w, int block, int ia, int ib, int ic,
                     CONSTANT const trace *traces, GLOBAL const float *samples,
                     CONSTANT const query *q, const chunk *ch, GLOBAL point *part,
                     int parts)
{
    int k0 = block * ch->block, along_de = ch->block == 1;
    int last = along_de ? k0 : ch->samples - 1;
    lanes t0 = each(0);
    lane_range range[PARAMETERS];
    int np[PARAMETERS] = {0}; /* the largest of the samples of the block */
    for (int l = 0; l < LANES; l++) {
        CONSTANT const query *ql = &q[k0 + l < last ? k0 + l : last];
        lane(t0, l) = ql->t0 * ql->idt;
        UNROLL
        for (int i = 0; i < PARAMETERS; i++) {
            lane(range[i].p0, l) = ql->p0[i];
            lane(range[i].width, l) = ql->p1[i] - ql->p0[i];
            lane(range[i].count, l) = ql->np[i];
            if (np[i] < ql->np[i]) np[i] = ql->np[i];
        }
    }
    if (ia >= np[A] || ib >= np[B] || ic >= np[C]) return; /* of no sample */
    lane_operator o = {t0,
                       values(&range[A], each(ia)),
                       values(&range[B], each(ib)),
                       values(&range[C], each(ic)),
                       t0,
                       t0};
    lane_points best = {each(0), each(0), {each(-1), each(0)}};

    /* Value n of (D, E), E first; lanes along (D, E) take the LANES - 1 following ones,
     * too. Those after the last one repeat the last D. */
    int ne = np[E], nde = np[D] * ne;
    lanes number = each(0);
    for (int l = 0; l < LANES && along_de; l++) lane(number, l) = l;
    for (int n = 0; n < nde; n += along_de ? LANES : 1) {
        lanes ie = number + (float)(n % ne);
        lanes rows = real(whole((ie + 0.5f) / (float)ne)); /* of E that a lane passes */
        lanes id = rows + (float)(n / ne);
        ie -= rows * (float)ne;
        o.d = values(&range[D], id);
        o.e = values(&range[E], ie);

        keep_better(&best, id, ie, semblance(&o, w, traces, samples, q));
    }

    int winner = best_lane(&best); /* of lanes along (D, E) */
    o.d = values(&range[D], best.id);
    o.e = values(&range[E], best.ie);
    UNROLL
    for (int l = 0; l < LANES; l++) {
        int k = along_de ? k0 : k0 + l;
        if (along_de ? l != winner : k > last) continue;
        CONSTANT const query *ql = &q[k];
        point p = {lane(o.a, l),
                   lane(o.b, l),
                   lane(o.c, l),
                   lane(o.d, l),
                   lane(o.e, l),
                   lane(best.value.stack, l),
                   lane(best.value.semblance, l)};
        if (ia < ql->np[A] && ib < ql->np[B] && ic < ql->np[C])
            part[(size_t)k * parts + part_index(ql, ia, ib, ic)] = p;
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
