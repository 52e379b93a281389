/* portable.h - the keywords in which C, OpenCL C and CUDA C differ, so that one body.h
 * compiles as all three.
 *
 *   FN              a function on the device (in C: a static inline function)
 *   HOST_DEVICE_FN  a function on the device that host code calls as well
 *   NOINLINE_FN     FN, but not inlined in C, so that all registers are available to it
 *   GLOBAL          device memory, visible to all work-items
 *   CONSTANT        device memory, cached for reads of one address by many work-items
 *   LOCAL           memory of a work-group (CUDA: shared memory of a block)
 *   UNROLL          before a loop with a constant number of iterations: unrolls it
 *                   completely, which arrays need in order to be kept in registers (gcc
 *                   unrolls such loops without being told)
 */
#ifndef PORTABLE_H
#define PORTABLE_H

#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL /* */
#endif

#if defined(__OPENCL_C_VERSION__)
#define FN             static inline __attribute__((always_inline))
#define HOST_DEVICE_FN FN
#define NOINLINE_FN    FN
#define GLOBAL         __global
#define CONSTANT       __constant
#ifndef LOCAL /* the host may override it with -D LOCAL=__private */
#define LOCAL __local
#endif
#define sqrtf sqrt
#define fabsf fabs
#define fmaxf fmax

#else
#include <math.h>
#include <stddef.h>
#define GLOBAL   /* */
#define CONSTANT /* */
#define LOCAL    /* */
#ifdef __CUDACC__
#define FN             static __device__ inline
#define HOST_DEVICE_FN static __host__ __device__ inline
#define NOINLINE_FN    FN
#else
#define FN             static inline
#define HOST_DEVICE_FN FN
#define NOINLINE_FN    static __attribute__((noinline, unused))
#endif
#endif

#endif
