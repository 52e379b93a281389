/* cuda.cu - the CUDA back-end, host and device side: one thread per point of the grid.
 * The update of a point is update_point() in body.h.
 *
 * The fields stay in device memory from the first step to the last. Per time step the
 * host sends one number only, the value of the source. The fields of the previous and
 * of the current step are exchanged by swapping pointers.
 */
#include "cuda_device.h"
#include "fletcher.h"
#include "body.h"

/* Default shape of a block; the option local= overrides it. The threads of a warp take
 * neighbouring points of a row, so that their loads are coalesced. */
enum { LOCAL_X = 32, LOCAL_Y = 4 };

static grid g;
static float *medium, *pp, *pc, *qp, *qc; /* p and q: previous and current step */
static float *px, *pz, *qx, *qz;          /* dp/dx, dp/dz, dq/dx, dq/dz, current step */
static cudaEvent_t start_event, end_event;

/* Adds f to p and q at point i. Launched with one thread. */
__global__ void source_kernel(float *pc, float *qc, size_t i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

/* The grid of threads is rounded up to whole blocks. Threads outside the grid of points
 * return without doing anything. */
__global__ void derive_kernel(grid g, const float *__restrict__ pc,
                              const float *__restrict__ qc, float *px, float *pz,
                              float *qx, float *qz)
{
    int x = HALO + blockIdx.x * blockDim.x + threadIdx.x;
    int y = HALO + blockIdx.y * blockDim.y + threadIdx.y;
    int z = HALO + blockIdx.z * blockDim.z + threadIdx.z;
    size_t i = row_start(&g, y, z) + x;

    if (x < g.sx - HALO && y < g.sy - HALO && z < g.sz - HALO) {
        derive_x(&g, pc, qc, px, qx, i);
        derive_z(&g, pc, qc, pz, qz, i);
    }
}

__global__ void
propagate_kernel(grid g, const float *__restrict__ medium, const float *__restrict__ pc,
                 const float *__restrict__ qc, float *pp, float *qp,
                 const float *__restrict__ px, const float *__restrict__ pz,
                 const float *__restrict__ qx, const float *__restrict__ qz)
{
    int x = HALO + blockIdx.x * blockDim.x + threadIdx.x;
    int y = HALO + blockIdx.y * blockDim.y + threadIdx.y;
    int z = HALO + blockIdx.z * blockDim.z + threadIdx.z;

    if (x < g.sx - HALO && y < g.sy - HALO && z < g.sz - HALO)
        update_point(&g, medium, pc, qc, pp, qp, px, pz, qx, qz,
                     row_start(&g, y, z) + x);
}

static float *zero_field(size_t n)
{
    float *field;
    CUDA_CHECK(cudaMalloc((void **)&field, n * sizeof(float)));
    CUDA_CHECK(cudaMemset(field, 0, n * sizeof(float)));
    return field;
}

size_t Initialize(const grid *input_grid, const float *input_medium)
{
    g = *input_grid;
    cuda_device();

    size_t n = field_size(&g);
    size_t used = (STORED_FIELDS - V2PX) * n; /* floats of the medium that are used */
    CUDA_CHECK(cudaMalloc((void **)&medium, used * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(medium, input_medium + V2PX * n, used * sizeof(float),
                          cudaMemcpyHostToDevice));
    pp = zero_field(n);
    pc = zero_field(n);
    qp = zero_field(n);
    qc = zero_field(n);
    px = zero_field(n);
    pz = zero_field(n);
    qx = zero_field(n);
    qz = zero_field(n);
    CUDA_CHECK(cudaEventCreate(&start_event));
    CUDA_CHECK(cudaEventCreate(&end_event));
    CUDA_CHECK(cudaDeviceSynchronize());
    return (used + 8 * n) * sizeof(float);
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
    unsigned local[3] = {LOCAL_X, LOCAL_Y, 1};
    const int points[3] = {g.sx - 2 * HALO, g.sy - 2 * HALO, g.sz - 2 * HALO};
    unsigned groups[3];
    for (int i = 0; i < 3; i++) {
        if (g.group[i]) local[i] = g.group[i];
        groups[i] = (points[i] + local[i] - 1) / local[i];
    }
    dim3 block = {local[0], local[1], local[2]};
    dim3 blocks = {groups[0], groups[1], groups[2]};
    cuda_check_grid(blocks);

    CUDA_CHECK(cudaEventRecord(start_event, 0));
    CUDA_LAUNCH(derive_kernel, blocks, block, 0, g, pc, qc, px, pz, qx, qz);
    CUDA_CHECK(cudaGetLastError());
    CUDA_LAUNCH(propagate_kernel, blocks, block, 0, g, medium, pc, qc, pp, qp, px, pz,
                qx, qz);
    CUDA_CHECK(cudaGetLastError());
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
    cudaFree(qz);
    cudaFree(qx);
    cudaFree(pz);
    cudaFree(px);
    cudaFree(qc);
    cudaFree(qp);
    cudaFree(pc);
    cudaFree(pp);
    cudaFree(medium);
}
