/* cuda.cu - the device's side in CUDA C: a block takes a tile through some planes.
 *
 * The fields stay on the device from the first step to the last: a step sends a halo
 * each way, and the source's number. Two pairs of fields take turns as before and now.
 * There is one stream. What goes through it lies in memory that nobody else touches:
 * the host may be a step ahead, and changes its planes.
 */
#include <string.h>

#include "cuda_device.h"
#include "run.h"
#include "share.h"
#include "sides.h"
#define LANES 1 /* the lanes of a GPU are its threads */
#include "body.h"
#include "tile.h"

/* A block, unless local= says otherwise: a warp takes points of a row, which lie side
 * by side. The CPU gives each thread of a block a thread of the system: one is enough.
 */
#ifdef __CUDACC__
enum { LOCAL_X = 32, LOCAL_Y = 8 };
#else
enum { LOCAL_X = 1, LOCAL_Y = 1 };
#endif

static grid g;
static float *medium, *pp, *pc, *qp, *qc; /* p and q, of before and of now */

/* Of this step and the one before: what is sent to the host, and by the host, and the
 * moments of its kernels, and that of the planes for the host. */
typedef struct {
    float *sent, *given; /* HALO planes of p, then of q */
    cudaEvent_t begun, ends, arrived, ended;
    int flies;
} flight;
static flight flights[2];
static int turn;
static cudaEvent_t start; /* a moment that the host's clock has, too */
static double start_seconds;

