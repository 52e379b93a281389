/* real.h - the precision of the arithmetic, as C, OpenCL C and CUDA C see it.
 *
 * A step's sources are written once, in terms of real, and compiled twice: as they are,
 * for float, and once more with the words of `again` in program.mk, which make real a
 * double and give the two functions of the contract their other names. main.c calls the
 * one that precision= asks for. A kernel of OpenCL is built when its program runs, with
 * -D REAL=double -D REAL_BYTES=8 where that is wanted.
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
