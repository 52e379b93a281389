/* opencl.c - the device's side in OpenCL, the host side of kernel.cl.
 *
 * One queue, in which everything is done in the order in which it was asked for: so an
 * epoch is rows to keep, launches, what they found, rows to give, and nobody waits but
 * for the last of these.
 */
#include <stdlib.h>
#include <string.h>

#include "ocl.h"
#include "share.h"
#include "sides.h"

/* What is under way for an epoch. */
typedef struct {
    cl_event before, after; /* the launches */
    int steps;
    cell *in, *out, *found; /* rows from the host and to it; what was found */
} epoch;

static struct {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel[2]; /* of cells as numbers, and as bits */
    cl_mem rows[2];      /* before and after a launch */
    cl_mem room, found;
    size_t local[2][3];
    int items;                 /* that a row of numbers has */
    int steps_most, rows_most; /* of a launch, of a band */
    epoch epochs[EPOCHS];
    int started, waited;
    double clock;
} own;

static cl_mem buffer(size_t size)
{
    cl_int err;
    cl_mem made = clCreateBuffer(own.context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    return made;
}

/* Steps n .. n + steps - 1, which are s .. of an epoch. */
static void launch(const column *c, int n, int s, int steps)
{
    int k = c->packed, cut = c->after / c->side, y = c->after % c->side;
    int end = after_right(c, s + steps);
    cl_kernel kernel = own.kernel[k];
    const size_t *local = own.local[k];
    size_t global[3] = {local[0], local[1], 1};
    if (k) {
        int bands = (c->side - 2 + own.rows_most - 1) / own.rows_most;
        int more = y ? (end - 1 + own.rows_most - 1) / own.rows_most : 0;
        global[1] *= cut * bands + more;
        OCL_CHECK(clSetKernelArg(kernel, 7, sizeof n, &n));
        OCL_CHECK(clSetKernelArg(kernel, 8, sizeof steps, &steps));
    } else {
        /* The global size must be a multiple of the local size: round up. */
        size_t rows = cut ? c->side : end;
        global[0] *= (own.items + local[0] - 1) / local[0];
        global[1] *= (rows + local[1] - 1) / local[1];
        global[2] = cut + (y > 0);
    }
    OCL_CHECK(clSetKernelArg(kernel, 0, sizeof *own.rows, &own.rows[0]));
    OCL_CHECK(clSetKernelArg(kernel, 1, sizeof *own.rows, &own.rows[1]));
    OCL_CHECK(clSetKernelArg(kernel, 3, sizeof s, &s));
    OCL_CHECK(clSetKernelArg(kernel, 5, sizeof cut, &cut));
    OCL_CHECK(clSetKernelArg(kernel, 6, sizeof end, &end));
    OCL_CHECK(clEnqueueNDRangeKernel(own.queue, kernel, 3, NULL, global, local, 0, NULL,
                                     NULL));
    cl_mem other = own.rows[0];
    own.rows[0] = own.rows[1];
    own.rows[1] = other;
}

void device_begin(const column *c, int host_threads, int *beside)
{
    cl_int err;
    const int *group = c->how->group;
    int dim = c->p->dim, batch = c->p->batch, side = c->side, width = c->width;
    size_t pitch = pitch_of(width), widest = pitch > (size_t)dim ? pitch : (size_t)dim;

    cl_device_id device = ocl_device_beside(host_threads, share_cores(), beside);
    own.context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    own.queue =
        clCreateCommandQueue(own.context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* How many words a vector has: 1 on a GPU, whose lanes are work-items, and which
     * wants more of them, with fewer rows each. */
    cl_uint lanes;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, sizeof lanes,
                              &lanes, NULL));
    int gpu = ocl_is_gpu(device);
    lanes = gpu ? 1 : lanes >= 16 ? 16 : lanes >= 8 ? 8 : lanes >= 4 ? 4 : 1;
    if (width % lanes) lanes = VECTOR;

    /* A band of a group: many for a GPU, which are narrow; of a CPU one for each
     * thread, where half of the rows are the host's, but none longer than what its
     * cache holds. */
    enum { CACHE = 512 * 1024 };
    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    int even = (side - 2) / (units > 1 ? 2 * (int)units : 1);
    int least = 64, most = CACHE / (pitch * sizeof(cell));
    int rows = even > most ? most : even;
    if (rows < least) rows = least;
    if (gpu) rows = 8;
    own.rows_most = rows;
    own.steps_most = gpu ? 8 : c->halo;
    /* Rows that make all their steps in turn: what the nearest cache holds, or all. */
    enum { NEAREST = 32 * 1024 };
    int tile = NEAREST / (pitch * sizeof(cell));
    if (gpu) tile = rows + 3 * own.steps_most;
    size_t band_size = (rows + 2 * own.steps_most) * pitch * sizeof(cell);
    size_t bands = (size_t)batch * ((side - 2 + rows - 1) / rows);
    cl_ulong near;
    OCL_CHECK(
        clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof near, &near, NULL));
    bool fits = band_size <= near;

    /* A work-item takes a cell first, of a CPU a row of them, and then a group a band.
     */
    int cells_each = gpu ? 1 : dim;
    own.items = gpu ? dim : 1;
    size_t local[2][3] = {{gpu ? 32 : 1, gpu ? 1 : 32, 1},
                          {gpu ? 32 : 1, gpu ? 8 : 1, 1}};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (group[i]) local[k][i] = group[i];
    memcpy(own.local, local, sizeof local);

    /* The source is compiled here, at run time, when shape and device are known. */
    char options[160];
    snprintf(options, sizeof options,
             "-D DIM=%d -D SIDE=%d -D WIDTH=%d -D MIRROR=%d -D LANES=%u -D ROWS=%d "
             "-D TILE=%d -D CELLS=%d%s",
             dim, side, width, c->mirror, lanes, rows, tile, cells_each,
             fits ? "" : " -D LOCAL=__global");
    own.program = ocl_build(own.context, device, options);
    own.kernel[0] = clCreateKernel(own.program, "do_step", &err);
    OCL_CHECK(err);
    own.kernel[1] = clCreateKernel(own.program, "do_steps_bits", &err);
    OCL_CHECK(err);

    size_t numbers = pile_cells(c->p), packed = side * pitch;
    size_t size = batch * (numbers > packed ? numbers : packed) * sizeof(cell);
    for (int i = 0; i < 2; i++) own.rows[i] = buffer(size);
    own.room = buffer(fits ? sizeof(cell) : band_size * bands);
    own.found = buffer((size_t)c->halo * batch * sizeof(cell));
    for (int k = 0; k < 2; k++) {
        OCL_CHECK(clSetKernelArg(own.kernel[k], 2, sizeof own.found, &own.found));
        OCL_CHECK(clSetKernelArg(own.kernel[k], 4, sizeof batch, &batch));
    }
    int apart = fits ? 0 : band_size / sizeof(cell);
    OCL_CHECK(clSetKernelArg(own.kernel[1], 9, fits ? band_size : sizeof own.room,
                             fits ? NULL : &own.room));
    OCL_CHECK(clSetKernelArg(own.kernel[1], 10, sizeof apart, &apart));

    for (int i = 0; i < EPOCHS; i++) {
        epoch *e = own.epochs + i;
        e->in = allocate(c->halo * widest, sizeof(cell), "rows for the device");
        e->out = allocate(c->halo * widest, sizeof(cell), "rows of the device");
        e->found = allocate((size_t)c->halo * batch, sizeof(cell), "what it has found");
    }

    /* A step of an empty grid, of numbers and of bits: many a driver completes a kernel
     * when it is first run. */
    const cell nothing = 0;
    for (int k = 0; k < 2; k++) {
        column one = *c;
        one.packed = k;
        one.first = 0;
        one.after = one.side = k ? side : dim;
        OCL_CHECK(clEnqueueFillBuffer(own.queue, own.rows[0], &nothing, sizeof nothing,
                                      0, size, 0, NULL, NULL));
        launch(&one, 0, 0, 1);
    }
    own.clock = ocl_clock(own.queue);
}

