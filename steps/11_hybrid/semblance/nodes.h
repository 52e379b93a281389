/* nodes.h - the search of one (A, B, C) of a single sample on a CPU: most traces are
 * visited at 16 points (D, E) only, whatever the number of points.
 *
 * As long as its arrivals stay between two samples, the contribution of a trace to num
 * and den is a smooth function of (D, E). It is computed at 4 x 4 nodes, at equal
 * distances in D and in E, and interpolated by cubic polynomials, along E and then
 * along D. The sums over all these traces are interpolated together.
 *
 * Error. x = sqrt(u), and u = x^2 is linear in D and in E. A cubic through 4 nodes over
 * an interval of length U has an error of at most (U / 3)^4 / 24 times the largest
 * fourth derivative, which is 15 / 16 u^(-7/2). If x rises by h, U is about 2 x h,
 * which gives 0.0077 h^4 / x^3. The second interpolation can amplify the error of the
 * first by 1.63 (the Lebesgue constant of 4 equidistant nodes): in all 0.013 h^4 / x^3.
 * den is quadratic in x. x^2 is interpolated without error, and x has the factor 2 r
 * slope^2, where r is the root of the linear function: 0.025 h^4 / x^2 times S, the sum
 * of squared slopes, if r is near x (farther roots make den itself larger). At one of
 * the corners den is at least S h^2 / 8. So SMOOTH_RATIO h <= x bounds the error by 0.2
 * / SMOOTH_RATIO^2 = 8e-7 of the largest den of a node. */
#define NODES        16
#define SMOOTH_RATIO 512

/* The sum at a point is trusted only if den is at least MIN_NODE_FRACTION of the
 * largest den of a node, whose 8e-7 are then at most 3.2e-6 of den (a choice; the error
 * budget of make verify holds with it). */
#define MIN_NODE_FRACTION 0.25f

/* Up to so many other traces are visited by each point; if there are more, all are. */
#define MAX_DIRECT 256

/* Adds the window of one trace if it begins at the same sample y in all lanes; weight1
 * is the position of each lane between two samples, 0 to 1. */
FN void add_trace_aligned(GLOBAL const float *y, int w, lanes weight1, lanes *num,
                          lanes *den)
{
    lanes weight0 = 1 - weight1, squares = each(0);
    for (int j = 0; j < w; j++) {
        lanes v = y[j + 1] * weight1 + y[j] * weight0;
        num[j] += v;
        squares += v * v;
    }
    *den += squares;
}

/* Weights of a cubic polynomial through f0 .. f3 at the positions 0 .. 3: its value at
 * s is f0 + the sum of weight[n] (fn - f0), n = 1 .. 3. In this form it is exactly f0
 * if all four are equal, so points with equal semblance stay equal. */
FN void cubic(lanes s, lanes weight[4])
{
    weight[1] = s * (s - 2) * (s - 3) * 0.5f;
    weight[2] = s * (s - 1) * (3 - s) * 0.5f;
    weight[3] = s * (s - 1) * (s - 2) * (1 / 6.0f);
}

/* Returns the best point of one (A, B, C), in windows of w samples: the work of one
 * thread or work-item. LANES values of E are searched at a time. */
