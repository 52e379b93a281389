/* opencl.c - the host side of the OpenCL back-end: the five functions of fletcher.h.
 *
 * The fields stay in device memory from the first step to the last. Per time step the
 * host sends one number only, the value of the source. The buffers of the previous and
 * of the current step are exchanged by swapping their handles.
 */
#include "fletcher.h"
#include "ocl.h"
#include "body.h"

static grid g;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_kernel source, derive, propagate;
static cl_mem medium, pp, pc, qp, qc; /* p and q: previous and current step */
static int slab;                      /* planes of a slab; the last may be smaller */
static cl_mem derivatives;            /* of the planes of a slab, one after another */
static size_t local[3], global[3];

static cl_mem create_buffer(size_t count)
{
    cl_int err;
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, count * sizeof(cl_float),
                                   NULL, &err);
    OCL_CHECK(err);
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

/* Returns the number of planes of a slab: as many as leave their derivatives in a cache
 * until they are read, but at least as many as keep the whole device busy in a launch.
 * On a GPU, the derivatives take at most half of the cache. On a CPU, each core adds
 * its L2 cache and a part of the next one, which is assumed to be one and a half times
 * as large. */
static int choose_slab(cl_device_id device)
{
    const long at_once = (long)ocl_items_at_once(device);
    const long points = (long)(g.sx - 2 * HALO) * (g.sy - 2 * HALO); /* of a plane */
    const long bytes = DERIVATIVES * (long)sizeof(cl_float) * g.plane;
    const long cache = (long)ocl_shared_cache(device);
    const long cached =
        (ocl_is_gpu(device) ? cache / 2 : at_once * cache * 5 / 2) / bytes;
    long planes = (at_once + points - 1) / points;
    if (planes < cached) planes = cached;
    return planes < g.sz - 2 * HALO ? (int)planes : g.sz - 2 * HALO;
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
    program = ocl_build(context, device, "");
    source = clCreateKernel(program, "source", &err);
    OCL_CHECK(err);
    derive = clCreateKernel(program, "derive", &err);
    OCL_CHECK(err);
    propagate = clCreateKernel(program, "propagate", &err);
    OCL_CHECK(err);

    slab = choose_slab(device);
    size_t n = field_size(&g);
    size_t derivatives_size = (size_t)slab * DERIVATIVES * (size_t)g.plane;
    size_t used = (STORED_FIELDS - V2PX) * n; /* floats of the medium that are used */
    medium = create_buffer(used);
    OCL_CHECK(clEnqueueWriteBuffer(queue, medium, CL_TRUE, 0, used * sizeof(cl_float),
                                   input_medium + V2PX * n, 0, NULL, NULL));
    pp = zero_buffer(n);
    pc = zero_buffer(n);
    qp = zero_buffer(n);
    qc = zero_buffer(n);
    derivatives = zero_buffer(derivatives_size);
    OCL_CHECK(clFinish(queue));

    /* Dimension 0 is x, so that neighbouring work-items update neighbouring points of a
     * row. The global size must be a multiple of the local size: round up. */
    const size_t points[2] = {g.sx - 2 * HALO, g.sy - 2 * HALO};
    const size_t default_local[2] = {32, ocl_is_gpu(device) ? 4 : 1};
    for (int i = 0; i < 2; i++) {
        local[i] = g.group[i] ? (size_t)g.group[i] : default_local[i];
        global[i] = (points[i] + local[i] - 1) / local[i] * local[i];
    }
    local[2] = 1; /* global[2] is the number of planes of a slab */
    return (used + 4 * n + derivatives_size) * sizeof(cl_float);
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

/* Enqueues a kernel for the slab that begins with plane z. Stores its event in *event,
 * unless event is NULL. */
static void launch(cl_kernel kernel, int z, cl_event *event)
{
    const int rest = g.sz - HALO - z; /* planes up to the last one */
    global[2] = (size_t)(slab < rest ? slab : rest);
    OCL_CHECK(clSetKernelArg(kernel, 1, sizeof z, &z));
    OCL_CHECK(
        clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0, NULL, event));
}

double Propagate(void)
{
    OCL_CHECK(clSetKernelArg(derive, 0, sizeof g, &g));
    OCL_CHECK(clSetKernelArg(derive, 2, sizeof pc, &pc));
    OCL_CHECK(clSetKernelArg(derive, 3, sizeof qc, &qc));
    OCL_CHECK(clSetKernelArg(derive, 4, sizeof derivatives, &derivatives));
    OCL_CHECK(clSetKernelArg(propagate, 0, sizeof g, &g));
    OCL_CHECK(clSetKernelArg(propagate, 2, sizeof medium, &medium));
    OCL_CHECK(clSetKernelArg(propagate, 3, sizeof pc, &pc));
    OCL_CHECK(clSetKernelArg(propagate, 4, sizeof qc, &qc));
    OCL_CHECK(clSetKernelArg(propagate, 5, sizeof pp, &pp));
    OCL_CHECK(clSetKernelArg(propagate, 6, sizeof qp, &qp));
    OCL_CHECK(clSetKernelArg(propagate, 7, sizeof derivatives, &derivatives));

    /* The queue is in order, so each kernel starts after the previous one has ended. */
    cl_event first, last;
    for (int z = HALO; z < g.sz - HALO; z += slab) {
        launch(derive, z, z == HALO ? &first : NULL);
        launch(propagate, z, z + slab >= g.sz - HALO ? &last : NULL);
    }
    OCL_CHECK(clFinish(queue));

    cl_ulong start, end;
    OCL_CHECK(clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_START, sizeof start,
                                      &start, NULL));
    OCL_CHECK(clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end,
                                      NULL));
    clReleaseEvent(first);
    clReleaseEvent(last);
    return (double)(end - start) * 1e-9;
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
    clReleaseMemObject(derivatives);
    clReleaseMemObject(qc);
    clReleaseMemObject(qp);
    clReleaseMemObject(pc);
    clReleaseMemObject(pp);
    clReleaseMemObject(medium);
    clReleaseKernel(propagate);
    clReleaseKernel(derive);
    clReleaseKernel(source);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}
