/* opencl.c - the device's side, as the host side of kernel.cl.
 *
 * The fields stay on the device from the first step to the last: a step sends a halo
 * each way, and the source's number. Two pairs of buffers take turns as before and now.
 * There is one queue, in order. What goes through it lies in memory that nobody else
 * touches: the host may be a step ahead, and changes its planes.
 */
#include <stdlib.h>
#include <string.h>

#include "ocl.h"
#include "run.h"
#include "share.h"
#include "sides.h"
#define LANES 1 /* of this side, which has no vectors to do */
#include "body.h"
#include "tile.h"

static grid g;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_kernel source, propagate;
static cl_mem medium, pp, pc, qp, qc; /* p and q, of before and of now */
static cl_mem
    derived; /* what was derived of one plane of each tile; NULL: local memory */
static tiling t;
static size_t local[3], global[3];

/* Of this step and the one before: what is sent to the host, and by the host, and the
 * events of its kernels, of what the host waits for, and of the last; NULL: none. */
typedef struct {
    float *sent, *given; /* HALO planes of p, then of q */
    cl_event ends, rest, arrived;
} flight;
static flight flights[2];
static int turn;
static double device_clock; /* what makes its seconds the host's */

static cl_mem buffer(size_t floats)
{
    cl_int err;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, floats * sizeof(cl_float),
                                 NULL, &err);
    OCL_CHECK(err);
    return made;
}

/* Floats of HALO planes. */
static size_t halo_size(void)
{
    return HALO * (size_t)g.plane;
}

static cl_mem floats(size_t n)
{
    cl_mem made = buffer(n);
    const cl_float zero = 0;
    OCL_CHECK(clEnqueueFillBuffer(queue, made, &zero, sizeof zero, 0, n * sizeof zero,
                                  0, NULL, NULL));
    return made;
}

size_t device_begin(const grid *the_grid, const float *the_medium, int host_threads,
                    int *beside)
{
    cl_int err;
    g = *the_grid;

    cl_device_id device = ocl_device_beside(host_threads, share_cores(), beside);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);
    /* As many lanes as a vector of this device has: 1 on a GPU, whose lanes are its
     * work-items. */
    cl_uint width;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width,
                              &width, NULL));
    const int gpu = ocl_is_gpu(device);
    const int lanes = gpu ? 1 : width >= 16 ? 16 : width >= 8 ? 8 : width >= 4 ? 4 : 1;
    char options[64];
    snprintf(options, sizeof options, "-D LANES=%d%s", lanes,
             gpu ? "" : " -D LOCAL=__global");
    program = ocl_build(context, device, options);
    source = clCreateKernel(program, "source", &err);
    OCL_CHECK(err);
    propagate = clCreateKernel(program, "propagate", &err);
    OCL_CHECK(err);

    size_t n = field_size(&g);
    const size_t used = (FIELDS - V2PX) * n; /* floats of the medium */
    medium = buffer(used);
    OCL_CHECK(clEnqueueWriteBuffer(queue, medium, CL_TRUE, 0, used * sizeof(cl_float),
                                   the_medium + V2PX * n, 0, NULL, NULL));
    pp = floats(n);
    pc = floats(n);
    qp = floats(n);
    qc = floats(n);

    /* On a GPU a tile's planes lie in local memory: it is small, and there are many. On
     * a CPU a work-item has a tile of whole rows, and its planes are in a cache. */
    const int inner[3] = {g.sx - 2 * HALO, g.sy - 2 * HALO, g.sz - 2 * HALO};
    if (gpu) {
        t = (tiling){.width = 32, .rows = 8, .deep = 32, .side = HALO, .lead = HALO};
        t.pitch = t.width + 2 * HALO;
    } else {
        cl_uint units; /* none of which is to go without a tile */
        OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units,
                                  &units, NULL));
        int share = (inner[1] + (int)units - 1) / (int)units;
        t = (tiling){.width = inner[0], .rows = share < 16 ? share : 16};
        t.deep = inner[2];
        t.pitch = g.pitch;
        t.lead = g.lead + HALO;
    }
    t.plane = (t.rows + 2 * HALO) * t.pitch;
    const int points[3] = {t.width, t.rows, t.deep};
    const size_t usual[3] = {gpu ? 32 : 1, gpu ? 8 : 1, 1};
    size_t groups = 1;
    for (int i = 0; i < 3; i++) {
        size_t tiles = (inner[i] + points[i] - 1) / points[i];
        local[i] = i < 2 && g.group[i] ? (size_t)g.group[i] : usual[i];
        global[i] = tiles * local[i];
        groups *= tiles;
    }
    size_t all = 0;
    if (!gpu) {
        t.own = DERIVED * t.plane;
        all = groups * t.own;
        derived = floats(all);
    }
    for (int i = 0; i < 2; i++) {
        flights[i].sent = allocate(4 * halo_size(), sizeof(float), "halos");
        flights[i].given = flights[i].sent + 2 * halo_size();
    }
    OCL_CHECK(clFinish(queue));
    device_clock = ocl_clock(queue);
    return (used + 4 * n + all) * sizeof(cl_float);
}

void device_source(float f)
{
    cl_ulong i = (size_t)g.source_z * g.plane + g.source;
    size_t one = 1;
    OCL_CHECK(clSetKernelArg(source, 0, sizeof pc, &pc));
    OCL_CHECK(clSetKernelArg(source, 1, sizeof qc, &qc));
    OCL_CHECK(clSetKernelArg(source, 2, sizeof i, &i));
    OCL_CHECK(clSetKernelArg(source, 3, sizeof f, &f));
    OCL_CHECK(
        clEnqueueNDRangeKernel(queue, source, 1, NULL, &one, &one, 0, NULL, NULL));
}

