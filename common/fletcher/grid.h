/* grid.h - the grid as C, OpenCL C and CUDA C see it: members of four bytes only, so
 * that the layout is the same everywhere and a kernel can take it by value.
 */
#ifndef GRID_H
#define GRID_H

/* Points that a derivative reaches to either side; the outermost layers of the grid, so
 * many on each face, are never updated and stay 0. */
#define HALO 4

/* Floats of a cache line. */
#define LINE 16

/* Point (x, y, z) is element z plane + y pitch + lead + x of a field: x runs fastest.
 * Rows and planes are longer than their points need; what lies between is 0, in a
 * medium too.
 */
typedef struct {
    int sx, sy, sz;               /* points a side, halo and absorbing band included */
    int pitch;                    /* floats from a row to the next */
    int plane;                    /* floats from a plane to the next */
    int lead;                     /* floats of a row before its first point */
    int source_offset;            /* floats from the source's plane to the source */
    int source_z;                 /* its plane */
    float dt;                     /* seconds */
    float dxinv, dyinv, dzinv;    /* 1 / spacing, 1/m */
    float dxxinv, dyyinv, dzzinv; /* the same squared, 1/m^2 */
    float dxyinv, dyzinv, dxzinv; /* and as products of two */
    int group[3]; /* work-items a group; 0 where the back-end is to choose */
} grid;

/* Where row y of plane z has its point of x = 0. */
#define row_start(g, y, z)                                                             \
    ((size_t)(z) * (size_t)(g)->plane + (size_t)(y) * (size_t)(g)->pitch +             \
     (size_t)(g)->lead)

/* Floats of one field, with a little room after the last plane: fields that lie one
 * after the other then do not begin at the same place of a cache. */
#define field_size(g) ((size_t)(g)->plane * (size_t)(g)->sz + 208)

/* The fields that make a medium, one after the other: what multiplies a derivative.
 * With n the unit vector of the axis of symmetry, CH1DXX is nx nx .. CH1DXY is 2 nx ny;
 * the others are squares of velocities, m^2/s^2: along the symmetry plane, along the
 * axis, normal moveout, and of the shear waves that keep p and q together. n itself
 * follows, for steps that make the first six of it. */
enum {
    CH1DXX,
    CH1DYY,
    CH1DZZ,
    CH1DXY,
    CH1DYZ,
    CH1DXZ,
    V2PX,
    V2PZ,
    V2PN,
    V2SZ,
    MEDIUM_FIELDS
};
enum { NX = MEDIUM_FIELDS, NY, NZ, STORED_FIELDS };

#endif
