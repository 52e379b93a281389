/* opencl.c - the device's side, as its host sees it.
 *
 * Every OpenCL program makes the same objects in the same order, the device's first:
 *   device   what computes                 context  the memory and programs it shares
 *   queue    the commands it is given      program  source, built for this device
 *   kernel   one entry point of a program  buffer   memory of the device
 * and then enqueues: run a kernel over a range, read and write buffers. The fields live
 * on the device, which stops by itself when a solve has come within its tolerance; the
 * host looks whether it has when it needs to know.
 */
#include <stdlib.h>
#include <string.h>

#include "ocl.h"
#include "host.h"
#include "block.h"
#include "share.h"
#include "sides.h"

#define ARG(kernel, n, value)                                                          \
    OCL_CHECK(clSetKernelArg(kernel, n, sizeof(value), &(value)))

static setup s;
static grid g;
static size_t bytes;    /* of a field, with ghosts */
static size_t local[3]; /* work-items a group */
static size_t brick[3]; /* in a sweep: strips, rows and planes of a group */

static bool shared; /* groups have memory of their own */
static int teams;   /* where they have none: each sweeps planes of its own */
static int vector;  /* lanes of the device: its LANES */

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_mem zeros; /* what fields are cleared with */
static cl_mem field[FIELDS];
static cl_mem waves;          /* [nz][ny][pitch]: a pressure, or what it is made of */
static cl_mem table[2];       /* cosines along y and z */
static cl_mem weight[2];      /* how stiff their waves are, and by what multiplied */
static int pitch;             /* nx, rounded up to vectors */
static cl_mem start[FIELDS];  /* what a solve started from, where that is not 0 */
static bool blank[FIELDS];    /* whether all of a field is 0 */
static cl_mem moving[FIELDS]; /* [s.sweeps]: 1 if a cell moved too far to stop */
static cl_int *found;         /* one of them, on the host */
static cl_event sent[FIELDS]; /* of the write, where one is under way */
static double clock;          /* seconds() less the device's */

/* A solve whose sweeps are enqueued, done of them; so many, guessed, went without the
 * device looking whether one was the last. */
static struct {
    int wall, x0, guess, done;
    float a, over_c;
    bool blank; /* x was */
} solve[FIELDS];

/* Sweeps in one pass, at most, and beyond those guessed, before the host looks. */
enum { DEPTH = 4, AHEAD = 2 };

enum {
    PUT,
    ADD_SOURCE,
    RELAX,
    RELAX_SOME,
    ADVECT,
    DIVERGENCE,
    GRADIENT,
    TURN_Y,
    TURN_Z,
    SOLVE_X,
    KERNELS
};
static const char *const kernel_name[KERNELS] = {
    "put",        "add_source", "relax",  "relax_some", "advect",
    "divergence", "gradient",   "turn_y", "turn_z",     "solve_x"};
static cl_kernel kernel[KERNELS];

/* ---- when it did what ---------------------------------------------------------------
 */

enum { PENDING = 1024 };
static struct {
    const char *name;
    int task; /* the how manieth */
    cl_event done;
} pending[PENDING];
static unsigned first_pending, pendings; /* counted on; they lie at % PENDING */
static int tasks, kind_of[PENDING];      /* the latter of task % PENDING */

static struct {
    int task;
    double begin, end;
} seen; /* of the task whose commands are being looked at */

void device_task(int kind)
{
    kind_of[++tasks % PENDING] = kind;
}

/* Books the commands that are done, the oldest first, in turn with those of the same
 * task. */
static void book(void)
{
    double begin, end;
    cl_event done = pending[first_pending % PENDING].done;
    const char *name = pending[first_pending % PENDING].name;
    int task = pending[first_pending++ % PENDING].task;
    ocl_span(done, clock, &begin, &end);
    OCL_CHECK(clReleaseEvent(done));
    if (charging()) charge(name, end - begin);
    if (!strncmp(name, "copy ", 5)) took(CARRY, begin, end);
    if (!strncmp(name, "copy ", 5) || !strcmp(name, "look")) return;
    if (task != seen.task) {
        if (seen.task) took(kind_of[seen.task % PENDING], seen.begin, seen.end);
        seen.task = task;
        seen.begin = begin;
    }
    seen.end = end;
}

