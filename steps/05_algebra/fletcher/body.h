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
 * Space: central finite differences of order 8. A cross derivative is the first
 * derivative of a stored first derivative: two passes of 8 points. Time: the leapfrog
 * scheme, next = 2 current - previous + dt^2 second derivative.
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
#define DER2(f, i, s, scale)                                                           \
    ((scale) *                                                                         \
     (C0 * f[i] + C1 * (f[i - s] + f[i + s]) + C2 * (f[i - 2 * s] + f[i + 2 * s]) +    \
      C3 * (f[i - 3 * s] + f[i + 3 * s]) + C4 * (f[i - 4 * s] + f[i + 4 * s])))

/* First derivative of f at i along an axis with stride s; scale is 1 / h. */
#define DER1(f, i, s, scale)                                                           \
    ((scale) *                                                                         \
     (D1 * (f[i + s] - f[i - s]) + D2 * (f[i + 2 * s] - f[i - 2 * s]) +                \
      D3 * (f[i + 3 * s] - f[i - 3 * s]) + D4 * (f[i + 4 * s] - f[i - 4 * s])))

/* Computes dp/dx and dq/dx at point i. They are 0 in the halo, as p and q are. */
FN void derive_x(const grid *g, GLOBAL const float *pc, GLOBAL const float *qc,
                 GLOBAL float *px, GLOBAL float *qx, size_t i)
{
    px[i] = DER1(pc, i, 1, g->dxinv);
    qx[i] = DER1(qc, i, 1, g->dxinv);
}

/* The same along z. */
FN void derive_z(const grid *g, GLOBAL const float *pc, GLOBAL const float *qc,
                 GLOBAL float *pz, GLOBAL float *qz, size_t i)
{
    const size_t z = (size_t)g->plane;

    pz[i] = DER1(pc, i, z, g->dzinv);
    qz[i] = DER1(qc, i, z, g->dzinv);
}

/* Loads a field of the medium. m points to V2PX, the first field that is used. */
#define LOAD_MEDIUM(field) (m[((field)-V2PX) * n + i])

/* Updates point i. m holds the fields of the medium, pc and qc the current fields. pp
 * and qp hold the previous fields, and are overwritten with the next ones. px, pz, qx
 * and qz are the first derivatives of the current fields. */
FN void update_point(const grid *g, GLOBAL const float *m, GLOBAL const float *pc,
                     GLOBAL const float *qc, GLOBAL float *pp, GLOBAL float *qp,
                     GLOBAL const float *px, GLOBAL const float *pz,
                     GLOBAL const float *qx, GLOBAL const float *qz, size_t i)
{
    const size_t x = 1, y = (size_t)g->pitch, z = (size_t)g->plane;
    const size_t n = field_size(g);

    const float pxx = DER2(pc, i, x, g->dxxinv);
    const float pyy = DER2(pc, i, y, g->dyyinv);
    const float pzz = DER2(pc, i, z, g->dzzinv);
    const float pxy = DER1(px, i, y, g->dyinv);
    const float pyz = DER1(pz, i, y, g->dyinv);
    const float pxz = DER1(pz, i, x, g->dxinv);

    const float qxx = DER2(qc, i, x, g->dxxinv);
    const float qyy = DER2(qc, i, y, g->dyyinv);
    const float qzz = DER2(qc, i, z, g->dzzinv);
    const float qxy = DER1(qx, i, y, g->dyinv);
    const float qyz = DER1(qz, i, y, g->dyinv);
    const float qxz = DER1(qz, i, x, g->dxinv);

    const float nx = LOAD_MEDIUM(NX), ny = LOAD_MEDIUM(NY), nz = LOAD_MEDIUM(NZ);
    const float xx = nx * nx, yy = ny * ny, zz = nz * nz;
    const float xy = 2 * nx * ny, yz = 2 * ny * nz, xz = 2 * nx * nz;
    const float h1p = xx * pxx + yy * pyy + zz * pzz + xy * pxy + yz * pyz + xz * pxz;
    const float h1q = xx * qxx + yy * qyy + zz * qzz + xy * qxy + yz * qyz + xz * qxz;
    const float h2p = pxx + pyy + pzz - h1p;
    const float h2q = qxx + qyy + qzz - h1q;

    const float vz = LOAD_MEDIUM(V2PZ) * h1q, vs = LOAD_MEDIUM(V2SZ);
    const float rhsp = LOAD_MEDIUM(V2PX) * h2p + vz + vs * (h1p - h1q);
    const float rhsq = LOAD_MEDIUM(V2PN) * h2p + vz - vs * (h2p - h2q);

    const float dt = g->dt;
    pp[i] = 2 * pc[i] - pp[i] + rhsp * dt * dt;
    qp[i] = 2 * qc[i] - qp[i] + rhsq * dt * dt;
}
