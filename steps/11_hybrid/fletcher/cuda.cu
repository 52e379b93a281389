/* cuda.cu - the device's side of the hybrid back-end in CUDA: a block takes a tile
 * through some planes (2.5-D blocking). The computation is in body.h.
 *
 * The fields stay in device memory from the first step to the last. A step exchanges
 * HALO planes of p and q with the host in either direction. There is one stream.
 * Transfers use separate host buffers (to_host, from_host), because the host may be one
 * step ahead and changes its own planes.
 */
#include <string.h>

#include "cuda_device.h"
#include "run.h"
#include "hybrid.h"
#include "sides.h"
#define LANES 1 /* the threads of a GPU are its lanes */
#include "body.h"
#include "tile.h"

/* Default shape of a block; the option local= overrides it. The threads of a warp take
 * neighbouring points of a row, so that their loads are coalesced. */
enum { LOCAL_X = 32, LOCAL_Y = 8 };

static grid g;
static int units;                         /* multiprocessors */
static float *medium, *pp, *pc, *qp, *qc; /* p and q: previous and current step */

/* The state of one step on the device: the buffers of its transfers, and events before
 * and after its kernels and after the last transfer to the host. Two steps can be in
 * flight. */
typedef struct {
    float *to_host, *from_host; /* HALO planes of p, then of q */
    cudaEvent_t border_start, border_done, copied, inner_done;
    int active;
} pending_step;
static pending_step pending[2];
static int slot;
static cudaEvent_t reference_event; /* the same moment as reference_seconds */
static double reference_seconds;

