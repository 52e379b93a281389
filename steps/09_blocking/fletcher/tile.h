/* tile.h - what a group of work-items takes, the same on host and device. */
#ifndef TILE_H
#define TILE_H

typedef struct {
    int width, rows, depth; /* points along x, y and z, but for the last tiles */
    int x_halo;             /* points that are derived beyond it along x: 0 or HALO */
    int pitch, lead;        /* of what is derived: floats a row, and before its x = 0 */
    int plane;              /* floats of one plane of it */
    int group_floats; /* floats of all of a group's planes, which lie one after the
                other; 0 in local memory, where each group finds its own at the same
                place */
} tile_shape;

#endif
