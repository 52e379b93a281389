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
#include "rows.h"
#include "grid.h"

/* Weights of the second derivative: of the point itself, and of those at 1 .. 4. */
TABLE float c[5] = {-205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560};

/* Weights of the first derivative, of the points at 1 .. 4; those behind count
 * negative. */
TABLE float d[5] = {0, 4.0f / 5, -1.0f / 5, 4.0f / 105, -1.0f / 280};

#ifdef _OPENACC
#pragma acc declare copyin(c, d)
#endif

/* Second derivative of f at i, s floats from point to point; scale is 1 / h^2. */
#define SUM(f, i, s) (load(&f[i + (s)]) + load(&f[i - (s)]))
#define DER2(f, i, s, scale)                                                           \
    ((scale)*MAD(c[4], SUM(f, i, 4 * s),                                               \
                 MAD(c[3], SUM(f, i, 3 * s),                                           \
                     MAD(c[2], SUM(f, i, 2 * s),                                       \
                         MAD(c[1], SUM(f, i, s), c[0] * load(&f[i]))))))

/* First derivative of f at i, s floats from point to point; scale is 1 / h. */
#define DIFF(f, i, s) (load(&f[i + (s)]) - load(&f[i - (s)]))
#define DER1(f, i, s, scale)                                                           \
    ((scale)*MAD(d[4], DIFF(f, i, 4 * s),                                              \
                 MAD(d[3], DIFF(f, i, 3 * s),                                          \
                     MAD(d[2], DIFF(f, i, 2 * s), d[1] * DIFF(f, i, s)))))

/* What is kept of one plane: derivatives of p and of q along y and along z, each once
 * and twice, each a plane after the one before. They are 0 in the halo, as p and q are.
 */
enum { PY, PYY, PZ, PZZ, QY, QYY, QZ, QZZ, DERIVATIVES };

/* Derives f along y at point i, which is point k of planes of n floats: of p these are
 * the first four, of q the others. Only x neighbours will ask for it: a tile needs it
 * of its own rows. Of a row's points there are `count`, this one and those after it. */
FN void derive_y(const grid *g, GLOBAL const float *f, LOCAL float *out,
                 size_t plane_size, size_t i, size_t k, int count)
{
    const size_t y = (size_t)g->pitch;
    const lanes fy = DER1(f, i, y, g->dyinv);
    const lanes fyy = DER2(f, i, y, g->dyyinv);

    STORE(&out[PY * plane_size + k], fy, count);
    STORE(&out[PYY * plane_size + k], fyy, count);
}

/* The same along z. It will be derived along y: a tile needs HALO more rows of it to
 * either side. */
FN void derive_z(const grid *g, GLOBAL const float *f, LOCAL float *out,
                 size_t plane_size, size_t i, size_t k, int count)
{
    const size_t z = (size_t)g->plane;
    const lanes fz = DER1(f, i, z, g->dzinv);
    const lanes fzz = DER2(f, i, z, g->dzzinv);

    STORE(&out[PZ * plane_size + k], fz, count);
    STORE(&out[PZZ * plane_size + k], fzz, count);
}

/* The medium's fields that are used, of which V2PX is the first. */
#define LOAD_MEDIUM(field) load(&m[((field)-V2PX) * n + i])

/* One step of point i. m holds the medium; pc and qc are the fields of now; pp and qp
 * those of before, which become those of the next step; of holds what was derived of
 * this plane, in planes of ns floats and rows of row, whose point k is this one, but
 * point ky of what was derived along y. */
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