/* Adds f to p and q at point i. Launched with one thread. */
__global__ void source_kernel(float *pc, float *qc, size_t i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

/* A block updates the tile whose first point is (x0, y0, z0); the last tile of a row,
 * plane or range of planes may be smaller. The derivatives of one plane of the tile are
 * in shared memory. */
__global__ void propagate_kernel(grid g, tile_shape t, const float *__restrict__ medium,
                                 const float *__restrict__ pc,
                                 const float *__restrict__ qc, float *pp, float *qp)
{
    CUDA_SHARED(float, derivatives);
    const int x0 = HALO + blockIdx.x * t.width;
    const int y0 = HALO + blockIdx.y * t.rows;
    const int z0 = t.first + blockIdx.z * t.depth;
    const int width = x0 + t.width < g.sx - HALO ? t.width : g.sx - HALO - x0;
    const int rows = y0 + t.rows < g.sy - HALO ? t.rows : g.sy - HALO - y0;
    const int end = z0 + t.depth < t.end ? z0 + t.depth : t.end;
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

/* Floats of HALO planes. */
static size_t halo_size(void)
{
    return HALO * (size_t)g.plane;
}

size_t device_begin(const grid *input_grid, const float *input_medium, int host_threads,
                    int *shares_cores)
{
    (void)host_threads;
    *shares_cores = 0;
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
    for (int i = 0; i < 2; i++) {
        pending_step *f = &pending[i];
        CUDA_CHECK(
            cudaMallocHost((void **)&f->to_host, 4 * halo_size() * sizeof(float)));
        f->from_host = f->to_host + 2 * halo_size();
        CUDA_CHECK(cudaEventCreate(&f->border_start));
        CUDA_CHECK(cudaEventCreate(&f->border_done));
        CUDA_CHECK(cudaEventCreate(&f->copied));
        CUDA_CHECK(cudaEventCreate(&f->inner_done));
    }
    CUDA_CHECK(cudaEventCreate(&reference_event));
    CUDA_CHECK(cudaEventRecord(reference_event, 0));
    CUDA_CHECK(cudaDeviceSynchronize());
    reference_seconds = seconds();
    return (used + 4 * n) * sizeof(float);
}

void device_source(float f)
{
    dim3 one = {1, 1, 1};
    size_t i = (size_t)g.source_z * g.plane + g.source_offset;
    CUDA_LAUNCH(source_kernel, one, one, 0, pc, qc, i, f);
    CUDA_CHECK(cudaGetLastError());
}

/* Updates planes first .. end - 1. */
static void launch(int first, int end)
{
    /* The derivatives of a tile take 20 KiB of shared memory. Its width and rows are
     * choices, not derived. */
    tile_shape t;
    t.width = 32;
    t.rows = 8;
    t.pitch = t.width + 2 * HALO;
    t.plane = (t.rows + 2 * HALO) * t.pitch;
    t.first = first;
    t.end = end;
    const int inner[3] = {g.sx - 2 * HALO, g.sy - 2 * HALO, end - first};
    dim3 block = {LOCAL_X, LOCAL_Y, 1};
    if (g.group[0]) block.x = g.group[0];
    if (g.group[1]) block.y = g.group[1];
    dim3 blocks = {(unsigned)((inner[0] + t.width - 1) / t.width),
                   (unsigned)((inner[1] + t.rows - 1) / t.rows), 1};
    if (first >= end) return;
    t.depth = tile_depth(inner[2], (long)blocks.x * blocks.y, units);
    blocks.z = (unsigned)((inner[2] + t.depth - 1) / t.depth);

    CUDA_LAUNCH(propagate_kernel, blocks, block, DERIVATIVES * t.plane * sizeof(float),
                g, t, medium, pc, qc, pp, qp);
    CUDA_CHECK(cudaGetLastError());
}

void device_step(int cut)
{
    pending_step *f = &pending[slot];
    const int end = g.sz - HALO, border_end = cut + HALO < end ? cut + HALO : end;
    const int inner_first = cut > HALO ? border_end : cut; /* of the inner planes */
    const size_t n = halo_size(), at = (size_t)cut * g.plane;

    CUDA_CHECK(cudaEventRecord(f->border_start, 0));
    launch(cut, inner_first);
    CUDA_CHECK(cudaEventRecord(f->border_done, 0));
    if (cut > HALO) {
        CUDA_CHECK(cudaMemcpyAsync(f->to_host, pp + at, n * sizeof(float),
                                   cudaMemcpyDeviceToHost, 0));
        CUDA_CHECK(cudaMemcpyAsync(f->to_host + n, qp + at, n * sizeof(float),
                                   cudaMemcpyDeviceToHost, 0));
    }
    CUDA_CHECK(cudaEventRecord(f->copied, 0));
    launch(inner_first, end);
    CUDA_CHECK(cudaEventRecord(f->inner_done, 0));
    f->active = 1;
}

void device_send(int cut, const float *p, const float *q)
{
    float *from_host = pending[slot].from_host;
    const size_t n = halo_size(), bytes = n * sizeof(float);
    const size_t at = (size_t)(cut - HALO) * g.plane;
    memcpy(from_host, p + at, bytes);
    memcpy(from_host + n, q + at, bytes);
    CUDA_CHECK(cudaMemcpyAsync(pp + at, from_host, bytes, cudaMemcpyHostToDevice, 0));
    CUDA_CHECK(
        cudaMemcpyAsync(qp + at, from_host + n, bytes, cudaMemcpyHostToDevice, 0));
}

static double kernel_time(cudaEvent_t begin, cudaEvent_t end, const char *what)
{
    double start = reference_seconds + cuda_seconds(reference_event, begin);
    double time = cuda_seconds(begin, end);
    if (time > 0) hybrid_log("device", -1, what, start, start + time);
    return time;
}

/* Returns the seconds of a step, 0 if they have been returned before. */
static double step_time(pending_step *f)
{
    if (!f->active) return 0;
    f->active = 0;
    CUDA_CHECK(cudaEventSynchronize(f->inner_done));
    return kernel_time(f->border_start, f->border_done, "ends") +
           kernel_time(f->copied, f->inner_done, "inside");
}

double device_receive(int cut, float *p, float *q)
{
    pending_step *f = &pending[slot];
    const size_t n = halo_size(), bytes = n * sizeof(float);
    const size_t at = (size_t)cut * g.plane;
    if (cut == HALO) return step_time(f);

    CUDA_CHECK(cudaEventSynchronize(f->copied));
    memcpy(p + at, f->to_host, bytes);
    memcpy(q + at, f->to_host + n, bytes);
    return step_time(&pending[!slot]);
}

void device_swap(void)
{
    float *swap = pp;
    pp = pc;
    pc = swap;
    swap = qp;
    qp = qc;
    qc = swap;
    slot = !slot;
}

void device_fetch(int first, int end, float *const field[4])
{
    float *const from[] = {pp, pc, qp, qc};
    const size_t at = (size_t)first * g.plane, n = (size_t)(end - first) * g.plane;
    for (int i = 0; i < 4; i++)
        if (field[i])
            CUDA_CHECK(cudaMemcpy(field[i] + at, from[i] + at, n * sizeof(float),
                                  cudaMemcpyDeviceToHost));
}

void device_store(int first, int end, float *const field[4])
{
    float *const to[] = {pp, pc, qp, qc};
    const size_t at = (size_t)first * g.plane, n = (size_t)(end - first) * g.plane;
    for (int i = 0; i < 4; i++)
        if (field[i])
            CUDA_CHECK(cudaMemcpy(to[i] + at, field[i] + at, n * sizeof(float),
                                  cudaMemcpyHostToDevice));
}

void device_end(void)
{
    for (int i = 0; i < 2; i++) {
        pending_step *f = &pending[i];
        step_time(f);
        cudaEventDestroy(f->border_start);
        cudaEventDestroy(f->border_done);
        cudaEventDestroy(f->copied);
        cudaEventDestroy(f->inner_done);
        cudaFreeHost(f->to_host);
    }
    cudaEventDestroy(reference_event);
    cudaFree(qc);
    cudaFree(qp);
    cudaFree(pc);
    cudaFree(pp);
    cudaFree(medium);
}
