/* opencl.c - the host code for kernel.cl: the device side of hybrid.c.
 *
 * All commands go to one in-order queue.
 */
#include <stdlib.h>

#include "ocl.h"
#include "hybrid.h"
#include "sides.h"

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

/* The bands into which the grid is divided. */
typedef struct {
    int rows;      /* own rows of a band */
    int max_steps; /* steps per launch */
    int tile_rows; /* rows that compute all steps while they are in a cache */
    int count;
    size_t size; /* bytes of a band, including ghost rows */
    bool fits;   /* in local memory */
} band_shape;

/* Chooses the bands. A GPU needs many narrow bands. A CPU gets one band per thread for
 * half of the rows (the other half is the host's), but of at most L2_BYTES and at least
 * MIN_ROWS rows, because shorter bands compute too many ghost rows redundantly; and it
 * computes a block in one launch, because each launch wakes its threads. The sizes lie
 * below those of the L2 and L1 caches of the CPUs used. */
static band_shape choose_bands(cl_device_id device, const grid_shape *shape)
{
    enum { L2_BYTES = 512 * 1024, L1_BYTES = 32 * 1024, MIN_ROWS = 64 };
    size_t row_size = row_pitch(shape->width) * sizeof(cell);
    int inner_rows = shape->side - 2;
    bool gpu = ocl_is_gpu(device);
    cl_uint units;
    cl_ulong local_bytes;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local_bytes,
                              &local_bytes, NULL));

    band_shape b;
    int even_rows = inner_rows / (units > 1 ? 2 * (int)units : 1);
    int max_rows = L2_BYTES / row_size;
    b.rows = even_rows > max_rows ? max_rows : even_rows;
    if (b.rows < MIN_ROWS) b.rows = MIN_ROWS;
    if (gpu) b.rows = 8;
    b.max_steps = gpu ? 8 : shape->halo;
    /* On a GPU a tile has all rows of the band (rows + 2 max_steps) and the shift of
     * max_steps. */
    b.tile_rows = gpu ? b.rows + 3 * b.max_steps : (int)(L1_BYTES / row_size);
    b.count = (inner_rows + b.rows - 1) / b.rows;
    b.size = (b.rows + 2 * b.max_steps) * row_size;
    b.fits = b.size <= local_bytes;
    return b;
}

static struct {
    grid_shape shape;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem planes[2], flags; /* planes: input and output of a launch */
    cl_mem workspace;        /* unless it is in local memory */
    band_shape bands;
    size_t local[2];
    cl_event first, last; /* launches of the block in flight */
    double clock_offset;
} state;

