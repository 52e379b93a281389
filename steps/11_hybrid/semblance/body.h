/* body.h - what one point of the search costs.
 *
 * For one (A, B, C, D, E) every trace is visited: the moveout says when the reflection
 * should arrive in it, and a window of 2 tau + 1 samples is taken around that time.
 * Where the windows agree from trace to trace the semblance is near 1, where they do
 * not, near 0.
 */
#include "lanes.h"
#include "query.h"

/* What the search needs of a trace: how far it lies from the output point, in metres
 * times samples a second, so that the moveout comes out in samples. Samples lie apart,
 * a row of pitch floats for each trace of the gather, since a device cannot follow a
 * pointer of the host. */
typedef struct {
    float dm, dh;
    int row;
    float least, most;
} trace;

/* Value i of parameter k: 0 is A, 4 is E. */
BOTH_FN float value(CONSTANT const query *q, int k, int i)
{
    return q->p0[k] + ((float)i / (float)q->np[k]) * (q->p1[k] - q->p0[k]);
}

/* What LANES neighbours in E have scored: of each lane the best, and where it is. */
typedef struct {
    lanes id, ie, stack, semblance;
} points;

/* Adds windows that begin at the same sample y in all lanes, and lie v2 of a sample
 * past it. */
FN void visit_same(GLOBAL const float *y, int w, lanes v2, lanes *num, lanes *den)
{
    lanes v1 = 1 - v2, squares = each(0);
    for (int j = 0; j < w; j++) {
        lanes v = y[j + 1] * v2 + y[j] * v1;
        num[j] += v;
        squares += v * v;
    }
    *den += squares;
}

/* Adds a trace of ns samples at y: of each lane the w samples around its x. A lane
 * whose window does not lie inside skips it. Returns 1 where all lanes found the same
 * samples, 0 where each had to look for its own. */
FN int visit(GLOBAL const float *y, int ns, int w, lanes x, lanes *num, lanes *den,
             lanes *skipped)
{
    int tau = w / 2;

    /* Samples x - tau .. x + tau, and one more to interpolate the last. x rises or
     * falls from lane to lane: what the first and the last share, all share. */
    float x0 = lane(x, 0), xl = lane(x, LANES - 1);
    int in = x0 >= tau && x0 < ns - tau - 1;
    int it = in ? (int)x0 : tau;
    if (in && xl >= it && xl < it + 1) {
        visit_same(y + it - tau, w, x - (float)it, num, den);
        return 1;
    }

    int first[LANES];
    lanes v2 = each(0), v1 = each(0), y0 = each(0), y1 = each(0);
    lanes squares = each(0);
    for (int l = 0; l < LANES; l++) {
        float xl = lane(x, l);
        int in = xl >= tau && xl < ns - tau - 1;
        int it = in ? (int)xl : tau;
        first[l] = it - tau;
        lane(v2, l) = in ? xl - it : 0;
        lane(v1, l) = in ? 1 - lane(v2, l) : 0;
        lane(y0, l) = y[first[l]];
        lane(*skipped, l) += !in;
    }
    for (int j = 0; j < w; j++) {
        for (int l = 0; l < LANES; l++) lane(y1, l) = y[first[l] + j + 1];
        lanes v = y1 * v2 + y0 * v1;
        num[j] += v;
        squares += v * v;
        y0 = y1;
    }
    *den += squares;
    return 0;
}

/* The best of all lanes; among equals the first in D and E. */
FN point best_lane(CONSTANT const query *q, float a, float b, float c, points *top)
{
    int best = 0;
    for (int l = 1; l < LANES; l++) {
        float more = lane(top->semblance, l) - lane(top->semblance, best);
        float later = lane(top->id, l) - lane(top->id, best);
        if (later == 0) later = lane(top->ie, l) - lane(top->ie, best);
        if (more > 0 || (more == 0 && later < 0)) best = l;
    }
    point found = {a,
                   b,
                   c,
                   value(q, 3, lane(top->id, best)),
                   value(q, 4, lane(top->ie, best)),
                   lane(top->stack, best),
                   lane(top->semblance, best)};
    return found;
}

/* The window of a trace, as a function of the arrival x, is a polygon: it bends where x
 * passes a sample. Behind such a hinge, with r = x - at, num[j] gains bend[j] r and den
 * (b1 + b2 r) r. */
typedef struct {
    float rest, dm2, dhm; /* x^2 = rest + D dm2 + E dhm */
    float at, b1, b2;
} hinge;

/* What a thread has to itself: hinges, w bends for each, and the numbers of the traces
 * that have none. */
typedef struct {
    GLOBAL hinge *hinges;
    GLOBAL float *bends;
    GLOBAL int *others;
} workspace;

/* A trace may bend SPREAD times within the block of all (D, E), most do not at all. */
#define SPREAD 8
BOTH_FN int hinges_of(int ntraces)
{
    return 2 * ntraces + SPREAD + 2;
}

