/* body.h - gridding of one block of cells.
 *
 * Method: W-projection with separable convolution functions, output-driven (gather
 * instead of scatter). A work-item owns a block of ROWS x COLUMNS cells. It keeps the
 * sums of the block in registers, iterates over all visibilities whose footprints
 * overlap the block, and writes each cell once. A cell receives the visibility times
 * the tap of its row and the tap of its column.
 *
 * Binning (host.h): a visibility belongs to the bin that contains the first cell of its
 * footprint. Bins are as large as blocks; a row of bins is a band.
 *
 *             left        right
 *           +-----+-----+-----+   x  bins whose footprints can overlap block B. In
 *      top  |  x  |  x  |  x  |      each band, the visibilities of bins left .. right
 *           +-----+-----+-----+      are contiguous in the sorted array.
 *     band  |  x  |  x  |  B  |
 *           +-----+-----+-----+
 *
 * Taps: real and imaginary parts in separate rows, [planes][oversampling][2] rows of
 *
 *     | PAD zeros | width taps | PAD zeros |        STRIDE_OF(s) numbers in all
 *
 * The zeros make a test unnecessary where a block extends beyond a footprint.
 *
 * The caller guarantees that every footprint lies inside the grid and that the
 * visibilities are sorted into bins of ROWS x COLUMNS cells.
 */
#include "portable.h"
#include "real.h"
#include "shape.h"

#define LANE       REAL
#define LANE_BYTES REAL_BYTES
#include "lanes.h"

/* A work-item computes LANES columns of a block: all of them on a CPU, one on a GPU,
 * where COLUMNS neighbouring work-items share the block. 2 ROWS vector registers hold
 * the sums of a block. */
#ifndef COLUMNS
#define COLUMNS LANES
#endif
#if !defined(ROWS) && defined(__AVX512F__) /* 32 vector registers, not 16 */
#define ROWS 8
#elif !defined(ROWS)
#define ROWS 6
#endif
/* Zeros on each side of the taps. A block that overlaps only other footprints of the
 * same bin extends beyond this one by less than twice its size. */
#define PAD_OF(rows, columns) (2 * ((rows) > (columns) ? (rows) : (columns)))
#define PAD                   PAD_OF(ROWS, COLUMNS)
#define STRIDE_OF(s)          ((s)->width + 2 * PAD)
#define REALS_PER_TAP         2 /* rows of STRIDE_OF numbers per function */
#define CEIL_DIV(size, n)     (((size) + (n)-1) / (n))

/* OpenCL C and CUDA C have no complex numbers. */
typedef struct {
    real re, im;
} cplx;

/* A sorted visibility. */
typedef struct {
    int taps_u, taps_v; /* index of the taps of column 0 and of row 0 of the grid */
    cplx d;             /* conjugated if w < 0 */
} sorted_visibility;

/* Grids the block of band `band` whose first column is `column`. The visibilities of a
 * band with w >= 0 precede those with w < 0: bin b of a band begins at first[(2 band +
 * (w < 0)) bins_per_band + b].
 *
 * For w < 0 the function is a conjugate. Since d conj(C) = conj(conj(d) C), the
 * visibilities with w < 0 are conjugated when they are sorted; their sum is computed
 * first and conjugated as a whole. */
FN void grid_block(const shape *s, GLOBAL const real *taps, GLOBAL const int *first,
                   GLOBAL const sorted_visibility *visibilities, int band, int column,
                   GLOBAL cplx *grid)
{
    lanes re[ROWS], im[ROWS];
    for (int j = 0; j < ROWS; j++) re[j] = im[j] = each(0);
    int bins_per_band = CEIL_DIV(s->size, COLUMNS), right = column / COLUMNS;
    int left = right - (s->width + COLUMNS - 2) / COLUMNS;
    int top = band - (s->width + ROWS - 2) / ROWS;
    if (left < 0) left = 0;
    if (top < 0) top = 0;

    for (int negative_w = 1; negative_w >= 0; negative_w--) {
        for (int b = top; b <= band; b++) {
            GLOBAL const int *band_first =
                first + (size_t)(2 * b + negative_w) * bins_per_band;
            int last = band_first[right + 1];
            for (int k = band_first[left]; k < last; k++) {
                const sorted_visibility vis = visibilities[k];
                GLOBAL const real *cu = taps + vis.taps_u + column;
                GLOBAL const real *cv = taps + vis.taps_v + band * ROWS;
                const lanes cre = load(cu), cim = load(cu + STRIDE_OF(s));
                const lanes tre = vis.d.re * cre - vis.d.im * cim;
                const lanes tim = vis.d.re * cim + vis.d.im * cre;
                UNROLL
                for (int j = 0; j < ROWS; j++) {
                    const real vre = cv[j], vim = cv[STRIDE_OF(s) + j];
                    re[j] = re[j] + vre * tre - vim * tim;
                    im[j] = im[j] + vre * tim + vim * tre;
                }
            }
        }
        if (negative_w)
            for (int j = 0; j < ROWS; j++) im[j] = -im[j];
    }

    for (int j = 0; j < ROWS && band * ROWS + j < s->size; j++) {
        GLOBAL cplx *row = grid + (size_t)(band * ROWS + j) * s->pitch + column;
        for (int i = 0; i < LANES; i++) row[i] = (cplx){lane(re[j], i), lane(im[j], i)};
    }
}
