/* body.h - what one block of cells costs, and one visibility on the way back.
 *
 * The grid is cut in blocks of ROWS x LANES cells. A block stays in registers while all
 * visibilities pass whose footprints touch it; it is written once and read never. Each
 * cell gets the visibility times the tap of its row and the tap of its column; taps
 * have zeros around them, so that a block half outside a footprint needs no test. They
 * lie apart, real parts and imaginary parts: [planes][oversampling][2][pad + width +
 * pad].
 */
#include "portable.h"
#include "real.h"
#include "shape.h"

/* As many columns as a vector register holds, or one, where every lane of the machine
 * is a work-item. COLUMNS is what a row of work-items that run together has. */
#if defined(__OPENCL_C_VERSION__) && LANES > 1
#define JOINED_(a, b) a##b
#define JOINED(a, b)  JOINED_(a, b)
typedef JOINED(REAL, LANES) lanes;
#define ZERO        (lanes)(0)
#define load(p)     JOINED(vload, LANES)(0, p)
#define store(p, x) JOINED(vstore, LANES)(x, 0, p)
#elif defined(__OPENCL_C_VERSION__) || defined(CUDA_LAUNCH)
#define LANES       1
typedef real lanes;
#define ZERO        0
#define load(p)     (*(p))
#define store(p, x) (void)(*(p) = (x))
#else
#include <string.h>
#if defined(__AVX512F__) /* bytes of a register; here there are 32, not 16 */
#define REGISTER 64
#ifndef ROWS
#define ROWS 8
#endif
#elif defined(__AVX__)
#define REGISTER 32
#else
#define REGISTER 16
#endif
#define LANES   ((int)(REGISTER / sizeof(real)))
#define COLUMNS LANES
#define ZERO                                                                           \
    (lanes)                                                                            \
    {                                                                                  \
        0                                                                              \
    }
typedef real lanes __attribute__((vector_size(REGISTER)));
static inline lanes load(const real *p)
{
    lanes x;
    memcpy(&x, p, sizeof x);
    return x;
}
static inline void store(real *p, lanes x)
{
    memcpy(p, &x, sizeof x);
}
#endif
#ifndef COLUMNS
#define COLUMNS 32
#endif

#ifndef ROWS
#define ROWS 6
#endif
#define PAD_OF(rows, columns) (2 * ((rows) > (columns) ? (rows) : (columns)))
#define PAD                   PAD_OF(ROWS, COLUMNS)
#define STRIDE_OF(s)          ((s)->width + 2 * PAD)
#define BINS_OF(size, n)      (((size) + (n)-1) / (n))

/* A device's C has no complex numbers. */
typedef struct {
    real re, im;
} cplx;

/* A visibility as blocks want it. */
typedef struct {
    int u, v; /* where in the table the taps of column 0 and of row 0 would be */
    cplx d;   /* its conjugate where w < 0 */
} sample;

/* The real parts of the taps of a plane and a fraction; the imaginary ones are a stride
 * further. */
FN GLOBAL const real *taps_of(const shape *s, GLOBAL const real *taps, int plane, int f)
{
    return taps + (size_t)(plane * s->oversampling + f) * 2 * STRIDE_OF(s) + PAD;
}

/* The block whose first column is `column`, in a band of ROWS rows. Visibilities lie in
 * bins of ROWS x COLUMNS first cells, those with w < 0 apart: bin [band][minus][b]
 * begins at first[(2 band + minus) bins + b], and those along a band follow each other.
 * Some of the bins above and left of the block have footprints that reach it.
 *
 * Where w < 0 the function is a conjugate. Since d conj(C) is the conjugate of conj(d)
 * C, those are summed first, as if C were not conjugated, and their sum is. */
FN void grid_block(const shape *s, GLOBAL const real *taps, GLOBAL const int *first,
                   GLOBAL const sample *samples, int band, int column,
                   GLOBAL cplx *grid)
{
    lanes re[ROWS], im[ROWS];
    for (int j = 0; j < ROWS; j++) re[j] = im[j] = ZERO;
    int bins = BINS_OF(s->size, COLUMNS), right = column / COLUMNS;
    int left = right - (s->width + COLUMNS - 2) / COLUMNS;
    int top = band - (s->width + ROWS - 2) / ROWS;
    if (left < 0) left = 0;
    if (top < 0) top = 0;

    for (int minus = 1; minus >= 0; minus--) {
        for (int b = top; b <= band; b++) {
            GLOBAL const int *along = first + (size_t)(2 * b + minus) * bins;
            int last = along[right + 1];
            for (int k = along[left]; k < last; k++) {
                const sample here = samples[k];
                GLOBAL const real *cu = taps + here.u + column;
                GLOBAL const real *cv = taps + here.v + band * ROWS;
                const lanes cre = load(cu), cim = load(cu + STRIDE_OF(s));
                const lanes tre = here.d.re * cre - here.d.im * cim;
                const lanes tim = here.d.re * cim + here.d.im * cre;
                for (int j = 0; j < ROWS; j++) {
                    const real vre = cv[j], vim = cv[STRIDE_OF(s) + j];
                    re[j] = re[j] + vre * tre - vim * tim;
                    im[j] = im[j] + vre * tim + vim * tre;
                }
            }
        }
        if (minus)
            for (int j = 0; j < ROWS; j++) im[j] = -im[j];
    }

    for (int j = 0; j < ROWS && band * ROWS + j < s->size; j++) {
        real a[LANES], b[LANES];
        store(a, re[j]);
        store(b, im[j]);
        GLOBAL cplx *row = grid + (size_t)(band * ROWS + j) * s->pitch + column;
        for (int i = 0; i < LANES; i++) row[i] = (cplx){a[i], b[i]};
    }
}

/* The visibility that the grid predicts at a place. Here LANES columns stay in
 * registers while the rows pass, times the real and times the imaginary part of each
 * row's tap; the columns' taps come last. */
FN cplx degrid_one(const shape *s, GLOBAL const real *taps, GLOBAL const place *at,
                   GLOBAL const cplx *grid)
{
    const place here = *at;
    const real sign = here.minus ? -1 : 1;
    GLOBAL const real *cv = taps_of(s, taps, here.plane, here.fv);
    GLOBAL const real *cu = taps_of(s, taps, here.plane, here.fu);

    cplx d = {0, 0};
    for (int column = 0; column < s->width; column += LANES) {
        GLOBAL const real *cells =
            (GLOBAL const real *)(grid + (size_t)here.v * s->pitch + here.u + column);
        lanes re0 = ZERO, re1 = ZERO, im0 = ZERO, im1 = ZERO;
        for (int j = 0; j < s->width; j++) {
            const lanes g0 = load(cells), g1 = load(cells + LANES);
            const real vre = cv[j], vim = cv[STRIDE_OF(s) + j];
            re0 = re0 + vre * g0;
            re1 = re1 + vre * g1;
            im0 = im0 + vim * g0;
            im1 = im1 + vim * g1;
            cells += 2 * s->pitch;
        }
        real a[2 * LANES], b[2 * LANES]; /* re, im, re, im .. */
        store(a, re0);
        store(a + LANES, re1);
        store(b, im0);
        store(b + LANES, im1);
        for (int i = 0; i < LANES; i++) {
            const real re = a[2 * i] + sign * b[2 * i + 1];
            const real im = a[2 * i + 1] - sign * b[2 * i];
            const real ure = cu[column + i], uim = sign * cu[STRIDE_OF(s) + column + i];
            d.re += re * ure + im * uim;
            d.im += im * ure - re * uim;
        }
    }
    return d;
}
