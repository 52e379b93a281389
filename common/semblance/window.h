/* window.h - instances of a CUDA kernel for different windows.
 *
 * OpenCL compiles its kernel when the window is known, nvcc earlier. Loops of a known
 * length can be unrolled, and sums over a window kept in registers. So a kernel
 * declared by WINDOW_KERNEL is compiled for W = 1, 3 .. 15 samples, and for W = 0,
 * which means any window; WINDOW_LAUNCH selects one. gcc, which checks the same source
 * on the CPU, compiles no templates: there W is an argument.
 */
#ifndef WINDOW_H
#define WINDOW_H

#include "cuda_device.h"

#ifdef __CUDACC__
#define WINDOW_KERNEL(name, ...) template <int W> __global__ void name(__VA_ARGS__)
#define WINDOW_CASE(w, kernel, ...)                                                    \
    case w:                                                                            \
        CUDA_LAUNCH(kernel<w>, __VA_ARGS__);                                           \
        break
#define WINDOW_LAUNCH(window, ...)                                                     \
    switch (window) {                                                                  \
        WINDOW_CASE(1, __VA_ARGS__);                                                   \
        WINDOW_CASE(3, __VA_ARGS__);                                                   \
        WINDOW_CASE(5, __VA_ARGS__);                                                   \
        WINDOW_CASE(7, __VA_ARGS__);                                                   \
        WINDOW_CASE(9, __VA_ARGS__);                                                   \
        WINDOW_CASE(11, __VA_ARGS__);                                                  \
        WINDOW_CASE(13, __VA_ARGS__);                                                  \
        WINDOW_CASE(15, __VA_ARGS__);                                                  \
    default:                                                                           \
        WINDOW_ANY(__VA_ARGS__);                                                       \
    }
#define WINDOW_ANY(kernel, ...) CUDA_LAUNCH(kernel<0>, __VA_ARGS__)
#else
#define WINDOW_KERNEL(name, ...) static void name(int W, __VA_ARGS__)
#define WINDOW_LAUNCH(window, kernel, grid, block, shared, ...)                        \
    CUDA_LAUNCH(kernel, grid, block, shared, (window) > 15 ? 0 : (window), __VA_ARGS__)
#endif

#endif
