/* opencl.c - the device's side in OpenCL, the host side of kernel.cl.
 *
 * One queue, in which everything is done in the order in which it was asked for: so an
 * epoch is rows to keep, launches, what they found, rows to give, and nobody waits but
 * for the last of these. A device that is made of the host's cores has the same memory:
 * the host puts the rows where they belong and finds the others there, and an epoch is
 * its launch.
 */
#define CL_TARGET_OPENCL_VERSION 200 /* shared memory, where a device has it */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <stdlib.h>
#include <string.h>

#include "ocl.h"
#include "share.h"
#include "sides.h"

/* Memory of the device: a buffer, or what the host sees, too. */
typedef struct {
    cl_mem buffer;
    cell *seen;
} memory;

/* What is under way for an epoch. */
typedef struct {
    cl_event first, last; /* the launches */
    cl_event done;        /* and all that the host wants of it is here: */
    cell *out, *flags;    /* rows, and what was found */
    memory found;         /* the same on the device */
    cell *in;             /* rows under way to a buffer */
    int steps;
} epoch;

static struct {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel[2]; /* of cells as numbers, and as bits */
    memory rows[2];      /* before and after a launch */
    cl_mem room;
    bool shares; /* memory with the host */
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

/* The same that the host sees, where device and host share memory. */
static memory memory_of(size_t size)
{
    if (!own.shares) return (memory){buffer(size), NULL};
    cl_svm_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER;
    memory made = {NULL, clSVMAlloc(own.context, flags, size, 0)};
    if (!made.seen)
        fail("OpenCL: no %zu bytes of memory that host and device share", size);
    return made;
}

static void release(memory m)
{
    if (m.seen)
        clSVMFree(own.context, m.seen);
    else
        clReleaseMemObject(m.buffer);
}

/* Its first bytes become 0, when the queue comes to it or at once. */
static void clear(memory m, size_t size)
{
    const cell zero = 0;
    if (m.seen)
        memset(m.seen, 0, size);
    else
        OCL_CHECK(clEnqueueFillBuffer(own.queue, m.buffer, &zero, sizeof zero, 0, size,
                                      0, NULL, NULL));
}

static void set_memory(cl_kernel kernel, cl_uint argument, memory m)
{
    OCL_CHECK(m.seen ? clSetKernelArgSVMPointer(kernel, argument, m.seen)
                     : clSetKernelArg(kernel, argument, sizeof m.buffer, &m.buffer));
}

/* Steps n .. n + steps - 1, which are s .. of an epoch. */
static void launch(const column *c, memory found, int n, int s, int steps,
                   cl_event *event)
{
    int k = c->packed, cut = c->after / c->side, y = c->after % c->side;
    /* Rows that the host may be putting here for the next epoch are not written. */
    int end = own.shares && k && y ? y : after_right(c, s + steps);
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
    set_memory(kernel, 0, own.rows[0]);
    set_memory(kernel, 1, own.rows[1]);
    set_memory(kernel, 2, found);
    OCL_CHECK(clSetKernelArg(kernel, 3, sizeof s, &s));
    OCL_CHECK(clSetKernelArg(kernel, 5, sizeof cut, &cut));
    OCL_CHECK(clSetKernelArg(kernel, 6, sizeof end, &end));
    OCL_CHECK(clEnqueueNDRangeKernel(own.queue, kernel, 3, NULL, global, local, 0, NULL,
                                     event));
    memory other = own.rows[0];
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
    /* Only where an epoch is one launch may the host put rows for the next before it
     * has ended: several would use them, too. */
    cl_device_svm_capabilities shared = 0;
    clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof shared, &shared, NULL);
    own.shares = !gpu && (shared & CL_DEVICE_SVM_FINE_GRAIN_BUFFER);
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
    for (int i = 0; i < 2; i++) own.rows[i] = memory_of(size);
    own.room = buffer(fits ? sizeof(cell) : band_size * bands);
    for (int k = 0; k < 2; k++)
        OCL_CHECK(clSetKernelArg(own.kernel[k], 4, sizeof batch, &batch));
    int apart = fits ? 0 : band_size / sizeof(cell);
    OCL_CHECK(clSetKernelArg(own.kernel[1], 9, fits ? band_size : sizeof own.room,
                             fits ? NULL : &own.room));
    OCL_CHECK(clSetKernelArg(own.kernel[1], 10, sizeof apart, &apart));

    for (int i = 0; i < EPOCHS; i++) {
        epoch *e = own.epochs + i;
        size_t flags = (size_t)c->halo * batch;
        e->found = memory_of(flags * sizeof(cell));
        if (own.shares) continue;
        e->in = allocate(c->halo * widest, sizeof(cell), "rows for the device");
        e->out = allocate(c->halo * widest, sizeof(cell), "rows of the device");
        e->flags = allocate(flags, sizeof(cell), "what it has found");
    }

