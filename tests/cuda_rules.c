/* cuda_rules.c - small programs that break one rule of CUDA each, and some that keep
 * it; test_cuda_cpu.py runs them. `cuda_rules NAME` prints the result of the kernel, if
 * there is one, and the name of the last error.
 */
#include <stdio.h>
#include <unistd.h>

#include "cuda_device.h"
#include "run.h"

enum { N = 64 };

__constant__ int c_values[4];
static int *device, *locked, pageable[N];

__global__ void store(int *p, int at, int value)
{
    p[at] = value;
}

__global__ void store_constant(int *p)
{
    p[0] = c_values[1];
}

__global__ void load_pair(int *p, const int *q)
{
    p[0] = q[0];
}

__global__ void shared_end(int *p, int at)
{
    CUDA_SHARED(int, s);
    s[at] = 1;
    p[0] = s[at];
}

/* Stores 1 where shared memory that was not written holds NaN. */
__global__ void shared_unwritten(int *p)
{
    CUDA_SHARED(float, s);
    if (s[threadIdx.x] != s[threadIdx.x]) p[threadIdx.x] = 1;
}

/* Element n + 1 of the shared memory, which thread n + 1 writes. */
__global__ void neighbour(int *p, int barrier)
{
    CUDA_SHARED(int, s);
    int n = (int)threadIdx.x;
    s[n] = n;
    if (barrier) __syncthreads();
    p[n] = s[(n + 1) % N];
}

__global__ void some_leave(int last)
{
    if ((int)threadIdx.x == last) return;
    __syncthreads();
}

__global__ void two_barriers(int first)
{
    if ((int)threadIdx.x < first)
        __syncthreads();
    else
        __syncthreads();
}

__global__ void some_blocks(int first)
{
    if ((int)blockIdx.x >= first) CUDA_GRID_SYNC();
}

__global__ void two_grid_barriers(int first)
{
    if ((int)blockIdx.x < first)
        CUDA_GRID_SYNC();
    else
        CUDA_GRID_SYNC();
}

__global__ void part_of_block(int first)
{
    if ((int)threadIdx.x >= first) CUDA_GRID_SYNC();
}

/* Stores of several threads, or of several blocks, to one element. */
__global__ void race(int *p, int blocks)
{
    if (blocks ? threadIdx.x == 0 : threadIdx.x < 2) p[0] = (int)threadIdx.x;
}

/* Block n reads, twice, what block n + 1 has written. */
__global__ void other_block(int *p, int barrier)
{
    int n = (int)blockIdx.x, blocks = (int)gridDim.x;
    for (int step = 0; step < 2; step++) {
        if (threadIdx.x == 0) p[step * blocks + n] = n;
        if (barrier) CUDA_GRID_SYNC();
        if (threadIdx.x == 1)
            p[(2 + step) * blocks + n] = p[step * blocks + (n + 1) % blocks];
    }
}

static void launch_of(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, size_t shared)
{
    dim3 grid = {gx, gy, gz}, block = {bx, by, bz};
    CUDA_LAUNCH(store, grid, block, shared, device, 0, 5);
}

/* launch_one(kernel, threads, arguments): one block, with N integers of shared memory.
 */
#define launch_one(kernel, threads, ...)                                               \
    do {                                                                               \
        dim3 one_ = {1, 1, 1}, block_ = {threads, 1, 1};                               \
        CUDA_LAUNCH(kernel, one_, block_, N * sizeof(int), __VA_ARGS__);               \
    } while (0)

/* A cooperative launch of several blocks of N threads. */
#define launch_together(blocks, kernel, ...)                                           \
    do {                                                                               \
        dim3 grid_ = {blocks, 1, 1}, block_ = {N, 1, 1};                               \
        CUDA_LAUNCH_TOGETHER(kernel, grid_, block_, 0, __VA_ARGS__);                   \
    } while (0)

static void print_first(void)
{
    int first;
    cudaMemcpy(&first, device, sizeof first, cudaMemcpyDeviceToHost);
    printf("%d ", first);
}

/* Prints 1 if thread n read the value of thread n + 1, for all n. */
static void print_neighbours(int barrier)
{
    int right = 0;
    launch_one(neighbour, N, device, barrier);
    cudaMemcpy(pageable, device, sizeof pageable, cudaMemcpyDeviceToHost);
    for (int n = 0; n < N; n++) right += pageable[n] == (n + 1) % N;
    printf("%d ", right == N);
}

