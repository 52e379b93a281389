/* bound.h - what the semblance of many points is at most, without looking at them.
 *
 * Whatever the point, a trace's window lies between the least and the largest that its
 * polygon takes between the earliest and the latest arrival of all the points. Sums of
 * these bound num, and den is at least the sum of the least squares.
 */
/* The first point of (A, B, C), which counts where all semblances are 0. */
FN point first_of(CONSTANT const query *q, int ia, int ib, int ic)
{
    point p = {value(q, 0, ia),
               value(q, 1, ib),
               value(q, 2, ic),
               value(q, 3, 0),
               value(q, 4, 0),
               0,
               0};
    return p;
}

/* A cell of the panel, and what no point of it exceeds. */
typedef struct {
    float bound;
    int cell; /* ia np[1] + ib */
} ranked;

/* A semblance as an int, which threads can compare and swap at once: rounded down. */
#define COUNTS 1e9f
FN int counts_of(float semblance)
{
    return semblance < 2 ? (int)(semblance * COUNTS) : 0;
}

/* Samples from y on, of which there are `left`, LANES of them. */
FN lanes some(GLOBAL const float *y, int left)
{
    if (left >= LANES) return load(y);
    lanes v = each(0);
    for (int l = 0; l < LANES; l++) lane(v, l) = l < left ? y[l] : 0;
    return v;
}

/* At least the largest semblance of all points with this A and B and with cs values of
 * C from ic on, with something added for rounding; 2 where nothing is known. */
FN float bound(int ia, int ib, int ic, int cs, CONSTANT const trace *traces,
               GLOBAL const float *samples, CONSTANT const query *q, int w)
{
    float a = value(q, 0, ia), b = value(q, 1, ib);
    float c0 = value(q, 2, ic), c1 = value(q, 2, ic + cs - 1);
    int tau = w / 2, last = q->ns - tau - 2, outside = 0, partly = 0;
    float t0 = q->t0 * q->idt;
    lanes low[WINDOW_ROOM], high[WINDOW_ROOM], den[WINDOW_ROOM];
    for (int j = 0; j < w; j += LANES) low[j] = high[j] = den[j] = each(0);

    for (int i = 0; i < q->ntraces; i++) {
        float dm = traces[i].dm, dh = traces[i].dh, t = t0 + a * dm + b * dh;
        float u0 = c0 * dh * dh, u1 = c1 * dh * dh;
        float lo = sqrtf(t * t + (u0 < u1 ? u0 : u1) + traces[i].least);
        float hi = sqrtf(t * t + (u0 < u1 ? u1 : u0) + traces[i].most);
        lo -= 1e-6f * hi; /* more than rounding */
        hi += 1e-6f * hi;

        if (!(hi >= tau) || lo >= last + 1) {
            if (++outside == 2) return 0;
            continue;
        }
        /* Where the window may lie outside, some points skip the trace. */
        int inside = lo >= tau && hi < last + 1;
        partly += !inside;
        if (!(lo >= tau)) lo = tau;
        if (!(hi < last + 1)) hi = last + 1;
        if (hi - lo > 100) return 2;

        int k0 = (int)lo, k1 = hi < last + 1 ? (int)hi : last;
        GLOBAL const float *y = samples + (size_t)traces[i].row * q->pitch - tau;
        for (int j = 0; j < w; j += LANES) {
            int left = q->ns + tau - j;
            lanes from = some(y + k0 + j, left - k0), to = some(y + k1 + j, left - k1);
            from += (some(y + k0 + j + 1, left - k0 - 1) - from) * (lo - k0);
            to += (some(y + k1 + j + 1, left - k1 - 1) - to) * (hi - k1);
            lanes least = pick(from < to, from, to), most = pick(from < to, to, from);
            for (int k = k0 + 1; k <= k1; k++) {
                lanes at = some(y + k + j, left - k);
                least = pick(at < least, at, least);
                most = pick(at > most, at, most);
            }
            if (!inside) {
                least = pick(least < 0, least, each(0));
                most = pick(most > 0, most, each(0));
            }
            lanes near = pick(least > 0, least, pick(most < 0, most, each(0)));
            low[j] += least;
            high[j] += most;
            den[j] += near * near;
        }
    }
    float largest = 0, num = 0, sum = 0;
    for (int j = 0; j < w; j++) {
        int chunk = j / LANES * LANES, l = j % LANES;
        float more = fmaxf(-lane(low[chunk], l), lane(high[chunk], l));
        largest = fmaxf(largest, more);
        num += more * more;
        sum += lane(den[chunk], l);
    }
    num *= 1.001f / (float)(q->ntraces - (outside + partly > 0));
    return largest <= 0 ? 0 : num < sum && sum > 1e-30f ? num / sum : 2;
}