FN point search_nodes(int w, int ia, int ib, int ic, CONSTANT const trace *traces,
                      GLOBAL const float *samples, CONSTANT const query *q)
{
    int tau = w / 2, last = q->ns - tau - 2, direct[MAX_DIRECT];
    int direct_count = 0, outside = 0;
    float d0 = value(q, D, 0), d1 = value(q, D, q->np[D] - 1);
    float e0 = value(q, E, 0), e1 = value(q, E, q->np[E] - 1);
    lane_operator o = {each(q->t0 * q->idt),
                       each(value(q, A, ia)),
                       each(value(q, B, ib)),
                       each(value(q, C, ic)),
                       each(0),
                       each(0)};

    lane_operator node[NODES / LANES];
    lanes node_sum[NODES / LANES][MAX_WINDOW + 1]; /* num, then den */
    for (int m = 0; m < NODES / LANES; m++) {
        node[m] = o;
        for (int l = 0; l < LANES; l++) {
            int n = m * LANES + l;
            lane(node[m].d, l) = d0 + n / 4 * (d1 - d0) / 3;
            lane(node[m].e, l) = e0 + n % 4 * (e1 - e0) / 3;
        }
        for (int j = 0; j <= w; j++) node_sum[m][j] = each(0);
    }

    for (int i = 0; i < q->ntraces && outside < 2; i++) {
        float dm = traces[i].dm, dh = traces[i].dh;
        float t = lane(o.t0, 0) + lane(o.a, 0) * dm + lane(o.b, 0) * dh;
        float t2 = t * t + lane(o.c, 0) * dh * dh;
        float x_min = sqrtf(t2 + traces[i].de_min),
              x_max = sqrtf(t2 + traces[i].de_max);
        if (!(x_max >= tau) || x_min >= last + 1) {
            outside++;
        } else if (x_min >= tau && x_max < last + 1 && x_max < (int)x_min + 1 &&
                   SMOOTH_RATIO * (x_max - x_min) <= x_min) {
            GLOBAL const float *y =
                samples + (size_t)traces[i].row * q->pitch + (int)x_min - tau;
            for (int m = 0; m < NODES / LANES; m++)
                add_trace_aligned(y, w, arrival(&node[m], dm, dh) - (float)(int)x_min,
                                  node_sum[m], &node_sum[m][w]);
        } else {
            if (direct_count < MAX_DIRECT) direct[direct_count] = i;
            direct_count++;
        }
    }

    float den_max = 0;
    for (int m = 0; m < NODES / LANES; m++)
        for (int l = 0; l < LANES; l++)
            den_max = fmaxf(den_max, lane(node_sum[m][w], l));
    float den_trusted = MIN_NODE_FRACTION * den_max;
    /* The semblance of one trace is 1, whatever the arrival, but only if num and den
     * have the same rounding errors. */
    int use_nodes = direct_count <= MAX_DIRECT && q->ntraces - outside >= 2;

    lane_points best = {each(0), each(0), {each(outside < 2 ? -1 : 0), each(0)}};
    for (int ie = 0; ie < q->np[E] && outside < 2; ie += LANES) {
        /* Lanes after the last E repeat the last E. */
        lanes e_index = each(0);
        for (int l = 0; l < LANES; l++) {
            lane(e_index, l) = ie + l < q->np[E] ? ie + l : q->np[E] - 1;
            lane(o.e, l) = value(q, E, lane(e_index, l));
        }

        /* Interpolates along E: column[m] holds num and den at node m of D, for the E
         * of each lane. For m > 0 it holds the difference from column[0]. */
        lanes weight_e[4], column[4][MAX_WINDOW + 1];
        cubic((o.e - e0) * (e1 != e0 ? 3 / (e1 - e0) : 0), weight_e);
        for (int m = 0; m < 4; m++)
            for (int j = 0; j <= w; j++) {
                float value0 = lane(node_sum[4 * m / LANES][j], 4 * m % LANES);
                column[m][j] = each(value0);
                for (int n = 4 * m + 1; n < 4 * m + 4; n++) {
                    float difference = lane(node_sum[n / LANES][j], n % LANES) - value0;
                    column[m][j] += weight_e[n % 4] * difference;
                }
                column[m][j] -= m ? column[0][j] : each(0);
            }

        for (int id = 0; id < q->np[D]; id++) {
            float d = value(q, D, id);
            lanes weight_d[4], num[MAX_WINDOW], skipped = each(outside);
            cubic(each((d - d0) * (d1 != d0 ? 3 / (d1 - d0) : 0)), weight_d);
            lanes den = column[0][w] + weight_d[1] * column[1][w] +
                        weight_d[2] * column[2][w] + weight_d[3] * column[3][w];
            for (int j = 0; j < w; j++)
                num[j] = column[0][j] + weight_d[1] * column[1][j] +
                         weight_d[2] * column[2][j] + weight_d[3] * column[3][j];
            o.d = each(d);
            lane_values found;
            if (use_nodes && all(den >= den_trusted)) {
                for (int n = 0; n < direct_count; n++) {
                    CONSTANT const trace *tr = &traces[direct[n]];
                    add_trace(samples + (size_t)tr->row * q->pitch, q->ns, w,
                              arrival(&o, tr->dm, tr->dh), num, &den, &skipped);
                }
                found = quotients(num, den, skipped, q->ntraces, w);
            } else {
                found = semblance(&o, w, traces, samples, q);
            }
            keep_better(&best, each(id), e_index, found);
        }
    }
    int l = best_lane(&best);
    point result = {lane(o.a, 0),
                    lane(o.b, 0),
                    lane(o.c, 0),
                    value(q, D, lane(best.id, l)),
                    value(q, E, lane(best.ie, l)),
                    lane(best.value.stack, l),
                    lane(best.value.semblance, l)};
    return result;
}
