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
 * plane of a tile. Time: the leapfrog scheme, next = 2 current - previous + dt^2 second
 * derivative.
 *
 * Layout: grid.h. The caller guarantees that the point has HALO neighbours on each
 * side.
 */
#include "rows.h"
#include "grid.h"

/* Weights of the second derivative: of the point itself, and of the points at distance
 * 1 to 4. */
TABLE float c[5] = {-205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560};

/* Weights of the first derivative, of the points at distance 1 to 4 in positive
 * direction. In negative direction the sign is opposite. */
TABLE float d[5] = {0, 4.0f / 5, -1.0f / 5, 4.0f / 105, -1.0f / 280};

/* Second derivative of f at i along an axis with stride s; scale is 1 / h^2. */
#define SUM(f, i, s) (load(&f[i + (s)]) + load(&f[i - (s)]))
#define DER2(f, i, s, scale)                                                           \
    ((scale)*MAD(c[4], SUM(f, i, 4 * s),                                               \
                 MAD(c[3], SUM(f, i, 3 * s),                                           \
                     MAD(c[2], SUM(f, i, 2 * s),                                       \
                         MAD(c[1], SUM(f, i, s), c[0] * load(&f[i]))))))

/* First derivative of f at i along an axis with stride s; scale is 1 / h. */
#define DIFF(f, i, s) (load(&f[i + (s)]) - load(&f[i - (s)]))
#define DER1(f, i, s, scale)                                                           \
    ((scale)*MAD(d[4], DIFF(f, i, 4 * s),                                              \
                 MAD(d[3], DIFF(f, i, 3 * s),                                          \
                     MAD(d[2], DIFF(f, i, 2 * s), d[1] * DIFF(f, i, s)))))

/* The derivatives that are stored for one plane: d/dy, d2/dy2, d/dz and d2/dz2 of p,
 * then of q.
 *
 *     | PY | PYY | PZ | PZZ | QY | QYY | QZ | QZZ |     one plane each
 *
 * They are 0 in the halo, as p and q are.
 */
enum { PY, PYY, PZ, PZZ, QY, QYY, QZ, QZZ, DERIVATIVES };

/* Computes the derivatives along y of f at `count` points of a row. The first point is
 * i in f and k in a plane of plane_size floats; out points to the first of the four
 * planes of f. Only neighbours along x read them, so a tile needs them in its own rows
 * only. */
FN void derive_y(const grid *g, GLOBAL const float *f, LOCAL float *out,
                 size_t plane_size, size_t i, size_t k, int count)
{
    const size_t y = (size_t)g->pitch;
    const lanes fy = DER1(f, i, y, g->dyinv);
    const lanes fyy = DER2(f, i, y, g->dyyinv);

    STORE(&out[PY * plane_size + k], fy, count);
    STORE(&out[PYY * plane_size + k], fyy, count);
}

/* The same along z. They are differentiated along y, so a tile needs them in HALO rows
 * more on either side. */
FN void derive_z(const grid *g, GLOBAL const float *f, LOCAL float *out,
                 size_t plane_size, size_t i, size_t k, int count)
{
    const size_t z = (size_t)g->plane;
    const lanes fz = DER1(f, i, z, g->dzinv);
    const lanes fzz = DER2(f, i, z, g->dzzinv);

    STORE(&out[PZ * plane_size + k], fz, count);
    STORE(&out[PZZ * plane_size + k], fzz, count);
}

/* Loads a field of the medium. m points to V2PX, the first field that is used. */
#define LOAD_MEDIUM(field) load(&m[((field)-V2PX) * n + i])

/* Updates `count` points of a row, from point i on. m holds the fields of the medium,
 * pc and qc the current fields. pp and qp hold the previous fields, and are overwritten
 * with the next ones. `planes` holds the derivatives of this plane, in planes of
 * plane_size floats with rows of `pitch` floats; point i is point k there, and point ky
 * of the derivatives along y. */
FN void update_point(const grid *g, GLOBAL const float *m, GLOBAL const float *pc,
                     GLOBAL const float *qc, GLOBAL float *pp, GLOBAL float *qp,
                     LOCAL const float *planes, size_t plane_size, size_t pitch,
                     size_t i, size_t k, size_t ky, int count)
{
    const size_t x = 1, n = field_size(g);
    LOCAL const float *py = planes + PY * plane_size, *pz = planes + PZ * plane_size;
    LOCAL const float *qy = planes + QY * plane_size, *qz = planes + QZ * plane_size;

    const lanes pxx = DER2(pc, i, x, g->dxxinv);
    const lanes pyy = load(&planes[PYY * plane_size + ky]);
    const lanes pzz = load(&planes[PZZ * plane_size + k]);
    const lanes pxy = DER1(py, ky, x, g->dxinv);
    const lanes pyz = DER1(pz, k, pitch, g->dyinv);
    const lanes pxz = DER1(pz, k, x, g->dxinv);

    const lanes qxx = DER2(qc, i, x, g->dxxinv);
    const lanes qyy = load(&planes[QYY * plane_size + ky]);
    const lanes qzz = load(&planes[QZZ * plane_size + k]);
    const lanes qxy = DER1(qy, ky, x, g->dxinv);
    const lanes qyz = DER1(qz, k, pitch, g->dyinv);
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
    STORE(&pp[i], MAD(dt * dt, rhsp, 2 * load(&pc[i]) - load(&pp[i])), count);
    STORE(&qp[i], MAD(dt * dt, rhsq, 2 * load(&qc[i]) - load(&qp[i])), count);
}
