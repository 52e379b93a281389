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

/* The first derivative, from the differences of the two neighbours at distance 1 to 4;
 * scale is 1 / h. */
#define FIRST(d1, d2, d3, d4, scale)                                                   \
    ((scale)*MAD(d[4], d4, MAD(d[3], d3, MAD(d[2], d2, d[1] * (d1)))))

/* The second derivative, from the value at the point and the sums of the two neighbours
 * at distance 1 to 4; scale is 1 / h^2. */
#define SECOND(v, s1, s2, s3, s4, scale)                                               \
    ((scale)*MAD(c[4], s4, MAD(c[3], s3, MAD(c[2], s2, MAD(c[1], s1, c[0] * (v))))))

/* Both derivatives of f at i along an axis with stride s. */
#define SUM(f, i, s)  (load(&f[i + (s)]) + load(&f[i - (s)]))
#define DIFF(f, i, s) (load(&f[i + (s)]) - load(&f[i - (s)]))
#define DER1(f, i, s, scale)                                                           \
    FIRST(DIFF(f, i, s), DIFF(f, i, 2 * s), DIFF(f, i, 3 * s), DIFF(f, i, 4 * s), scale)
#define DER2(f, i, s, scale)                                                           \
    SECOND(load(&f[i]), SUM(f, i, s), SUM(f, i, 2 * s), SUM(f, i, 3 * s),              \
           SUM(f, i, 4 * s), scale)

/* Both along x, at the point to which f points. */
#define SUM_X(f, k)  (nearby(f, k) + nearby(f, -(k)))
#define DIFF_X(f, k) (nearby(f, k) - nearby(f, -(k)))
#define DER1_X(f, scale)                                                               \
    FIRST(DIFF_X(f, 1), DIFF_X(f, 2), DIFF_X(f, 3), DIFF_X(f, 4), scale)
#define DER2_X(f, scale)                                                               \
    SECOND(load(f), SUM_X(f, 1), SUM_X(f, 2), SUM_X(f, 3), SUM_X(f, 4), scale)

/* Computes both along an axis with stride s, at the LANES points from f on. Each
 * neighbour is added and subtracted, but loaded once: keep() prevents that gcc loads it
 * again. */
FN void derive(GLOBAL const float *f, size_t s, float scale1, float scale2,
               LOCAL float *first, LOCAL float *second)
{
    lanes after[5], before[5];
    UNROLL
    for (int k = 1; k <= HALO; k++) {
        after[k] = load(f + k * s);
        before[k] = load(f - k * s);
        keep(after[k]);
        keep(before[k]);
    }
#define CHANGE(k) (after[k] - before[k])
#define TOTAL(k)  (after[k] + before[k])
    unload(first, FIRST(CHANGE(1), CHANGE(2), CHANGE(3), CHANGE(4), scale1));
    unload(second, SECOND(load(f), TOTAL(1), TOTAL(2), TOTAL(3), TOTAL(4), scale2));
}

/* The derivatives that are stored for one plane: d/dy, d2/dy2, d/dz and d2/dz2 of p,
 * then of q.
 *
 *     | PY | PYY | PZ | PZZ | QY | QYY | QZ | QZZ |     one plane each
 *
 * They are 0 in the halo, as p and q are.
 */
enum { PY, PYY, PZ, PZZ, QY, QYY, QZ, QZZ, DERIVATIVES };

/* The same at two points, the second one s after the first: 10 loads instead of 18. The
 * derivatives of the second point are stored `apart` floats after those of the first.
 */
FN void derive_two(GLOBAL const float *f, size_t s, float scale1, float scale2,
                   LOCAL float *first, LOCAL float *second, size_t apart)
{
    lanes value[2 * HALO + 2];
    UNROLL
    for (int k = 0; k < 2 * HALO + 2; k++) {
        value[k] = load(f + k * s - HALO * s);
        keep(value[k]);
    }
    UNROLL
    for (int i = 0; i < 2; i++) {
        const lanes *v = value + HALO + i;
        unload(first + i * apart,
               FIRST(v[1] - v[-1], v[2] - v[-2], v[3] - v[-3], v[4] - v[-4], scale1));
        unload(second + i * apart, SECOND(v[0], v[1] + v[-1], v[2] + v[-2],
                                          v[3] + v[-3], v[4] + v[-4], scale2));
    }
}

/* The second derivatives of a field. */
typedef struct {
    lanes xx, yy, zz, xy, yz, xz;
} second_derivatives;

/* Returns H1 of a field; (nx, ny, nz) is the symmetry axis. */
FN lanes h1_of(const second_derivatives *f, lanes nx, lanes ny, lanes nz)
{
    const lanes xx = nx * nx, yy = ny * ny, zz = nz * nz;
    const lanes xy = 2 * nx * ny, yz = 2 * ny * nz, xz = 2 * nx * nz;
    return MAD(
        xx, f->xx,
        MAD(yy, f->yy, MAD(zz, f->zz, MAD(xy, f->xy, MAD(yz, f->yz, xz * f->xz)))));
}