    /* A step of an empty grid, of numbers and of bits: many a driver completes a kernel
     * when it is first run. */
    for (int k = 0; k < 2; k++) {
        column one = *c;
        one.packed = k;
        one.first = 0;
        one.after = one.side = k ? side : dim;
        OCL_CHECK(clFinish(own.queue));
        clear(own.rows[0], size);
        launch(&one, own.epochs[0].found, 0, 0, 1, NULL);
    }
    own.clock = ocl_clock(own.queue);
}

void device_take(const column *c, int first, int after, const cell *rows)
{
    size_t pitch = c->pitch, at = first * pitch;
    size_t size = (after - first) * pitch * sizeof(cell);
    OCL_CHECK(clFinish(own.queue));
    for (int i = 0; i < 2; i++)
        if (own.shares)
            memcpy(own.rows[i].seen + at, rows, size);
        else
            OCL_CHECK(clEnqueueWriteBuffer(own.queue, own.rows[i].buffer, CL_TRUE,
                                           at * sizeof(cell), size, rows, 0, NULL,
                                           NULL));
}

void device_give(const column *c, int first, int after, cell *rows)
{
    size_t pitch = c->pitch, at = first * pitch;
    size_t size = (after - first) * pitch * sizeof(cell);
    OCL_CHECK(clFinish(own.queue));
    if (own.shares)
        memcpy(rows, own.rows[0].seen + at, size);
    else
        OCL_CHECK(clEnqueueReadBuffer(own.queue, own.rows[0].buffer, CL_TRUE,
                                      at * sizeof(cell), size, rows, 0, NULL, NULL));
}

static void keep(cl_event *to, cl_event event)
{
    *to = event;
    OCL_CHECK(clRetainEvent(event));
}

/* Before the launches of an epoch: the rows that it keeps, and no flag is set. */
static void send(const column *c, epoch *e, size_t flags, const cell *kept)
{
    size_t pitch = c->pitch, at = c->after * pitch;
    size_t size = (after_kept(c) - c->after) * pitch * sizeof(cell);
    clear(e->found, flags);
    if (own.shares)
        memcpy(own.rows[0].seen + at, kept, size);
    else if (size) {
        memcpy(e->in, kept, size);
        OCL_CHECK(clEnqueueWriteBuffer(own.queue, own.rows[0].buffer, CL_FALSE,
                                       at * sizeof(cell), size, e->in, 0, NULL, NULL));
    }
}

/* After them: the rows that the host keeps, and the flags. */
static void fetch(const column *c, epoch *e, size_t flags)
{
    size_t pitch = c->pitch, at = first_wanted(c) * pitch;
    size_t size = (c->after * pitch - at) * sizeof(cell);
    if (own.shares) {
        e->out = own.rows[0].seen + at;
        e->flags = e->found.seen;
        keep(&e->done, e->last);
        return;
    }
    if (size)
        OCL_CHECK(clEnqueueReadBuffer(own.queue, own.rows[0].buffer, CL_FALSE,
                                      at * sizeof(cell), size, e->out, 0, NULL, NULL));
    OCL_CHECK(clEnqueueReadBuffer(own.queue, e->found.buffer, CL_FALSE, 0, flags,
                                  e->flags, 0, NULL, &e->done));
}

void device_start(const column *c, int n, int steps, const cell *kept)
{
    epoch *e = own.epochs + own.started++ % EPOCHS;
    size_t flags = (size_t)steps * c->p->batch * sizeof(cell);
    e->steps = steps;
    send(c, e, flags, kept);
    for (int s = 0, made; s < steps; s += made) {
        made = !c->packed ? 1 : steps - s < own.steps_most ? steps - s : own.steps_most;
        cl_event event;
        launch(c, e->found, n + s, s, made, &event);
        if (s == 0) keep(&e->first, event);
        if (s + made == steps) keep(&e->last, event);
        clReleaseEvent(event);
    }
    fetch(c, e, flags);
    OCL_CHECK(clFlush(own.queue));
}

double device_wait(const column *c, cell *found, const cell **last)
{
    epoch *e = own.epochs + own.waited++ % EPOCHS;
    OCL_CHECK(clWaitForEvents(1, &e->done));
    double begin, end, unused;
    ocl_span(e->first, own.clock, &begin, &unused);
    ocl_span(e->last, own.clock, &unused, &end);
    clReleaseEvent(e->first);
    clReleaseEvent(e->last);
    clReleaseEvent(e->done);
    share_note("device", -1, "steps", begin, end);

    for (size_t i = 0; i < (size_t)e->steps * c->p->batch; i++) found[i] |= e->flags[i];
    *last = e->out;
    return end - begin;
}

void device_end(void)
{
    OCL_CHECK(clFinish(own.queue));
    for (int i = 0; i < EPOCHS; i++) {
        epoch *e = own.epochs + i;
        release(e->found);
        if (own.shares) continue;
        free(e->flags);
        free(e->out);
        free(e->in);
    }
    clReleaseMemObject(own.room);
    release(own.rows[1]);
    release(own.rows[0]);
    clReleaseKernel(own.kernel[1]);
    clReleaseKernel(own.kernel[0]);
    clReleaseProgram(own.program);
    clReleaseCommandQueue(own.queue);
    clReleaseContext(own.context);
}
