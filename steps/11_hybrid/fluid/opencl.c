/* opencl.c - the device back-end of the hybrid program: the host side of kernel.cl.
 *
 * Every OpenCL program creates the same objects in the same order:
 *   device   the processor                   context  owns memory and programs
 *   queue    commands for one device         program  source compiled for the device
 *   kernel   an entry point of a program     buffer   memory of the device
 * It then enqueues commands: kernels over a range of work-items, reads and writes of
 * buffers. The fields stay on the device, which stops relaxing by itself when a solve
 * has converged. The host reads the flags when it needs the number of sweeps.
 */
#include <stdlib.h>
#include <string.h>

#include "ocl.h"
#include "host.h"
#include "block.h"
#include "hybrid.h"
#include "sides.h"

#define ARG(kernel, n, value)                                                          \
    OCL_CHECK(clSetKernelArg(kernel, n, sizeof(value), &(value)))

static setup s;
static grid g;
static size_t bytes;    /* in a field, with ghost cells */
static size_t local[3]; /* work-items per work-group */
static size_t tile[3];  /* tile of a work-group in a sweep: strips, rows, planes */

static bool has_local_memory; /* the device has local memory in hardware */
static int workers; /* work-items of relax_wavefront on a device without local memory */
static int device_lanes; /* native vector width of the device; LANES in the kernels */

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_mem zeros; /* source of clear() */
static cl_mem field[FIELDS];
static cl_mem modes; /* [nz][ny][pitch]: right-hand side, its cosine modes, pressure */
static cl_mem dct_table[2]; /* tables of the transforms along y and z */
static cl_mem
    mode_table[2]; /* eigenvalues of the modes along y and z, then scale factors */
static int pitch;  /* nx, rounded up to whole vectors */
static cl_mem initial[FIELDS];      /* x before the solve, if it was not 0 */
static bool is_zero[FIELDS];        /* true: all cells of a field are 0 */
static cl_mem flags[FIELDS];        /* [s.sweeps]: 1 if a sweep has not converged */
static cl_int *found;               /* host copy of the flags of one solve */
static cl_event send_event[FIELDS]; /* event of an unfinished write; NULL: none */
static double clock_offset;         /* seconds() minus the device's clock */

/* Unfinished solves: `done` sweeps are enqueued; the first `predicted` of them are
 * executed in passes that do not check for convergence in between. */
static struct {
    int wall, x0, predicted, done;
    float a, inv_c;
    bool is_zero; /* x was 0 before the solve */
} solve[FIELDS];

/* DEPTH: maximum number of sweeps per pass. EXTRA: sweeps that are enqueued beyond the
 * number of the previous solve, before the host reads the flags; chosen, not tuned. */
enum { DEPTH = 4, EXTRA = 2 };

enum {
    PUT,
    ADD_SOURCE,
    RELAX,
    RELAX_WAVEFRONT,
    ADVECT,
    DIVERGENCE,
    GRADIENT,
    TRANSFORM_Y,
    TRANSFORM_Z,
    SOLVE_X,
    KERNELS
};
static const char *const kernel_name[KERNELS] = {
    "put",        "add_source", "relax",       "relax_wavefront", "advect",
    "divergence", "gradient",   "transform_y", "transform_z",     "solve_x"};
static cl_kernel kernel[KERNELS];

/* ---- times of the commands ------------------------------------------------------- */

enum { MAX_PENDING = 1024 };
static struct {
    const char *name;
    int task; /* sequence number of the task */
    cl_event done;
} pending[MAX_PENDING];
static unsigned pending_begin, pending_end;    /* taken modulo MAX_PENDING */
static int task_count, task_kind[MAX_PENDING]; /* kind of task n at n % MAX_PENDING */

static struct {
    int task;
    double begin, end;
} current; /* the task whose commands are being recorded */

void device_task(int kind)
{
    task_kind[++task_count % MAX_PENDING] = kind;
}

/* Records the oldest pending command. The commands of one task are recorded as one
 * interval. */
