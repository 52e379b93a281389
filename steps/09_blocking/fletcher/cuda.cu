/* cuda.cu - the CUDA back-end, host and device side: a block takes a tile through some
 * planes (2.5-D blocking). The computation is in point.h and body.h.
 *
 * The fields stay in device memory from the first step to the last. Per time step the
 * host sends one number only, the value of the source. The fields of the previous and
 * of the current step are exchanged by swapping pointers.
 */
#include "cuda_device.h"
#include "fletcher.h"
#define LANES 1 /* the threads of a GPU are its lanes */
#include "point.h"

static grid g;
static int units;                         /* multiprocessors */
static float *medium, *pp, *pc, *qp, *qc; /* p and q: previous and current step */
static cudaEvent_t start_event, end_event;

/* Adds f to p and q at point i. Launched with one thread. */
__global__ void source_kernel(float *pc, float *qc, size_t i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

void InsertSource(float f)
{
    dim3 one = {1, 1, 1};
    size_t i = (size_t)g.source_z * g.plane + g.source_offset;
    CUDA_LAUNCH(source_kernel, one, one, 0, pc, qc, i, f);
    CUDA_CHECK(cudaGetLastError());
}

/* A block updates the tile whose first point is (x0, y0, z0); the last tile of a row,
 * plane or field may be smaller. The derivatives of one plane of the tile are in shared
 * memory. */
__global__ void propagate_kernel(grid g, tile_shape t, const float *__restrict__ medium,
                                 const float *__restrict__ pc,
                                 const float *__restrict__ qc, float *pp, float *qp)
{
    CUDA_SHARED(float, p);
    float *q = p + QY * TILE_PLANE;
    const fields f = {medium, pc, qc, pp, qp};
    const int x0 = HALO + blockIdx.x * TILE_X, lane = threadIdx.x;
    const int y0 = HALO + blockIdx.y * TILE_Y, row = threadIdx.y;
    const int z0 = HALO + blockIdx.z * t.depth;
    const int width = x0 + TILE_X < g.sx - HALO ? TILE_X : g.sx - HALO - x0;
    const int rows = y0 + TILE_Y < g.sy - HALO ? TILE_Y : g.sy - HALO - y0;
    const int end = z0 + t.depth < g.sz - HALO ? z0 + t.depth : g.sz - HALO;

    for (int z = z0; z < end; z++) {
        /* The derivatives of this plane of the tile: row r of `p` is HALO rows above.
         */
        for (int r = row; r < rows + 2 * HALO; r += blockDim.y) {
            const size_t i = row_start(&g, y0 - HALO + r, z) + x0;
            const int k = r * TILE_PITCH + HALO;
            for (int x = lane - HALO; x < width + HALO; x += blockDim.x) {
                derive_z(&g, pc, p, i + x, k + x);
                derive_z(&g, qc, q, i + x, k + x);
                if (r < HALO || r >= rows + HALO) continue;
                derive_y(&g, pc, p, i + x, k + x);
                derive_y(&g, qc, q, i + x, k + x);
            }
        }
        __syncthreads();

        /* The update of its points, which read derivatives of other threads. */
        for (int r = row; r < rows; r += blockDim.y) {
            const size_t i = row_start(&g, y0 + r, z) + x0;
            const int k = (r + HALO) * TILE_PITCH + HALO;
            for (int x = lane; x < width; x += blockDim.x)
                update_point(&g, &f, p, i + x, k + x);
        }
        __syncthreads();
    }
}

double Propagate(void)
{
    const int planes = g.sz - 2 * HALO;
    dim3 block = {TILE_X, TILE_Y, 1};
    if (g.group[0]) block.x = g.group[0];
    if (g.group[1]) block.y = g.group[1];
    dim3 blocks = {(unsigned)((g.sx - 2 * HALO + TILE_X - 1) / TILE_X),
                   (unsigned)((g.sy - 2 * HALO + TILE_Y - 1) / TILE_Y), 1};
    tile_shape t = {0, tile_depth(planes, (long)blocks.x * blocks.y, units)};
    blocks.z = (unsigned)((planes + t.depth - 1) / t.depth);

    CUDA_CHECK(cudaEventRecord(start_event, 0));
    CUDA_LAUNCH(propagate_kernel, blocks, block,
                DERIVATIVES * TILE_PLANE * sizeof(float), g, t, medium, pc, qc, pp, qp);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(end_event, 0));
    CUDA_CHECK(cudaDeviceSynchronize());
    return cuda_seconds(start_event, end_event);
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
    int device;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device));

    size_t n = field_size(&g);
    size_t used = (STORED_FIELDS - V2PX) * n; /* floats of the medium that are used */
    CUDA_CHECK(cudaMalloc((void **)&medium, used * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(medium, input_medium + V2PX * n, used * sizeof(float),
                          cudaMemcpyHostToDevice));
    pp = zero_field(n);
    pc = zero_field(n);
    qp = zero_field(n);
    qc = zero_field(n);
    CUDA_CHECK(cudaEventCreate(&start_event));
    CUDA_CHECK(cudaEventCreate(&end_event));
    CUDA_CHECK(cudaDeviceSynchronize());
    return (used + 4 * n) * sizeof(float);
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
    cudaFree(qc);
    cudaFree(qp);
    cudaFree(pc);
    cudaFree(pp);
    cudaFree(medium);
}
