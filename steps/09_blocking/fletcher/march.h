/* march.h - the update of one plane of a tile on a CPU, row after row, for a thread of
 * the C back-end and for a work-item of an OpenCL device. The points of a row are the
 * lanes of vectors. Each loop over a row reads few arrays, so that all addresses and
 * weights stay in registers.
 *
 * What the rows need is kept in a workspace that stays in the caches of the core. It
 * has WORK_ROWS rows for p, and as many for q:
 *
 *     | Y | YY | LAPLACIAN | H1 | ring of derivatives along z |
 *
 * The derivatives along y and the operators are those of the row that is being updated.
 * The ring holds the first and the second derivative along z of the rows HALO before to
 * HALO after it, since the first one is differentiated along y.
 */
#ifndef MARCH_H
#define MARCH_H

#include "body.h"

/* Rows of a ring: a power of two, and more than 2 HALO. */
enum { RING_ROWS = 16 };
enum { Y, YY, LAPLACIAN, H1, RING, WORK_ROWS = RING + 2 * RING_ROWS };

/* Floats of a row of the workspace for `count` points, which are rounded up to whole
 * vectors. Between the points of two rows there are 2 LINE floats; they are never
 * written, and are 0, as the derivatives are in the halo. */
#define work_pitch(count) (((size_t)(count) + LINE - 1) / LINE * LINE + 2 * LINE)

/* Floats of the workspace. */
#define work_size(count) (2 * WORK_ROWS * work_pitch(count))

/* Row y of the ring in the workspace of a field, whose rows have w floats: the first
 * derivative; the second one is in the next row. */
#define ring_row(work, w, y)                                                           \
    ((work) + (RING + 2 * (size_t)((y) & (RING_ROWS - 1))) * (w))

/* Computes the derivatives of f along the axis with stride s at `count` points. `next`
 * is a row that will be read from main memory soon. */
FN void derive_row(GLOBAL const float *restrict f, size_t s, float scale1, float scale2,
                   LOCAL float *restrict first, LOCAL float *restrict second, int count,
                   GLOBAL const float *next)
{
    for (int x = 0; x < count; x += LANES) {
        fetch(next + x);
        derive(f + x, s, scale1, scale2, first + x, second + x);
    }
}

/* Computes the Laplacian and H1 of a field at `count` points of row y. f points to the
 * first of them, m to the medium there; n is the size of a field. `next` points to
 * three fields of the medium in the next row. */
NOINLINE_FN void operators_row(const grid *g, GLOBAL const float *restrict m, size_t n,
                               GLOBAL const float *restrict f,
                               LOCAL float *restrict work, size_t w, int y, int count,
                               GLOBAL const float *next)
{
    LOCAL const float *fy = work + Y * w, *z0 = ring_row(work, w, y);
    LOCAL const float *before1 = ring_row(work, w, y - 1),
                      *after1 = ring_row(work, w, y + 1);
    LOCAL const float *before2 = ring_row(work, w, y - 2),
                      *after2 = ring_row(work, w, y + 2);
    LOCAL const float *before3 = ring_row(work, w, y - 3),
                      *after3 = ring_row(work, w, y + 3);
    LOCAL const float *before4 = ring_row(work, w, y - 4),
                      *after4 = ring_row(work, w, y + 4);
    const float dx = g->dxinv, dxx = g->dxxinv, dy = g->dyinv;

    for (int x = 0; x < count; x += LANES) {
        fetch(next + x);
        fetch(next + n + x);
        fetch(next + 2 * n + x);
#define CHANGE_Y(k) (load(after##k + x) - load(before##k + x))
        second_derivatives s;
        s.xx = DER2(f, x, 1, dxx);
        s.yy = load(work + YY * w + x);
        s.zz = load(z0 + w + x);
        s.xy = DER1(fy, x, 1, dx);
        s.yz = FIRST(CHANGE_Y(1), CHANGE_Y(2), CHANGE_Y(3), CHANGE_Y(4), dy);
        s.xz = DER1(z0, x, 1, dx);
        unload(work + LAPLACIAN * w + x, s.xx + s.yy + s.zz);
        unload(work + H1 * w + x, h1_of(&s, MEDIUM(m + x, n, NX), MEDIUM(m + x, n, NY),
                                        MEDIUM(m + x, n, NZ)));
    }
}

/* Stores the next p and q of `count` points. `next` is a field of the medium in the
 * next row. */
NOINLINE_FN void advance_row(float dt, GLOBAL const float *restrict m, size_t n,
                             GLOBAL const float *restrict pc,
                             GLOBAL const float *restrict qc, GLOBAL float *restrict pp,
                             GLOBAL float *restrict qp, LOCAL const float *restrict p,
                             LOCAL const float *restrict q, size_t w, int count,
                             GLOBAL const float *next)
{
    for (int x = 0; x < count; x += LANES) {
        fetch(next + x);
        const lanes h1p = load(p + H1 * w + x), h1q = load(q + H1 * w + x);
        advance(dt, m + x, n, pc + x, qc + x, pp + x, qp + x, h1p,
                load(p + LAPLACIAN * w + x) - h1p, h1q,
                load(q + LAPLACIAN * w + x) - h1q, count - x);
    }
}

/* Updates `count` points of rows first .. end - 1 of plane z. m points to V2PX of the
 * medium, pc and qc to the current fields, pp and qp to the previous ones, which are
 * overwritten with the next ones; `work` is a workspace of work_size(count) floats, all
 * 0 at first. */
FN void march(const grid *g, GLOBAL const float *m, GLOBAL const float *pc,
              GLOBAL const float *qc, GLOBAL float *pp, GLOBAL float *qp,
              LOCAL float *work, int z, int first, int end, int count)
{
    const size_t n = field_size(g), plane = (size_t)g->plane, pitch = (size_t)g->pitch;
    const size_t w = work_pitch(count);
    LOCAL float *p = work + LINE, *q = p + WORK_ROWS * w;

    /* From the last row of a plane to the first one of the next plane. */
    const long next_plane = (long)(plane - (size_t)(end - 1 - first) * pitch);

    /* The derivatives along z are HALO rows ahead. */
    for (int y = first - 2 * HALO; y < end; y++) {
        const size_t ahead = row_start(g, y + HALO, z) + HALO;
        const long next = y + 1 < end ? (long)pitch : next_plane;
        LOCAL float *pz = ring_row(p, w, y + HALO), *qz = ring_row(q, w, y + HALO);
        const size_t new = ahead + HALO *plane; /* not read in earlier planes */
        const long next_new = y + 1 < end ? next : next - 2 * HALO * (long)pitch;
        derive_row(pc + ahead, plane, g->dzinv, g->dzzinv, pz, pz + w, count,
                   pc + new + next_new);
        derive_row(qc + ahead, plane, g->dzinv, g->dzzinv, qz, qz + w, count,
                   qc + new + next_new);
        if (y < first) continue;

        const size_t i = row_start(g, y, z) + HALO;
        GLOBAL const float *next_m = m + i + next;
        derive_row(pc + i, pitch, g->dyinv, g->dyyinv, p + Y * w, p + YY * w, count,
                   pp + i + next);
        derive_row(qc + i, pitch, g->dyinv, g->dyyinv, q + Y * w, q + YY * w, count,
                   qp + i + next);
        operators_row(g, m + i, n, pc + i, p, w, y, count, next_m);
        operators_row(g, m + i, n, qc + i, q, w, y, count, next_m + 3 * n);
        advance_row(g->dt, m + i, n, pc + i, qc + i, pp + i, qp + i, p, q, w, count,
                    next_m + 6 * n);
    }
}

#endif