/* Those of the commands that are done; all: they all are. */
static void collect(bool all)
{
    for (; first_pending != pendings; book()) {
        cl_int status = CL_COMPLETE;
        if (!all)
            OCL_CHECK(clGetEventInfo(pending[first_pending % PENDING].done,
                                     CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                     &status, NULL));
        if (status < 0) OCL_CHECK(status);
        if (status != CL_COMPLETE) return;
    }
}

/* The event of the next command. */
static cl_event *event_of(const char *name)
{
    if (pendings - first_pending == PENDING) {
        OCL_CHECK(clWaitForEvents(1, &pending[first_pending % PENDING].done));
        book();
    }
    pending[pendings % PENDING].name = name;
    pending[pendings % PENDING].task = tasks;
    return &pending[pendings++ % PENDING].done;
}

/* The global size must be a multiple of the local size: round up. */
static void launch(int k, const char *name, int x, int y, int z)
{
    size_t items[3] = {(size_t)x, (size_t)y, (size_t)z}, group[3], global[3];
    for (int d = 0; d < 3; d++) {
        group[d] = local[d] < items[d] ? local[d] : items[d];
        global[d] = (items[d] + group[d] - 1) / group[d] * group[d];
    }
    OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[k], 3, NULL, global, group, 0, NULL,
                                     event_of(name)));
}

/* clEnqueueFillBuffer would spare the host an array of contents, but Oclgrind takes
 * what was once filled for uninitialised, whoever writes there later. */
static cl_mem buffer_of(size_t size, void *contents)
{
    cl_int err;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
    OCL_CHECK(err);
    OCL_CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, size, contents, 0, NULL,
                                   event_of("copy to device")));
    return buffer;
}

static void clear(cl_mem buffer, size_t size)
{
    OCL_CHECK(clEnqueueCopyBuffer(queue, zeros, buffer, 0, 0, size, 0, NULL,
                                  event_of("clear")));
}

static void copy(cl_mem to, cl_mem from)
{
    OCL_CHECK(
        clEnqueueCopyBuffer(queue, from, to, 0, 0, bytes, 0, NULL, event_of("copy")));
}

/* What the pressure needs. */
static void make_waves(void)
{
    size_t size = (size_t)pitch * (size_t)g.ny * (size_t)g.nz * sizeof(float);
    float *contents = allocate(1, size, "a pressure");
    waves = buffer_of(size, contents);
    free(contents);
    for (int d = 0; d < 2; d++) {
        int n = d ? g.nz : g.ny, odd = odd_of(n);
        size_t of_table = (size_t)n + (size_t)odd * (size_t)odd;
        float *to = allocate(of_table, sizeof *to, "cosines");
        fill_twice(n, to);
        fill_base(odd, to + n);
        table[d] = buffer_of(of_table * sizeof *to, to);
        free(to);
        to = allocate(2 * (size_t)n, sizeof *to, "waves");
        fill_stiff(n, to, to + n);
        weight[d] = buffer_of(2 * (size_t)n * sizeof *to, to);
        free(to);
    }
}

static void device_clear(int f);

