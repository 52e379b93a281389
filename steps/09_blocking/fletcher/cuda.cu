/* cuda.cu - the CUDA back-end, host and device side: a block takes a tile through some
 * planes (2.5-D blocking). The computation is in body.h.
 *
 * The fields stay in device memory from the first step to the last. Per time step the
 * host sends one number only, the value of the source. The fields of the previous and
 * of the current step are exchanged by swapping pointers.
 */
#include "cuda_device.h"
#include "fletcher.h"
#define LANES 1 /* the threads of a GPU are its lanes */
#include "body.h"
#include "tile.h"

/* Default shape of a block; the option local= overrides it. The threads of a warp take
 * neighbouring points of a row, so that their loads are coalesced. */
enum { LOCAL_X = 32, LOCAL_Y = 8 };

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

/* A block updates the tile whose first point is (x0, y0, z0); the last tile of a row,
 * plane or field may be smaller. The derivatives of one plane of the tile are in shared
 * memory. */
__global__ void propagate_kernel(grid g, tile_shape t, const float *__restrict__ medium,
                                 const float *__restrict__ pc,
                                 const float *__restrict__ qc, float *pp, float *qp)
{
    CUDA_SHARED(float, derivatives);
    const int x0 = HALO + blockIdx.x * t.width;
    const int y0 = HALO + blockIdx.y * t.rows;
    const int z0 = HALO + blockIdx.z * t.depth;
    const int width = x0 + t.width < g.sx - HALO ? t.width : g.sx - HALO - x0;
    const int rows = y0 + t.rows < g.sy - HALO ? t.rows : g.sy - HALO - y0;
    const int end = z0 + t.depth < g.sz - HALO ? z0 + t.depth : g.sz - HALO;
    const size_t n = t.plane;

    for (int z = z0; z < end; z++) {
        for (int r = threadIdx.y; r < rows + 2 * HALO; r += blockDim.y) {
            const size_t i = row_start(&g, y0 - HALO + r, z) + x0;
            const size_t k = r * t.pitch + HALO;
            for (int x = (int)threadIdx.x - HALO; x < width + HALO; x += blockDim.x) {
                derive_z(&g, pc, derivatives, n, i + x, k + x);
                derive_z(&g, qc, derivatives + QY * n, n, i + x, k + x);
                if (r < HALO || r >= rows + HALO) continue;
                derive_y(&g, pc, derivatives, n, i + x, k + x);
                derive_y(&g, qc, derivatives + QY * n, n, i + x, k + x);
            }
        }
        __syncthreads();

        for (int r = threadIdx.y; r < rows; r += blockDim.y) {
            const size_t i = row_start(&g, y0 + r, z) + x0;
            const size_t k = (r + HALO) * t.pitch + HALO;
            for (int x = threadIdx.x; x < width; x += blockDim.x)
                update_point(&g, medium, pc, qc, pp, qp, derivatives, n, t.pitch, i + x,
                             k + x);
        }
        __syncthreads();
    }
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

void InsertSource(float f)
{
    dim3 one = {1, 1, 1};
    size_t i = (size_t)g.source_z * g.plane + g.source_offset;
    CUDA_LAUNCH(source_kernel, one, one, 0, pc, qc, i, f);
    CUDA_CHECK(cudaGetLastError());
}

double Propagate(void)
{
    /* The derivatives of a tile take 20 KiB of shared memory. Its width and rows are
     * choices, not derived. */
    tile_shape t;
    t.width = 32;
    t.rows = 8;
    t.pitch = t.width + 2 * HALO;
    t.plane = (t.rows + 2 * HALO) * t.pitch;
    const int inner[3] = {g.sx - 2 * HALO, g.sy - 2 * HALO, g.sz - 2 * HALO};
    dim3 block = {LOCAL_X, LOCAL_Y, 1};
    if (g.group[0]) block.x = g.group[0];
    if (g.group[1]) block.y = g.group[1];
    dim3 blocks = {(unsigned)((inner[0] + t.width - 1) / t.width),
                   (unsigned)((inner[1] + t.rows - 1) / t.rows), 1};
    t.depth = tile_depth(inner[2], (long)blocks.x * blocks.y, units);
    blocks.z = (unsigned)((inner[2] + t.depth - 1) / t.depth);

    CUDA_CHECK(cudaEventRecord(start_event, 0));
    CUDA_LAUNCH(propagate_kernel, blocks, block, DERIVATIVES * t.plane * sizeof(float),
                g, t, medium, pc, qc, pp, qp);
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
    cudaFree(qc);
    cudaFree(qp);
    cudaFree(pc);
    cudaFree(pp);
    cudaFree(medium);
}
