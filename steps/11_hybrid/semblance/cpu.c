/* cpu.c - the host's side: what one thread does at a time. */
#include "sides.h"

/* One search for each small window: loops of a known length are unrolled, and num stays
 * in registers. OpenCL and CUDA have built their kernels so from the beginning. */
#define WINDOW(w, length)                                                              \
    __attribute__((flatten)) static point search_##w(                                  \
        int ia, int ib, int ic, const trace *traces, const float *samples,             \
        const query *q, workspace ws)                                                  \
    {                                                                                  \
        return search_abc(ia, ib, ic, traces, samples, q, length, ws);                 \
    }                                                                                  \
    __attribute__((flatten)) static float bound_##w(                                   \
        int ia, int ib, int ic, int cs, const trace *traces, const float *samples,     \
        const query *q)                                                                \
    {                                                                                  \
        return bound(ia, ib, ic, cs, traces, samples, q, length);                      \
    }
WINDOW(1, 1)
WINDOW(3, 3)
WINDOW(5, 5)
WINDOW(7, 7)
WINDOW(9, 9)
WINDOW(11, 11)
WINDOW(13, 13)
WINDOW(15, 15)
WINDOW(any, window_of(q))

typedef struct {
    point (*search)(int, int, int, const trace *, const float *, const query *,
                    workspace);
    float (*bound)(int, int, int, int, const trace *, const float *, const query *);
} window;
#define OF(w)                                                                          \
    {                                                                                  \
        search_##w, bound_##w                                                          \
    }
static const window of_window[] = {OF(1),  OF(3),  OF(5),  OF(7),  OF(9),
                                   OF(11), OF(13), OF(15), OF(any)};

static const window *of(const query *q)
{
    return &of_window[q->tau < 8 ? q->tau : 8];
}

float host_bound(const work *all, int cell)
{
    const query *q = all->q;
    if (!all->prune) return 2;
    int ia = cell / q->np[1], ib = cell % q->np[1];
    return of(q)->bound(ia, ib, 0, q->np[2], all->traces, all->samples, q);
}

point host_part(const work *all, ranked r, int ic, float least, float *room)
{
    const query *q = all->q;
    const trace *traces = all->traces;
    const float *samples = all->samples;
    workspace ws = workspace_of(room, q->ntraces, window_of(q));

    int ia = r.cell / q->np[1], ib = r.cell % q->np[1];
    point p = first_of(q, ia, ib, ic);
    float most = r.bound;
    if (all->prune && most > 0 && most >= least)
        most = of(q)->bound(ia, ib, ic, 1, traces, samples, q);
    if (most > 0 && most >= least)
        p = of(q)->search(ia, ib, ic, traces, samples, q, ws);
    return p;
}