/* Prints 1 if each of 9 blocks read, twice, what the next one had written. */
static void print_other_block(int barrier)
{
    enum { BLOCKS = 9 };
    int right = 0;
    launch_together(BLOCKS, other_block, device, barrier);
    cudaMemcpy(pageable, device, sizeof pageable, cudaMemcpyDeviceToHost);
    for (int n = 0; n < 2 * BLOCKS; n++)
        right += pageable[2 * BLOCKS + n] == (n % BLOCKS + 1) % BLOCKS;
    printf("%d ", right == 2 * BLOCKS);
}

/* The first element after a copy from the host, which then changes its memory. */
static void change_after(int *from)
{
    from[0] = 1;
    cudaMemcpyAsync(device, from, N * sizeof *from, cudaMemcpyHostToDevice, 0);
    from[0] = 2;
    cudaDeviceSynchronize();
    print_first();
}

/* The first element of memory of the host, after an asynchronous copy of 7 to it. */
static void read_before(int *to, int wait)
{
    cudaEvent_t event;
    cudaEventCreate(&event);
    to[0] = 3;
    launch_one(store, 1, device, 0, 7);
    cudaMemcpyAsync(to, device, N * sizeof *to, cudaMemcpyDeviceToHost, 0);
    cudaEventRecord(event, 0);
    if (wait == 1) cudaEventSynchronize(event);
    if (wait == 2)
        while (cudaEventQuery(event) == cudaErrorNotReady) {}
    printf("%d ", to[0]);
    cudaEventDestroy(event);
}

