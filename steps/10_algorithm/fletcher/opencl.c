/* opencl.c - the host side of the OpenCL back-end: the five functions of fletcher.h.
 *
 * The fields stay in device memory from the first step to the last. Per time step the
 * host sends one number only, the value of the source. The buffers of the previous and
 * of the current step are exchanged by swapping their handles.
 */
#include "fletcher.h"
#include "ocl.h"
#define LANES 1 /* the host side computes nothing with vectors */
#include "march.h"
#include "tile.h"

static grid g;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_kernel source, propagate;
static cl_mem medium, pp, pc, qp, qc; /* p and q: previous and current step */
static cl_mem workspaces;             /* of march.h, one per tile; NULL on a GPU */
static tile_shape t;
static int is_gpu;    /* whether the device is one */
static cl_uint units; /* compute units */
static int steps;     /* time steps computed */
static size_t local[3], global[3];

/* The buffers of a CPU are in the host's memory. Large pages are requested for them
 * before they are first written, as for the arrays of the C back-end. */
static cl_mem create_buffer(size_t count)
{
    cl_int err;
    const size_t bytes = count * sizeof(cl_float);
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &err);
    OCL_CHECK(err);
    if (!is_gpu) {
        void *host =
            clEnqueueMapBuffer(queue, memory, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION,
                               0, bytes, 0, NULL, NULL, &err);
        OCL_CHECK(err);
        memory_large_pages(host, bytes);
        OCL_CHECK(clEnqueueUnmapMemObject(queue, memory, host, 0, NULL, NULL));
    }
    return memory;
}

static cl_mem zero_buffer(size_t n)
{
    cl_mem memory = create_buffer(n);
    const cl_float zero = 0;
    OCL_CHECK(clEnqueueFillBuffer(queue, memory, &zero, sizeof zero, 0, n * sizeof zero,
                                  0, NULL, NULL));
    return memory;
}

/* Chooses the work-groups of a step: tiles of rows, or of points, that cover the box.
 */
static void choose_tiles(void)
{
    int inner[3];
    for (int i = 0; i < 3; i++) inner[i] = t.b.end[i] - t.b.first[i];
    if (workspaces) {
        t.rows = rows_per_tile(inner[1], g.pitch, (int)units);
        global[0] = (size_t)((inner[1] + t.rows - 1) / t.rows);
        global[1] = global[2] = local[0] = local[1] = local[2] = 1;
        return;
    }
    const int tiles_x = (inner[0] + TILE_X - 1) / TILE_X;
    const int tiles_y = (inner[1] + TILE_Y - 1) / TILE_Y;
    t.depth = tile_depth(inner[2], (long)tiles_x * tiles_y, (int)units);
    const int tiles[3] = {tiles_x, tiles_y, (inner[2] + t.depth - 1) / t.depth};
    const size_t default_local[3] = {TILE_X, TILE_Y, 1};
    for (int i = 0; i < 3; i++) {
        local[i] = i < 2 && g.group[i] ? (size_t)g.group[i] : default_local[i];
        global[i] = (size_t)tiles[i] * local[i];
    }
}

size_t Initialize(const grid *input_grid, const float *input_medium)
{
    cl_int err;
    g = *input_grid;

    cl_device_id device = ocl_device();
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    OCL_CHECK(err);
    queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    OCL_CHECK(err);
    /* On a CPU, a work-item takes rows, with vectors of LANES floats. On a GPU, and if
     * the user chooses the size of a group, it takes points. */
    cl_uint width;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width,
                              &width, NULL));
    is_gpu = ocl_is_gpu(device);
    const int points = is_gpu || g.group[0];
    const int lanes = points || width < 4 ? 1 : width >= 16 ? 16 : width >= 8 ? 8 : 4;
    char options[32];
    snprintf(options, sizeof options, "-D LANES=%d", lanes);
    program = ocl_build(context, device, options);
    source = clCreateKernel(program, "source", &err);
    OCL_CHECK(err);
    propagate = clCreateKernel(program, points ? "propagate" : "march_tile", &err);
    OCL_CHECK(err);

    size_t n = field_size(&g);
    const size_t used =
        (STORED_FIELDS - V2PX) * n; /* floats of the medium that are used */
    medium = create_buffer(used);
    OCL_CHECK(clEnqueueWriteBuffer(queue, medium, CL_TRUE, 0, used * sizeof(cl_float),
                                   input_medium + V2PX * n, 0, NULL, NULL));
    pp = zero_buffer(n);
    pc = zero_buffer(n);
    qp = zero_buffer(n);
    qc = zero_buffer(n);

    steps = 0;
    OCL_CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
                              NULL));
    size_t workspace_floats = 0;
    if (!points) {
        workspace_floats = (size_t)tile_count(g.sy - 2 * HALO, g.pitch, (int)units) *
                           work_size(g.sx - 2 * HALO);
        workspaces = zero_buffer(workspace_floats);
    }
    OCL_CHECK(clFinish(queue));
    return (used + 4 * n + workspace_floats) * sizeof(cl_float);
}

void InsertSource(float f)
{
    cl_ulong i = (size_t)g.source_z * g.plane + g.source_offset;
    size_t one = 1;
    OCL_CHECK(clSetKernelArg(source, 0, sizeof pc, &pc));
    OCL_CHECK(clSetKernelArg(source, 1, sizeof qc, &qc));
    OCL_CHECK(clSetKernelArg(source, 2, sizeof i, &i));
    OCL_CHECK(clSetKernelArg(source, 3, sizeof f, &f));
    OCL_CHECK(
        clEnqueueNDRangeKernel(queue, source, 1, NULL, &one, &one, 0, NULL, NULL));
}

double Propagate(void)
{
    t.b = active_box(&g, ++steps);
    choose_tiles();
    OCL_CHECK(clSetKernelArg(propagate, 0, sizeof g, &g));
    OCL_CHECK(clSetKernelArg(propagate, 1, sizeof t, &t));
    OCL_CHECK(clSetKernelArg(propagate, 2, sizeof medium, &medium));
    OCL_CHECK(clSetKernelArg(propagate, 3, sizeof pc, &pc));
    OCL_CHECK(clSetKernelArg(propagate, 4, sizeof qc, &qc));
    OCL_CHECK(clSetKernelArg(propagate, 5, sizeof pp, &pp));
    OCL_CHECK(clSetKernelArg(propagate, 6, sizeof qp, &qp));
    if (workspaces)
        OCL_CHECK(clSetKernelArg(propagate, 7, sizeof workspaces, &workspaces));

    cl_event propagate_event;
    OCL_CHECK(clEnqueueNDRangeKernel(queue, propagate, 3, NULL, global, local, 0, NULL,
                                     &propagate_event));
    OCL_CHECK(clFinish(queue));
    double kernel = ocl_seconds(propagate_event);
    clReleaseEvent(propagate_event);
    return kernel;
}

void UpdatePointers(float *p, float *q)
{
    size_t size = field_size(&g) * sizeof(cl_float);
    cl_mem swap = pp;
    pp = pc;
    pc = swap;
    swap = qp;
    qp = qc;
    qc = swap;
    if (p)
        OCL_CHECK(clEnqueueReadBuffer(queue, pc, CL_TRUE, 0, size, p, 0, NULL, NULL));
    if (q)
        OCL_CHECK(clEnqueueReadBuffer(queue, qc, CL_TRUE, 0, size, q, 0, NULL, NULL));
}

void Finalize(void)
{
    if (workspaces) clReleaseMemObject(workspaces);
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
