/* opencl.c - the host code for kernel.cl: the device side of hybrid.c.
 *
 * All commands go to one in-order queue. A temporal block is: write the ghost rows,
 * launch the kernels, read rows and flags. The host waits only for the last of these. A
 * device that runs on the host's cores shares its memory: the host writes the ghost
 * rows in place and reads the results in place, and a temporal block is only its
 * launch.
 */
#define CL_TARGET_OPENCL_VERSION 200 /* for shared virtual memory */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <stdlib.h>
#include <string.h>

#include "ocl.h"
#include "hybrid.h"
#include "sides.h"

/* Device memory: a buffer, or memory that the host can also access. */
typedef struct {
    cl_mem buffer;
    cell *host;
} device_memory;

/* The commands in flight for one temporal block. */
typedef struct {
    cl_event first, last;       /* launches */
    cl_event done;              /* all results are on the host */
    cell *out, *host_flags;     /* rows and flags on the host */
    device_memory device_flags; /* flags on the device */
    cell *in;                   /* rows on their way to a buffer */
    int steps;
} time_block;

static struct {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel[2];   /* for one word per cell, and for bit planes */
    device_memory rows[2]; /* input and output of a launch */
    cl_mem workspace;
    bool shares_memory; /* with the host */
    size_t local[2][3];
    int row_items;           /* work-items per row of cells */
    int max_steps, max_rows; /* per launch; per band */
    time_block time_blocks[MAX_IN_FLIGHT];
    int started, waited;
    double clock_offset;
} state;

static cl_mem create_buffer(size_t size)
{
    cl_int err;
    cl_mem memory = clCreateBuffer(state.context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    return memory;
}

/* Allocates device memory, shared with the host if the device allows it. */
static device_memory allocate_memory(size_t size)
{
    if (!state.shares_memory) return (device_memory){create_buffer(size), NULL};
    cl_svm_mem_flags svm_flags = CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER;
    device_memory memory = {NULL, clSVMAlloc(state.context, svm_flags, size, 0)};
    if (!memory.host)
        fail("OpenCL: shared virtual memory: cannot allocate %zu bytes", size);
    return memory;
}

static void release(device_memory m)
{
    if (m.host)
        clSVMFree(state.context, m.host);
    else
        clReleaseMemObject(m.buffer);
}

/* Sets the first `size` bytes to 0: enqueued for a buffer, at once for shared memory.
 */
static void clear_memory(device_memory m, size_t size)
{
    const cell zero = 0;
    if (m.host)
        memset(m.host, 0, size);
    else
        OCL_CHECK(clEnqueueFillBuffer(state.queue, m.buffer, &zero, sizeof zero, 0,
                                      size, 0, NULL, NULL));
}

static void set_memory_arg(cl_kernel kernel, cl_uint argument, device_memory m)
{
    OCL_CHECK(m.host ? clSetKernelArgSVMPointer(kernel, argument, m.host)
                     : clSetKernelArg(kernel, argument, sizeof m.buffer, &m.buffer));
}

/* Launches steps n .. n + steps - 1; n is step s of the temporal block. */
static void launch(const slab *c, device_memory device_flags, int n, int s, int steps,
                   cl_event *event)
{
    int k = c->packed, last_grid = c->end / c->side, y = c->end % c->side;
    /* The kernel must not write rows that the host may already be filling for the next
     * block. */
    int end = state.shares_memory && k && y ? y : slab_end_valid(c, s + steps);
    cl_kernel kernel = state.kernel[k];
    const size_t *local = state.local[k];
    size_t global[3] = {local[0], local[1], 1};
    if (k) {
        int bands = (c->side - 2 + state.max_rows - 1) / state.max_rows;
        int last_bands = y ? (end - 1 + state.max_rows - 1) / state.max_rows : 0;
        global[1] *= last_grid * bands + last_bands;
        OCL_CHECK(clSetKernelArg(kernel, 7, sizeof n, &n));
        OCL_CHECK(clSetKernelArg(kernel, 8, sizeof steps, &steps));
    } else {
        /* The global size must be a multiple of the local size: round up. */
        size_t rows = last_grid ? c->side : end;
        global[0] *= (state.row_items + local[0] - 1) / local[0];
        global[1] *= (rows + local[1] - 1) / local[1];
        global[2] = last_grid + (y > 0);
    }
    set_memory_arg(kernel, 0, state.rows[0]);
    set_memory_arg(kernel, 1, state.rows[1]);
    set_memory_arg(kernel, 2, device_flags);
    OCL_CHECK(clSetKernelArg(kernel, 3, sizeof s, &s));
    OCL_CHECK(clSetKernelArg(kernel, 5, sizeof last_grid, &last_grid));
    OCL_CHECK(clSetKernelArg(kernel, 6, sizeof end, &end));
    OCL_CHECK(clEnqueueNDRangeKernel(state.queue, kernel, 3, NULL, global, local, 0,
                                     NULL, event));
    device_memory swap = state.rows[0];
    state.rows[0] = state.rows[1];
    state.rows[1] = swap;
}

/* Returns the words per vector: 1 on a GPU, whose lanes are work-items. */
static cl_uint vector_lanes(cl_device_id device, int width)
{
    cl_uint lanes;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, sizeof lanes,
                              &lanes, NULL));
    if (ocl_is_gpu(device)) return 1;
    lanes = lanes >= 16 ? 16 : lanes >= 8 ? 8 : lanes >= 4 ? 4 : 1;
    return width % lanes ? WIDTH_MULTIPLE : lanes;
}

