/* window.h - code that is compiled for each small window: loops of a known length can
 * be unrolled, and sums over a window kept in registers. OpenCL compiles its kernel
 * when the window is known, C and CUDA earlier.
 *
 * In C, WINDOW_CALL(window, f, ..) calls f(w, ..), with a constant w = 1, 3 .. 21
 * if the window is one of these; f must be inlined.
 *
 * In CUDA, a kernel declared by WINDOW_KERNEL is compiled for W = 1, 3 ..
 * WINDOW_LONGEST, and for W = 0, which means any window; WINDOW_LAUNCH selects one.
 * gcc, which checks the same source on the CPU, compiles no templates: there W is an
 * argument.
 */
#ifndef WINDOW_H
#define WINDOW_H

#define WINDOW_LONGEST 15 /* samples, in CUDA; in C 21 */

#define WINDOW_CASES(CASE, ...)                                                        \
    CASE(1, __VA_ARGS__);                                                              \
    CASE(3, __VA_ARGS__);                                                              \
    CASE(5, __VA_ARGS__);                                                              \
    CASE(7, __VA_ARGS__);                                                              \
    CASE(9, __VA_ARGS__);                                                              \
    CASE(11, __VA_ARGS__);                                                             \
    CASE(13, __VA_ARGS__);                                                             \
    CASE(15, __VA_ARGS__)

#ifdef __CUDACC__
#define WINDOW_KERNEL(name, ...) template <int W> __global__ void name(__VA_ARGS__)
#define WINDOW_CASE(w, kernel, ...)                                                    \
    case w:                                                                            \
        CUDA_LAUNCH(kernel<w>, __VA_ARGS__);                                           \
        break
#define WINDOW_OTHER(w, kernel, ...) CUDA_LAUNCH(kernel<0>, __VA_ARGS__)
#define WINDOW_LAUNCH(window, ...)                                                     \
    switch (window) {                                                                  \
        WINDOW_CASES(WINDOW_CASE, __VA_ARGS__);                                        \
    default:                                                                           \
        WINDOW_OTHER(window, __VA_ARGS__);                                             \
    }
#else
#define WINDOW_KERNEL(name, ...) static void name(int W, __VA_ARGS__)
#define WINDOW_LAUNCH(window, kernel, grid, block, shared, ...)                        \
    CUDA_LAUNCH(kernel, grid, block, shared, (window) > WINDOW_LONGEST ? 0 : (window), \
                __VA_ARGS__)
#define WINDOW_CASE(w, f, ...)                                                         \
    case w:                                                                            \
        f(w, __VA_ARGS__);                                                             \
        break
#define WINDOW_OTHER(w, f, ...) f(w, __VA_ARGS__)
#define WINDOW_CALL(window, ...)                                                       \
    switch (window) {                                                                  \
        WINDOW_CASES(WINDOW_CASE, __VA_ARGS__);                                        \
        WINDOW_CASE(17, __VA_ARGS__);                                                  \
        WINDOW_CASE(19, __VA_ARGS__);                                                  \
        WINDOW_CASE(21, __VA_ARGS__);                                                  \
    default:                                                                           \
        WINDOW_OTHER(window, __VA_ARGS__);                                             \
    }
#endif

#endif
