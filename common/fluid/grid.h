/* grid.h - the box of fluid as C, OpenCL C and CUDA C see it: members of four bytes
 * only, so that the layout is the same everywhere.
 */
#ifndef GRID_H
#define GRID_H

/* Inner cells are (1, 1, 1) .. (nx, ny, nz), each a cube. A layer of ghosts around
 * them, 0 and n + 1, stands for the walls. */
typedef struct {
    int nx, ny, nz;
} grid;

/* The walls' rule for a field: what points along an axis turns round at the walls
 * across that axis, so its ghosts are minus their neighbours; all other ghosts are
 * equal to theirs. Ghosts that touch only an edge of the box have no neighbour inside:
 * 0. */
enum { SCALAR, ALONG_X, ALONG_Y, ALONG_Z };

/* The colours of the cells: those with odd i + j + k are relaxed first. */
enum { RED, BLACK };

#endif