void device_begin(const slab *c, int host_threads, int *shares_cores)
{
    cl_int err;
    const int *group = c->plan->group;
    int dim = c->p->dim, batch = c->p->batch, side = c->side, width = c->width;
    size_t pitch = row_pitch(width), widest = pitch > (size_t)dim ? pitch : (size_t)dim;

    cl_device_id device =
        ocl_device_with_host(host_threads, machine_processors(), shares_cores);
    state.context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    state.queue =
        clCreateCommandQueue(state.context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    int gpu = ocl_is_gpu(device);
    cl_uint lanes = vector_lanes(device, width);

    /* Rows of a band. A GPU needs many narrow bands. A CPU gets one band per thread for
     * half of the rows (the other half is the host's), but of at most L2_BYTES and at
     * least min_rows rows, because shorter bands compute too many ghost rows
     * redundantly. L2_BYTES, L1_BYTES and min_rows are tuned; the sizes lie below those
     * of the L2 and L1 caches of the CPUs used. */
    enum { L2_BYTES = 512 * 1024 };
    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    int even_rows = (side - 2) / (units > 1 ? 2 * (int)units : 1);
    int min_rows = 64, max_rows = L2_BYTES / (pitch * sizeof(cell));
    int rows = even_rows > max_rows ? max_rows : even_rows;
    if (rows < min_rows) rows = min_rows;
    if (gpu) rows = 8;
    state.max_rows = rows;
    state.max_steps = gpu ? 8 : c->halo;
    /* Shared memory only if a temporal block is a single launch: with several launches,
     * the later ones would read rows that the host is already filling for the next
     * block. */
    cl_device_svm_capabilities shared = 0;
    clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof shared, &shared, NULL);
    state.shares_memory = !gpu && (shared & CL_DEVICE_SVM_FINE_GRAIN_BUFFER);
    /* Rows of a tile: those that fit in the L1 cache. On a GPU all rows of the band
     * (rows + 2 max_steps) and the shift of max_steps. */
    enum { L1_BYTES = 32 * 1024 };
    int tile_rows = L1_BYTES / (pitch * sizeof(cell));
    if (gpu) tile_rows = rows + 3 * state.max_steps;
    size_t band_size = (rows + 2 * state.max_steps) * pitch * sizeof(cell);
    size_t bands = (size_t)batch * ((side - 2 + rows - 1) / rows);
    cl_ulong local_bytes;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local_bytes,
                              &local_bytes, NULL));
    bool fits = band_size <= local_bytes;

    /* A work-item computes cells at first (one on a GPU, a row on a CPU), and later a
     * group computes a band. */
    int cells_per_item = gpu ? 1 : dim;
    state.row_items = gpu ? dim : 1;
    size_t words = width < 32 ? width : 32;
    size_t local[2][3] = {{gpu ? 32 : 1, gpu ? 1 : 32, 1},
                          {gpu ? words : 1, gpu ? 256 / words : 1, 1}};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (group[i]) local[k][i] = group[i];
    memcpy(state.local, local, sizeof local);

    /* The source is compiled here, at run time, when shape and device are known. */
    char build_options[160];
    snprintf(build_options, sizeof build_options,
             "-D DIM=%d -D SIDE=%d -D WIDTH=%d -D MIRROR=%d -D LANES=%u -D ROWS=%d "
             "-D TILE=%d -D CELLS=%d%s",
             dim, side, width, c->mirror, lanes, rows, tile_rows, cells_per_item,
             fits ? "" : " -D LOCAL=__global");
    state.program = ocl_build(state.context, device, build_options);
    state.kernel[0] = clCreateKernel(state.program, "do_step", &err);
    OCL_CHECK(err);
    state.kernel[1] = clCreateKernel(state.program, "do_steps_planes", &err);
    OCL_CHECK(err);

    size_t cell_words = pile_cells(c->p), plane_words = side * pitch;
    size_t size =
        batch * (cell_words > plane_words ? cell_words : plane_words) * sizeof(cell);
    for (int i = 0; i < 2; i++) state.rows[i] = allocate_memory(size);
    state.workspace = create_buffer(fits ? sizeof(cell) : band_size * bands);
    for (int k = 0; k < 2; k++)
        OCL_CHECK(clSetKernelArg(state.kernel[k], 4, sizeof batch, &batch));
    int workspace_stride = fits ? 0 : band_size / sizeof(cell);
    OCL_CHECK(clSetKernelArg(state.kernel[1], 9,
                             fits ? band_size : sizeof state.workspace,
                             fits ? NULL : &state.workspace));
    OCL_CHECK(clSetKernelArg(state.kernel[1], 10, sizeof workspace_stride,
                             &workspace_stride));

    for (int i = 0; i < MAX_IN_FLIGHT; i++) {
        time_block *in_flight = state.time_blocks + i;
        size_t flag_count = (size_t)c->halo * batch;
        in_flight->device_flags = allocate_memory(flag_count * sizeof(cell));
        if (state.shares_memory) continue;
        in_flight->in =
            allocate(c->halo * widest, sizeof(cell), "the rows to the device");
        in_flight->out =
            allocate(c->halo * widest, sizeof(cell), "the rows from the device");
        in_flight->host_flags =
            allocate(flag_count, sizeof(cell), "the flags of the device");
    }

    /* Launch one step of each kernel on an empty grid: many drivers finish the
     * compilation of a kernel at its first launch. */
    for (int k = 0; k < 2; k++) {
        slab empty = *c;
        empty.packed = k;
        empty.first = 0;
        empty.end = empty.side = k ? side : dim;
        OCL_CHECK(clFinish(state.queue));
        clear_memory(state.rows[0], size);
        launch(&empty, state.time_blocks[0].device_flags, 0, 0, 1, NULL);
    }
    state.clock_offset = ocl_clock_offset(state.queue);
}

