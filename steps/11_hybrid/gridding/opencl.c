/* opencl.c - the device's side: the host side of kernel.cl.
 *
 * Every OpenCL host program creates the same objects, in this order:
 *
 *   device    the processor that computes
 *   context   owns the memory objects and programs of the device
 *   queue     the commands for the device, executed in order
 *   program   source code, compiled for the device
 *   kernel    one entry point of a program
 *   buffer    device memory
 *
 * Then it enqueues commands: write buffers, run a kernel over an index range, read
 * buffers. Only device_poll() waits for a command.
 */
#include <stdlib.h>

#include "ocl.h"
#include "hybrid.h"
#include "sides.h"

/* The events of the kernel of a chunk and of the transfer of its result. */
typedef struct {
    cl_event kernel, result;
} chunk_events;

struct device {
    const problem *p;
    cplx *result; /* host memory that receives the results */

    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem taps, first, visibilities, grid;
    int host_memory; /* 1 if the device uses the host's memory: no copies */
    block_shape block;
    int lanes; /* columns of a work-item */

    chunk_events ring[MAX_IN_FLIGHT]; /* a ring buffer, from `oldest` on */
    int oldest, in_flight;
    double clock; /* offset of the device's clock, see ocl_clock_offset */
};

/* Creates a buffer with the contents of host_data: the same memory if the device uses
 * the host's memory, otherwise a copy. The copy completes before any command that is
 * enqueued later. */
static cl_mem create_buffer(const device *d, size_t bytes, const void *host_data)
{
    cl_int err;
    cl_mem_flags same = d->host_memory ? CL_MEM_USE_HOST_PTR : 0;
    cl_mem buffer = clCreateBuffer(d->context, CL_MEM_READ_WRITE | same, bytes,
                                   d->host_memory ? (void *)host_data : NULL, &err);
    OCL_CHECK(err);
    if (!d->host_memory)
        OCL_CHECK(clEnqueueWriteBuffer(d->queue, buffer, CL_FALSE, 0, bytes, host_data,
                                       0, NULL, NULL));
    return buffer;
}

static size_t grid_bytes(const device *d)
{
    return (size_t)d->p->dims.size * d->p->dims.pitch * sizeof(cplx);
}

static void opencl_start(device *d)
{
    cl_int err;
    d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &err);
    OCL_CHECK(err);
    d->queue = clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);

    /* A CPU's work-item computes one vector register of columns; a GPU's computes one
     * column of 32, the number of work-items that execute together (a warp). */
    cl_uint native;
    OCL_CHECK(clGetDeviceInfo(d->id,
                              sizeof(real) == sizeof(double)
                                  ? CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE
                                  : CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                              sizeof native, &native, NULL));
    bool gpu = ocl_is_gpu(d->id);
    d->lanes = gpu ? 1 : (int)native;
    int columns = gpu ? 32 : d->lanes;
    int rows = gpu ? 8 : ROWS;
    d->block.sizes =
        (block_sizes){rows, columns, gpu ? rows : PAD_OF(rows, columns) / 2};
    /* A GPU's work-item has registers for the sums of one block, and no cache of its
     * own. */
    int blocks = gpu ? 1 : BLOCKS;
    d->block.segment = blocks * rows;
    char options[128];
    snprintf(options, sizeof options,
             REAL_OPTION
             "-D ROWS=%d -D COLUMNS=%d -D LANES=%d -D BLOCKS=%d -D CHUNK=%d",
             rows, columns, d->lanes, blocks, gpu ? 1 : CHUNK);
    d->program = ocl_build(d->context, d->id, options);
    d->kernel = clCreateKernel(d->program, "grid_segments", &err);
    OCL_CHECK(err);
}

device *device_begin(const problem *p, cplx *result, int host_threads,
                     int *shares_cores)
{
    device *d = allocate(1, sizeof *d, "the device");
    *d = (device){.p = p, .result = result};
    d->id = ocl_device_with_host(host_threads, machine_processors(), shares_cores);
    d->host_memory =
        *shares_cores && !ocl_is_gpu(d->id); /* DEVICE_AS=gpu forces copies */
    opencl_start(d);

    d->grid = create_buffer(d, grid_bytes(d), result);
    d->clock = ocl_clock_offset(d->queue);
    return d;
}