static void record_oldest(void)
{
    double begin, end;
    cl_event done = pending[pending_begin % MAX_PENDING].done;
    const char *name = pending[pending_begin % MAX_PENDING].name;
    int task = pending[pending_begin++ % MAX_PENDING].task;
    ocl_event_span(done, clock_offset, &begin, &end);
    OCL_CHECK(clReleaseEvent(done));
    if (profiling()) profile_record(name, end - begin);
    if (!strncmp(name, "copy ", 5)) record_task_time(TRANSFER, begin, end);
    if (!strncmp(name, "copy ", 5) || !strcmp(name, "poll")) return;
    if (task != current.task) {
        if (current.task)
            record_task_time(task_kind[current.task % MAX_PENDING], current.begin,
                             current.end);
        current.task = task;
        current.begin = begin;
    }
    current.end = end;
}

/* Records the pending commands that have completed; with `all`, all of them. */
static void profile_collect(bool all)
{
    for (; pending_begin != pending_end; record_oldest()) {
        cl_int status = CL_COMPLETE;
        if (!all)
            OCL_CHECK(clGetEventInfo(pending[pending_begin % MAX_PENDING].done,
                                     CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                     &status, NULL));
        if (status < 0) OCL_CHECK(status);
        if (status != CL_COMPLETE) return;
    }
}

/* Returns where to store the event of the next command. */
static cl_event *profile_event(const char *name)
{
    if (pending_end - pending_begin == MAX_PENDING) {
        OCL_CHECK(clWaitForEvents(1, &pending[pending_begin % MAX_PENDING].done));
        record_oldest();
    }
    pending[pending_end % MAX_PENDING].name = name;
    pending[pending_end % MAX_PENDING].task = task_count;
    return &pending[pending_end++ % MAX_PENDING].done;
}

/* Enqueues a kernel. Rounds the global size up to a multiple of the local size. */
static void launch(int k, const char *name, int x, int y, int z)
{
    size_t items[3] = {(size_t)x, (size_t)y, (size_t)z}, group[3], global[3];
    for (int d = 0; d < 3; d++) {
        group[d] = local[d] < items[d] ? local[d] : items[d];
        global[d] = (items[d] + group[d] - 1) / group[d] * group[d];
    }
    OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[k], 3, NULL, global, group, 0, NULL,
                                     profile_event(name)));
}

/* Creates a buffer with the given contents. clEnqueueFillBuffer would need no host
 * array, but Oclgrind reports a buffer that was filled as uninitialized, even after
 * later writes. The buffers of a CPU are in the host's memory: large pages are
 * requested for them before they are first written. */
static cl_mem create_buffer(size_t size, void *contents)
{
    cl_int err;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    if (!has_local_memory) {
        void *host =
            clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION,
                               0, size, 0, NULL, NULL, &err);
        OCL_CHECK(err);
        memory_large_pages(host, size);
        OCL_CHECK(clEnqueueUnmapMemObject(queue, buffer, host, 0, NULL, NULL));
    }
    OCL_CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, size, contents, 0, NULL,
                                   profile_event("copy to device")));
    return buffer;
}

static void clear(cl_mem buffer, size_t size)
{
    OCL_CHECK(clEnqueueCopyBuffer(queue, zeros, buffer, 0, 0, size, 0, NULL,
                                  profile_event("clear")));
}

static void copy(cl_mem dst, cl_mem src)
{
    OCL_CHECK(clEnqueueCopyBuffer(queue, src, dst, 0, 0, bytes, 0, NULL,
                                  profile_event("copy")));
}

/* Creates the buffers of the pressure solver. */
static void create_dct_buffers(void)
{
    size_t size = (size_t)pitch * (size_t)g.ny * (size_t)g.nz * sizeof(float);
    float *contents = allocate(1, size, "a pressure");
    modes = create_buffer(size, contents);
    free(contents);
    for (int d = 0; d < 2; d++) {
        int n = d ? g.nz : g.ny, odd = odd_factor(n);
        size_t table_size = (size_t)n + (size_t)odd * (size_t)odd;
        float *dst = allocate(table_size, sizeof *dst, "cosines");
        fill_dct_factors(n, dst);
        fill_odd_matrix(odd, dst + n);
        dct_table[d] = create_buffer(table_size * sizeof *dst, dst);
        free(dst);
        dst = allocate(2 * (size_t)n, sizeof *dst, "cosine modes");
        fill_modes(n, dst, dst + n);
        mode_table[d] = create_buffer(2 * (size_t)n * sizeof *dst, dst);
        free(dst);
    }
}