void device_write_rows(const slab *c, int first, int end, const cell *rows)
{
    size_t pitch = c->pitch, at = first * pitch;
    size_t size = (end - first) * pitch * sizeof(cell);
    OCL_CHECK(clFinish(state.queue));
    for (int i = 0; i < 2; i++)
        if (state.shares_memory)
            memcpy(state.rows[i].host + at, rows, size);
        else
            OCL_CHECK(clEnqueueWriteBuffer(state.queue, state.rows[i].buffer, CL_TRUE,
                                           at * sizeof(cell), size, rows, 0, NULL,
                                           NULL));
}

void device_read_rows(const slab *c, int first, int end, cell *rows)
{
    size_t pitch = c->pitch, at = first * pitch;
    size_t size = (end - first) * pitch * sizeof(cell);
    OCL_CHECK(clFinish(state.queue));
    if (state.shares_memory)
        memcpy(rows, state.rows[0].host + at, size);
    else
        OCL_CHECK(clEnqueueReadBuffer(state.queue, state.rows[0].buffer, CL_TRUE,
                                      at * sizeof(cell), size, rows, 0, NULL, NULL));
}

static void retain(cl_event *to, cl_event event)
{
    *to = event;
    OCL_CHECK(clRetainEvent(event));
}

/* Before the launches of a temporal block: sends the ghost rows and clears the flags.
 */
