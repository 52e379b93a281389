/* bound.h - an upper bound on the semblance of many points, without searching them.
 *
 * For all points of an (A, B) and some C, the arrivals of a trace lie between x_min and
 * x_max. There each sample of its window, a piecewise-linear function, lies between
 * v_min and v_max. The sums of these over the traces bound num; the sum of the squares
 * of the value nearest to zero is a lower bound on den. The semblance is at most the
 * quotient of the two.
 */
/* The first point of one (A, B, C): the result if all semblances are 0. */
FN point first_point(CONSTANT const query *q, int ia, int ib, int ic)
{
    point p = {value(q, A, ia),
               value(q, B, ib),
               value(q, C, ic),
               value(q, D, 0),
               value(q, E, 0),
               0,
               0};
    return p;
}

/* An upper bound on all semblances of a cell, which is an (A, B). */
typedef struct {
    float bound;
    int cell; /* ia np[B] + ib */
} cell_bound;

/* The bound where none can be derived: above every semblance. */
#define NO_BOUND 2

/* A semblance as an integer, rounded down, for which devices have an atomic maximum.
 * NaN and values of 2 or more, which are errors, become 0. */
#define FIXED_POINT_ONE 1e9f
FN int to_fixed_point(float semblance)
{
    return semblance < 2 ? (int)(semblance * FIXED_POINT_ONE) : 0;
}

/* Loads LANES samples; those after the first `remaining` are 0. */
FN lanes load_some(GLOBAL const float *y, int remaining)
{
    if (remaining >= LANES) return load(y);
    lanes v = each(0);
    for (int l = 0; l < LANES; l++) lane(v, l) = l < remaining ? y[l] : 0;
    return v;
}

/* Allowances for rounding errors: of the arrivals, relative to the latest one, and of
 * num. Both are choices, far above the rounding error of one operation, 6e-8. The third
 * limits the work: if the arrivals of a trace span more samples, no bound is derived
 * (the choice is not critical: so wide a range gives a loose bound). */
#define ARRIVAL_MARGIN 1e-6f
#define NUM_MARGIN     1.001f
#define MAX_BOUND_SPAN 100

/* Returns the upper bound on the semblance of all points with these A and B and c_count
 * values of C from ic on, including rounding errors; NO_BOUND if none is derived. */
FN float bound(int w, int ia, int ib, int ic, int c_count, CONSTANT const trace *traces,
               GLOBAL const float *samples, CONSTANT const query *q)
{
    float a = value(q, A, ia), b = value(q, B, ib);
    float c0 = value(q, C, ic), c1 = value(q, C, ic + c_count - 1);
    int tau = w / 2, last = q->ns - tau - 2, outside = 0, partly_outside = 0;
    float t0 = q->t0 * q->idt;
    lanes num_min[MAX_WINDOW], num_max[MAX_WINDOW], den_min[MAX_WINDOW];
    for (int j = 0; j < w; j += LANES) num_min[j] = num_max[j] = den_min[j] = each(0);

    for (int i = 0; i < q->ntraces; i++) {
        float dm = traces[i].dm, dh = traces[i].dh, t = t0 + a * dm + b * dh;
        float ch2_0 = c0 * dh * dh, ch2_1 = c1 * dh * dh;
        float x_min = sqrtf(t * t + (ch2_0 < ch2_1 ? ch2_0 : ch2_1) + traces[i].de_min);
        float x_max = sqrtf(t * t + (ch2_0 < ch2_1 ? ch2_1 : ch2_0) + traces[i].de_max);
        x_min -= ARRIVAL_MARGIN * x_max;
        x_max += ARRIVAL_MARGIN * x_max;

        if (!(x_max >= tau) || x_min >= last + 1) {
            if (++outside == 2) return 0;
            continue;
        }
        /* If a window may be outside the trace, some points do not use the trace. */
        int inside = x_min >= tau && x_max < last + 1;
        partly_outside += !inside;
        if (!(x_min >= tau)) x_min = tau;
        if (!(x_max < last + 1)) x_max = last + 1;
        if (x_max - x_min > MAX_BOUND_SPAN) return NO_BOUND;

        int k0 = (int)x_min, k1 = x_max < last + 1 ? (int)x_max : last;
        GLOBAL const float *y = samples + (size_t)traces[i].row * q->pitch - tau;
        for (int j = 0; j < w; j += LANES) {
            int remaining = q->ns + tau - j;
            lanes v_first = load_some(y + k0 + j, remaining - k0);
            lanes v_last = load_some(y + k1 + j, remaining - k1);
            v_first += (load_some(y + k0 + j + 1, remaining - k0 - 1) - v_first) *
                       (x_min - k0);
            v_last +=
                (load_some(y + k1 + j + 1, remaining - k1 - 1) - v_last) * (x_max - k1);
            lanes v_min = pick(v_first < v_last, v_first, v_last);
            lanes v_max = pick(v_first < v_last, v_last, v_first);
            for (int k = k0 + 1; k <= k1; k++) {
                lanes v = load_some(y + k + j, remaining - k);
                v_min = pick(v < v_min, v, v_min);
                v_max = pick(v > v_max, v, v_max);
            }
            if (!inside) {
                v_min = pick(v_min < 0, v_min, each(0));
                v_max = pick(v_max > 0, v_max, each(0));
            }
            lanes nearest = pick(v_min > 0, v_min, pick(v_max < 0, v_max, each(0)));
            num_min[j] += v_min;
            num_max[j] += v_max;
            den_min[j] += nearest * nearest;
        }
    }
    float largest_num = 0, num = 0, den_sum = 0;
    for (int j = 0; j < w; j++) {
        int chunk = j / LANES * LANES, l = j % LANES;
        float magnitude = fmaxf(-lane(num_min[chunk], l), lane(num_max[chunk], l));
        largest_num = fmaxf(largest_num, magnitude);
        num += magnitude * magnitude;
        den_sum += lane(den_min[chunk], l);
    }
    num *= NUM_MARGIN / (float)(q->ntraces - (outside + partly_outside > 0));
    if (largest_num <= 0) return 0;
    return num < den_sum ? num / den_sum : NO_BOUND;
}
