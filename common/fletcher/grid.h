/* grid.h - the grid and the layout of fields, for C, OpenCL C and CUDA C. The struct
 * has members of four bytes only, so that its layout is the same in all three languages
 * and it can be a kernel argument.
 */
#ifndef GRID_H
#define GRID_H

/* Reach of the derivatives of order 8, in points. The outermost HALO layers on each
 * face of the grid are never updated and stay 0. */
#define HALO 4

/* Floats of a cache line (64 bytes). */
#define LINE 16

/* Floats after the last plane of a field. They stagger consecutive fields: without
 * them, the same point of several fields would map to the same cache set. The size, 13
 * cache lines, is a choice and not derived. */
#define FIELD_GAP (13 * LINE)

/* Point (x, y, z) is element z plane + y pitch + lead + x of a field. The padding is 0,
 * in the medium as well. One plane:
 *
 *                  |<------------- sx ------------->|
 *     | lead floats | HALO |      points     | HALO | padding |   y = 0
 *     | lead floats | HALO |      points     | HALO | padding |   y = 1
 *     | ..                                                    |   .. sy - 1
 *     | padding                                               |   up to `plane` floats
 *     |<----------------------- pitch ----------------------->|
 *
 * With lead = LINE - HALO, the first point after the halo begins a cache line. Vectors
 * of up to LINE points end within the row: the points after the last one are in the
 * halo or in the padding, where the medium has no velocity, so they stay 0.
 */
typedef struct {
    int sx, sy, sz;            /* points per axis, including halo and absorbing band */
    int pitch;                 /* floats from one row to the next */
    int plane;                 /* floats from one plane to the next */
    int lead;                  /* floats of padding before the first point of a row */
    int source_offset;         /* element of the source within its plane */
    int source_z;              /* plane of the source */
    float dt;                  /* time step, s */
    float dxinv, dyinv, dzinv; /* 1 / spacing, 1/m */
    float dxxinv, dyyinv, dzzinv; /* their squares, 1/m^2 */
    float dxyinv, dyzinv, dxzinv; /* their products, 1/m^2 */
    int group[3];                 /* work-group size; 0: the back-end's default */
} grid;

/* Element of the point x = 0 in row y of plane z. */
#define row_start(g, y, z)                                                             \
    ((size_t)(z) * (size_t)(g)->plane + (size_t)(y) * (size_t)(g)->pitch +             \
     (size_t)(g)->lead)

/* Floats of one field. */
#define field_size(g) ((size_t)(g)->plane * (size_t)(g)->sz + FIELD_GAP)

/* The fields of a medium, one after the other. With the unit vector n = (nx, ny, nz)
 * along the symmetry axis, CH1DXX to CH1DXZ are the coefficients of H1 (body.h): nx^2,
 * ny^2, nz^2, 2 nx ny, 2 ny nz, 2 nx nz. V2PX to V2SZ are squared velocities in
 * m^2/s^2: of P waves across the axis, of P waves along it, of the normal moveout, and
 * of the shear waves that couple p and q. NX to NZ are the components of n, from which
 * later steps compute the six coefficients. */
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
