/* moveout_cuda.h - window=moveout: the part of cuda.cu that searches output traces. */
#define SHARES 16 /* threads per sample that keep the best points */

/* window=moveout: the sums of `points` points from `first` on, one thread per sample of
 * a point. */
__global__ void sum_points(const float *__restrict__ samples, moveout_shape s,
                           const float *__restrict__ input, float *rows, int first,
                           int points)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = i / s.blocks;
    if (n >= points) return;
    float fraction[PARAMETERS];
    point_fractions(c_query, first + n, fraction);
    sum_block(&s, i % s.blocks, input, input + INPUT_ROWS * s.stride, fraction,
              c_traces, samples, c_query, rows + (size_t)n * SUM_ROWS * s.stride);
}

/* Keeps the best of these points: a thread has one sample and every SHARES-th point, of
 * which it keeps the best in rows of its share. */
__global__ void keep_points(moveout_shape s, const float *__restrict__ rows,
                            float *best, int *numbers, int first, int points)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, share = i / s.samples;
    if (share >= SHARES) return;
    best += (size_t)share * BEST_ROWS * s.stride;
    numbers += (size_t)share * s.stride;
    for (int n = share; n < points; n += SHARES)
        keep_block(&s, i % s.samples, first + n, rows + (size_t)n * SUM_ROWS * s.stride,
                   best, numbers);
}

/* Floats in the rows of sums: enough work for all multiprocessors (4 MB). */
#define ROW_FLOATS (1 << 20)

/* Makes a buffer of window=moveout at least so large. */
static void *moveout_buffer(search_state *s, int which, size_t bytes)
{
    if (bytes > s->moveout_bytes[which]) {
        cudaFree(s->d_moveout[which]);
        CUDA_CHECK(cudaMalloc(&s->d_moveout[which], bytes));
        s->moveout_bytes[which] = bytes;
    }
    return s->d_moveout[which];
}

/* Returns the number of blocks for so many threads. */
static dim3 blocks_for(const search_state *s, size_t threads)
{
    dim3 grid = {(unsigned)((threads + s->block - 1) / s->block), 1, 1};
    return grid;
}

/* Returns the best point of sample k among those that the shares found: of several
 * equal ones the first. */
static point best_of_shares(const moveout_shape *s, const query *q, int k,
                            const float *best, const int *numbers)
{
    const float *semblance = best + SEMBLANCE_ROW * s->stride + k;
    size_t rows = (size_t)BEST_ROWS * s->stride;
    int found = 0;
    for (int i = 1; i < SHARES; i++) {
        float gain = semblance[i * rows] - semblance[found * rows];
        int earlier =
            numbers[(size_t)i * s->stride + k] < numbers[(size_t)found * s->stride + k];
        if (gain > 0 || (gain == 0 && earlier)) found = i;
    }
    return numbered_point(q, numbers[(size_t)found * s->stride + k],
                          best[found * rows + STACK_ROW * s->stride + k],
                          semblance[found * rows]);
}

/* Searches an output trace: some points at a time, whose sums are computed by one
 * kernel and used by another. */
static void follow_moveout(search_state *s, const query *q, int samples,
                           const int *indices, search_result *result, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);
    moveout_shape shape = shape_of(samples, q->tau, q->ntraces, LANES);
    float *input = moveout_input(&shape, q, s->traces);
    size_t stride = shape.stride, row = stride * sizeof(float);
    size_t input_size =
        INPUT_ROWS * row + (size_t)PARAMETERS * shape.traces_stride * sizeof(float);
    int points = point_count(q), batch = (int)(ROW_FLOATS / SUM_ROWS / stride);
    if (batch < 1) batch = 1;
    if (batch > points) batch = points;
    size_t best_floats = SHARES * BEST_ROWS * stride;
    float *d_input = (float *)moveout_buffer(s, INPUT, input_size);
    float *d_rows = (float *)moveout_buffer(s, ROWS, batch * SUM_ROWS * row);
    float *d_best = (float *)moveout_buffer(s, BEST, best_floats * sizeof *d_best);
    int *d_numbers = (int *)moveout_buffer(s, NUMBERS, SHARES * row);
    float *best = (float *)allocate(best_floats, sizeof *best, "the best points");
    int *numbers = (int *)allocate(SHARES * stride, sizeof *numbers, "their numbers");
    for (size_t i = 0; i < best_floats; i++) best[i] = -1; /* below all others */
    dim3 block = {(unsigned)s->block, 1, 1};

    double ready = seconds();

    CUDA_CHECK(cudaMemcpyToSymbol(c_query, q, sizeof *q));
    CUDA_CHECK(cudaMemcpyToSymbol(c_traces, s->traces, q->ntraces * sizeof *s->traces));
    CUDA_CHECK(cudaMemcpy(d_input, input, input_size, cudaMemcpyHostToDevice));
    CUDA_CHECK(
        cudaMemcpy(d_best, best, best_floats * sizeof *best, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(d_numbers, 0, SHARES * row));
    /* The rows of sums are read beyond their last block. */
    CUDA_CHECK(cudaMemset(d_rows, 0, batch * SUM_ROWS * row));
    CUDA_CHECK(cudaEventRecord(s->before, 0));
    for (int first = 0; first < points; first += batch) {
        int n = points - first < batch ? points - first : batch;
        CUDA_LAUNCH(sum_points, blocks_for(s, (size_t)n * shape.blocks), block, 0,
                    s->d_samples, shape, d_input, d_rows, first, n);
        CUDA_LAUNCH(keep_points, blocks_for(s, (size_t)SHARES * samples), block, 0,
                    shape, d_rows, d_best, d_numbers, first, n);
        CUDA_CHECK(cudaGetLastError());
    }
    CUDA_CHECK(cudaEventRecord(s->after, 0));
    CUDA_CHECK(
        cudaMemcpy(best, d_best, best_floats * sizeof *best, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(numbers, d_numbers, SHARES * row, cudaMemcpyDeviceToHost));
    for (int k = 0; k < samples; k++)
        result[k].best = best_of_shares(&shape, &q[k], k, best, numbers);

    double end = seconds();
    t->kernel += cuda_seconds(s->before, s->after);
    free(numbers);
    free(best);
    free(input);
    t->init += ready - start;
    t->run += end - ready;
}
trace_search *search_moveout = follow_moveout;
