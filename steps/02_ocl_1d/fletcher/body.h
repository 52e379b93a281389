/* body.h - what one point of the grid costs in one step of time: the paper's sample.h.
 *
 * p and q, of which p is the pressure, follow (Fletcher, Du and Fowler 2009)
 *
 *     p'' = vpx^2 H2(p) + vpz^2 H1(q) + vsz^2 H1(p - q)
 *     q'' = vpn^2 H2(p) + vpz^2 H1(q) - vsz^2 H2(p - q)
 *
 * where H1 is the second derivative along the axis of symmetry and H2 that across it.
 * Derivatives are central differences of order 8.
 */
#include "portable.h"
#include "grid.h"

/* Weights of the second derivative: of the point itself, and of those at 1 .. 4. */
#define C0 (-205.0f / 72)
#define C1 (8.0f / 5)
#define C2 (-1.0f / 5)
#define C3 (8.0f / 315)
#define C4 (-1.0f / 560)

/* Weights of the first derivative, of the points at 1 .. 4; those behind count
 * negative. */
#define D1 (4.0f / 5)
#define D2 (-1.0f / 5)
#define D3 (4.0f / 105)
#define D4 (-1.0f / 280)

/* Second derivative of f at i, s floats from point to point; scale is 1 / h^2. */
FN float der2(GLOBAL const float *f, size_t i, size_t s, float scale)
{
    return scale *
           (C0 * f[i] + C1 * (f[i - s] + f[i + s]) +
            C2 * (f[i - 2 * s] + f[i + 2 * s]) + C3 * (f[i - 3 * s] + f[i + 3 * s]) +
            C4 * (f[i - 4 * s] + f[i + 4 * s]));
}

/* The four points a s to either side and b t up or down, with their signs. */
FN float corners(GLOBAL const float *f, size_t i, size_t a, size_t b)
{
    return f[i + a + b] - f[i + a - b] - f[i - a + b] + f[i - a - b];
}

/* Derivative along s and along t, 64 points: every weight of one times every weight of
 * the other; scale is 1 / (h h'). */
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

/* One step of point i. m holds the medium; pc and qc are the fields of now; pp and qp
 * those of before, which become those of the next step. */
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
