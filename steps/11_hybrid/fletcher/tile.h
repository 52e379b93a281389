/* tile.h - the part of the grid that a work-group updates, the same on host and device.
 */
#ifndef TILE_H
#define TILE_H

typedef struct {
    int width, rows, depth; /* points along x, y and z; the last tiles have fewer */
    int x_halo;             /* extra points along x on each side: 0 or HALO */
    int pitch, lead;        /* of the derivatives: floats per row, and before x = 0 */
    int plane;              /* floats of one plane of the derivatives */
    int first, end;         /* the launch updates planes first .. end - 1 */
    int group_floats; /* floats of a group's part of a global buffer; 0: local memory */
} tile_shape;

#endif