/* Runs one of the programs, if there is one of that name. */
static int run(const char *name)
{
#define RULE(rule) else if (!strcmp(name, #rule))
    if (!*name) return 0;
    RULE(grid_largest)
    {
        launch_of(1, 1, 65535, 1, 1, 1, 0);
        print_first();
    }
    RULE(grid_y)
    {
        launch_of(1, 65536, 1, 1, 1, 1, 0);
    }
    RULE(grid_z)
    {
        launch_of(1, 1, 65536, 1, 1, 1, 0);
    }
    RULE(grid_x)
    {
        launch_of(1u << 31, 1, 1, 1, 1, 1, 0);
    }
    RULE(grid_empty)
    {
        launch_of(1, 0, 1, 1, 1, 1, 0);
    }
    RULE(block_largest)
    {
        launch_of(1, 1, 1, 4, 4, 64, 48 * 1024);
        print_first();
    }
    RULE(block_empty)
    {
        launch_of(1, 1, 1, 0, 1, 1, 0);
    }
    RULE(block_z)
    {
        launch_of(1, 1, 1, 1, 1, 65, 0);
    }
    RULE(block_threads)
    {
        launch_of(1, 1, 1, 33, 32, 1, 0);
    }
    RULE(block_x)
    {
        launch_of(1, 1, 1, 1025, 1, 1, 0);
    }
    RULE(shared_size)
    {
        launch_of(1, 1, 1, 1, 1, 1, 48 * 1024 + 1);
    }
    RULE(copy_size)
    {
        cudaMemcpy(device, pageable, sizeof pageable + 1, cudaMemcpyHostToDevice);
    }
    RULE(copy_direction)
    {
        cudaMemcpy(device, pageable, 4, cudaMemcpyDeviceToHost);
    }
    RULE(copy_host)
    {
        cudaMemcpy(pageable, pageable + 1, 4, cudaMemcpyHostToDevice);
    }
    RULE(copy_pitch)
    {
        cudaMemcpy2DAsync(device, 4, pageable, 8, 8, 2, cudaMemcpyHostToDevice, 0);
    }
    RULE(set_size)
    {
        cudaMemset(device + 1, 0, sizeof pageable);
    }
    RULE(symbol_size)
    {
        cudaMemcpyToSymbol(c_values, pageable, 5 * sizeof(int));
    }
    RULE(symbol_other)
    {
        cudaMemcpyToSymbol(pageable, c_values, sizeof(int));
    }
    RULE(symbol)
    {
        pageable[1] = 6;
        cudaMemcpyToSymbol(c_values, pageable, 16);
        launch_one(store_constant, 1, device);
        print_first();
        printf("%d ", c_values[1]);
    }
    RULE(free_twice)
    {
        cudaFree(device);
        cudaFree(device);
    }
    RULE(free_host)
    {
        cudaFree(locked);
    }
    RULE(register_twice)
    {
        cudaHostRegister(pageable, 8, 0);
        cudaHostRegister(pageable + 1, 8, 0);
    }
    RULE(unregister)
    {
        cudaHostUnregister(pageable);
    }
    RULE(memory)
    {
        void *p;
        cudaMalloc(&p, (size_t)1 << 60);
    }
    RULE(event)
    {
        float ms;
        cudaEvent_t e;
        cudaEventCreate(&e);
        cudaEventElapsedTime(&ms, e, e);
    }
    RULE(pointer_pageable)
    {
        launch_one(load_pair, 1, device, pageable);
        cudaDeviceSynchronize();
    }
    RULE(pointer_locked)
    {
        locked[0] = 4;
        launch_one(load_pair, 1, device, locked);
        print_first();
    }
    RULE(pointer_registered)
    {
        pageable[0] = 4;
        cudaHostRegister(pageable, 8, 0);
        launch_one(load_pair, 1, device, pageable);
        print_first();
    }
    RULE(host_reads)
    {
        printf("%d ", device[1]);
    }
    RULE(host_writes)
    {
        device[1] = 0;
    }
    RULE(kernel_after)
    {
        launch_one(store, 1, device, N, 1);
        cudaDeviceSynchronize();
    }
    RULE(kernel_before)
    {
        launch_one(store, 1, device, -1, 1);
        cudaFree(device);
    }
    RULE(shared_after)
    {
        launch_one(shared_end, 1, device, N);
        cudaDeviceSynchronize();
    }
    RULE(shared_last)
    {
        launch_one(shared_end, 1, device, N - 1);
        print_first();
    }
    RULE(shared_unwritten)
    {
        launch_one(shared_unwritten, N, device);
        print_first();
    }
    RULE(neighbour)
    {
        print_neighbours(0);
    }
    RULE(neighbour_barrier)
    {
        print_neighbours(1);
    }
    RULE(some_leave)
    {
        launch_one(some_leave, N, 5);
        cudaDeviceSynchronize();
    }
    RULE(two_barriers)
    {
        launch_one(two_barriers, N, 5);
        cudaDeviceSynchronize();
    }
    RULE(one_barrier)
    {
        launch_one(two_barriers, N, 0);
        cudaDeviceSynchronize();
    }
    RULE(change_locked)
    {
        change_after(locked);
    }
    RULE(change_pageable)
    {
        change_after(pageable);
    }
    RULE(read_locked)
    {
        read_before(locked, 0);
    }
    RULE(read_locked_waits)
    {
        read_before(locked, 1);
    }
    RULE(read_locked_polls)
    {
        read_before(locked, 2);
    }
    RULE(read_pageable)
    {
        read_before(pageable, 0);
    }
    RULE(grid_barrier)
    {
        print_other_block(1);
    }
    RULE(no_grid_barrier)
    {
        print_other_block(0);
    }
    RULE(some_blocks)
    {
        launch_together(9, some_blocks, 5);
        cudaDeviceSynchronize();
    }
    RULE(two_grid_barriers)
    {
        launch_together(9, two_grid_barriers, 5);
        cudaDeviceSynchronize();
    }
    RULE(part_of_block)
    {
        launch_together(1, part_of_block, 5);
        cudaDeviceSynchronize();
    }
    RULE(grid_barrier_alone)
    {
        launch_one(some_blocks, N, 0);
        cudaDeviceSynchronize();
    }
    RULE(together_largest)
    {
        launch_together(32, some_blocks, 0);
        cudaDeviceSynchronize();
    }
    RULE(together_blocks)
    {
        launch_together(33, some_blocks, 0);
    }
    RULE(race_threads)
    {
        launch_one(race, N, device, 0);
        print_first();
    }
    RULE(race_blocks)
    {
        dim3 grid = {9, 1, 1}, block = {N, 1, 1};
        CUDA_LAUNCH(race, grid, block, 0, device, 1);
        print_first();
    }
    RULE(not_released)
    {
        cudaEvent_t event;
        cudaEventCreate(&event);
        cudaMalloc((void **)&device, 8);
    }
    else return 0;
    return 1;
}

int main(int argc, char **argv)
{
    run_name = "cuda_rules";
    cuda_device();
    CUDA_CHECK(cudaMalloc((void **)&device, N * sizeof *device));
    CUDA_CHECK(cudaMallocHost((void **)&locked, N * sizeof *locked));
    if (argc != 2 || !run(argv[1])) fail("expected the name of a rule");
    puts(cudaGetErrorName(cudaGetLastError()));
    cudaFree(device);
    return 0;
}
