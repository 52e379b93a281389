/* march.h - the update of one or two planes of a tile on a CPU, row after row, for a
 * thread of the C back-end and for a work-item of an OpenCL device. The points of a row
 * are the lanes of vectors. Each loop over a row reads few arrays, so that all
 * addresses and weights stay in registers.
 *
 * A workspace stores the values that the rows need. It stays in the caches of the core,
 * and has WORK_ROWS rows for p, and as many for q:
 *
 *     | LAPLACIAN | H1 | along y, 2 planes | rings, 2 planes |
 *
 * The operators are those of the row that is being updated. The derivatives along y are
 * those of two rows, computed together. The rings hold the first and the second
 * derivative along z of the rows HALO before to HALO after, since the first one is
 * differentiated along y. Those of two planes are computed together.
 */
#ifndef MARCH_H
#define MARCH_H

#include "body.h"

/* Rows of a ring: a power of two, and more than 2 HALO. */
enum { RING_ROWS = 16 };
/* The first rows of the parts of a workspace. */
enum { LAPLACIAN, H1, Y, RING = Y + 2 * 4, WORK_ROWS = RING + 2 * 2 * RING_ROWS };

/* Floats of a row of the workspace for `count` points, which are rounded up to whole
 * vectors. Between the points of two rows there are 2 LINE floats; they are never
 * written, and are 0, as the derivatives are in the halo. */
#define work_pitch(count) (((size_t)(count) + LINE - 1) / LINE * LINE + 2 * LINE)

/* Floats of the workspace. */
#define work_size(count) (2 * WORK_ROWS * work_pitch(count))

/* The first derivative along z in row y of plane 0 or 1, in a workspace with rows of w
 * floats. The second derivative is in the next row. */
#define z_row(work, w, plane, y)                                                       \
    ((work) +                                                                          \
     (RING + 2 * (size_t)(RING_ROWS * (plane) + ((y) & (RING_ROWS - 1)))) * (w))

/* The first derivative along y in the even or odd row of plane 0 or 1. The second
 * derivative is in the next row. */
#define y_row(work, w, plane, odd)                                                     \
    ((work) + (Y + (size_t)(4 * (plane) + 2 * (odd))) * (w))

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

/* The same for two rows at once, the second one s after the first; see derive_two().
 * The second row that will be read soon is s after `next`. */
FN void derive_two_rows(GLOBAL const float *restrict f, size_t s, float scale1,
                        float scale2, LOCAL float *restrict first,
                        LOCAL float *restrict second, size_t apart, int count,
                        GLOBAL const float *next)
{
    for (int x = 0; x < count; x += LANES) {
        fetch(next + x);
        fetch(next + s + x);
        derive_two(f + x, s, scale1, scale2, first + x, second + x, apart);
    }
}

/* Computes the Laplacian and H1 of a field at `count` points of row y. z is the plane,
 * 0 or 1, and fy points to the derivatives along y. f points to the first point, m to
 * the medium there; n is the size of a field. `next` points to three fields of the
 * medium in the next row. */
