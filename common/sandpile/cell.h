/* cell.h - the type of a cell, for C, OpenCL C and CUDA C. */
#ifndef CELL_H
#define CELL_H

#ifdef __OPENCL_C_VERSION__
typedef uint cell; /* number of grains */
typedef uchar cell8;
#else
#include <stdint.h>
typedef uint32_t cell;
typedef uint8_t cell8;
#endif

#endif