static void device_clear(int f);

int device_begin(const setup *requested, int threads)
{
    cl_int err;
    int shares_cores;
    s = *requested;
    reject_gauss_seidel(&s);
    g = s.g;
    bytes = field_size(g) * sizeof(float);

    /* The whole device, or, if the host computes on the same processor, the cores that
     * the host does not use. */
    cl_device_id subdevice =
        ocl_device_with_host(threads, machine_processors(), &shares_cores);
    context = clCreateContext(NULL, 1, &subdevice, NULL, NULL, &err);
    OCL_CHECK(err);
    queue = clCreateCommandQueue(context, subdevice, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);
    clock_offset = ocl_clock_offset(queue);
    /* Tile of a work-group in a sweep. On a CPU, PoCL turns work-items into loop
     * iterations: a tile has whole rows and few planes, so that each core gets at least
     * four work-groups. On a GPU: 32 work-items along x, the size of a warp; 4 rows
     * have not been tuned. */
    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(subdevice, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units,
                              &units, NULL));
    int planes = g.nz / (4 * (int)units);
    planes = planes < 1 ? 1 : planes < 4 ? planes : 4;
    const int tiles[2][3] = {
        {8, 128, planes}, {32, 4, planes_per_thread(g, ocl_items_at_once(subdevice))}};
    has_local_memory = ocl_local_memory(subdevice) > 0;
    for (int d = 0; d < 3; d++) {
        tile[d] = (size_t)(s.group[d] ? s.group[d] : tiles[has_local_memory][d]);
        local[d] = (size_t)(s.group[d] ? s.group[d] : 8);
    }

    /* Native vector width in floats; 1 on a GPU. */
    cl_uint width;
    OCL_CHECK(clGetDeviceInfo(subdevice, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                              sizeof width, &width, NULL));
    device_lanes = width >= 16 ? 16 : width >= 8 ? 8 : width >= 4 ? 4 : 1;
    pitch = (g.nx + device_lanes - 1) / device_lanes * device_lanes;
    char options[160];
    snprintf(options, sizeof options,
             "-D NX=%d -D NY=%d -D NZ=%d -D SHARED=%d -D LANES=%d -D PITCH=%d "
             "-cl-denorms-are-zero",
             g.nx, g.ny, g.nz, has_local_memory, device_lanes, pitch);
    workers = worker_count(g, (int)units);
    program = ocl_build(context, subdevice, options);
    for (int k = 0; k < KERNELS; k++) {
        kernel[k] = clCreateKernel(program, kernel_name[k], &err);
        OCL_CHECK(err);
    }
    size_t max_size = bytes + (size_t)s.sweeps * sizeof(cl_int); /* of any buffer */
    char *contents = allocate(max_size, 1, "initial contents");  /* all bits set: NaN */
    for (int f = 0; f < FIELDS; f++) field[f] = create_buffer(bytes, contents);
    found = allocate((size_t)s.sweeps, sizeof *found, "convergence flags");
    create_dct_buffers();
    for (int f = 0; f < FIELDS; f++)
        flags[f] = create_buffer((size_t)s.sweeps * sizeof(cl_int), contents);
    memset(contents, 0, max_size);
    zeros = create_buffer(max_size, contents);
    free(contents);
    for (int f = 0; f < FIELDS; f++) device_clear(f);
    OCL_CHECK(clFinish(queue));
    profile_collect(true);
    return shares_cores;
}

