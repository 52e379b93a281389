/* grid.h - the box of fluid as C, OpenCL C and CUDA C see it. All members have four
 * bytes, so that the layout is the same in the three languages. */
#ifndef GRID_H
#define GRID_H

/* Inner cells are (1, 1, 1) .. (nx, ny, nz); all cells are cubes of the same size. One
 * layer of ghost cells, at the indices 0 and n + 1, represents the walls. */
typedef struct {
    int nx, ny, nz;
} grid;

/* A cell: its indices along x, y and z. */
typedef struct {
    int i, j, k;
} position;

/* Boundary condition of a field at the walls. A velocity component along an axis
 * changes sign at the walls across that axis: the ghost cell is minus its inner
 * neighbour. At all other walls, and for scalars, the ghost cell equals its inner
 * neighbour. Ghost cells at the edges and corners of the box have no inner neighbour;
 * they stay 0. */
enum { SCALAR, ALONG_X, ALONG_Y, ALONG_Z };

/* Colours of the red-black ordering. Cells with odd i + j + k are RED and are relaxed
 * first. */
enum { RED, BLACK };

#endif
