/* real.h - the precision of the arithmetic in C, OpenCL C and CUDA C.
 *
 * The sources of a step are written in terms of `real` and compiled twice: for float,
 * and for double with the flags `double` of program.mk. These flags also rename the
 * function of the interface. main.c calls the one that precision= asks for. An OpenCL
 * kernel is built when its program runs, for double with -D REAL=double
 * -D REAL_BYTES=8.
 */
#ifndef REAL_H
#define REAL_H

#ifndef REAL
#define REAL       float
#define REAL_BYTES 4
#endif
typedef REAL real;

#define REAL_TEXT_OF(word) #word
#define REAL_TEXT(word)    REAL_TEXT_OF(word)
#define REAL_OPTION                                                                    \
    "-D REAL=" REAL_TEXT(REAL) " -D REAL_BYTES=" REAL_TEXT(REAL_BYTES) " " /* for      \
                                                                    clBuildProgram */

/* Both compilations of a CUDA kernel are linked into one program. */
#ifdef __CUDACC__
#define KERNEL static __global__
#else
#define KERNEL __global__
#endif

#endif
