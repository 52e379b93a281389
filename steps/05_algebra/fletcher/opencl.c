/* opencl.c - the host side of the OpenCL back-end: the five functions of fletcher.h.
 *
 * The fields stay in device memory from the first step to the last. Per time step the
 * host sends one number only, the value of the source. The buffers of the previous and
 * of the current step are exchanged by swapping their handles.
 */
#include "fletcher.h"
#include "ocl.h"

static grid g;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_kernel source, derive, propagate;
static cl_mem medium, pp, pc, qp, qc; /* p and q: previous and current step */
static cl_mem px, pz, qx, qz;         /* dp/dx, dp/dz, dq/dx, dq/dz, current step */
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

    size_t n = field_size(&g);
    size_t used = (STORED_FIELDS - V2PX) * n; /* floats of the medium that are used */
    medium = create_buffer(used);
    OCL_CHECK(clEnqueueWriteBuffer(queue, medium, CL_TRUE, 0, used * sizeof(cl_float),
                                   input_medium + V2PX * n, 0, NULL, NULL));
    pp = zero_buffer(n);
    pc = zero_buffer(n);
    qp = zero_buffer(n);
    qc = zero_buffer(n);
    px = zero_buffer(n);
    pz = zero_buffer(n);
    qx = zero_buffer(n);
    qz = zero_buffer(n);
    OCL_CHECK(clFinish(queue));

    /* Dimension 0 is x, so that neighbouring work-items update neighbouring points of a
     * row. The global size must be a multiple of the local size: round up. */
    const size_t points[3] = {g.sx - 2 * HALO, g.sy - 2 * HALO, g.sz - 2 * HALO};
    const size_t default_local[3] = {32, ocl_is_gpu(device) ? 4 : 1, 1};
    for (int i = 0; i < 3; i++) {
        local[i] = g.group[i] ? (size_t)g.group[i] : default_local[i];
        global[i] = (points[i] + local[i] - 1) / local[i] * local[i];
    }
    return (used + 8 * n) * sizeof(cl_float);
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
    OCL_CHECK(clSetKernelArg(derive, 0, sizeof g, &g));
    OCL_CHECK(clSetKernelArg(derive, 1, sizeof pc, &pc));
    OCL_CHECK(clSetKernelArg(derive, 2, sizeof qc, &qc));
    OCL_CHECK(clSetKernelArg(derive, 3, sizeof px, &px));
    OCL_CHECK(clSetKernelArg(derive, 4, sizeof pz, &pz));
    OCL_CHECK(clSetKernelArg(derive, 5, sizeof qx, &qx));
    OCL_CHECK(clSetKernelArg(derive, 6, sizeof qz, &qz));
    OCL_CHECK(clSetKernelArg(propagate, 0, sizeof g, &g));
    OCL_CHECK(clSetKernelArg(propagate, 1, sizeof medium, &medium));
    OCL_CHECK(clSetKernelArg(propagate, 2, sizeof pc, &pc));
    OCL_CHECK(clSetKernelArg(propagate, 3, sizeof qc, &qc));
    OCL_CHECK(clSetKernelArg(propagate, 4, sizeof pp, &pp));
    OCL_CHECK(clSetKernelArg(propagate, 5, sizeof qp, &qp));
    OCL_CHECK(clSetKernelArg(propagate, 6, sizeof px, &px));
    OCL_CHECK(clSetKernelArg(propagate, 7, sizeof pz, &pz));
    OCL_CHECK(clSetKernelArg(propagate, 8, sizeof qx, &qx));
    OCL_CHECK(clSetKernelArg(propagate, 9, sizeof qz, &qz));

    cl_event derive_event, propagate_event;
    OCL_CHECK(clEnqueueNDRangeKernel(queue, derive, 3, NULL, global, local, 0, NULL,
                                     &derive_event));
    OCL_CHECK(clEnqueueNDRangeKernel(queue, propagate, 3, NULL, global, local, 0, NULL,
                                     &propagate_event));
    OCL_CHECK(clFinish(queue));
    double kernel = ocl_seconds(derive_event) + ocl_seconds(propagate_event);
    clReleaseEvent(derive_event);
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
    clReleaseMemObject(qz);
    clReleaseMemObject(qx);
    clReleaseMemObject(pz);
    clReleaseMemObject(px);
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