/* Adds f to both fields at point i: a kernel of one thread. */
__global__ void source_kernel(float *pc, float *qc, size_t i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

/* A block's tile lies at point (x0, y0, z0), and the last tiles of a row, plane or
 * piece are what is left. What is derived of a plane of it lies in shared memory. */
__global__ void propagate_kernel(grid g, tiling t, const float *__restrict__ medium,
                                 const float *__restrict__ pc,
                                 const float *__restrict__ qc, float *pp, float *qp)
{
    CUDA_SHARED(float, derived);
    const int x0 = HALO + blockIdx.x * t.width;
    const int y0 = HALO + blockIdx.y * t.rows;
    const int z0 = t.first + blockIdx.z * t.deep;
    const int width = x0 + t.width < g.sx - HALO ? t.width : g.sx - HALO - x0;
    const int rows = y0 + t.rows < g.sy - HALO ? t.rows : g.sy - HALO - y0;
    const int end = z0 + t.deep < t.end ? z0 + t.deep : t.end;
    const size_t n = t.plane;

    for (int z = z0; z < end; z++) {
        for (int r = threadIdx.y; r < rows + 2 * HALO; r += blockDim.y) {
            const size_t i = row_of(&g, y0 - HALO + r, z) + x0;
            const size_t k = r * t.pitch + t.lead;
            for (int x = (int)threadIdx.x - t.side; x < width + t.side;
                 x += blockDim.x) {
                derive_z(&g, pc, derived, n, i + x, k + x, 1);
                derive_z(&g, qc, derived + QY * n, n, i + x, k + x, 1);
                if (r < HALO || r >= rows + HALO) continue;
                derive_y(&g, pc, derived, n, i + x, k + x, 1);
                derive_y(&g, qc, derived + QY * n, n, i + x, k + x, 1);
            }
        }
        __syncthreads();

        for (int r = threadIdx.y; r < rows; r += blockDim.y) {
            const size_t i = row_of(&g, y0 + r, z) + x0;
            const size_t k = (r + HALO) * t.pitch + t.lead;
            for (int x = threadIdx.x; x < width; x += blockDim.x)
                sample(&g, medium, pc, qc, pp, qp, derived, n, t.pitch, i + x, k + x,
                       k + x, 1);
        }
        __syncthreads();
    }
}

static float *floats(size_t n)
{
    float *made;
    CUDA_CHECK(cudaMalloc((void **)&made, n * sizeof(float)));
    CUDA_CHECK(cudaMemset(made, 0, n * sizeof(float)));
    return made;
}

/* Floats of HALO planes. */
static size_t halo_size(void)
{
    return HALO * (size_t)g.plane;
}

size_t device_begin(const grid *the_grid, const float *the_medium, int host_threads,
                    int *beside)
{
    (void)host_threads;
    *beside = 0;
    g = *the_grid;
    cuda_device();

    size_t n = field_size(&g);
    size_t used = (FIELDS - V2PX) * n; /* floats of the medium */
    CUDA_CHECK(cudaMalloc((void **)&medium, used * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(medium, the_medium + V2PX * n, used * sizeof(float),
                          cudaMemcpyHostToDevice));
    pp = floats(n);
    pc = floats(n);
    qp = floats(n);
    qc = floats(n);
    for (int i = 0; i < 2; i++) {
        flight *f = &flights[i];
        CUDA_CHECK(cudaMallocHost((void **)&f->sent, 4 * halo_size() * sizeof(float)));
        f->given = f->sent + 2 * halo_size();
        CUDA_CHECK(cudaEventCreate(&f->begun));
        CUDA_CHECK(cudaEventCreate(&f->ends));
        CUDA_CHECK(cudaEventCreate(&f->arrived));
        CUDA_CHECK(cudaEventCreate(&f->ended));
    }
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventRecord(start, 0));
    CUDA_CHECK(cudaDeviceSynchronize());
    start_seconds = seconds();
    return (used + 4 * n) * sizeof(float);
}

void device_source(float f)
{
    dim3 one = {1, 1, 1};
    size_t i = (size_t)g.source_z * g.plane + g.source;
    CUDA_LAUNCH(source_kernel, one, one, 0, pc, qc, i, f);
    CUDA_CHECK(cudaGetLastError());
}

/* One step of planes first .. end - 1. */
static void launch(int first, int end)
{
    tiling t;
    t.width = 32;
    t.rows = 8;
    t.deep = 32;
    t.side = HALO;
    t.lead = HALO;
    t.pitch = t.width + 2 * HALO;
    t.plane = (t.rows + 2 * HALO) * t.pitch;
    t.own = 0;
    t.first = first;
    t.end = end;
    const int inner[3] = {g.sx - 2 * HALO, g.sy - 2 * HALO, end - first};
    dim3 block = {LOCAL_X, LOCAL_Y, 1};
    if (g.group[0]) block.x = g.group[0];
    if (g.group[1]) block.y = g.group[1];
    dim3 blocks = {(unsigned)((inner[0] + t.width - 1) / t.width),
                   (unsigned)((inner[1] + t.rows - 1) / t.rows),
                   (unsigned)((inner[2] + t.deep - 1) / t.deep)};
    if (first >= end) return;

    CUDA_LAUNCH(propagate_kernel, blocks, block, DERIVED * t.plane * sizeof(float), g,
                t, medium, pc, qc, pp, qp);
    CUDA_CHECK(cudaGetLastError());
}

void device_step(int cut)
{
    flight *f = &flights[turn];
    const int end = g.sz - HALO, ends = cut + HALO < end ? cut + HALO : end;
    const int first = cut > HALO ? ends : cut; /* of the rest */
    const size_t n = halo_size(), at = (size_t)cut * g.plane;

    CUDA_CHECK(cudaEventRecord(f->begun, 0));
    launch(cut, first);
    CUDA_CHECK(cudaEventRecord(f->ends, 0));
    if (cut > HALO) {
        CUDA_CHECK(cudaMemcpyAsync(f->sent, pp + at, n * sizeof(float),
                                   cudaMemcpyDeviceToHost, 0));
        CUDA_CHECK(cudaMemcpyAsync(f->sent + n, qp + at, n * sizeof(float),
                                   cudaMemcpyDeviceToHost, 0));
    }
    CUDA_CHECK(cudaEventRecord(f->arrived, 0));
    launch(first, end);
    CUDA_CHECK(cudaEventRecord(f->ended, 0));
    f->flies = 1;
}

void device_send(int cut, const float *p, const float *q)
{
    float *given = flights[turn].given;
    const size_t n = halo_size(), bytes = n * sizeof(float);
    const size_t at = (size_t)(cut - HALO) * g.plane;
    memcpy(given, p + at, bytes);
    memcpy(given + n, q + at, bytes);
    CUDA_CHECK(cudaMemcpyAsync(pp + at, given, bytes, cudaMemcpyHostToDevice, 0));
    CUDA_CHECK(cudaMemcpyAsync(qp + at, given + n, bytes, cudaMemcpyHostToDevice, 0));
}

static double took(cudaEvent_t begin, cudaEvent_t end, const char *what)
{
    double at = start_seconds + cuda_seconds(start, begin);
    double time = cuda_seconds(begin, end);
    if (time > 0) share_note("device", -1, what, at, at + time);
    return time;
}

/* What a step took, if that is not known yet. */
static double took_step(flight *f)
{
    if (!f->flies) return 0;
    f->flies = 0;
    CUDA_CHECK(cudaEventSynchronize(f->ended));
    return took(f->begun, f->ends, "ends") + took(f->arrived, f->ended, "inside");
}

double device_receive(int cut, float *p, float *q)
{
    flight *f = &flights[turn];
    const size_t n = halo_size(), bytes = n * sizeof(float);
    const size_t at = (size_t)cut * g.plane;
    if (cut == HALO) return took_step(f);

    CUDA_CHECK(cudaEventSynchronize(f->arrived));
    memcpy(p + at, f->sent, bytes);
    memcpy(q + at, f->sent + n, bytes);
    return took_step(&flights[!turn]);
}

void device_turn(void)
{
    float *swap = pp;
    pp = pc;
    pc = swap;
    swap = qp;
    qp = qc;
    qc = swap;
    turn = !turn;
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
        flight *f = &flights[i];
        took_step(f);
        cudaEventDestroy(f->begun);
        cudaEventDestroy(f->ends);
        cudaEventDestroy(f->arrived);
        cudaEventDestroy(f->ended);
        cudaFreeHost(f->sent);
    }
    cudaEventDestroy(start);
    cudaFree(qc);
    cudaFree(qp);
    cudaFree(pc);
    cudaFree(pp);
    cudaFree(medium);
}