/* Floats of a workspace, and one that begins at room. */
BOTH_FN size_t room_of(int ntraces, int w)
{
    return hinges_of(ntraces) * (sizeof(hinge) / sizeof(float) + w) + ntraces;
}

FN workspace workspace_of(GLOBAL float *room, int ntraces, int w)
{
    GLOBAL hinge *hinges = (GLOBAL hinge *)room;
    GLOBAL float *bends = (GLOBAL float *)(hinges + hinges_of(ntraces));
    workspace ws = {hinges, bends, (GLOBAL int *)(bends + hinges_of(ntraces) * w)};
    return ws;
}

/* Adds a hinge to LANES points. */
FN void add_hinge(GLOBAL const hinge *h, GLOBAL const float *bend, int w, float d,
                  lanes e, lanes *num, lanes *den)
{
    lanes r = root(h->rest + d * h->dm2 + e * h->dhm) - h->at;
    r = pick(r > 0, r, each(0));
    for (int j = 0; j < w; j++) num[j] += bend[j] * r;
    *den += (h->b1 + h->b2 * r) * r;
}

/* What does not bend within the block is smooth in (D, E): it is evaluated at NODES
 * places, 4 x 4, and cubics go through them. Where x changes by h from its least, they
 * miss x by 0.013 h^4 / x^3 at most, and den, since x^2 is linear, by 0.025 h^4 / x^2
 * times the sum of squared slopes. At some corner den is at least that sum times h^2 /
 * 8: SMOOTH h <= x keeps the error below a millionth of the largest node's den. */
#define NODES  16
#define SMOOTH 512

/* The cubic through f0 .. f3, equidistant, is f0 + the sum of weight[n] (fn - f0), at s
 * of 0 .. 3. Where all are equal it is f0 to the bit: equal points stay equal. */
FN void cubic(lanes s, lanes weight[4])
{
    weight[1] = s * (s - 2) * (s - 3) * 0.5f;
    weight[2] = s * (s - 1) * (3 - s) * 0.5f;
    weight[3] = s * (s - 1) * (s - 2) * (1 / 6.0f);
}

/* For one thread: the best of all (D, E) for one (A, B, C), in windows of w samples,
 * LANES values of E at a time. What a trace contributes to all of them is read once. */
