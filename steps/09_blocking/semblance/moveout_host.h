/* moveout_host.h - window=moveout: what the host prepares and completes, the same for
 * all back-ends. */
#include "moveout.h"

/* Number of points of a search. */
static int point_count(const query *q)
{
    int points = 1;
    for (int k = 0; k < PARAMETERS; k++) points *= q->np[k];
    return points;
}

/* Returns the rows of the input, which the rows of the traces follow. */
static float *moveout_input(const moveout_shape *s, const query *q, const trace *traces)
{
    size_t stride = s->stride, floats = INPUT_ROWS * stride;
    float *row = (float *)allocate(floats + (size_t)PARAMETERS * s->traces_stride,
                                   sizeof *row, "the rows of an output trace");
    for (int i = 0; i < s->stride; i++) {
        int k = i < s->samples + 2 * s->tau ? i - s->tau : s->samples + s->tau - 1;
        row[T0_ROW * stride + i] = q[k].t0 * q[k].idt;
        for (int p = 0; p < PARAMETERS; p++) {
            row[(P0_ROW + p) * stride + i] = q[k].p0[p];
            row[(WIDTH_ROW + p) * stride + i] = q[k].p1[p] - q[k].p0[p];
        }
    }
    for (int n = 0; n < s->traces_stride; n++) {
        const trace *at = &traces[n < s->ntraces ? n : s->ntraces - 1];
        float factor[] = {at->dm, at->dh, at->dh * at->dh, at->dm * at->dm,
                          at->dh * at->dm};
        for (int p = 0; p < PARAMETERS; p++)
            row[floats + p * s->traces_stride + n] = factor[p];
    }
    return row;
}

/* Returns the point with this number in the order of the search. */
static point numbered_point(const query *q, int number, float stack, float semblance)
{
    float p[PARAMETERS];
    for (int k = PARAMETERS - 1; k >= 0; k--) {
        p[k] = value(q, k, number % q->np[k]);
        number /= q->np[k];
    }
    point found = {p[A], p[B], p[C], p[D], p[E], stack, semblance};
    return found;
}
