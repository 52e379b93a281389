/* moveout_opencl.h - window=moveout: the part of opencl.c that searches output traces.
 */
/* Floats in the rows of sums: few enough for the cache of a core. */
#define ROW_FLOATS (1 << 17)

/* Makes a buffer of window=moveout at least so large. */
static void moveout_buffer(search_state *s, int which, size_t bytes)
{
    cl_int err;
    if (bytes <= s->moveout_bytes[which]) return;
    if (s->d_moveout[which]) clReleaseMemObject(s->d_moveout[which]);
    s->d_moveout[which] =
        clCreateBuffer(s->context, CL_MEM_READ_WRITE, bytes, NULL, &err);
    OCL_CHECK(err);
    s->moveout_bytes[which] = bytes;
}

/* Sets the arguments that are the same for all points of a search. */
static void moveout_arguments(const search_state *s, const moveout_shape *shape)
{
    cl_kernel sum = s->sum_points, keep = s->keep_points;
    OCL_CHECK(clSetKernelArg(sum, 0, sizeof s->d_query, &s->d_query));
    OCL_CHECK(clSetKernelArg(sum, 1, sizeof s->d_traces, &s->d_traces));
    OCL_CHECK(clSetKernelArg(sum, 2, sizeof s->d_samples, &s->d_samples));
    OCL_CHECK(clSetKernelArg(sum, 3, sizeof *shape, shape));
    OCL_CHECK(clSetKernelArg(sum, 4, sizeof(cl_mem), &s->d_moveout[INPUT]));
    OCL_CHECK(clSetKernelArg(sum, 5, sizeof(cl_mem), &s->d_moveout[ROWS]));
    OCL_CHECK(clSetKernelArg(keep, 0, sizeof *shape, shape));
    OCL_CHECK(clSetKernelArg(keep, 1, sizeof(cl_mem), &s->d_moveout[ROWS]));
    OCL_CHECK(clSetKernelArg(keep, 2, sizeof(cl_mem), &s->d_moveout[BEST]));
    OCL_CHECK(clSetKernelArg(keep, 3, sizeof(cl_mem), &s->d_moveout[NUMBERS]));
}

/* Enqueues one of the two kernels for `points` points from `first` on. */
static cl_event launch_points(const search_state *s, cl_kernel kernel, int first,
                              int points, size_t items)
{
    int at = kernel == s->sum_points ? 6 : 4;
    OCL_CHECK(clSetKernelArg(kernel, at, sizeof first, &first));
    OCL_CHECK(clSetKernelArg(kernel, at + 1, sizeof points, &points));
    return launch(s, kernel, items);
}

/* Searches an output trace: some points at a time, whose sums are computed by one
 * kernel and used by another. */
static void follow_moveout(search_state *s, const query *q, int samples,
                           const int *indices, search_result *result, run_times *t)
{
    double start = seconds();

    prepare(s->g, q, indices, s->traces);
    moveout_shape shape = shape_of(samples, q->tau, q->ntraces, s->lanes);
    float *input = moveout_input(&shape, q, s->traces);
    size_t stride = shape.stride, row = stride * sizeof(float);
    size_t input_size =
        INPUT_ROWS * row + (size_t)PARAMETERS * shape.traces_stride * sizeof(float);
    int points = point_count(q), batch = (int)(ROW_FLOATS / SUM_ROWS / stride);
    if (batch < 1) batch = 1;
    if (batch > points) batch = points;
    moveout_buffer(s, INPUT, input_size);
    moveout_buffer(s, ROWS, batch * SUM_ROWS * row);
    moveout_buffer(s, BEST, BEST_ROWS * row);
    moveout_buffer(s, NUMBERS, stride * sizeof(int));
    moveout_arguments(s, &shape);
    float *best = allocate(BEST_ROWS * stride, sizeof *best, "the best points");
    int *numbers = allocate(stride, sizeof *numbers, "the best points");

    double ready = seconds();

    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_query, CL_FALSE, 0, sizeof *q, q, 0,
                                   NULL, NULL));
    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_traces, CL_FALSE, 0,
                                   q->ntraces * sizeof *s->traces, s->traces, 0, NULL,
                                   NULL));
    OCL_CHECK(clEnqueueWriteBuffer(s->queue, s->d_moveout[INPUT], CL_FALSE, 0,
                                   input_size, input, 0, NULL, NULL));
    /* The rows of sums are read beyond their last block, the best points are below all
     * others at first. */
    const float zero = 0, none = -1;
    OCL_CHECK(clEnqueueFillBuffer(s->queue, s->d_moveout[ROWS], &zero, sizeof zero, 0,
                                  batch * SUM_ROWS * row, 0, NULL, NULL));
    OCL_CHECK(clEnqueueFillBuffer(s->queue, s->d_moveout[BEST], &none, sizeof none, 0,
                                  BEST_ROWS * row, 0, NULL, NULL));

    for (int first = 0; first < points; first += batch) {
        int n = points - first < batch ? points - first : batch;
        cl_event events[] = {
            launch_points(s, s->sum_points, first, n, (size_t)n * shape.blocks),
            launch_points(s, s->keep_points, first, n, shape.blocks)};
        OCL_CHECK(clFinish(s->queue));
        proc_progress();
        for (int i = 0; i < 2; i++) {
            t->kernel += ocl_seconds(events[i]);
            clReleaseEvent(events[i]);
        }
    }
    OCL_CHECK(clEnqueueReadBuffer(s->queue, s->d_moveout[BEST], CL_TRUE, 0,
                                  BEST_ROWS * row, best, 0, NULL, NULL));
    OCL_CHECK(clEnqueueReadBuffer(s->queue, s->d_moveout[NUMBERS], CL_TRUE, 0,
                                  stride * sizeof *numbers, numbers, 0, NULL, NULL));
    for (int k = 0; k < samples; k++)
        result[k].best = numbered_point(&q[k], numbers[k], best[STACK_ROW * stride + k],
                                        best[SEMBLANCE_ROW * stride + k]);

    double end = seconds();
    free(numbers);
    free(best);
    free(input);
    t->init += ready - start;
    t->run += end - ready;
}
trace_search *search_moveout = follow_moveout;