void device_take(const column *c, int first, int after, const cell *rows)
{
    size_t row = c->pitch * sizeof(cell);
    for (int i = 0; i < 2; i++)
        OCL_CHECK(clEnqueueWriteBuffer(own.queue, own.rows[i], CL_TRUE, first * row,
                                       (after - first) * row, rows, 0, NULL, NULL));
}

void device_give(const column *c, int first, int after, cell *rows)
{
    size_t row = c->pitch * sizeof(cell);
    OCL_CHECK(clEnqueueReadBuffer(own.queue, own.rows[0], CL_TRUE, first * row,
                                  (after - first) * row, rows, 0, NULL, NULL));
}

void device_start(const column *c, int n, int steps, const cell *kept)
{
    epoch *e = own.epochs + own.started++ % EPOCHS;
    size_t row = c->pitch * sizeof(cell), first = first_wanted(c);
    size_t in = (after_kept(c) - c->after) * row, out = (c->after - first) * row;
    size_t size = (size_t)steps * c->p->batch * sizeof(cell);
    const cell zero = 0;

    e->steps = steps;
    memcpy(e->in, kept, in);
    if (in)
        OCL_CHECK(clEnqueueWriteBuffer(own.queue, own.rows[0], CL_FALSE, c->after * row,
                                       in, e->in, 0, NULL, NULL));
    OCL_CHECK(clEnqueueFillBuffer(own.queue, own.found, &zero, sizeof zero, 0, size, 0,
                                  NULL, &e->before));
    for (int s = 0, made; s < steps; s += made) {
        made = !c->packed ? 1 : steps - s < own.steps_most ? steps - s : own.steps_most;
        launch(c, n + s, s, made);
    }
    if (out)
        OCL_CHECK(clEnqueueReadBuffer(own.queue, own.rows[0], CL_FALSE, first * row,
                                      out, e->out, 0, NULL, NULL));
    OCL_CHECK(clEnqueueReadBuffer(own.queue, own.found, CL_FALSE, 0, size, e->found, 0,
                                  NULL, &e->after));
    OCL_CHECK(clFlush(own.queue));
}

double device_wait(const column *c, cell *found, const cell **last)
{
    epoch *e = own.epochs + own.waited++ % EPOCHS;
    OCL_CHECK(clWaitForEvents(1, &e->after));
    double begin, end, unused;
    ocl_span(e->before, own.clock, &unused, &begin);
    ocl_span(e->after, own.clock, &end, &unused);
    clReleaseEvent(e->before);
    clReleaseEvent(e->after);
    share_note("device", -1, "steps", begin, end);

    for (size_t i = 0; i < (size_t)e->steps * c->p->batch; i++) found[i] |= e->found[i];
    *last = e->out;
    return end - begin;
}

void device_end(void)
{
    OCL_CHECK(clFinish(own.queue));
    for (int i = 0; i < EPOCHS; i++) {
        free(own.epochs[i].found);
        free(own.epochs[i].out);
        free(own.epochs[i].in);
    }
    clReleaseMemObject(own.found);
    clReleaseMemObject(own.room);
    clReleaseMemObject(own.rows[1]);
    clReleaseMemObject(own.rows[0]);
    clReleaseKernel(own.kernel[1]);
    clReleaseKernel(own.kernel[0]);
    clReleaseProgram(own.program);
    clReleaseCommandQueue(own.queue);
    clReleaseContext(own.context);
}