block_shape device_blocks(const device *d)
{
    return d->block;
}

void device_load(device *d, const real *taps, const binning *bins)
{
    const shape s = d->p->dims;
    const block_sizes block = d->block.sizes;
    d->taps = create_buffer(
        d, table_length(d->p, block.rows, block.columns) * sizeof *taps, taps);
    d->first = create_buffer(d, (bins->count + 1) * sizeof *bins->first, bins->first);
    d->visibilities = create_buffer(d, s.visibilities * sizeof *bins->visibilities,
                                    bins->visibilities);
    OCL_ARGS(d->kernel, s, bins->classes, d->taps, d->first, d->visibilities, d->grid);
}

/* Transfers a rectangle of a result to the host: part[1] rows of part[0] bytes, `pitch`
 * bytes apart. If the device uses the host's memory, mapping the buffer suffices. */
static void read_result(device *d, cl_mem from, const size_t corner[3],
                        const size_t part[3], size_t pitch, chunk_events *f)
{
    if (!d->host_memory) {
        OCL_CHECK(clEnqueueReadBufferRect(d->queue, from, CL_FALSE, corner, corner,
                                          part, pitch, 0, pitch, 0, d->result, 0, NULL,
                                          &f->result));
        return;
    }
    cl_int err;
    void *mapped = clEnqueueMapBuffer(
        d->queue, from, CL_FALSE, CL_MAP_READ, corner[1] * pitch + corner[0],
        (part[1] - 1) * pitch + part[0], 0, NULL, &f->result, &err);
    OCL_CHECK(err);
    OCL_CHECK(clEnqueueUnmapMemObject(d->queue, from, mapped, 0, NULL, NULL));
}

/* The offset of the index range is the first segment of the region. */
static void start_grid(device *d, work_region region, chunk_events *f)
{
    const shape s = d->p->dims;
    size_t rows = region.row + region.rows < s.size ? region.rows : s.size - region.row;
    size_t columns = region.column + region.columns < s.size ? region.columns
                                                             : s.size - region.column;
    size_t local[2] = {d->block.sizes.columns / d->lanes, 1};
    size_t first[2] = {region.column / d->lanes, region.row / d->block.segment};
    size_t items[2] = {CEIL_DIV(columns, d->block.sizes.columns) * local[0],
                       CEIL_DIV(rows, d->block.segment)};
    OCL_CHECK(clEnqueueNDRangeKernel(d->queue, d->kernel, 2, first, items, local, 0,
                                     NULL, &f->kernel));

    size_t corner[3] = {region.column * sizeof(cplx), region.row, 0};
    size_t part[3] = {columns * sizeof(cplx), rows, 1};
    read_result(d, d->grid, corner, part, s.pitch * sizeof(cplx), f);
}

void device_start(device *d, work_region region)
{
    chunk_events *f = &d->ring[(d->oldest + d->in_flight++) % MAX_IN_FLIGHT];
    start_grid(d, region, f);
    OCL_CHECK(clFlush(d->queue));
}

int device_poll(device *d, int wait, double *begin_time, double *end_time)
{
    chunk_events *f = &d->ring[d->oldest];
    cl_int status;
    if (wait) OCL_CHECK(clWaitForEvents(1, &f->result));
    OCL_CHECK(clGetEventInfo(f->result, CL_EVENT_COMMAND_EXECUTION_STATUS,
                             sizeof status, &status, NULL));
    if (status < 0) OCL_CHECK(status);
    if (status != CL_COMPLETE) return 0;

    double unused;
    ocl_event_span(f->kernel, d->clock, begin_time, &unused);
    ocl_event_span(f->result, d->clock, &unused, end_time);
    clReleaseEvent(f->kernel);
    clReleaseEvent(f->result);
    d->oldest = (d->oldest + 1) % MAX_IN_FLIGHT;
    d->in_flight--;
    return 1;
}

void device_end(device *d)
{
    clReleaseMemObject(d->grid);
    clReleaseMemObject(d->visibilities);
    clReleaseMemObject(d->first);
    clReleaseMemObject(d->taps);
    clReleaseKernel(d->kernel);
    clReleaseProgram(d->program);
    clReleaseCommandQueue(d->queue);
    clReleaseContext(d->context);
    free(d);
}
