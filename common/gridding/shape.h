/* shape.h - sizes, and the footprint of a visibility, in C, OpenCL C and CUDA C. All
 * fields are int, so that the layout is the same in all languages and precisions.
 */
#ifndef SHAPE_H
#define SHAPE_H

typedef struct {
    int visibilities; /* number of visibilities */
    int size;         /* cells per side of the square grid */
    int pitch;        /* cells from one row to the next; more than size */
    int width;        /* cells per side of a footprint: 2 support + 1 */
    int oversampling; /* convolution functions per cell and axis */
    int planes;       /* w-planes, for |w| */
    int copies;       /* of the grid, in steps that make copies */
    int strips[2];    /* of a footprint, in v and in u, in steps that use strips */
} shape;

/* The footprint of a visibility, width x width cells around the nearest cell, and the
 * choice of its convolution function. */
typedef struct {
    int u, v;       /* first column and first row */
    int fu, fv;     /* 0 .. oversampling - 1: the position within the cell is (f -
                       oversampling / 2) / oversampling */
    int plane;      /* 0 .. planes - 1 */
    int negative_w; /* 1 if w < 0: use the conjugate of the plane's function */
} footprint;

#endif