void device_end(void)
{
    OCL_CHECK(clFinish(queue));
    profile_collect(true);
    if (current.task)
        record_task_time(task_kind[current.task % MAX_PENDING], current.begin,
                         current.end);
    clReleaseMemObject(zeros);
    free(found);
    clReleaseMemObject(modes);
    for (int n = 0; n < 2; n++) {
        clReleaseMemObject(dct_table[n]);
        clReleaseMemObject(mode_table[n]);
    }
    for (int f = 0; f < FIELDS; f++) {
        device_await_send(f);
        if (initial[f]) clReleaseMemObject(initial[f]);
        clReleaseMemObject(flags[f]);
        clReleaseMemObject(field[f]);
    }
    for (int k = 0; k < KERNELS; k++) clReleaseKernel(kernel[k]);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

static void device_put(int f, int i, int j, int k, float value)
{
    int index = cell_index(g, i, j, k);
    ARG(kernel[PUT], 0, field[f]);
    ARG(kernel[PUT], 1, index);
    ARG(kernel[PUT], 2, value);
    launch(PUT, "put", 1, 1, 1);
    is_zero[f] = false;
}

void device_send(int f, const float *src)
{
    device_await_send(f);
    cl_event *event = profile_event("copy to device");
    OCL_CHECK(
        clEnqueueWriteBuffer(queue, field[f], CL_FALSE, 0, bytes, src, 0, NULL, event));
    send_event[f] = *event;
    OCL_CHECK(clRetainEvent(send_event[f]));
    OCL_CHECK(clFlush(queue));
    is_zero[f] = false;
}

void device_await_send(int f)
{
    if (!send_event[f]) return;
    OCL_CHECK(clWaitForEvents(1, &send_event[f]));
    OCL_CHECK(clReleaseEvent(send_event[f]));
    send_event[f] = NULL;
}

void device_receive(int f, float *dst)
{
    OCL_CHECK(clEnqueueReadBuffer(queue, field[f], CL_TRUE, 0, bytes, dst, 0, NULL,
                                  profile_event("copy to host")));
    profile_collect(true);
}

static void device_clear(int f)
{
    clear(field[f], bytes);
    is_zero[f] = true;
}

static void device_add(int x, int source)
{
    ARG(kernel[ADD_SOURCE], 0, field[x]);
    ARG(kernel[ADD_SOURCE], 1, field[source]);
    ARG(kernel[ADD_SOURCE], 2, s.dt);
    launch(ADD_SOURCE, "add_source", vectors_per_row(g, device_lanes), g.ny + 2,
           g.nz + 2);
    is_zero[x] = false;
}

static void relax(int x, int x0, int sweep, int colour, int wall, float a, float inv_c)
{
    size_t items[3] = {(size_t)strip_count(g, device_lanes), (size_t)g.ny,
                       (size_t)g.nz};
    size_t group[3], global[3];
    for (int d = 0; d < 3; d++) {
        group[d] = tile[d] < items[d] ? tile[d] : items[d];
        global[d] = (items[d] + group[d] - 1) / group[d] * group[d];
    }
    cl_int planes = (cl_int)group[2];
    global[2] /= group[2]; /* a work-item iterates over all planes of its tile */
    group[2] = 1;

    ARG(kernel[RELAX], 0, field[x]);
    ARG(kernel[RELAX], 1, field[x0]);
    ARG(kernel[RELAX], 2, flags[x]);
    ARG(kernel[RELAX], 3, planes);
    ARG(kernel[RELAX], 4, sweep);
    ARG(kernel[RELAX], 5, s.tolerance);
    ARG(kernel[RELAX], 6, colour);
    ARG(kernel[RELAX], 7, wall);
    ARG(kernel[RELAX], 8, a);
    ARG(kernel[RELAX], 9, inv_c);
    OCL_CHECK(clEnqueueNDRangeKernel(
        queue, kernel[RELAX], 3, NULL, global, group, 0, NULL,
        profile_event(colour == RED ? "relax red" : "relax black")));
}

/* Enqueues the sweeps first, first + 1 .. of a solve as one pass. */
static void relax_wavefront(int x, int x0, int first, int sweeps, int wall, float a,
                            float inv_c)
{
    size_t items = (size_t)workers, group_size = 1; /* one work-item per group */
    ARG(kernel[RELAX_WAVEFRONT], 0, field[x]);
    ARG(kernel[RELAX_WAVEFRONT], 1, field[x0]);
    ARG(kernel[RELAX_WAVEFRONT], 2, flags[x]);
    ARG(kernel[RELAX_WAVEFRONT], 3, workers);
    ARG(kernel[RELAX_WAVEFRONT], 5, first);
    ARG(kernel[RELAX_WAVEFRONT], 6, sweeps);
    ARG(kernel[RELAX_WAVEFRONT], 7, s.tolerance);
    ARG(kernel[RELAX_WAVEFRONT], 8, wall);
    ARG(kernel[RELAX_WAVEFRONT], 9, a);
    ARG(kernel[RELAX_WAVEFRONT], 10, inv_c);
    for (int phase = 0; phase < 2; phase++) {
        ARG(kernel[RELAX_WAVEFRONT], 4, phase);
        OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[RELAX_WAVEFRONT], 1, NULL,
                                         &items, &group_size, 0, NULL,
                                         profile_event("relax")));
    }
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Enqueues the sweeps of the solve of x up to sweep `end`: the predicted ones in
 * passes, then one by one. A sweep returns at once if an earlier one has converged. */
