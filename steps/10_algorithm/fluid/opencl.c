/* opencl.c - the host side of kernel.cl.
 *
 * Every OpenCL program makes the same objects in the same order, the device's first:
 *   device   what computes                 context  the memory and programs it shares
 *   queue    the commands it is given      program  source, built for this device
 *   kernel   one entry point of a program  buffer   memory of the device
 * and then enqueues: run a kernel over a range, read and write buffers. The fields live
 * on the device, which stops by itself when a solve has come within its tolerance; the
 * host looks every few sweeps whether it has.
 */
#include <stdlib.h>
#include <string.h>

#include "ocl.h"
#include "host.h"
#include "block.h"
#include "profile_ocl.h"

#define ARG(kernel, n, value)                                                          \
    OCL_CHECK(clSetKernelArg(kernel, n, sizeof(value), &(value)))

static setup s;
static grid g;
static size_t bytes;    /* of a field, with ghosts */
static size_t local[3]; /* work-items a group */
static size_t brick[3]; /* in a sweep: strips, rows and planes of a group */
static float *halves;   /* a field on its way to the host */

static bool shared; /* groups have memory of their own */
static int teams;   /* where they have none: each sweeps planes of its own */
static int vector;  /* lanes of the device: its LANES */

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_mem zeros; /* what fields are cleared with */
static cl_mem field[FIELDS];
static cl_mem waves;       /* [nz][ny][pitch]: a pressure, or what it is made of */
static cl_mem table[2];    /* cosines along y and z */
static cl_mem weight[2];   /* how stiff their waves are, and by what multiplied */
static int pitch;          /* nx, rounded up to vectors */
static cl_mem start;       /* what a solve started from, where that is not 0 */
static bool blank[FIELDS]; /* whether all of a field is 0 */
static cl_mem moving;      /* [s.sweeps]: 1 if a cell moved too far to stop */

/* Sweeps between two looks of the host, and in one pass at most. */
enum { LOOK_EVERY = 4, DEPTH = 4 };

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

void fluid_begin(const setup *wanted)
{
    cl_int err;
    s = *wanted;
    refuse_gauss_seidel(&s);
    g = s.g;
    bytes = cells_of(g) * sizeof(float);

    cl_device_id device = ocl_device();
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    queue = clCreateCommandQueue(context, device,
                                 charging() ? CL_QUEUE_PROFILING_ENABLE : 0, &err);
    OCL_CHECK(err);
    /* In a sweep, where work-items are rounds of a loop, they go along rows, a group
     * has whole planes, and each core several groups. */
    cl_uint units;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    int planes = g.nz / (4 * (int)units);
    planes = planes < 1 ? 1 : planes < 4 ? planes : 4;
    const int bricks[2][3] = {{8, 128, planes}, {32, 4, 16}};
    shared = ocl_local_memory(device) > 0;
    for (int d = 0; d < 3; d++) {
        brick[d] = (size_t)(s.group[d] ? s.group[d] : bricks[shared][d]);
        local[d] = (size_t)(s.group[d] ? s.group[d] : 8);
    }

    /* How many lanes a vector of this device has: 1 on a GPU. */
    cl_uint width;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width,
                              &width, NULL));
    vector = width >= 16 ? 16 : width >= 8 ? 8 : width >= 4 ? 4 : 1;
    pitch = (g.nx + vector - 1) / vector * vector;
    char options[160];
    snprintf(options, sizeof options,
             "-D NX=%d -D NY=%d -D NZ=%d -D SHARED=%d -D LANES=%d -D PITCH=%d "
             "-cl-denorms-are-zero",
             g.nx, g.ny, g.nz, shared, vector, pitch);
    teams = teams_of(g, (int)units);
    program = ocl_build(context, device, options);
    for (int k = 0; k < KERNELS; k++) {
        kernel[k] = clCreateKernel(program, kernel_name[k], &err);
        OCL_CHECK(err);
    }
    size_t most = bytes + (size_t)s.sweeps * sizeof(cl_int); /* of any buffer */
    char *contents = allocate(most, 1, "what buffers hold at first"); /* poison */
    for (int f = 0; f < FIELDS; f++) field[f] = buffer_of(bytes, contents);
    halves = allocate(cells_of(g), sizeof *halves, "a field");
    make_waves();
    start = buffer_of(bytes, contents);
    moving = buffer_of((size_t)s.sweeps * sizeof(cl_int), contents);
    memset(contents, 0, most);
    zeros = buffer_of(most, contents);
    free(contents);
    for (int f = 0; f < FIELDS; f++) fluid_clear(f);
    OCL_CHECK(clFinish(queue));
    collect();
}