FN point search_abc(int ia, int ib, int ic, CONSTANT const trace *traces,
                    GLOBAL const float *samples, CONSTANT const query *q, int w,
                    workspace ws)
{
    int tau = w / 2;
    float t0 = q->t0 * q->idt;
    float a = value(q, 0, ia);
    float b = value(q, 1, ib);
    float c = value(q, 2, ic);
    float d0 = value(q, 3, 0), d1 = value(q, 3, q->np[3] - 1);
    float e0 = value(q, 4, 0), e1 = value(q, 4, q->np[4] - 1);

    float base[WINDOW_ROOM], base_den = 0, loud = 0, most = 0;
    int hinges = 0, others = 0, outside = 0;
    for (int j = 0; j < w; j++) base[j] = 0;

    lanes node_d[NODES / LANES], node_e[NODES / LANES];
    lanes node[NODES / LANES][WINDOW_ROOM + 1]; /* num, and den behind it */
    for (int m = 0; m < NODES / LANES; m++) {
        for (int l = 0; l < LANES; l++) {
            int n = m * LANES + l;
            lane(node_d[m], l) = d0 + n / 4 * (d1 - d0) / 3;
            lane(node_e[m], l) = e0 + n % 4 * (e1 - e0) / 3;
        }
        for (int j = 0; j <= w; j++) node[m][j] = each(0);
    }

    for (int i = 0; i < q->ntraces && outside < 2; i++) {
        float dm = traces[i].dm;
        float dh = traces[i].dh;
        float t = t0 + a * dm + b * dh;
        float rest = t * t + c * dh * dh;

        float lo = sqrtf(rest + traces[i].least), hi = sqrtf(rest + traces[i].most);

        if (!(hi >= tau) || lo >= q->ns - tau - 1) {
            outside++;
        } else if (!(lo >= tau && hi < q->ns - tau - 1 && hi - lo < SPREAD &&
                     hinges + SPREAD + 2 <= hinges_of(q->ntraces))) {
            ws.others[others++] = i;
        } else {
            int k = (int)lo;
            GLOBAL const float *y =
                samples + (size_t)traces[i].row * q->pitch + k - tau;
            float dm2 = dm * dm, dhm = dh * dm, at = lo, slope[WINDOW_ROOM];
            if (SMOOTH * (hi - lo) <= lo) {
                for (int m = 0; m < NODES / LANES; m++) {
                    lanes x = root(rest + dm2 * node_d[m] + dhm * node_e[m]);
                    visit_same(y, w, x - (float)k, node[m], &node[m][w]);
                }
                if (hi < k + 1) continue;
                for (int j = 0; j < w; j++) slope[j] = y[j + 1] - y[j];
                at = ++k;
                y++;
            } else {
                for (int j = 0; j < w; j++) {
                    float v = y[j] + (y[j + 1] - y[j]) * (lo - k);
                    base[j] += v;
                    base_den += v * v;
                    slope[j] = 0;
                }
            }
            for (; k <= hi; at = ++k, y++) {
                hinge h = {rest, dm2, dhm, at, 0, 0};
                for (int j = 0; j < w; j++) {
                    float more = y[j + 1] - y[j];
                    float bend = more - slope[j];
                    ws.bends[hinges * w + j] = bend;
                    h.b1 += 2 * bend * (y[j] + more * (at - k));
                    h.b2 += bend * (more + slope[j]);
                    slope[j] = more;
                }
                loud += (hi - at) * (fabsf(h.b1) + (hi - at) * fabsf(h.b2));
                ws.hinges[hinges++] = h;
            }
        }
    }
    loud += base_den;
    for (int m = 0; m < NODES / LANES; m++)
        for (int l = 0; l < LANES; l++) most = fmaxf(most, lane(node[m][w], l));

    /* den is a difference of such terms: where it is much less than they are, or about
     * to underflow, it is not to be trusted. */
    float enough = 0.25f * most + 0.1f * loud;
    if (most + loud > 0 && enough < 1e-30f) enough = 1e-30f;

    points top = {each(0), each(0), each(0), each(outside < 2 ? -1 : 0)};
    for (int ie = 0; ie < q->np[4] && outside < 2; ie += LANES) {
        /* Lanes beyond the last E have it once more. */
        lanes e = each(0), at = each(0);
        for (int l = 0; l < LANES; l++) {
            lane(at, l) = ie + l < q->np[4] ? ie + l : q->np[4] - 1;
            lane(e, l) = value(q, 4, lane(at, l));
        }

        /* For each lane's E four values of a cubic in D, for num and, behind it, den;
         * of all but the first the difference from it. */
        lanes along_e[4], column[4][WINDOW_ROOM + 1];
        cubic((e - e0) * (e1 != e0 ? 3 / (e1 - e0) : 0), along_e);
        for (int m = 0; m < 4; m++)
            for (int j = 0; j <= w; j++) {
                float first = lane(node[4 * m / LANES][j], 4 * m % LANES);
                column[m][j] = each(first);
                for (int n = 4 * m + 1; n < 4 * m + 4; n++) {
                    float more = lane(node[n / LANES][j], n % LANES) - first;
                    column[m][j] += along_e[n % 4] * more;
                }
                column[m][j] -= m ? column[0][j] : each(0);
            }
        for (int j = 0; j < w; j++) column[0][j] += base[j];
        column[0][w] += base_den;

        for (int id = 0; id < q->np[3]; id++) {
            float d = value(q, 3, id);
            lanes along_d[4];
            cubic(each((d - d0) * (d1 != d0 ? 3 / (d1 - d0) : 0)), along_d);

            lanes num[WINDOW_ROOM], skipped = each(outside);
            lanes den = column[0][w] + along_d[1] * column[1][w] +
                        along_d[2] * column[2][w] + along_d[3] * column[3][w];
            for (int j = 0; j < w; j++)
                num[j] = column[0][j] + along_d[1] * column[1][j] +
                         along_d[2] * column[2][j] + along_d[3] * column[3][j];
            for (int n = 0; n < hinges; n++)
                add_hinge(&ws.hinges[n], &ws.bends[n * w], w, d, e, num, &den);

            /* Where den is a small difference of large numbers, all traces are visited
             * one by one, else only those that have no hinges. */
            int visits = others, one_by_one = !all(den >= enough);
            if (one_by_one) {
                den = skipped = each(0);
                for (int j = 0; j < w; j++) num[j] = each(0);
                visits = q->ntraces;
            }
            for (int n = 0; n < visits; n++) {
                CONSTANT const trace *tr = &traces[one_by_one ? n : ws.others[n]];
                float dm = tr->dm, dh = tr->dh, t = t0 + a * dm + b * dh;
                lanes x = root(t * t + c * dh * dh + dm * (d * dm + e * dh));
                visit(samples + (size_t)tr->row * q->pitch, q->ns, w, x, num, &den,
                      &skipped);
            }

            lanes squares = each(0);
            for (int j = 0; j < w; j++) squares += num[j] * num[j];
            lanes used = (float)q->ntraces - skipped;
            mask scored = (skipped < 2) & (den > 0);
            lanes s = pick(scored, squares / (den * used), each(0));

            lanes better = pick(s > top.semblance, s, top.semblance);
            mask kept = better == top.semblance;
            if (!all(kept)) { /* rare: most points are not the best so far */
                lanes sum = each(0);
                for (int j = 0; j < w; j++) sum += num[j];
                sum = pick(scored, sum / (used * (float)w), each(0));
                top.semblance = better;
                top.stack = pick(kept, top.stack, sum);
                top.id = pick(kept, top.id, each(id));
                top.ie = pick(kept, top.ie, at);
            }
        }
    }
    return best_lane(q, a, b, c, &top);
}