static void enqueue_sweeps(int x, int end)
{
    int wall = solve[x].wall, x0 = solve[x].x0, *done = &solve[x].done, batch;
    float a = solve[x].a, inv_c = solve[x].inv_c;
    for (; *done < end; *done += batch) {
        batch =
            has_local_memory || solve[x].predicted <= *done
                ? 1
                : smaller(solve[x].predicted - *done, pass_depth(g, workers, DEPTH));
        if (has_local_memory) {
            relax(x, x0, *done, RED, wall, a, inv_c);
            relax(x, x0, *done, BLACK, wall, a, inv_c);
        } else {
            relax_wavefront(x, x0, *done, batch, wall, a, inv_c);
        }
    }
    OCL_CHECK(clFlush(queue));
}

static int previous_sweeps[ALONG_Z + 1][FIELDS]; /* sweeps of the previous solve */

static void start_solve(int wall, int x, int x0, float a, float c)
{
    int last = previous_sweeps[wall][x],
        predicted = s.tolerance < 0 ? s.sweeps : last - 1;
    solve[x].wall = wall;
    solve[x].x0 = x0;
    solve[x].predicted = predicted;
    solve[x].done = 0;
    solve[x].a = a;
    solve[x].inv_c = 1 / c;
    solve[x].is_zero = is_zero[x];
    if (!has_local_memory && s.tolerance >= 0 && predicted > 1 && !is_zero[x]) {
        cl_int err = CL_SUCCESS;
        if (!initial[x])
            initial[x] = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &err);
        OCL_CHECK(err);
        copy(initial[x], field[x]);
    }
    clear(flags[x], (size_t)s.sweeps * sizeof(cl_int));
    is_zero[x] = false;
    enqueue_sweeps(x, s.tolerance < 0 ? s.sweeps : smaller(last + EXTRA, s.sweeps));
}

/* Returns the first sweep after which the solve has converged; 0: none of those done.
 */
static int converged_after(int x)
{
    int done = solve[x].done;
    OCL_CHECK(clEnqueueReadBuffer(queue, flags[x], CL_TRUE, 0,
                                  (size_t)done * sizeof *found, found, 0, NULL,
                                  profile_event("poll")));
    for (int n = 0; n < done; n++)
        if (!found[n]) return n + 1;
    return 0;
}

/* Completes the solve. If a sweep before the predicted one has converged, the solve is
 * repeated from its initial values, up to that sweep. */
int device_finish_solve(int x)
{
    int last;
    device_task(EXTRA_SWEEPS);
    while (!(last = converged_after(x)) && solve[x].done < s.sweeps)
        enqueue_sweeps(x, smaller(solve[x].done + EXTRA, s.sweeps));
    if (!last) last = s.sweeps;
    if (!has_local_memory && last < solve[x].predicted) {
        copy(field[x], solve[x].is_zero ? zeros : initial[x]);
        clear(flags[x], (size_t)s.sweeps * sizeof(cl_int));
        solve[x].predicted = last;
        solve[x].done = 0;
        enqueue_sweeps(x, last);
    }
    previous_sweeps[solve[x].wall][x] = last;
    return last;
}

