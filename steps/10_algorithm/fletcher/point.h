/* point.h - the update of a point on a GPU, where the derivatives of a tile are in
 * local memory (march.h is for CPUs). LANES is 1. */
#ifndef POINT_H
#define POINT_H

#include "body.h"
#include "tile.h"

/* The derivatives that are stored for one plane of a tile: d/dy, d2/dy2, d/dz and
 * d2/dz2 of p, then of q. They are 0 in the halo of the grid, as p and q are.
 *
 *     | PY | PYY | PZ | PZZ | QY | QYY | QZ | QZZ |     TILE_PLANE floats each
 */
enum { PY, PYY, PZ, PZZ, QY, QYY, QZ, QZZ, DERIVATIVES };

/* Stores the derivatives along y of f at point i, which is point k of a plane; out
 * points to the first of the four planes of f. Only neighbours along x read them, so a
 * tile needs them in its own rows only. */
FN void derive_y(const grid *g, GLOBAL const float *f, LOCAL float *out, size_t i,
                 int k)
{
    const derivative_pair y = derive(f + i, (size_t)g->pitch, g->dyinv, g->dyyinv);
    out[PY * TILE_PLANE + k] = y.first;
    out[PYY * TILE_PLANE + k] = y.second;
}

/* The same along z. They are differentiated along y, so a tile needs them in HALO rows
 * more on either side. */
FN void derive_z(const grid *g, GLOBAL const float *f, LOCAL float *out, size_t i,
                 int k)
{
    const derivative_pair z = derive(f + i, (size_t)g->plane, g->dzinv, g->dzzinv);
    out[PZ * TILE_PLANE + k] = z.first;
    out[PZZ * TILE_PLANE + k] = z.second;
}

/* Returns the second derivatives of f, which points to the point; it is point k of
 * `planes`, the derivatives of f. */
FN second_derivatives derivatives_at(const grid *g, GLOBAL const float *f,
                                     LOCAL const float *planes, int k)
{
    LOCAL const float *fy = planes + PY * TILE_PLANE + k;
    LOCAL const float *fz = planes + PZ * TILE_PLANE + k;
#define CHANGE_T(k) (fz[(k)*TILE_PITCH] - fz[-(k)*TILE_PITCH])
    second_derivatives s;
    s.xx = DER2_X(f, g->dxxinv);
    s.yy = planes[PYY * TILE_PLANE + k];
    s.zz = planes[PZZ * TILE_PLANE + k];
    s.xy = DER1_X(fy, g->dxinv);
    s.yz = FIRST(CHANGE_T(1), CHANGE_T(2), CHANGE_T(3), CHANGE_T(4), g->dyinv);
    s.xz = DER1_X(fz, g->dxinv);
    return s;
}

/* Updates point i, which is point k of `planes`, the derivatives of the tile. */
FN void update_point(const grid *g, const fields *f, LOCAL const float *planes,
                     size_t i, int k)
{
    const size_t n = field_size(g);
    const second_derivatives p = derivatives_at(g, f->pc + i, planes, k);
    const second_derivatives q =
        derivatives_at(g, f->qc + i, planes + QY * TILE_PLANE, k);
    advance(g, f, i, p.xx + p.yy + p.zz, h1_of(&p, f->m + i, n), q.xx + q.yy + q.zz,
            h1_of(&q, f->m + i, n));
}

#endif