void fluid_end(void)
{
    clReleaseMemObject(zeros);
    free(halves);
    clReleaseMemObject(moving);
    clReleaseMemObject(start);
    clReleaseMemObject(waves);
    for (int n = 0; n < 2; n++) {
        clReleaseMemObject(table[n]);
        clReleaseMemObject(weight[n]);
    }
    for (int f = 0; f < FIELDS; f++) clReleaseMemObject(field[f]);
    for (int k = 0; k < KERNELS; k++) clReleaseKernel(kernel[k]);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

void fluid_put(int f, int i, int j, int k, float value)
{
    int where = at(g, i, j, k);
    ARG(kernel[PUT], 0, field[f]);
    ARG(kernel[PUT], 1, where);
    ARG(kernel[PUT], 2, value);
    launch(PUT, "put", 1, 1, 1);
    blank[f] = false;
}

void fluid_get(int f, float *to)
{
    OCL_CHECK(clEnqueueReadBuffer(queue, field[f], CL_TRUE, 0, bytes, halves, 0, NULL,
                                  event_of("copy to host")));
    collect();
    join(g, halves, to);
}

void fluid_clear(int f)
{
    clear(field[f], bytes);
    blank[f] = true;
}

void fluid_add(int x, int source)
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
    ARG(kernel[RELAX], 2, moving);
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

/* After which of the sweeps done the device has stopped; 0 if it has not. */
static int stopped(int done)
{
    cl_int found[LOOK_EVERY];
    int first = (done - 1) / LOOK_EVERY * LOOK_EVERY;
    OCL_CHECK(clEnqueueReadBuffer(queue, moving, CL_TRUE, (size_t)first * sizeof *found,
                                  (size_t)(done - first) * sizeof *found, found, 0,
                                  NULL, event_of("copy to host")));
    for (int n = first; n < done; n++)
        if (!found[n - first]) return n + 1;
    return 0;
}

static int solve_by_colour(int wall, int x, int x0, float a, float c)
{
    int done = 0, last = 0;
    clear(moving, (size_t)s.sweeps * sizeof(cl_int));
    while (done < s.sweeps && !last) {
        relax(x, x0, done, RED, wall, a, 1 / c);
        relax(x, x0, done, BLACK, wall, a, 1 / c);
        done++;
        bool look = done % LOOK_EVERY == 0 || done == s.sweeps;
        if (look && s.tolerance >= 0) last = stopped(done);
    }
    return last ? last : done;
}

/* The next sweeps of a solve, from first on, in one pass. Returns the first after which
 * no cell moved farther than the tolerance, counted from 1; 0 if there is none. */
static int relax_some(int x, int x0, int first, int sweeps, int wall, float a,
                      float over_c)
{
    size_t items = (size_t)teams, alone = 1; /* a group each: on a core of its own */
    cl_int found[DEPTH];
    clear(moving, (size_t)s.sweeps * sizeof(cl_int));
    ARG(kernel[RELAX_SOME], 0, field[x]);
    ARG(kernel[RELAX_SOME], 1, field[x0]);
    ARG(kernel[RELAX_SOME], 2, moving);
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
    if (s.tolerance < 0) return 0;
    OCL_CHECK(clEnqueueReadBuffer(queue, moving, CL_TRUE, (size_t)first * sizeof *found,
                                  (size_t)sweeps * sizeof *found, found, 0, NULL,
                                  event_of("copy to host")));
    for (int n = 0; n < sweeps; n++)
        if (!found[n]) return n + 1;
    return 0;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Whether a sweep was the last one is known only after its pass. So it is guessed: all
 * but one of those that the last such solve took go without a look, and then one by
 * one. Where one of them would have ended the solve, all is done once more, from the
 * start. */
static int solve_by_passes(int wall, int x, int x0, float a, float c)
{
    static int taken[ALONG_Z + 1][FIELDS];
    int depth = depth_of(g, teams, DEPTH), done = 0, last = 0;
    int guess = s.tolerance < 0 ? s.sweeps : taken[wall][x] - 1;
    if (guess > 1 && !blank[x]) copy(start, field[x]);

    while (done < s.sweeps && !last) {
        int some = guess > done ? smaller(guess - done, depth) : 1;
        last = relax_some(x, x0, done, some, wall, a, 1 / c);
        if (last) last += done;
        done += some;
    }
    if (last && last < done) {
        copy(field[x], blank[x] ? zeros : start);
        for (done = 0; done < last; done += smaller(last - done, depth))
            relax_some(x, x0, done, smaller(last - done, depth), wall, a, 1 / c);
    }
    taken[wall][x] = done;
    return done;
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

int fluid_solve(int wall, int x, int x0, float a, float c)
{
    if (s.tolerance >= 0 && a == 1 && c == 6) {
        solve_pressure(field[x], field[x0]);
        blank[x] = false;
        return 0;
    }
    int sweeps = (shared ? solve_by_colour : solve_by_passes)(wall, x, x0, a, c);
    blank[x] = false;
    return sweeps;
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    ARG(kernel[ADVECT], 0, field[d]);
    ARG(kernel[ADVECT], 1, field[d0]);
    ARG(kernel[ADVECT], 2, field[u]);
    ARG(kernel[ADVECT], 3, field[v]);
    ARG(kernel[ADVECT], 4, field[w]);
    ARG(kernel[ADVECT], 5, wall);
    ARG(kernel[ADVECT], 6, s.dt);
    launch(ADVECT, "advect", strips_of(g, vector), g.ny, g.nz);
    blank[d] = false;
}

void fluid_divergence(int u, int v, int w, int p, int div)
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

void fluid_gradient(int u, int v, int w, int p)
{
    ARG(kernel[GRADIENT], 0, field[u]);
    ARG(kernel[GRADIENT], 1, field[v]);
    ARG(kernel[GRADIENT], 2, field[w]);
    ARG(kernel[GRADIENT], 3, field[p]);
    launch(GRADIENT, "gradient", strips_of(g, vector), g.ny, g.nz);
    blank[u] = blank[v] = blank[w] = false;
}
