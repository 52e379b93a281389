/* march.h - the update of one or two planes of a tile on a CPU, row after row, for a
 * thread of the C back-end and for a work-item of an OpenCL device. The points of a row
 * are the lanes of vectors. Each loop over a row reads few arrays, so that all
 * addresses and weights stay in registers.
 *
 * A workspace stores the values that the rows need. It stays in the caches of the core,
 * and has four parts: p and q of the first plane, p and q of the second one. A part has
 * WORK_ROWS rows:
 *
 *     | LAPLACIAN | H1 | d/dy, d2/dy2 of 2 rows | ring: d/dz, d2/dz2 of RING_ROWS rows
 * |
 *
 * The first two are those of the row that is being updated. The derivatives along y are
 * computed for two rows at once, those along z for two planes. The ring holds the rows
 * HALO before to HALO after, since d/dz is differentiated along y.
 */
#ifndef MARCH_H
#define MARCH_H

#include "body.h"

/* Rows of the ring: a power of two, and more than 2 HALO. */
enum { RING_ROWS = 16 };
/* The first rows of what a part holds. */
enum { LAPLACIAN, H1, Y, RING = Y + 4, WORK_ROWS = RING + 2 * RING_ROWS };

/* Floats of a row of the workspace, for a grid with this number of points in a row.
 * Between the points of two rows there are 2 LINE floats; they are never written, and
 * are 0, as the derivatives are in the halo. */
#define work_pitch(points) (((size_t)(points) + LINE - 1) / LINE * LINE + 2 * LINE)

/* Floats of the workspace. */
#define work_size(points) (4 * WORK_ROWS * work_pitch(points))

/* The first derivative along z in row y, in a part with rows of w floats. The second
 * derivative is in the next row. */
#define z_row(work, w, y) ((work) + (RING + 2 * (size_t)((y) & (RING_ROWS - 1))) * (w))

/* An axis: the distance of neighbours in floats, and 1 / h and 1 / h^2. */
typedef struct {
    size_t stride;
    float scale1, scale2;
} axis;

/* Computes both derivatives of f along an axis at `count` points: the first one in the
 * row at out, the second one in the next row, of w floats. `next` is a row that will be
 * read from main memory soon. */
FN void derive_row(GLOBAL const float *restrict f, axis a, GLOBAL float *restrict out,
                   size_t w, int count, GLOBAL const float *next)
{
    for (int x = 0; x < count; x += LANES) {
        fetch(next + x);
        const derivative_pair pair = derive(f + x, a.stride, a.scale1, a.scale2);
        unload(out + x, pair.first);
        unload(out + w + x, pair.second);
    }
}

/* The same at two rows that are neighbours along the axis: 10 loads instead of 18. The
 * derivatives of the second row are stored `apart` floats after those of the first. */
FN void derive_two_rows(GLOBAL const float *restrict f, axis a,
                        GLOBAL float *restrict out, size_t w, size_t apart, int count,
                        GLOBAL const float *next)
{
    for (int x = 0; x < count; x += LANES) {
        fetch(next + x);
        fetch(next + a.stride + x);
        lanes value[2 * HALO + 2];
        UNROLL
        for (int k = 0; k < 2 * HALO + 2; k++) {
            value[k] = load(f + x + k * a.stride - HALO * a.stride);
            keep(value[k]);
        }
        UNROLL
        for (int i = 0; i < 2; i++) {
            const lanes *v = value + HALO + i;
            unload(out + i * apart + x, FIRST(v[1] - v[-1], v[2] - v[-2], v[3] - v[-3],
                                              v[4] - v[-4], a.scale1));
            unload(out + i * apart + w + x,
                   SECOND(v[0], v[1] + v[-1], v[2] + v[-2], v[3] + v[-3], v[4] + v[-4],
                          a.scale2));
        }
    }
}

/* Computes the Laplacian and H1 of a field at `count` points of row y. f points to the
 * first point, m to the medium there, and fy to its derivatives along y. `next` points
 * to three fields of the medium in the next row. */
