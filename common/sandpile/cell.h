/* cell.h - a cell's type, as C, OpenCL C and CUDA C see it. */
#ifndef CELL_H
#define CELL_H

#ifdef __OPENCL_C_VERSION__
typedef uint cell; /* grains */
typedef uchar cell8;
#else
#include <stdint.h>
typedef uint32_t cell;
typedef uint8_t cell8;
#endif

#endif