int device_begin(const setup *wanted, int threads)
{
    cl_int err;
    int beside;
    s = *wanted;
    refuse_gauss_seidel(&s);
    g = s.g;
    bytes = cells_of(g) * sizeof(float);

    /* All of the device, unless the host computes there. */
    cl_device_id part = ocl_device_beside(threads, share_cores(), &beside);
    context = clCreateContext(NULL, 1, &part, NULL, NULL, &err);
    OCL_CHECK(err);
    queue = clCreateCommandQueue(context, part, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);
    clock = ocl_clock(queue);
    /* In a sweep, where work-items are rounds of a loop, they go along rows, a group
     * has whole planes, and each core several groups. */
    cl_uint units;
    OCL_CHECK(
        clGetDeviceInfo(part, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL));
    int planes = g.nz / (4 * (int)units);
    planes = planes < 1 ? 1 : planes < 4 ? planes : 4;
    const int bricks[2][3] = {{8, 128, planes}, {32, 4, 16}};
    shared = ocl_local_memory(part) > 0;
    for (int d = 0; d < 3; d++) {
        brick[d] = (size_t)(s.group[d] ? s.group[d] : bricks[shared][d]);
        local[d] = (size_t)(s.group[d] ? s.group[d] : 8);
    }

    /* How many lanes a vector of this device has: 1 on a GPU. */
    cl_uint width;
    OCL_CHECK(clGetDeviceInfo(part, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width,
                              &width, NULL));
    vector = width >= 16 ? 16 : width >= 8 ? 8 : width >= 4 ? 4 : 1;
    pitch = (g.nx + vector - 1) / vector * vector;
    char options[160];
    snprintf(options, sizeof options,
             "-D NX=%d -D NY=%d -D NZ=%d -D SHARED=%d -D LANES=%d -D PITCH=%d "
             "-cl-denorms-are-zero",
             g.nx, g.ny, g.nz, shared, vector, pitch);
    teams = teams_of(g, (int)units);
    program = ocl_build(context, part, options);
    for (int k = 0; k < KERNELS; k++) {
        kernel[k] = clCreateKernel(program, kernel_name[k], &err);
        OCL_CHECK(err);
    }
    size_t most = bytes + (size_t)s.sweeps * sizeof(cl_int); /* of any buffer */
    char *contents = allocate(most, 1, "what buffers hold at first"); /* poison */
    for (int f = 0; f < FIELDS; f++) field[f] = buffer_of(bytes, contents);
    found = allocate((size_t)s.sweeps, sizeof *found, "what moved");
    make_waves();
    for (int f = 0; f < FIELDS; f++)
        moving[f] = buffer_of((size_t)s.sweeps * sizeof(cl_int), contents);
    memset(contents, 0, most);
    zeros = buffer_of(most, contents);
    free(contents);
    for (int f = 0; f < FIELDS; f++) device_clear(f);
    OCL_CHECK(clFinish(queue));
    collect(true);
    return beside;
}

