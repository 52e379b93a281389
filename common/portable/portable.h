/* portable.h - the few words that differ between C, OpenCL C and CUDA C, so that one
 * body.h is all three.
 *
 *   FN        a function of the device (in C: of the file)
 *   BOTH_FN   a function of the device that the host calls too
 *   APART     FN, but in C one that is called: all registers are its own
 *   GLOBAL    device memory, seen by all
 *   CONSTANT  the same, cached for reading one address by many
 *   LOCAL     memory of a work-group (CUDA: shared memory of a block)
 *   TABLE     an array of constants at file scope, in constant memory
 *   UNROLL    before a loop of a known number of rounds: all of them written out, as an
 *             array needs whose elements are to be registers (gcc does so unasked)
 */
#ifndef PORTABLE_H
#define PORTABLE_H

#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL /* */
#endif

#if defined(__OPENCL_C_VERSION__)
#define FN       static inline __attribute__((always_inline))
#define BOTH_FN  FN
#define APART    FN
#define GLOBAL   __global
#define CONSTANT __constant
#define TABLE    __constant
#ifndef LOCAL /* the host may choose otherwise, with -D LOCAL=__private */
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
#define FN      static __device__ inline
#define BOTH_FN static __host__ __device__ inline
#define APART   FN
#define TABLE   static __constant__
#else
#define FN      static inline
#define BOTH_FN FN
#define APART   static __attribute__((noinline, unused))
#define TABLE   static const
#endif
#endif

#endif
