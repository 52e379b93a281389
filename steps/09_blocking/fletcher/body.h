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

/* The first derivative, from the differences of the two neighbours at distance 1 to 4;
 * scale is 1 / h. */
#define FIRST(d1, d2, d3, d4, scale)                                                   \
    ((scale)*MAD(D4, d4, MAD(D3, d3, MAD(D2, d2, D1 * (d1)))))

/* The second derivative, from the value at the point and the sums of the two neighbours
 * at distance 1 to 4; scale is 1 / h^2. */
#define SECOND(v, s1, s2, s3, s4, scale)                                               \
    ((scale)*MAD(C4, s4, MAD(C3, s3, MAD(C2, s2, MAD(C1, s1, C0 * (v))))))

/* Both along x, at the point to which f points. */
#define SUM_X(f, k)  (nearby(f, k) + nearby(f, -(k)))
#define DIFF_X(f, k) (nearby(f, k) - nearby(f, -(k)))
#define DER1_X(f, scale)                                                               \
    FIRST(DIFF_X(f, 1), DIFF_X(f, 2), DIFF_X(f, 3), DIFF_X(f, 4), scale)
#define DER2_X(f, scale)                                                               \
    SECOND(load(f), SUM_X(f, 1), SUM_X(f, 2), SUM_X(f, 3), SUM_X(f, 4), scale)

typedef struct {
    lanes first, second;
} derivative_pair;

/* Returns both along an axis with stride s, at the LANES points from f on. Each
 * neighbour is added and subtracted, but loaded once: keep() prevents that gcc loads it
 * again. */
FN derivative_pair derive(GLOBAL const float *f, size_t s, float scale1, float scale2)
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
    derivative_pair pair;
    pair.first = FIRST(CHANGE(1), CHANGE(2), CHANGE(3), CHANGE(4), scale1);
    pair.second = SECOND(load(f), TOTAL(1), TOTAL(2), TOTAL(3), TOTAL(4), scale2);
    return pair;
}

/* The second derivatives of a field. */
typedef struct {
    lanes xx, yy, zz, xy, yz, xz;
} second_derivatives;

/* Loads a field of the medium, of n floats. m points to its point in V2PX, the first
 * field that is used. */
#define MEDIUM(m, n, field) load((m) + ((field)-V2PX) * (n))

/* Returns H1 of a field with the second derivatives *f, at the point of the medium to
 * which m points. */
FN lanes h1_of(const second_derivatives *f, GLOBAL const float *m, size_t n)
{
    const lanes nx = MEDIUM(m, n, NX), ny = MEDIUM(m, n, NY), nz = MEDIUM(m, n, NZ);
    const lanes xx = nx * nx, yy = ny * ny, zz = nz * nz;
    const lanes xy = 2 * nx * ny, yz = 2 * ny * nz, xz = 2 * nx * nz;
    return MAD(
        xx, f->xx,
        MAD(yy, f->yy, MAD(zz, f->zz, MAD(xy, f->xy, MAD(yz, f->yz, xz * f->xz)))));
}

/* The arrays of a time step: the medium from V2PX on, p and q of the current step, and
 * those of the previous step, which are overwritten with the next ones. */
typedef struct {
    GLOBAL const float *m, *pc, *qc;
    GLOBAL float *pp, *qp;
} fields;

/* Stores the next p and q of the LANES points from i on, given the Laplacian and H1 of
 * both. */
FN void advance(const grid *g, const fields *f, size_t i, lanes laplacian_p, lanes h1p,
                lanes laplacian_q, lanes h1q)
{
    const size_t n = field_size(g);
    const float dt2 = g->dt * g->dt;
    GLOBAL const float *m = f->m + i;
    const lanes h2p = laplacian_p - h1p, h2q = laplacian_q - h1q;
    const lanes vz = MEDIUM(m, n, V2PZ) * h1q, vs = MEDIUM(m, n, V2SZ);
    const lanes rhsp = MAD(MEDIUM(m, n, V2PX), h2p, MAD(vs, h1p - h1q, vz));
    const lanes rhsq = MAD(MEDIUM(m, n, V2PN), h2p, MAD(vs, h2q - h2p, vz));
    unload(f->pp + i, MAD(dt2, rhsp, 2 * load(f->pc + i) - load(f->pp + i)));
    unload(f->qp + i, MAD(dt2, rhsq, 2 * load(f->qc + i) - load(f->qp + i)));
}