/* Loads a field of the medium, of n floats. m points to its point in V2PX, the first
 * field that is used. */
#define MEDIUM(m, n, field) load((m) + ((field)-V2PX) * (n))

/* Stores the next p and q of `count` points, at most LANES, at pp and qp, where the
 * previous ones are. pc and qc point to the current ones, m to the medium. */
FN void advance(float dt, GLOBAL const float *m, size_t n, GLOBAL const float *pc,
                GLOBAL const float *qc, GLOBAL float *pp, GLOBAL float *qp, lanes h1p,
                lanes h2p, lanes h1q, lanes h2q, int count)
{
    const lanes vz = MEDIUM(m, n, V2PZ) * h1q, vs = MEDIUM(m, n, V2SZ);
    const lanes rhsp = MAD(MEDIUM(m, n, V2PX), h2p, MAD(vs, h1p - h1q, vz));
    const lanes rhsq = MAD(MEDIUM(m, n, V2PN), h2p, MAD(vs, h2q - h2p, vz));
    STORE(pp, MAD(dt * dt, rhsp, 2 * load(pc) - load(pp)), count);
    STORE(qp, MAD(dt * dt, rhsq, 2 * load(qc) - load(qp)), count);
}

/* The rest of this file is for GPUs, where the derivatives of a tile are in local
 * memory; march.h is for CPUs. */

/* Computes the derivatives along y of f at a point, which is i in f and k in a plane of
 * plane_size floats; out points to the first of the four planes of f. Only neighbours
 * along x read them, so a tile needs them in its own rows only. */
FN void derive_y(const grid *g, GLOBAL const float *f, LOCAL float *out,
                 size_t plane_size, size_t i, size_t k)
{
    derive(&f[i], (size_t)g->pitch, g->dyinv, g->dyyinv, &out[PY * plane_size + k],
           &out[PYY * plane_size + k]);
}

/* The same along z. They are differentiated along y, so a tile needs them in HALO rows
 * more on either side. */
FN void derive_z(const grid *g, GLOBAL const float *f, LOCAL float *out,
                 size_t plane_size, size_t i, size_t k)
{
    derive(&f[i], (size_t)g->plane, g->dzinv, g->dzzinv, &out[PZ * plane_size + k],
           &out[PZZ * plane_size + k]);
}

/* Returns the second derivatives of f at point i, which is k in `planes`: the
 * derivatives of f in planes of plane_size floats with rows of `pitch` floats. */
FN second_derivatives derivatives_at(const grid *g, GLOBAL const float *f,
                                     LOCAL const float *planes, size_t plane_size,
                                     size_t pitch, size_t i, size_t k)
{
    const size_t x = 1;
    LOCAL const float *fy = planes + PY * plane_size, *fz = planes + PZ * plane_size;
    second_derivatives s;
    s.xx = DER2(f, i, x, g->dxxinv);
    s.yy = load(&planes[PYY * plane_size + k]);
    s.zz = load(&planes[PZZ * plane_size + k]);
    s.xy = DER1(fy, k, x, g->dxinv);
    s.yz = DER1(fz, k, pitch, g->dyinv);
    s.xz = DER1(fz, k, x, g->dxinv);
    return s;
}

/* Updates point i, which is k in `planes`, the derivatives of the tile. m holds the
 * fields of the medium, pc and qc the current fields. pp and qp hold the previous
 * fields, and are overwritten with the next ones. */
FN void update_point(const grid *g, GLOBAL const float *m, GLOBAL const float *pc,
                     GLOBAL const float *qc, GLOBAL float *pp, GLOBAL float *qp,
                     LOCAL const float *planes, size_t plane_size, size_t pitch,
                     size_t i, size_t k)
{
    const size_t n = field_size(g);
    const second_derivatives p = derivatives_at(g, pc, planes, plane_size, pitch, i, k);
    const second_derivatives q =
        derivatives_at(g, qc, planes + QY * plane_size, plane_size, pitch, i, k);
    const lanes nx = MEDIUM(m + i, n, NX), ny = MEDIUM(m + i, n, NY),
                nz = MEDIUM(m + i, n, NZ);
    const lanes h1p = h1_of(&p, nx, ny, nz), h1q = h1_of(&q, nx, ny, nz);
    advance(g->dt, m + i, n, &pc[i], &qc[i], &pp[i], &qp[i], h1p,
            p.xx + p.yy + p.zz - h1p, h1q, q.xx + q.yy + q.zz - h1q, 1);
}
