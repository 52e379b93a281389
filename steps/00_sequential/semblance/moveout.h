/* moveout.h - window=moveout: a window consists of the samples at the arrivals of
 * neighbouring t0 (search_moveout() in semblance.h has the definition).
 * cpu.c includes it: search_state is declared there. */

/* The contribution of one sample of the output trace to its windows. */
typedef struct {
    float numerator;   /* S^2 */
    float denominator; /* K Q */
    float mean;        /* S / K */
} along_arrivals;

static along_arrivals sum_arrivals(const aperture *ap, const query *q, float a, float b,
                                   float c, float d, float e)
{
    along_arrivals none = {0, 0, 0};
    float sum = 0, squares = 0;
    int used = 0, skipped = 0;
    if (q->t0 < 0) return none;

    for (size_t i = 0; i < ap->len; i++) {
        const su_trace *tr = ap->items[i];
        float t =
            time_2d(a, b, c, d, e, q->t0, q->m0, midpoint(tr), q->h0, half_offset(tr));
        float x = t * q->idt;

        if (x >= 0 && x < q->ns - 1) {
            int k = (int)x;
            float v = interpol_linear(k, k + 1, tr->data[k], tr->data[k + 1], x);
            sum += v;
            squares += v * v;
            used++;
        } else if (++skipped == 2) {
            return none;
        }
    }
    if (!used) return none;
    return (along_arrivals){sum * sum, used * squares, sum / used};
}

/* Returns the semblance at at[0], whose window is at[-tau] .. at[tau]. */
static float window_semblance(const along_arrivals *at, int tau)
{
    float numerator = 0, denominator = 0;
    for (int j = -tau; j <= tau; j++) {
        numerator += at[j].numerator;
        denominator += at[j].denominator;
    }
    return at[0].denominator > 0 ? numerator / denominator : 0;
}

/* Searches all samples of the output trace for one point after another. */
static void follow_moveout(search_state *s, const query *q, int samples,
                           const int *indices, search_result *result, run_times *t)
{
    double start = seconds();

    int tau = q->tau;
    s->ap.len = 0;
    for (int i = 0; i < q->ntraces; i++) vector_push(s->ap, &s->g->trace[indices[i]]);
    along_arrivals *sums =
        allocate(samples + 2 * tau, sizeof *sums, "the sums of a point");
    along_arrivals *at = sums + tau;
    for (int k = 0; k < samples; k++) result[k].best.semblance = -1;

    double ready = seconds();

    for (int ia = 0; ia < q->np[A]; ia++)
        for (int ib = 0; ib < q->np[B]; ib++)
            for (int ic = 0; ic < q->np[C]; ic++)
                for (int id = 0; id < q->np[D]; id++)
                    for (int ie = 0; ie < q->np[E]; ie++) {
                        for (int k = -tau; k < samples + tau; k++)
                            at[k] =
                                sum_arrivals(&s->ap, &q[k], value(&q[k], A, ia),
                                             value(&q[k], B, ib), value(&q[k], C, ic),
                                             value(&q[k], D, id), value(&q[k], E, ie));
                        for (int k = 0; k < samples; k++) {
                            float score = window_semblance(&at[k], tau);
                            point candidate = {value(&q[k], A, ia),
                                               value(&q[k], B, ib),
                                               value(&q[k], C, ic),
                                               value(&q[k], D, id),
                                               value(&q[k], E, ie),
                                               at[k].mean,
                                               score};
                            if (score > result[k].best.semblance)
                                result[k].best = candidate;
                        }
                    }

    double end = seconds();
    free(sums);
    t->init += ready - start;
    t->run += end - ready;
    t->kernel += end - ready;
}
trace_search *search_moveout = follow_moveout;
