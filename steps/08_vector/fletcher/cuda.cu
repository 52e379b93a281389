/* cuda.cu - the CUDA back-end, host and device side: one thread per point of a slab,
 * which is some neighbouring xy planes, and two launches per slab. The computation is
 * in body.h.
 *
 * The fields stay in device memory from the first step to the last. Per time step the
 * host sends one number only, the value of the source. The fields of the previous and
 * of the current step are exchanged by swapping pointers.
 */
#include "cuda_device.h"
#include "fletcher.h"
#define LANES 1 /* the threads of a GPU are its lanes */
#include "body.h"

/* Default shape of a block; the option local= overrides it. The threads of a warp take
 * neighbouring points of a row, so that their loads are coalesced. */
enum { LOCAL_X = 32, LOCAL_Y = 4 };

static grid g;
static float *medium, *pp, *pc, *qp, *qc; /* p and q: previous and current step */
static int slab;           /* planes of a slab; the last may be smaller */
static float *derivatives; /* of the planes of a slab, one after another */
static cudaEvent_t start_event, end_event;

/* Adds f to p and q at point i. Launched with one thread. */
__global__ void source_kernel(float *pc, float *qc, size_t i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

/* first_z is the first plane of the slab. The grid of threads is rounded up to whole
 * blocks along x and y. Threads outside the grid of points return without doing
 * anything. */
__global__ void derive_kernel(grid g, int first_z, const float *__restrict__ pc,
                              const float *__restrict__ qc, float *derivatives)
{
    int x = HALO + blockIdx.x * blockDim.x + threadIdx.x;
    int y = HALO + blockIdx.y * blockDim.y + threadIdx.y;
    int z = first_z + blockIdx.z;
    size_t k = row_start(&g, y, 0) + x, i = (size_t)z * g.plane + k;
    derivatives += blockIdx.z * (size_t)DERIVATIVES * g.plane;

    if (x < g.sx - HALO && y < g.sy - HALO) {
        derive_point(&g, pc, derivatives, g.plane, i, k);
        derive_point(&g, qc, derivatives + QX * (size_t)g.plane, g.plane, i, k);
    }
}

__global__ void propagate_kernel(grid g, int first_z, const float *__restrict__ medium,
                                 const float *__restrict__ pc,
                                 const float *__restrict__ qc, float *pp, float *qp,
                                 const float *__restrict__ derivatives)
{
    int x = HALO + blockIdx.x * blockDim.x + threadIdx.x;
    int y = HALO + blockIdx.y * blockDim.y + threadIdx.y;
    int z = first_z + blockIdx.z;
    size_t k = row_start(&g, y, 0) + x, i = (size_t)z * g.plane + k;
    derivatives += blockIdx.z * (size_t)DERIVATIVES * g.plane;

    if (x < g.sx - HALO && y < g.sy - HALO)
        update_point(&g, medium, pc, qc, pp, qp, derivatives, g.plane, i, k);
}

static float *zero_field(size_t n)
{
    float *field;
    CUDA_CHECK(cudaMalloc((void **)&field, n * sizeof(float)));
    CUDA_CHECK(cudaMemset(field, 0, n * sizeof(float)));
    return field;
}

/* Returns the number of planes of a slab. Their derivatives take at most half of the L2
 * cache, so that they are still there when they are read. But a slab has at least as
 * many planes as keep the whole device busy in a launch. */
static int choose_slab(void)
{
    const long at_once = cuda_threads_at_once();
    const long points = (long)(g.sx - 2 * HALO) * (g.sy - 2 * HALO); /* of a plane */
    const long bytes = DERIVATIVES * (long)sizeof(float) * g.plane;
    long planes = (at_once + points - 1) / points;
    if (planes < cuda_l2_cache() / 2 / bytes) planes = cuda_l2_cache() / 2 / bytes;
    if (planes > g.sz - 2 * HALO) planes = g.sz - 2 * HALO;
    if (planes > CUDA_GRID_YZ_MAX) planes = CUDA_GRID_YZ_MAX;
    return (int)planes;
}

size_t Initialize(const grid *input_grid, const float *input_medium)
{
    g = *input_grid;
    cuda_device();
    slab = choose_slab();

    size_t n = field_size(&g), derivatives_size = (size_t)slab * DERIVATIVES * g.plane;
    size_t used = (STORED_FIELDS - V2PX) * n; /* floats of the medium that are used */
    CUDA_CHECK(cudaMalloc((void **)&medium, used * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(medium, input_medium + V2PX * n, used * sizeof(float),
                          cudaMemcpyHostToDevice));
    pp = zero_field(n);
    pc = zero_field(n);
    qp = zero_field(n);
    qc = zero_field(n);
    derivatives = zero_field(derivatives_size);
    CUDA_CHECK(cudaEventCreate(&start_event));
    CUDA_CHECK(cudaEventCreate(&end_event));
    CUDA_CHECK(cudaDeviceSynchronize());
    return (used + 4 * n + derivatives_size) * sizeof(float);
}

void InsertSource(float f)
{
    dim3 one = {1, 1, 1};
    size_t i = (size_t)g.source_z * g.plane + g.source_offset;
    CUDA_LAUNCH(source_kernel, one, one, 0, pc, qc, i, f);
    CUDA_CHECK(cudaGetLastError());
}

double Propagate(void)
{
    unsigned local[2] = {LOCAL_X, LOCAL_Y};
    const int points[2] = {g.sx - 2 * HALO, g.sy - 2 * HALO};
    unsigned groups[2];
    for (int i = 0; i < 2; i++) {
        if (g.group[i]) local[i] = g.group[i];
        groups[i] = (points[i] + local[i] - 1) / local[i];
    }
    dim3 block = {local[0], local[1], 1};
    dim3 blocks = {groups[0], groups[1], (unsigned)slab};
    cuda_check_grid(blocks);

    /* Kernels of one stream run in order. */
    const int end = g.sz - HALO;
    CUDA_CHECK(cudaEventRecord(start_event, 0));
    for (int z = HALO; z < end; z += slab) {
        blocks.z = (unsigned)(slab < end - z ? slab : end - z);
        CUDA_LAUNCH(derive_kernel, blocks, block, 0, g, z, pc, qc, derivatives);
        CUDA_CHECK(cudaGetLastError());
        CUDA_LAUNCH(propagate_kernel, blocks, block, 0, g, z, medium, pc, qc, pp, qp,
                    derivatives);
        CUDA_CHECK(cudaGetLastError());
    }
    CUDA_CHECK(cudaEventRecord(end_event, 0));
    CUDA_CHECK(cudaDeviceSynchronize());
    return cuda_seconds(start_event, end_event);
}

void UpdatePointers(float *p, float *q)
{
    size_t size = field_size(&g) * sizeof(float);
    float *swap = pp;
    pp = pc;
    pc = swap;
    swap = qp;
    qp = qc;
    qc = swap;
    if (p) CUDA_CHECK(cudaMemcpy(p, pc, size, cudaMemcpyDeviceToHost));
    if (q) CUDA_CHECK(cudaMemcpy(q, qc, size, cudaMemcpyDeviceToHost));
}

void Finalize(void)
{
    cudaEventDestroy(end_event);
    cudaEventDestroy(start_event);
    cudaFree(derivatives);
    cudaFree(qc);
    cudaFree(qp);
    cudaFree(pc);
    cudaFree(pp);
    cudaFree(medium);
}