void device_end(void)
{
    OCL_CHECK(clFinish(queue));
    collect(true);
    if (seen.task) took(kind_of[seen.task % PENDING], seen.begin, seen.end);
    clReleaseMemObject(zeros);
    free(found);
    clReleaseMemObject(waves);
    for (int n = 0; n < 2; n++) {
        clReleaseMemObject(table[n]);
        clReleaseMemObject(weight[n]);
    }
    for (int f = 0; f < FIELDS; f++) {
        device_sent(f);
        if (start[f]) clReleaseMemObject(start[f]);
        clReleaseMemObject(moving[f]);
        clReleaseMemObject(field[f]);
    }
    for (int k = 0; k < KERNELS; k++) clReleaseKernel(kernel[k]);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

static void device_put(int f, int i, int j, int k, float value)
{
    int where = at(g, i, j, k);
    ARG(kernel[PUT], 0, field[f]);
    ARG(kernel[PUT], 1, where);
    ARG(kernel[PUT], 2, value);
    launch(PUT, "put", 1, 1, 1);
    blank[f] = false;
}

void device_send(int f, const float *from)
{
    device_sent(f);
    cl_event *event = event_of("copy to device");
    OCL_CHECK(clEnqueueWriteBuffer(queue, field[f], CL_FALSE, 0, bytes, from, 0, NULL,
                                   event));
    sent[f] = *event;
    OCL_CHECK(clRetainEvent(sent[f]));
    OCL_CHECK(clFlush(queue));
    blank[f] = false;
}

void device_sent(int f)
{
    if (!sent[f]) return;
    OCL_CHECK(clWaitForEvents(1, &sent[f]));
    OCL_CHECK(clReleaseEvent(sent[f]));
    sent[f] = NULL;
}

void device_fetch(int f, float *to)
{
    OCL_CHECK(clEnqueueReadBuffer(queue, field[f], CL_TRUE, 0, bytes, to, 0, NULL,
                                  event_of("copy to host")));
    collect(true);
}

static void device_clear(int f)
{
    clear(field[f], bytes);
    blank[f] = true;
}

static void device_add(int x, int source)
{
    ARG(kernel[ADD_SOURCE], 0, field[x]);
    ARG(kernel[ADD_SOURCE], 1, field[source]);
    ARG(kernel[ADD_SOURCE], 2, s.dt);
    launch(ADD_SOURCE, "add_source", vectors_across(g, vector), g.ny + 2, g.nz + 2);
    blank[x] = false;
}

static void relax(int x, int x0, int sweep, int colour, int wall, float a, float over_c)
{
    size_t items[3] = {(size_t)strips_of(g, vector), (size_t)g.ny, (size_t)g.nz};
    size_t group[3], global[3];
    for (int d = 0; d < 3; d++) {
        group[d] = brick[d] < items[d] ? brick[d] : items[d];
        global[d] = (items[d] + group[d] - 1) / group[d] * group[d];
    }
    cl_int planes = (cl_int)group[2];
    global[2] /= group[2]; /* a work-item takes all planes of its brick */
    group[2] = 1;

    ARG(kernel[RELAX], 0, field[x]);
    ARG(kernel[RELAX], 1, field[x0]);
    ARG(kernel[RELAX], 2, moving[x]);
    ARG(kernel[RELAX], 3, planes);
    ARG(kernel[RELAX], 4, sweep);
    ARG(kernel[RELAX], 5, s.tolerance);
    ARG(kernel[RELAX], 6, colour);
    ARG(kernel[RELAX], 7, wall);
    ARG(kernel[RELAX], 8, a);
    ARG(kernel[RELAX], 9, over_c);
    OCL_CHECK(
        clEnqueueNDRangeKernel(queue, kernel[RELAX], 3, NULL, global, group, 0, NULL,
                               event_of(colour == RED ? "relax red" : "relax black")));
}

/* The next sweeps of a solve, from first on, in one pass. */
static void relax_some(int x, int x0, int first, int sweeps, int wall, float a,
                       float over_c)
{
    size_t items = (size_t)teams, alone = 1; /* a group each: on a core of its own */
    ARG(kernel[RELAX_SOME], 0, field[x]);
    ARG(kernel[RELAX_SOME], 1, field[x0]);
    ARG(kernel[RELAX_SOME], 2, moving[x]);
    ARG(kernel[RELAX_SOME], 3, teams);
    ARG(kernel[RELAX_SOME], 5, first);
    ARG(kernel[RELAX_SOME], 6, sweeps);
    ARG(kernel[RELAX_SOME], 7, s.tolerance);
    ARG(kernel[RELAX_SOME], 8, wall);
    ARG(kernel[RELAX_SOME], 9, a);
    ARG(kernel[RELAX_SOME], 10, over_c);
    for (int phase = 0; phase < 2; phase++) {
        ARG(kernel[RELAX_SOME], 4, phase);
        OCL_CHECK(clEnqueueNDRangeKernel(queue, kernel[RELAX_SOME], 1, NULL, &items,
                                         &alone, 0, NULL, event_of("relax")));
    }
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Goes on with the solve of x to the sweep given: those guessed in passes, then one by
 * one, each of which does nothing if the one before it was the last. */
static void sweep_to(int x, int end)
{
    int wall = solve[x].wall, x0 = solve[x].x0, *done = &solve[x].done, some;
    float a = solve[x].a, over_c = solve[x].over_c;
    for (; *done < end; *done += some) {
        some = shared || solve[x].guess <= *done
                   ? 1
                   : smaller(solve[x].guess - *done, depth_of(g, teams, DEPTH));
        if (shared) {
            relax(x, x0, *done, RED, wall, a, over_c);
            relax(x, x0, *done, BLACK, wall, a, over_c);
        } else {
            relax_some(x, x0, *done, some, wall, a, over_c);
        }
    }
    OCL_CHECK(clFlush(queue));
}

static int taken[ALONG_Z + 1][FIELDS]; /* sweeps, the last time */

static void start_solve(int wall, int x, int x0, float a, float c)
{
    int last = taken[wall][x], guess = s.tolerance < 0 ? s.sweeps : last - 1;
    solve[x].wall = wall;
    solve[x].x0 = x0;
    solve[x].guess = guess;
    solve[x].done = 0;
    solve[x].a = a;
    solve[x].over_c = 1 / c;
    solve[x].blank = blank[x];
    if (!shared && s.tolerance >= 0 && guess > 1 && !blank[x]) {
        cl_int err = CL_SUCCESS;
        if (!start[x])
            start[x] = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &err);
        OCL_CHECK(err);
        copy(start[x], field[x]);
    }
    clear(moving[x], (size_t)s.sweeps * sizeof(cl_int));
    blank[x] = false;
    sweep_to(x, s.tolerance < 0 ? s.sweeps : smaller(last + AHEAD, s.sweeps));
}

/* After which of the sweeps done nothing moved any more; 0 if there is none. */
static int stopped(int x)
{
    int done = solve[x].done;
    OCL_CHECK(clEnqueueReadBuffer(queue, moving[x], CL_TRUE, 0,
                                  (size_t)done * sizeof *found, found, 0, NULL,
                                  event_of("look")));
    for (int n = 0; n < done; n++)
        if (!found[n]) return n + 1;
    return 0;
}

/* The guess was too high where one of those sweeps would have ended the solve: all is
 * done once more, from the start. */
int device_settle(int x)
{
    int last;
    device_task(MORE);
    while (!(last = stopped(x)) && solve[x].done < s.sweeps)
        sweep_to(x, smaller(solve[x].done + AHEAD, s.sweeps));
    if (!last) last = s.sweeps;
    if (!shared && last < solve[x].guess) {
        copy(field[x], solve[x].blank ? zeros : start[x]);
        clear(moving[x], (size_t)s.sweeps * sizeof(cl_int));
        solve[x].guess = last;
        solve[x].done = 0;
        sweep_to(x, last);
    }
    taken[solve[x].wall][x] = last;
    return last;
}

static void turn_y(cl_mem x, cl_int back)
{
    ARG(kernel[TURN_Y], 0, x);
    ARG(kernel[TURN_Y], 1, waves);
    ARG(kernel[TURN_Y], 2, table[0]);
    ARG(kernel[TURN_Y], 3, back);
    launch(TURN_Y, "turn_y", pitch / vector, g.nz, 1);
}

static void turn_z(cl_int back)
{
    ARG(kernel[TURN_Z], 0, waves);
    ARG(kernel[TURN_Z], 1, table[1]);
    ARG(kernel[TURN_Z], 2, back);
    launch(TURN_Z, "turn_z", pitch / vector, g.ny, 1);
}

/* The pressure, outright: 6 p - (the six neighbours) = b. */
static void solve_pressure(cl_mem p, cl_mem b)
{
    turn_y(b, 0);
    turn_z(0);
    ARG(kernel[SOLVE_X], 0, waves);
    ARG(kernel[SOLVE_X], 1, weight[0]);
    ARG(kernel[SOLVE_X], 2, weight[1]);
    launch(SOLVE_X, "solve_x", (g.nz + vector - 1) / vector, g.ny, 1);
    turn_z(1);
    turn_y(p, 1);
}

static int device_solve(int wall, int x, int x0, float a, float c)
{
    if (s.tolerance >= 0 && a == 1 && c == 6) {
        solve_pressure(field[x], field[x0]);
        blank[x] = false;
    } else {
        start_solve(wall, x, x0, a, c);
    }
    OCL_CHECK(clFlush(queue));
    collect(false);
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
    launch(ADVECT, "advect", strips_of(g, vector), g.ny, g.nz);
    OCL_CHECK(clFlush(queue));
    blank[d] = false;
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
    launch(DIVERGENCE, "divergence", strips_of(g, vector), g.ny, g.nz);
    blank[div] = false;
    blank[p] = true;
}

static void device_gradient(int u, int v, int w, int p)
{
    ARG(kernel[GRADIENT], 0, field[u]);
    ARG(kernel[GRADIENT], 1, field[v]);
    ARG(kernel[GRADIENT], 2, field[w]);
    ARG(kernel[GRADIENT], 3, field[p]);
    launch(GRADIENT, "gradient", strips_of(g, vector), g.ny, g.nz);
    blank[u] = blank[v] = blank[w] = false;
}

const side device = {device_put,    device_clear,      device_add,     device_solve,
                     device_advect, device_divergence, device_gradient};