NOINLINE_FN void operators_row(const grid *g, GLOBAL const float *restrict m,
                               GLOBAL const float *restrict f,
                               GLOBAL float *restrict work,
                               GLOBAL const float *restrict fy, int y, int count,
                               GLOBAL const float *next)
{
    const size_t n = field_size(g), w = work_pitch(g->sx - 2 * HALO);
    GLOBAL const float *fz = z_row(work, w, y);
    GLOBAL const float *before1 = z_row(work, w, y - 1),
                       *after1 = z_row(work, w, y + 1);
    GLOBAL const float *before2 = z_row(work, w, y - 2),
                       *after2 = z_row(work, w, y + 2);
    GLOBAL const float *before3 = z_row(work, w, y - 3),
                       *after3 = z_row(work, w, y + 3);
    GLOBAL const float *before4 = z_row(work, w, y - 4),
                       *after4 = z_row(work, w, y + 4);
    const float dx = g->dxinv, dxx = g->dxxinv, dy = g->dyinv;

    for (int x = 0; x < count; x += LANES) {
        fetch(next + x);
        fetch(next + n + x);
        fetch(next + 2 * n + x);
#define CHANGE_Y(k) (load(after##k + x) - load(before##k + x))
        second_derivatives s;
        s.xx = DER2_X(f + x, dxx);
        s.yy = load(fy + w + x);
        s.zz = load(fz + w + x);
        s.xy = DER1_X(fy + x, dx);
        s.yz = FIRST(CHANGE_Y(1), CHANGE_Y(2), CHANGE_Y(3), CHANGE_Y(4), dy);
        s.xz = DER1_X(fz + x, dx);
        unload(work + LAPLACIAN * w + x, s.xx + s.yy + s.zz);
        unload(work + H1 * w + x, h1_of(&s, m + x, n));
    }
}

/* Stores the next p and q of the `count` points from i on. p and q are their parts of
 * the workspace; `next` is a field of the medium in the next row. */
NOINLINE_FN void advance_row(const grid *g, const fields *f, size_t i,
                             GLOBAL const float *restrict p,
                             GLOBAL const float *restrict q, size_t w, int count,
                             GLOBAL const float *next)
{
    for (int x = 0; x < count; x += LANES) {
        fetch(next + x);
        advance(g, f, i + x, load(p + LAPLACIAN * w + x), load(p + H1 * w + x),
                load(q + LAPLACIAN * w + x), load(q + H1 * w + x));
    }
}

/* Rows first .. end - 1, of which `count` points from x on. */
typedef struct {
    int first, end, x, count;
} row_range;

/* Updates the rows r of plane z, and of the next one if planes is 2. `work` is a
 * workspace of work_size() floats, all 0 at first. */
FN void march(const grid *g, const fields *f, GLOBAL float *work, int z, int planes,
              const row_range *r)
{
    const size_t n = field_size(g), plane = (size_t)g->plane, pitch = (size_t)g->pitch;
    const size_t w = work_pitch(g->sx - 2 * HALO), part = WORK_ROWS * w;
    const axis along_y = {pitch, g->dyinv, g->dyyinv};
    const axis along_z = {plane, g->dzinv, g->dzzinv};
    const int count = r->count;

    for (int y = r->first - 2 * HALO; y < r->end; y++) {
        /* The derivatives along z, HALO rows ahead. No earlier plane has read the plane
         * HALO after this one. */
        const size_t ahead = row_start(g, y + HALO, z) + (size_t)r->x;
        const size_t unread = ahead + HALO * plane + pitch;
        GLOBAL float *pz = z_row(work + LINE, w, y + HALO), *qz = pz + part;
        if (planes == 2) {
            derive_two_rows(f->pc + ahead, along_z, pz, w, 2 * part, count,
                            f->pc + unread);
            derive_two_rows(f->qc + ahead, along_z, qz, w, 2 * part, count,
                            f->qc + unread);
        } else {
            derive_row(f->pc + ahead, along_z, pz, w, count, f->pc + unread);
            derive_row(f->qc + ahead, along_z, qz, w, count, f->qc + unread);
        }
        if (y < r->first) continue;

        const int odd = (y - r->first) & 1;
        for (int k = 0; k < planes; k++) {
            const size_t i = row_start(g, y, z + k) + (size_t)r->x, next = i + pitch;
            GLOBAL float *p = work + LINE + 2 * part * (size_t)k, *q = p + part;
            GLOBAL float *py = p + Y * w, *qy = q + Y * w;

            /* The derivatives along y of this row and the next one. */
            if (!odd) {
                derive_two_rows(f->pc + i, along_y, py, w, 2 * w, count,
                                f->pp + next + pitch);
                derive_two_rows(f->qc + i, along_y, qy, w, 2 * w, count,
                                f->qp + next + pitch);
            }

            /* The operators of row y, and its new values. */
            operators_row(g, f->m + i, f->pc + i, p, odd ? py + 2 * w : py, y, count,
                          f->m + next);
            operators_row(g, f->m + i, f->qc + i, q, odd ? qy + 2 * w : qy, y, count,
                          f->m + next + 3 * n);
            advance_row(g, f, i, p, q, w, count, f->m + next + 6 * n);
        }
    }
}

#endif
