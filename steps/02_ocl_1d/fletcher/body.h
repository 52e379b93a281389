/* body.h - the update of one grid point in one time step (sample.h in the paper's
 * code).
 *
 * The wave fields p (the pressure) and q satisfy (Fletcher, Du and Fowler, Geophysics
 * 74(6), 2009)
 *
 *     p_tt = vpx^2 H2(p) + vpz^2 H1(q) + vsz^2 H1(p - q)
 *     q_tt = vpn^2 H2(p) + vpz^2 H1(q) - vsz^2 H2(p - q)
 *
 * H1 = (n . grad)^2 is the second derivative along the symmetry axis n, and H2 is the
 * Laplacian minus H1. With n = (nx, ny, nz):
 *
 *     H1 = nx^2 dxx + ny^2 dyy + nz^2 dzz + 2 nx ny dxy + 2 ny nz dyz + 2 nx nz dxz
 *
 * Space: central finite differences of order 8. A cross derivative is the outer product
 * of two first-derivative stencils, 8 x 8 points. Time: the leapfrog scheme, next = 2
 * current - previous + dt^2 second derivative.
 *
 * Layout: grid.h. The caller guarantees that the point has HALO neighbours on each
 * side.
 */
#include "portable.h"
#include "grid.h"

/* Weights of the second derivative: of the point itself, and of the points at distance
 * 1 to 4. */
#define C0 (-205.0f / 72)
#define C1 (8.0f / 5)
#define C2 (-1.0f / 5)
#define C3 (8.0f / 315)
#define C4 (-1.0f / 560)

/* Weights of the first derivative, of the points at distance 1 to 4 in positive
 * direction. In negative direction the sign is opposite. */
#define D1 (4.0f / 5)
#define D2 (-1.0f / 5)
#define D3 (4.0f / 105)
#define D4 (-1.0f / 280)

/* Second derivative of f at i along an axis with stride s; scale is 1 / h^2. */
FN float der2(GLOBAL const float *f, size_t i, size_t s, float scale)
{
    return scale *
           (C0 * f[i] + C1 * (f[i - s] + f[i + s]) +
            C2 * (f[i - 2 * s] + f[i + 2 * s]) + C3 * (f[i - 3 * s] + f[i + 3 * s]) +
            C4 * (f[i - 4 * s] + f[i + 4 * s]));
}

/* The four points at distance a along one axis and b along another, with the signs of a
 * cross derivative. */
FN float corners(GLOBAL const float *f, size_t i, size_t a, size_t b)
{
    return f[i + a + b] - f[i + a - b] - f[i - a + b] + f[i - a - b];
}

/* Cross derivative along the axes with strides s and t, 64 points: each weight of one
 * first derivative times each weight of the other; scale is 1 / (h h'). */
FN float der_cross(GLOBAL const float *f, size_t i, size_t s, size_t t, float scale)
{
    return scale *
           (D1 * D1 * corners(f, i, s, t) + D2 * D2 * corners(f, i, 2 * s, 2 * t) +
            D3 * D3 * corners(f, i, 3 * s, 3 * t) +
            D4 * D4 * corners(f, i, 4 * s, 4 * t) +
            D1 * D2 * (corners(f, i, s, 2 * t) + corners(f, i, 2 * s, t)) +
            D1 * D3 * (corners(f, i, s, 3 * t) + corners(f, i, 3 * s, t)) +
            D1 * D4 * (corners(f, i, s, 4 * t) + corners(f, i, 4 * s, t)) +
            D2 * D3 * (corners(f, i, 2 * s, 3 * t) + corners(f, i, 3 * s, 2 * t)) +
            D2 * D4 * (corners(f, i, 2 * s, 4 * t) + corners(f, i, 4 * s, 2 * t)) +
            D3 * D4 * (corners(f, i, 3 * s, 4 * t) + corners(f, i, 4 * s, 3 * t)));
}

/* Updates point i. m holds the fields of the medium, pc and qc the current fields. pp
 * and qp hold the previous fields, and are overwritten with the next ones. */
FN void update_point(const grid *g, GLOBAL const float *m, GLOBAL const float *pc,
                     GLOBAL const float *qc, GLOBAL float *pp, GLOBAL float *qp,
                     size_t i)
{
    const size_t x = 1, y = (size_t)g->pitch, z = (size_t)g->plane;
    const size_t n = field_size(g);

    const float pxx = der2(pc, i, x, g->dxxinv);
    const float pyy = der2(pc, i, y, g->dyyinv);
    const float pzz = der2(pc, i, z, g->dzzinv);
    const float pxy = der_cross(pc, i, x, y, g->dxyinv);
    const float pyz = der_cross(pc, i, y, z, g->dyzinv);
    const float pxz = der_cross(pc, i, x, z, g->dxzinv);

    const float qxx = der2(qc, i, x, g->dxxinv);
    const float qyy = der2(qc, i, y, g->dyyinv);
    const float qzz = der2(qc, i, z, g->dzzinv);
    const float qxy = der_cross(qc, i, x, y, g->dxyinv);
    const float qyz = der_cross(qc, i, y, z, g->dyzinv);
    const float qxz = der_cross(qc, i, x, z, g->dxzinv);

    m += i;
    const float h1p = m[CH1DXX * n] * pxx + m[CH1DYY * n] * pyy + m[CH1DZZ * n] * pzz +
                      m[CH1DXY * n] * pxy + m[CH1DYZ * n] * pyz + m[CH1DXZ * n] * pxz;
    const float h1q = m[CH1DXX * n] * qxx + m[CH1DYY * n] * qyy + m[CH1DZZ * n] * qzz +
                      m[CH1DXY * n] * qxy + m[CH1DYZ * n] * qyz + m[CH1DXZ * n] * qxz;
    const float h2p = pxx + pyy + pzz - h1p;
    const float h2q = qxx + qyy + qzz - h1q;

    const float rhsp =
        m[V2PX * n] * h2p + m[V2PZ * n] * h1q + m[V2SZ * n] * (h1p - h1q);
    const float rhsq =
        m[V2PN * n] * h2p + m[V2PZ * n] * h1q - m[V2SZ * n] * (h2p - h2q);

    const float dt = g->dt;
    pp[i] = 2 * pc[i] - pp[i] + rhsp * dt * dt;
    qp[i] = 2 * qc[i] - qp[i] + rhsq * dt * dt;
}