static void send_rows(const slab *c, time_block *in_flight, size_t flags_size,
                      const cell *ghosts)
{
    size_t pitch = c->pitch, at = c->end * pitch;
    size_t size = (slab_end_stored(c) - c->end) * pitch * sizeof(cell);
    clear_memory(in_flight->device_flags, flags_size);
    if (state.shares_memory)
        memcpy(state.rows[0].host + at, ghosts, size);
    else if (size) {
        memcpy(in_flight->in, ghosts, size);
        OCL_CHECK(clEnqueueWriteBuffer(state.queue, state.rows[0].buffer, CL_FALSE,
                                       at * sizeof(cell), size, in_flight->in, 0, NULL,
                                       NULL));
    }
}

/* After the launches: fetches the ghost rows of the host, and the flags. */
static void fetch_rows(const slab *c, time_block *in_flight, size_t flags_size)
{
    size_t pitch = c->pitch, at = first_host_ghost(c) * pitch;
    size_t size = (c->end * pitch - at) * sizeof(cell);
    if (state.shares_memory) {
        in_flight->out = state.rows[0].host + at;
        in_flight->host_flags = in_flight->device_flags.host;
        retain(&in_flight->done, in_flight->last);
        return;
    }
    if (size)
        OCL_CHECK(clEnqueueReadBuffer(state.queue, state.rows[0].buffer, CL_FALSE,
                                      at * sizeof(cell), size, in_flight->out, 0, NULL,
                                      NULL));
    OCL_CHECK(clEnqueueReadBuffer(state.queue, in_flight->device_flags.buffer, CL_FALSE,
                                  0, flags_size, in_flight->host_flags, 0, NULL,
                                  &in_flight->done));
}

void device_start(const slab *c, int n, int steps, const cell *ghosts)
{
    time_block *in_flight = state.time_blocks + state.started++ % MAX_IN_FLIGHT;
    size_t flags_size = (size_t)steps * c->p->batch * sizeof(cell);
    in_flight->steps = steps;
    send_rows(c, in_flight, flags_size, ghosts);
    for (int s = 0, launch_steps; s < steps; s += launch_steps) {
        launch_steps = !c->packed                    ? 1
                       : steps - s < state.max_steps ? steps - s
                                                     : state.max_steps;
        cl_event event;
        launch(c, in_flight->device_flags, n + s, s, launch_steps, &event);
        if (s == 0) retain(&in_flight->first, event);
        if (s + launch_steps == steps) retain(&in_flight->last, event);
        clReleaseEvent(event);
    }
    fetch_rows(c, in_flight, flags_size);
    OCL_CHECK(clFlush(state.queue));
}

static void release_events(const time_block *in_flight)
{
    clReleaseEvent(in_flight->first);
    clReleaseEvent(in_flight->last);
    clReleaseEvent(in_flight->done);
}

double device_wait(const slab *c, cell *step_flags, const cell **ghosts)
{
    time_block *in_flight = state.time_blocks + state.waited++ % MAX_IN_FLIGHT;
    OCL_CHECK(clWaitForEvents(1, &in_flight->done));
    double begin, end, unused;
    ocl_event_span(in_flight->first, state.clock_offset, &begin, &unused);
    ocl_event_span(in_flight->last, state.clock_offset, &unused, &end);
    release_events(in_flight);
    hybrid_log("device", -1, "steps", begin, end);

    for (size_t i = 0; i < (size_t)in_flight->steps * c->p->batch; i++)
        step_flags[i] |= in_flight->host_flags[i];
    *ghosts = in_flight->out;
    return end - begin;
}

void device_end(void)
{
    OCL_CHECK(clFinish(state.queue));
    while (state.waited < state.started) /* blocks that the host did not need */
        release_events(state.time_blocks + state.waited++ % MAX_IN_FLIGHT);
    for (int i = 0; i < MAX_IN_FLIGHT; i++) {
        time_block *in_flight = state.time_blocks + i;
        release(in_flight->device_flags);
        if (state.shares_memory) continue;
        free(in_flight->host_flags);
        free(in_flight->out);
        free(in_flight->in);
    }
    clReleaseMemObject(state.workspace);
    release(state.rows[1]);
    release(state.rows[0]);
    clReleaseKernel(state.kernel[1]);
    clReleaseKernel(state.kernel[0]);
    clReleaseProgram(state.program);
    clReleaseCommandQueue(state.queue);
    clReleaseContext(state.context);
}
