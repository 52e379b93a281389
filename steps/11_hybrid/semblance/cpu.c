/* cpu.c - the host side: bounds and searches of one item, by the calling thread. */
#include "sides.h"

/* One instance for each small window: loops of constant length are unrolled, and num
 * stays in registers. OpenCL and CUDA compile their kernels in this way from step 02
 * on. */
#define KERNELS(w, length)                                                             \
    __attribute__((flatten)) static point search_##w(                                  \
        int ia, int ib, int ic, const trace *traces, const float *samples,             \
        const query *q, workspace ws)                                                  \
    {                                                                                  \
        return search_abc(ia, ib, ic, traces, samples, q, length, ws);                 \
    }                                                                                  \
    __attribute__((flatten)) static float bound_##w(                                   \
        int ia, int ib, int ic, int c_count, const trace *traces,                      \
        const float *samples, const query *q)                                          \
    {                                                                                  \
        return bound(ia, ib, ic, c_count, traces, samples, q, length);                 \
    }
KERNELS(1, 1)
KERNELS(3, 3)
KERNELS(5, 5)
KERNELS(7, 7)
KERNELS(9, 9)
KERNELS(11, 11)
KERNELS(13, 13)
KERNELS(15, 15)
KERNELS(any, window_length(q))

typedef struct {
    point (*search)(int, int, int, const trace *, const float *, const query *,
                    workspace);
    float (*bound)(int, int, int, int, const trace *, const float *, const query *);
} window_kernels;
#define ENTRY(w)                                                                       \
    {                                                                                  \
        search_##w, bound_##w                                                          \
    }
static const window_kernels kernels_by_tau[] = {ENTRY(1),  ENTRY(3),  ENTRY(5),
                                                ENTRY(7),  ENTRY(9),  ENTRY(11),
                                                ENTRY(13), ENTRY(15), ENTRY(any)};

static const window_kernels *kernels_for(const query *q)
{
    return &kernels_by_tau[q->tau < 8 ? q->tau : 8];
}

/* The same for blocks of samples. */
#define BLOCK(w, length)                                                               \
    __attribute__((flatten)) static void block_##w(                                    \
        int block, int ia, int ib, int ic, const trace *traces, const float *samples,  \
        const query *q, const chunk *ch, point *part, int parts)                       \
    {                                                                                  \
        search_block(block, ia, ib, ic, 0, traces, samples, q, ch, length, part,       \
                     parts);                                                           \
    }
BLOCK(1, 1)
BLOCK(3, 3)
BLOCK(5, 5)
BLOCK(7, 7)
BLOCK(9, 9)
BLOCK(11, 11)
BLOCK(13, 13)
BLOCK(15, 15)
BLOCK(17, 17)
BLOCK(19, 19)
BLOCK(21, 21)
BLOCK(any, window_length(q))

typedef void block_function(int, int, int, int, const trace *, const float *,
                            const query *, const chunk *, point *, int);
static block_function *const block_by_tau[] = {block_1,  block_3,  block_5,  block_7,
                                               block_9,  block_11, block_13, block_15,
                                               block_17, block_19, block_21};

void host_block(const search_input *input, const chunk *c, int block, int ia, int ib,
                int ic, point *part, int parts)
{
    const query *q = input->q;
    (q->tau < 11 ? block_by_tau[q->tau] : block_any)(block, ia, ib, ic, input->traces,
                                                     input->samples, q, c, part, parts);
}

float host_bound(const search_input *input, int cell)
{
    const query *q = input->q;
    if (!input->prune) return NO_BOUND;
    int ia = cell / q->np[B], ib = cell % q->np[B];
    return kernels_for(q)->bound(ia, ib, 0, q->np[C], input->traces, input->samples, q);
}

point host_part(const search_input *input, cell_bound entry, int ic, float threshold,
                float *storage)
{
    const query *q = input->q;
    const trace *traces = input->traces;
    const float *samples = input->samples;
    workspace ws = workspace_at(storage, q->ntraces, window_length(q));

    int ia = entry.cell / q->np[B], ib = entry.cell % q->np[B];
    point p = first_point(q, ia, ib, ic);
    float upper = entry.bound;
    if (input->prune && upper > 0 && upper >= threshold)
        upper = kernels_for(q)->bound(ia, ib, ic, 1, traces, samples, q);
    if (upper > 0 && upper >= threshold)
        p = kernels_for(q)->search(ia, ib, ic, traces, samples, q, ws);
    return p;
}
