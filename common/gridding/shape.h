/* shape.h - how large everything is and where a visibility goes, as C, OpenCL C and
 * CUDA C see it: ints only, so that the layout is the same everywhere and in both
 * precisions.
 */
#ifndef SHAPE_H
#define SHAPE_H

typedef struct {
    int visibilities; /* visibilities */
    int size;         /* cells a side of the square grid */
    int pitch;        /* cells from one row to the next, more than size */
    int width;        /* cells a side of a footprint, 2 support + 1 */
    int oversampling; /* fractions of a cell that have a function of their own */
    int planes;       /* in w, for |w| */
    int copies;       /* of the grid, where a step makes any */
    int strips[2];    /* of a footprint, in v and in u, where a step makes any */
} shape;

/* Where a visibility falls. Its footprint is width x width cells around the nearest
 * one; the fractions and the plane choose its convolution function. */
typedef struct {
    int u, v;       /* first column and first row of the footprint */
    int fu, fv;     /* 0 .. oversampling - 1: a fraction of fu - oversampling / 2 */
    int plane;      /* 0 .. planes - 1 */
    int negative_w; /* 1 where w < 0: the conjugate of the plane's function */
} footprint;

#endif