static void transform_y(cl_mem x, cl_int inverse)
{
    ARG(kernel[TRANSFORM_Y], 0, x);
    ARG(kernel[TRANSFORM_Y], 1, modes);
    ARG(kernel[TRANSFORM_Y], 2, dct_table[0]);
    ARG(kernel[TRANSFORM_Y], 3, inverse);
    launch(TRANSFORM_Y, "transform_y", pitch / device_lanes, g.nz, 1);
}

static void transform_z(cl_int inverse)
{
    ARG(kernel[TRANSFORM_Z], 0, modes);
    ARG(kernel[TRANSFORM_Z], 1, dct_table[1]);
    ARG(kernel[TRANSFORM_Z], 2, inverse);
    launch(TRANSFORM_Z, "transform_z", pitch / device_lanes, g.ny, 1);
}

/* Solves the pressure equation 6 p - (sum of the six neighbours) = b directly: DCT-II
 * along y and z, Thomas algorithm along x, inverse transforms. See R. W. Hockney, A
 * fast direct solution of Poisson's equation using Fourier analysis, JACM 12 (1965). */
static void solve_pressure(cl_mem p, cl_mem b)
{
    transform_y(b, 0);
    transform_z(0);
    ARG(kernel[SOLVE_X], 0, modes);
    ARG(kernel[SOLVE_X], 1, mode_table[0]);
    ARG(kernel[SOLVE_X], 2, mode_table[1]);
    launch(SOLVE_X, "solve_x", (g.nz + device_lanes - 1) / device_lanes, g.ny, 1);
    transform_z(1);
    transform_y(p, 1);
}

static int device_solve(int wall, int x, int x0, float a, float c)
{
    if (s.tolerance >= 0 && a == 1 && c == 6) {
        solve_pressure(field[x], field[x0]);
        is_zero[x] = false;
    } else {
        start_solve(wall, x, x0, a, c);
    }
    OCL_CHECK(clFlush(queue));
    profile_collect(false);
    return 0;
}

static void device_advect(int wall, int d, int d0, int u, int v, int w)
{
    ARG(kernel[ADVECT], 0, field[d]);
    ARG(kernel[ADVECT], 1, field[d0]);
    ARG(kernel[ADVECT], 2, field[u]);
    ARG(kernel[ADVECT], 3, field[v]);
    ARG(kernel[ADVECT], 4, field[w]);
    ARG(kernel[ADVECT], 5, wall);
    ARG(kernel[ADVECT], 6, s.dt);
    launch(ADVECT, "advect", strip_count(g, device_lanes), g.ny, g.nz);
    OCL_CHECK(clFlush(queue));
    is_zero[d] = false;
}

static void device_divergence(int u, int v, int w, int p, int div)
{
    float scale = -0.5f / longest_side(g);
    ARG(kernel[DIVERGENCE], 0, field[u]);
    ARG(kernel[DIVERGENCE], 1, field[v]);
    ARG(kernel[DIVERGENCE], 2, field[w]);
    ARG(kernel[DIVERGENCE], 3, field[p]);
    ARG(kernel[DIVERGENCE], 4, field[div]);
    ARG(kernel[DIVERGENCE], 5, scale);
    launch(DIVERGENCE, "divergence", strip_count(g, device_lanes), g.ny, g.nz);
    is_zero[div] = false;
    is_zero[p] = true;
}

static void device_gradient(int u, int v, int w, int p)
{
    ARG(kernel[GRADIENT], 0, field[u]);
    ARG(kernel[GRADIENT], 1, field[v]);
    ARG(kernel[GRADIENT], 2, field[w]);
    ARG(kernel[GRADIENT], 3, field[p]);
    launch(GRADIENT, "gradient", strip_count(g, device_lanes), g.ny, g.nz);
    is_zero[u] = is_zero[v] = is_zero[w] = false;
}

const side device = {device_put,    device_clear,      device_add,     device_solve,
                     device_advect, device_divergence, device_gradient};