/* One step of planes first .. end - 1. */
static cl_event launch(int first, int end)
{
    if (first >= end) return NULL;
    t.first = first;
    t.end = end;
    global[2] = (size_t)((end - first + t.deep - 1) / t.deep) * local[2];
    OCL_CHECK(clSetKernelArg(propagate, 0, sizeof g, &g));
    OCL_CHECK(clSetKernelArg(propagate, 1, sizeof t, &t));
    OCL_CHECK(clSetKernelArg(propagate, 2, sizeof medium, &medium));
    OCL_CHECK(clSetKernelArg(propagate, 3, sizeof pc, &pc));
    OCL_CHECK(clSetKernelArg(propagate, 4, sizeof qc, &qc));
    OCL_CHECK(clSetKernelArg(propagate, 5, sizeof pp, &pp));
    OCL_CHECK(clSetKernelArg(propagate, 6, sizeof qp, &qp));
    if (derived)
        OCL_CHECK(clSetKernelArg(propagate, 7, sizeof derived, &derived));
    else
        OCL_CHECK(
            clSetKernelArg(propagate, 7, DERIVED * t.plane * sizeof(cl_float), NULL));

    cl_event done;
    OCL_CHECK(clEnqueueNDRangeKernel(queue, propagate, 3, NULL, global, local, 0, NULL,
                                     &done));
    return done;
}

void device_step(int cut)
{
    flight *f = &flights[turn];
    const int end = g.sz - HALO, ends = cut + HALO < end ? cut + HALO : end;
    const int first = cut > HALO ? ends : cut; /* of the rest */
    const size_t n = halo_size(), bytes = n * sizeof(cl_float);
    const size_t at = (size_t)cut * g.plane * sizeof(cl_float);

    f->ends = launch(cut, first);
    if (cut > HALO) {
        OCL_CHECK(clEnqueueReadBuffer(queue, pp, CL_FALSE, at, bytes, f->sent, 0, NULL,
                                      NULL));
        OCL_CHECK(clEnqueueReadBuffer(queue, qp, CL_FALSE, at, bytes, f->sent + n, 0,
                                      NULL, &f->arrived));
    }
    f->rest = launch(first, end);
    OCL_CHECK(clFlush(queue));
}

void device_send(int cut, const float *p, const float *q)
{
    float *given = flights[turn].given;
    const size_t n = halo_size(), bytes = n * sizeof(cl_float);
    const size_t from = (size_t)(cut - HALO) * g.plane, at = from * sizeof(cl_float);
    memcpy(given, p + from, bytes);
    memcpy(given + n, q + from, bytes);
    OCL_CHECK(
        clEnqueueWriteBuffer(queue, pp, CL_FALSE, at, bytes, given, 0, NULL, NULL));
    OCL_CHECK(
        clEnqueueWriteBuffer(queue, qp, CL_FALSE, at, bytes, given + n, 0, NULL, NULL));
    OCL_CHECK(clFlush(queue));
}

/* What a kernel took; its event is given back. */
static double took(cl_event *event, const char *what)
{
    if (!*event) return 0;
    double begin, end;
    OCL_CHECK(clWaitForEvents(1, event));
    ocl_span(*event, device_clock, &begin, &end);
    share_note("device", -1, what, begin, end);
    clReleaseEvent(*event);
    *event = NULL;
    return end - begin;
}

static double took_step(flight *f)
{
    return took(&f->ends, "ends") + took(&f->rest, "inside");
}

double device_receive(int cut, float *p, float *q)
{
    flight *f = &flights[turn];
    const size_t n = halo_size(), bytes = n * sizeof(float);
    const size_t at = (size_t)cut * g.plane;
    if (!f->arrived) return took_step(f);

    OCL_CHECK(clWaitForEvents(1, &f->arrived));
    clReleaseEvent(f->arrived);
    f->arrived = NULL;
    memcpy(p + at, f->sent, bytes);
    memcpy(q + at, f->sent + n, bytes);
    return took_step(&flights[!turn]);
}

void device_turn(void)
{
    cl_mem swap = pp;
    pp = pc;
    pc = swap;
    swap = qp;
    qp = qc;
    qc = swap;
    turn = !turn;
}

void device_fetch(int first, int end, float *const field[4])
{
    const cl_mem from[] = {pp, pc, qp, qc};
    const size_t at = (size_t)first * g.plane, n = (size_t)(end - first) * g.plane;
    for (int i = 0; i < 4; i++)
        if (field[i])
            OCL_CHECK(clEnqueueReadBuffer(queue, from[i], CL_TRUE, at * sizeof(float),
                                          n * sizeof(float), field[i] + at, 0, NULL,
                                          NULL));
}

void device_store(int first, int end, float *const field[4])
{
    const cl_mem to[] = {pp, pc, qp, qc};
    const size_t at = (size_t)first * g.plane, n = (size_t)(end - first) * g.plane;
    for (int i = 0; i < 4; i++)
        if (field[i])
            OCL_CHECK(clEnqueueWriteBuffer(queue, to[i], CL_TRUE, at * sizeof(float),
                                           n * sizeof(float), field[i] + at, 0, NULL,
                                           NULL));
}

void device_end(void)
{
    for (int i = 0; i < 2; i++) {
        took_step(&flights[i]);
        if (flights[i].arrived) clReleaseEvent(flights[i].arrived);
        free(flights[i].sent);
    }
    if (derived) clReleaseMemObject(derived);
    clReleaseMemObject(qc);
    clReleaseMemObject(qp);
    clReleaseMemObject(pc);
    clReleaseMemObject(pp);
    clReleaseMemObject(medium);
    clReleaseKernel(propagate);
    clReleaseKernel(source);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}
