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
 * derivative of a stored first derivative; the stored derivatives are those of one
 * plane. Time: the leapfrog scheme, next = 2 current - previous + dt^2 second
 * derivative.
 *
 * Layout: grid.h. The caller guarantees that the point has HALO neighbours on each
 * side.
 */
#include "rows.h"
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
#define SUM(f, i, s) (load(&f[i + (s)]) + load(&f[i - (s)]))
#define DER2(f, i, s, scale)                                                           \
    ((scale)*MAD(                                                                      \
        C4, SUM(f, i, 4 * s),                                                          \
        MAD(C3, SUM(f, i, 3 * s),                                                      \
            MAD(C2, SUM(f, i, 2 * s), MAD(C1, SUM(f, i, s), C0 * load(&f[i]))))))

/* First derivative of f at i along an axis with stride s; scale is 1 / h. */
#define DIFF(f, i, s) (load(&f[i + (s)]) - load(&f[i - (s)]))
#define DER1(f, i, s, scale)                                                           \
    ((scale)*MAD(                                                                      \
        D4, DIFF(f, i, 4 * s),                                                         \
        MAD(D3, DIFF(f, i, 3 * s), MAD(D2, DIFF(f, i, 2 * s), D1 * DIFF(f, i, s)))))

/* The derivatives that are stored for one plane: d/dx, d/dz and d2/dz2 of p, then of q.
 *
 *     | PX | PZ | PZZ | QX | QZ | QZZ |     each a plane of floats, laid out as in
 * grid.h
 *
 * They are 0 in the halo, as p and q are.
 */
enum { PX, PZ, PZZ, QX, QZ, QZZ, DERIVATIVES };

/* Computes the derivatives of f at LANES points of a row. The first point is i in f and
 * k in a plane of plane_size floats; out points to the first of the three planes of f.
 * Both derivatives along z use the same nine loads. */
FN void derive_point(const grid *g, GLOBAL const float *f, GLOBAL float *out,
                     size_t plane_size, size_t i, size_t k)
{
    const size_t z = (size_t)g->plane;
    const lanes fz = DER1(f, i, z, g->dzinv);
    const lanes fzz = DER2(f, i, z, g->dzzinv);

    unload(&out[PX * plane_size + k], DER1(f, i, 1, g->dxinv));
    unload(&out[PZ * plane_size + k], fz);
    unload(&out[PZZ * plane_size + k], fzz);
}

/* Loads a field of the medium. m points to V2PX, the first field that is used. */
#define LOAD_MEDIUM(field) load(&m[((field)-V2PX) * n + i])

/* Updates LANES points of a row, from point i on. m holds the fields of the medium,
 * pc and qc the current fields. pp and qp hold the previous fields, and are overwritten
 * with the next ones. `planes` holds the derivatives of this plane, in planes of
 * plane_size floats; point i is point k there. */
FN void update_point(const grid *g, GLOBAL const float *m, GLOBAL const float *pc,
                     GLOBAL const float *qc, GLOBAL float *pp, GLOBAL float *qp,
                     GLOBAL const float *planes, size_t plane_size, size_t i, size_t k)
{
    const size_t x = 1, y = (size_t)g->pitch;
    const size_t n = field_size(g);
    GLOBAL const float *px = planes + PX * plane_size, *pz = planes + PZ * plane_size;
    GLOBAL const float *qx = planes + QX * plane_size, *qz = planes + QZ * plane_size;

    const lanes pxx = DER2(pc, i, x, g->dxxinv);
    const lanes pyy = DER2(pc, i, y, g->dyyinv);
    const lanes pzz = load(&planes[PZZ * plane_size + k]);
    const lanes pxy = DER1(px, k, y, g->dyinv);
    const lanes pyz = DER1(pz, k, y, g->dyinv);
    const lanes pxz = DER1(pz, k, x, g->dxinv);

    const lanes qxx = DER2(qc, i, x, g->dxxinv);
    const lanes qyy = DER2(qc, i, y, g->dyyinv);
    const lanes qzz = load(&planes[QZZ * plane_size + k]);
    const lanes qxy = DER1(qx, k, y, g->dyinv);
    const lanes qyz = DER1(qz, k, y, g->dyinv);
    const lanes qxz = DER1(qz, k, x, g->dxinv);

    const lanes nx = LOAD_MEDIUM(NX), ny = LOAD_MEDIUM(NY), nz = LOAD_MEDIUM(NZ);
    const lanes xx = nx * nx, yy = ny * ny, zz = nz * nz;
    const lanes xy = 2 * nx * ny, yz = 2 * ny * nz, xz = 2 * nx * nz;
    const lanes h1p =
        MAD(xx, pxx, MAD(yy, pyy, MAD(zz, pzz, MAD(xy, pxy, MAD(yz, pyz, xz * pxz)))));
    const lanes h1q =
        MAD(xx, qxx, MAD(yy, qyy, MAD(zz, qzz, MAD(xy, qxy, MAD(yz, qyz, xz * qxz)))));
    const lanes h2p = pxx + pyy + pzz - h1p;
    const lanes h2q = qxx + qyy + qzz - h1q;

    const lanes vz = LOAD_MEDIUM(V2PZ) * h1q, vs = LOAD_MEDIUM(V2SZ);
    const lanes rhsp = MAD(LOAD_MEDIUM(V2PX), h2p, MAD(vs, h1p - h1q, vz));
    const lanes rhsq = MAD(LOAD_MEDIUM(V2PN), h2p, MAD(vs, h2q - h2p, vz));

    const float dt = g->dt;
    unload(&pp[i], MAD(dt * dt, rhsp, 2 * load(&pc[i]) - load(&pp[i])));
    unload(&qp[i], MAD(dt * dt, rhsq, 2 * load(&qc[i]) - load(&qp[i])));
}