NOINLINE_FN void operators_row(const grid *g, GLOBAL const float *restrict m, size_t n,
                               GLOBAL const float *restrict f,
                               LOCAL float *restrict work, size_t w, int z, int y,
                               LOCAL const float *restrict fy, int count,
                               GLOBAL const float *next)
{
    LOCAL const float *z0 = z_row(work, w, z, y);
    LOCAL const float *before1 = z_row(work, w, z, y - 1),
                      *after1 = z_row(work, w, z, y + 1);
    LOCAL const float *before2 = z_row(work, w, z, y - 2),
                      *after2 = z_row(work, w, z, y + 2);
    LOCAL const float *before3 = z_row(work, w, z, y - 3),
                      *after3 = z_row(work, w, z, y + 3);
    LOCAL const float *before4 = z_row(work, w, z, y - 4),
                      *after4 = z_row(work, w, z, y + 4);
    const float dx = g->dxinv, dxx = g->dxxinv, dy = g->dyinv;

    for (int x = 0; x < count; x += LANES) {
        fetch(next + x);
        fetch(next + n + x);
        fetch(next + 2 * n + x);
#define CHANGE_Y(k) (load(after##k + x) - load(before##k + x))
        second_derivatives s;
        s.xx = DER2_X(f + x, dxx);
        s.yy = load(fy + w + x);
        s.zz = load(z0 + w + x);
        s.xy = DER1_X(fy + x, dx);
        s.yz = FIRST(CHANGE_Y(1), CHANGE_Y(2), CHANGE_Y(3), CHANGE_Y(4), dy);
        s.xz = DER1_X(z0 + x, dx);
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

/* Computes the derivatives along z of a row of f in one plane or two. f points to its
 * first point, and first to the first row of the result. */
FN void derive_z_rows(const grid *g, GLOBAL const float *f, LOCAL float *first,
                      size_t w, int planes, int count, GLOBAL const float *next)
{
    const size_t z = (size_t)g->plane;
    if (planes == 2)
        derive_two_rows(f, z, g->dzinv, g->dzzinv, first, first + w, 2 * RING_ROWS * w,
                        count, next);
    else
        derive_row(f, z, g->dzinv, g->dzzinv, first, first + w, count, next);
}

/* Updates `count` points of rows first .. end - 1 in plane z, and in the next one if
 * planes is 2. m points to V2PX of the medium, pc and qc to the current fields, pp and
 * qp to the previous ones, which are overwritten with the next ones; `work` is a
 * workspace of work_size(count) floats, all 0 at first. */
FN void march(const grid *g, GLOBAL const float *m, GLOBAL const float *pc,
              GLOBAL const float *qc, GLOBAL float *pp, GLOBAL float *qp,
              LOCAL float *work, int z, int planes, int first, int end, int count)
{
    const size_t n = field_size(g), plane = (size_t)g->plane, pitch = (size_t)g->pitch;
    const size_t w = work_pitch(count);
    LOCAL float *p = work + LINE, *q = p + WORK_ROWS * w;

    /* The derivatives along z are HALO rows ahead. */
    for (int y = first - 2 * HALO; y < end; y++) {
        const size_t ahead = row_start(g, y + HALO, z) + HALO;
        const size_t unread = ahead + HALO * plane; /* not read in earlier planes */
        /* The next rows to be read: in these planes, or the first ones of the next. */
        const long back = (long)(plane * (size_t)planes) - (y - first) * (long)pitch;
        const long next = y + 1 < end ? (long)pitch : back;
        const long next_two = y + 2 < end ? 2 * (long)pitch : back;
        const long next_unread = y + 1 < end ? next : back - 2 * HALO * (long)pitch;
        derive_z_rows(g, pc + ahead, z_row(p, w, 0, y + HALO), w, planes, count,
                      pc + unread + next_unread);
        derive_z_rows(g, qc + ahead, z_row(q, w, 0, y + HALO), w, planes, count,
                      qc + unread + next_unread);
        if (y < first) continue;

        const int odd = (y - first) & 1;
        for (int k = 0; k < planes; k++) {
            const size_t i = row_start(g, y, z + k) + HALO;
            LOCAL float *py = y_row(p, w, k, odd), *qy = y_row(q, w, k, odd);
            if (!odd) {
                derive_two_rows(pc + i, pitch, g->dyinv, g->dyyinv, py, py + w, 2 * w,
                                count, pp + i + next_two);
                derive_two_rows(qc + i, pitch, g->dyinv, g->dyyinv, qy, qy + w, 2 * w,
                                count, qp + i + next_two);
            }
            GLOBAL const float *next_m = m + i + next;
            operators_row(g, m + i, n, pc + i, p, w, k, y, py, count, next_m);
            operators_row(g, m + i, n, qc + i, q, w, k, y, qy, count, next_m + 3 * n);
            advance_row(g->dt, m + i, n, pc + i, qc + i, pp + i, qp + i, p, q, w, count,
                        next_m + 6 * n);
        }
    }
}

#endif