static cl_mem create_buffer(size_t size)
{
    cl_int err;
    cl_mem buffer = clCreateBuffer(state.context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    return buffer;
}

/* A group computes a band: on a GPU with 256 work-items. */
static void choose_group(const grid_shape *shape, bool gpu)
{
    const int *group = shape->plan->group;
    int words = shape->width < 32 ? shape->width : 32;
    state.local[0] = group[0] ? group[0] : gpu ? words : 1;
    state.local[1] = group[1] ? group[1] : gpu ? 256 / words : 1;
}

/* Creates the buffers, and passes to the kernel what is the same for all launches. */
static void create_buffers(void)
{
    band_shape b = state.bands;
    for (int i = 0; i < 2; i++)
        state.planes[i] = create_buffer(total_words(state.shape.side) * sizeof(cell));
    state.flags = create_buffer(state.shape.halo * sizeof(cell));
    state.workspace = create_buffer(b.fits ? sizeof(cell) : b.size * b.count);
    int stride = b.fits ? 0 : b.size / sizeof(cell);
    OCL_CHECK(clSetKernelArg(state.kernel, 2, sizeof state.flags, &state.flags));
    OCL_CHECK(clSetKernelArg(state.kernel, 6, b.fits ? b.size : sizeof state.workspace,
                             b.fits ? NULL : &state.workspace));
    OCL_CHECK(clSetKernelArg(state.kernel, 7, sizeof stride, &stride));
}

/* Enqueues steps n .. n + steps - 1 of rows 1 .. end - 1; slot is the index of the
 * first flag. */
static cl_event launch_steps(int end, int n, int slot, int steps)
{
    cl_event done;
    size_t count = (end - 1 + state.bands.rows - 1) / state.bands.rows;
    size_t global[2] = {state.local[0], state.local[1] * count};
    OCL_CHECK(clSetKernelArg(state.kernel, 0, sizeof(cl_mem), &state.planes[0]));
    OCL_CHECK(clSetKernelArg(state.kernel, 1, sizeof(cl_mem), &state.planes[1]));
    OCL_CHECK(clSetKernelArg(state.kernel, 3, sizeof n, &n));
    OCL_CHECK(clSetKernelArg(state.kernel, 4, sizeof slot, &slot));
    OCL_CHECK(clSetKernelArg(state.kernel, 5, sizeof steps, &steps));
    OCL_CHECK(clSetKernelArg(state.kernel, 8, sizeof end, &end));
    OCL_CHECK(clEnqueueNDRangeKernel(state.queue, state.kernel, 2, NULL, global,
                                     state.local, 0, NULL, &done));
    cl_mem swap = state.planes[0];
    state.planes[0] = state.planes[1];
    state.planes[1] = swap;
    return done;
}

void device_begin(const grid_shape *shape, int host_threads, int *shares_cores)
{
    cl_int err;
    cl_device_id device =
        ocl_device_with_host(host_threads, machine_processors(), shares_cores);
    state.shape = *shape;
    state.context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    state.queue =
        clCreateCommandQueue(state.context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    int lanes = vector_lanes(device, shape->width);
    state.bands = choose_bands(device, shape);
    choose_group(shape, ocl_is_gpu(device));

    /* The source is compiled here, at run time, when shape and device are known. */
    char build_options[160];
    snprintf(build_options, sizeof build_options,
             "-D SIDE=%d -D WIDTH=%d -D MIRROR=%d -D LANES=%d -D ROWS=%d -D TILE=%d%s",
             shape->side, shape->width, shape->mirror, lanes, state.bands.rows,
             state.bands.tile_rows, state.bands.fits ? "" : " -D LOCAL=__global");
    state.program = ocl_build(state.context, device, build_options);
    state.kernel = clCreateKernel(state.program, "do_steps", &err);
    OCL_CHECK(err);
    create_buffers();

    /* Launch one group on an empty grid: many drivers finish the compilation of a
     * kernel at its first launch. */
    const cell empty = 0;
    OCL_CHECK(clEnqueueFillBuffer(state.queue, state.planes[0], &empty, sizeof empty, 0,
                                  total_words(shape->side) * sizeof(cell), 0, NULL,
                                  NULL));
    clReleaseEvent(launch_steps(2, 0, 0, 1));
    state.clock_offset = ocl_clock_offset(state.queue);
}

void device_end(void)
{
    clReleaseMemObject(state.workspace);
    clReleaseMemObject(state.flags);
    clReleaseMemObject(state.planes[1]);
    clReleaseMemObject(state.planes[0]);
    clReleaseKernel(state.kernel);
    clReleaseProgram(state.program);
    clReleaseCommandQueue(state.queue);
    clReleaseContext(state.context);
}

void device_write_rows(int first, int end, const cell *planes)
{
    size_t pitch = row_pitch(state.shape.width), at = first * pitch;
    for (int i = 0; i < 2 && first < end; i++)
        OCL_CHECK(clEnqueueWriteBuffer(
            state.queue, state.planes[i], CL_TRUE, at * sizeof(cell),
            (end - first) * pitch * sizeof(cell), planes + at, 0, NULL, NULL));
}

void device_read_rows(int first, int end, cell *planes)
{
    size_t pitch = row_pitch(state.shape.width), at = first * pitch;
    OCL_CHECK(clEnqueueReadBuffer(
        state.queue, state.planes[0], CL_TRUE, at * sizeof(cell),
        (end - first) * pitch * sizeof(cell), planes + at, 0, NULL, NULL));
}

void device_start(int end, int n, int steps)
{
    const cell zero = 0;
    int side = state.shape.side, most = state.bands.max_steps;
    band slab = band_at(side, 1, end, state.shape.halo);
    OCL_CHECK(clEnqueueFillBuffer(state.queue, state.flags, &zero, sizeof zero, 0,
                                  steps * sizeof(cell), 0, NULL, NULL));
    for (int s = 0, launched; s < steps; s += launched) {
        launched = steps - s < most ? steps - s : most;
        int valid = band_end_valid(slab, side, s + launched - 1);
        cl_event done = launch_steps(valid, n + s, s, launched);
        if (s > 0) clReleaseEvent(state.last);
        state.last = done;
        if (s == 0) OCL_CHECK(clRetainEvent(state.first = done));
    }
    OCL_CHECK(clFlush(state.queue));
}

double device_wait(int steps, cell *flags)
{
    cell device_flags[MAX_HALO];
    OCL_CHECK(clEnqueueReadBuffer(state.queue, state.flags, CL_TRUE, 0,
                                  steps * sizeof(cell), device_flags, 0, NULL, NULL));
    for (int s = 0; s < steps; s++) flags[s] |= device_flags[s];

    double begin, end, unused;
    ocl_event_span(state.first, state.clock_offset, &begin, &unused);
    ocl_event_span(state.last, state.clock_offset, &unused, &end);
    clReleaseEvent(state.first);
    clReleaseEvent(state.last);
    hybrid_log("device", -1, "steps", begin, end);
    return end - begin;
}
