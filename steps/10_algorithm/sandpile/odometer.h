/* odometer.h - estimates how often each cell of a pile topples before the pile is
 * stable, and proves that a stable pile is the right one.
 *
 * The odometer u(c) is the number of times that cell c topples. It is the least of all
 * functions w >= 0 that leave at most 3 grains in each cell of z + L w, where z is the
 * pile and (L w)(c) = -4 w(c) + the w of the four neighbors (least action principle:
 * Fey, Levine and Peres, J. Stat. Phys. 138, 143 (2010)). So cells may topple too
 * early, even if they then hold less than nothing: as long as no cell topples too
 * often, the pile ends in the same state.
 *
 * Estimate. Piles of different sizes with as many grains per cell have nearly the same
 * odometer, enlarged: twice the size has four times the topplings. So the odometer of a
 * pile with a third of the cells per side, found in the same way, is enlarged. A margin
 * is subtracted, because an estimate that is too small costs some steps, and one that
 * is too large has to be undone.
 *
 * Proof. Assume that w >= 0 leaves a stable pile, but w is not u. Let F be the set of
 * the cells in which w - u is largest. If each cell of F topples once less, the pile is
 * stable, too. The burning test (Dhar 1990) finds the largest such set. If it finds
 * none, w = u. If it finds one, prove() lets its cells topple once less.
 *
 * A field is a quarter of the grid if the pile equals its mirror images.
 */
#ifndef ODOMETER_H
#define ODOMETER_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A square of n x n cells, of which rows x rows are stored, with one more cell on each
 * side: the border, which holds 0, or mirror images. */
typedef struct {
    int n, rows, pitch; /* pitch: rows + 2, distance of rows in memory */
    int *at;            /* [pitch][pitch] */
} field;

enum {
    SHRINK = 3, /* ratio of the sides of a pile and the one that it is estimated from */
    MIN_SIDE = 24,     /* cells per side of the smallest pile that is estimated */
    SHARED_ROWS = 200, /* stored rows from which on threads share a field */
    UNDO_MAX = 200,    /* attempts to undo topplings */
};

static inline field new_field(int n, bool mirror)
{
    field f = {.n = n, .rows = mirror ? (n + 1) / 2 : n};
    f.pitch = f.rows + 2;
    f.at = allocate_untouched((size_t)f.pitch * f.pitch, sizeof *f.at, "the odometer");
    memset(f.at, 0, (size_t)f.pitch * f.pitch * sizeof *f.at);
    return f;
}

static inline bool is_quarter(field f)
{
    return f.rows < f.n;
}

static inline int *field_row(field f, int y)
{
    return f.at + (size_t)y * f.pitch;
}

/* Sets the cells after the stored ones to 0. */
static void clear_border(field f)
{
    for (int i = 0; i < f.pitch; i++)
        field_row(f, 0)[i] = field_row(f, f.rows + 1)[i] = field_row(f, i)[0] =
            field_row(f, i)[f.rows + 1] = 0;
}

/* Copies the mirror images into the row and the column after the last ones. */
static void mirror_field(field f)
{
    if (!is_quarter(f)) return;
    int image = f.n + 1 - (f.rows + 1); /* the row that equals row rows + 1 */
    for (int y = 1; y <= f.rows; y++)
        field_row(f, y)[f.rows + 1] = field_row(f, y)[image];
    memcpy(field_row(f, f.rows + 1), field_row(f, image), f.pitch * sizeof *f.at);
}

/* ---- toppling, with counts ---------------------------------------------------------
 */

/* FORWARDS: cells with more than 3 grains topple. BACKWARDS: topplings of cells with
 * less than no grain are undone. */
typedef enum { BACKWARDS, FORWARDS } direction;

/* How often a cell with v grains topples at once; negative if topplings are undone. The
 * shift rounds down: -1 becomes -1. */
static inline int topplings(int v, direction d)
{
    return (d == FORWARDS ? (v > 0 ? v : 0) : (v < 0 ? v : 0)) >> 2;
}

/* Topples the cells of row y at once, and counts. t is memory for a row. Returns false
 * if none had to topple. */
static inline bool topple_row(field grains, int y, field count, direction d, int *t)
{
    int rows = grains.rows, any = 0;
    int *v = field_row(grains, y), *n = field_row(count, y);
    for (int x = 1; x <= rows; x++) {
        t[x] = topplings(v[x], d);
        any |= t[x];
    }
    if (!any) return false;
    t[0] = 0;
    t[rows + 1] = is_quarter(grains) ? t[grains.n - rows] : 0;
    /* The row below the last one of a quarter is the image of the last one, or of the
     * row before, which then gives to the last one from both sides. */
    bool odd = grains.n % 2;
    int back = is_quarter(grains) && !odd && y == rows;
    int down = is_quarter(grains) && odd && y == rows - 1 ? 2 : 1;
    int *above = v - grains.pitch, *below = v + grains.pitch;
#pragma omp simd
    for (int x = 1; x <= rows; x++) {
        n[x] += t[x];
        v[x] += t[x - 1] + t[x + 1] - (4 - back) * t[x];
        above[x] += t[x];
        below[x] += down * t[x];
    }
    return true;
}

/* Topples until no cell has more than 3 grains, or less than none: row by row,
 * downwards and upwards in turn, so that a wave of topplings passes many rows in one
 * sweep. */
static void topple_until(direction d, field grains, field count)
{
    int *t = allocate(grains.pitch, sizeof *t, "the odometer");
    bool again = true;
    for (int sweep = 0; again; sweep++) {
        again = false;
        for (int i = 1; i <= grains.rows; i++) {
            int y = sweep % 2 ? grains.rows + 1 - i : i;
            again |= topple_row(grains, y, count, d, t);
        }
    }
    free(t);
}

/* Topples each cell of a pile as often as count says, whose mirror images it
 * completes. */
static void topple_counted(field grains, field count)
{
    int pitch = grains.pitch;
    mirror_field(count);
#pragma omp parallel for if (grains.rows >= SHARED_ROWS)
    for (int y = 1; y <= grains.rows; y++) {
        const int *n = field_row(count, y);
        int *v = field_row(grains, y);
        for (int x = 1; x <= grains.rows; x++)
            v[x] += n[x - 1] + n[x + 1] + n[x - pitch] + n[x + pitch] - 4 * n[x];
    }
    mirror_field(grains);
}

/* ---- the proof ---------------------------------------------------------------------
 */

/* What the burning test knows about a cell. If the number of rows is odd, the last row
 * and the last column of a quarter are the middle ones. */
enum { UNBURNT = 1, MIDDLE_ROW = 2, MIDDLE_COLUMN = 4 };

typedef struct {
    field left;  /* of each unburnt cell: its unburnt neighbors */
    char *state; /* [cells] */
    int *stack;  /* [cells] cells that have burnt, but their neighbors do not know it */
    int top;     /* number of these cells */
} fire;

static inline fire new_fire(int n, bool mirror)
{
    fire f = {.left = new_field(n, mirror)};
    size_t cells = (size_t)f.left.pitch * f.left.pitch;
    f.state = allocate(cells, sizeof *f.state, "the burning test");
    f.stack = allocate(cells, sizeof *f.stack, "the burning test");
    return f;
}

static inline void free_fire(fire f)
{
    free(f.left.at);
    free(f.state);
    free(f.stack);
}

/* Tells cell c that a number of its neighbors have burnt. It burns, too, if it has at
 * least as many grains as unburnt neighbors. */
static inline void spread(fire *f, field grains, int c, int neighbors)
{
    f->left.at[c] -= neighbors;
    if (!(f->state[c] & UNBURNT) || grains.at[c] < f->left.at[c]) return;
    f->state[c] &= ~UNBURNT;
    f->stack[f->top++] = c;
}

/* The burning test of a stable pile: the border burns from the beginning. Returns the
 * number of stored cells that remain. */
static int64_t burn(field grains, fire *f)
{
    int rows = grains.rows, pitch = grains.pitch;
    bool odd = is_quarter(grains) && grains.n % 2;
    int64_t remaining = (int64_t)rows * rows;

    memset(f->state, 0, (size_t)pitch * pitch);
    for (int y = 1; y <= rows; y++)
        for (int x = 1; x <= rows; x++) {
            f->left.at[y * pitch + x] = 4;
            f->state[y * pitch + x] = UNBURNT | (odd && y == rows ? MIDDLE_ROW : 0) |
                                      (odd && x == rows ? MIDDLE_COLUMN : 0);
        }
    f->top = 0;
    for (int k = 1; k <= rows; k++) {
        spread(f, grains, pitch + k, 1);
        spread(f, grains, k * pitch + 1, 1);
        if (is_quarter(grains)) continue;
        spread(f, grains, rows * pitch + k, 1);
        spread(f, grains, k * pitch + rows, 1);
    }
    while (f->top) {
        int c = f->stack[--f->top];
        remaining--;
        spread(f, grains, c - 1, 1);
        spread(f, grains, c - pitch, 1);
        /* The image of the neighbor of a middle cell is its neighbor, too. */
        spread(f, grains, c + 1, f->state[c + 1] & MIDDLE_COLUMN ? 2 : 1);
        spread(f, grains, c + pitch, f->state[c + pitch] & MIDDLE_ROW ? 2 : 1);
    }
    return remaining;
}

/* Proves that a stable pile, whose cells have toppled at least as often as `least`
 * says, is that of the odometer. Topplings too many are undone; the pile stays stable.
 * Returns false if it has to undo more topplings than `least`. */
static bool prove(field grains, field least, fire *f)
{
    for (int attempt = 0; burn(grains, f) > 0; attempt++) {
        if (attempt == UNDO_MAX) return false;
        field undone = f->left;
        for (int y = 1; y <= grains.rows; y++)
            for (int x = 1; x <= grains.rows; x++) {
                int c = y * grains.pitch + x;
                undone.at[c] = f->state[c] & UNBURNT ? -1 : 0;
                least.at[c] += undone.at[c];
                if (least.at[c] < 0) return false;
            }
        clear_border(undone);
        topple_counted(grains, undone);
    }
    return true;
}

/* ---- the estimate ------------------------------------------------------------------
 */

/* The number of grains of a cell of the whole grid. */
static inline int grains_at(field f, int y, int x)
{
    if (y > f.rows) y = f.n + 1 - y;
    if (x > f.rows) x = f.n + 1 - x;
    return field_row(f, y)[x];
}

/* Fills a smaller pile with the mean number of grains of each cell's square. What
 * rounding adds or takes is passed on to the next cells, so that larger regions have
 * the right mean (error diffusion: Floyd and Steinberg 1976). */
static void shrink(field from, field to)
{
    double ratio = (from.n + 1.0) / (to.n + 1);
    double *error = allocate(2 * (size_t)to.pitch, sizeof *error, "the odometer");
    memset(error, 0, 2 * (size_t)to.pitch * sizeof *error);
    for (int y = 1; y <= to.rows; y++) {
        double *here = error + (y & 1) * to.pitch, *below = error + (~y & 1) * to.pitch;
        int top = (int)ceil((y - .5) * ratio), bottom = (int)((y + .5) * ratio);
        memset(below, 0, to.pitch * sizeof *below);
        for (int x = 1; x <= to.rows; x++) {
            int left = (int)ceil((x - .5) * ratio), right = (int)((x + .5) * ratio);
            double sum = 0;
            for (int j = top; j <= bottom; j++)
                for (int i = left; i <= right; i++) sum += grains_at(from, j, i);
            double mean = sum / ((bottom - top + 1) * (right - left + 1)) + here[x];
            int grains = mean > 0 ? (int)(mean + .5) : 0;
            field_row(to, y)[x] = grains;
            here[x + 1] += (mean - grains) * 7 / 16;
            below[x - 1] += (mean - grains) * 3 / 16;
            below[x] += (mean - grains) * 5 / 16;
            below[x + 1] += (mean - grains) / 16;
        }
    }
    free(error);
    mirror_field(to);
}

/* The odometer of the whole grid at row y of a stored one, also beyond the border,
 * where it goes on as the negative of its mirror image: y = -1 .. n + 2. */
static inline int odometer_at(field f, int y, int x)
{
    int sign = 1;
    if (y < 0 || y > f.n + 1) y = y < 0 ? -y : 2 * (f.n + 1) - y, sign = -sign;
    if (x < 0 || x > f.n + 1) x = x < 0 ? -x : 2 * (f.n + 1) - x, sign = -sign;
    return sign * grains_at(f, y, x);
}

/* Weights of the four points around one at a fraction f between the middle two: cubic
 * convolution (Keys 1981). */
static inline void cubic_weights(double f, double weight[4])
{
    weight[0] = f * (-.5 + f * (1 - f * .5));
    weight[1] = 1 + f * f * (-2.5 + f * 1.5);
    weight[2] = f * (.5 + f * (2 - f * 1.5));
    weight[3] = f * f * (-.5 + f * .5);
}

/* An estimate less its margin: a five-hundredth, and up to a sixth of the side, less
 * near the border. `edge` is the distance from there. Chosen for piles with the same
 * number of grains in each cell, and sides up to 2000. */
static inline int with_margin(double value, int n, int edge)
{
    int margin = 3 * edge < n / 6 ? 3 * edge : n / 6;
    value = value * 0.998 - margin;
    return value > 0 ? (int)(value + .5) : 0;
}

/* Enlarges the odometer of a smaller pile, less a margin. */
static void enlarge(field from, field to)
{
    double ratio = (to.n + 1.0) / (from.n + 1), area = ratio * ratio;
    int side = from.n + 4; /* odometer_at(from, y, x) is around[(y + 1) side + x + 1] */
    int *around = allocate((size_t)side * side, sizeof *around, "the odometer");
    double *weight = allocate(4 * (size_t)to.pitch, sizeof *weight, "the odometer");
    int *first = allocate(to.pitch, sizeof *first, "the odometer");
    for (int x = 1; x <= to.rows; x++) {
        first[x] = (int)(x / ratio);
        cubic_weights(x / ratio - first[x], weight + 4 * x);
    }
#pragma omp parallel if (to.rows >= SHARED_ROWS)
    {
        double *line = allocate(side, sizeof *line, "the odometer");
#pragma omp for
        for (int y = 0; y < side; y++)
            for (int x = 0; x < side; x++)
                around[(size_t)y * side + x] = odometer_at(from, y - 1, x - 1);
#pragma omp for
        for (int y = 1; y <= to.rows; y++) {
            const double *w = weight + 4 * y;
            const int *rows = around + (size_t)first[y] * side; /* four rows */
            for (int i = 0; i < side; i++)
                line[i] = w[0] * rows[i] + w[1] * rows[side + i] +
                          w[2] * rows[2 * side + i] + w[3] * rows[3 * side + i];
            for (int x = 1; x <= to.rows; x++) {
                const double *v = weight + 4 * x, *l = line + first[x];
                int edge = x < y ? x : y, opposite = to.n + 1 - (x < y ? y : x);
                if (opposite < edge) edge = opposite;
                double value = v[0] * l[0] + v[1] * l[1] + v[2] * l[2] + v[3] * l[3];
                field_row(to, y)[x] = with_margin(value * area, to.n, edge);
            }
        }
        free(line);
    }
    free(first);
    free(weight);
    free(around);
}

static bool find_odometer(field grains, field count);

/* Estimates the odometer of a pile, and topples each cell as often. Then topplings are
 * undone until no cell has less than no grain. Returns false if the smaller pile has no
 * estimate. */
static bool topple_estimated(field grains, field count)
{
    int n = grains.n;
    if (n >= MIN_SIDE) {
        /* The odometers of an even and of an odd number differ at the middle. */
        int small = (int)((n + 1.0) / SHRINK / 2) * 2;
        field few = new_field(small, is_quarter(grains));
        field few_count = new_field(small, is_quarter(grains));
        shrink(grains, few);
        bool found = find_odometer(few, few_count);
        if (found) enlarge(few_count, count);
        free(few.at);
        free(few_count.at);
        if (!found) return false;
        topple_counted(grains, count);
        topple_until(BACKWARDS, grains, count);
    }
    return true;
}

/* Topples a pile until it is stable, and sets count to its odometer. Returns false if
 * the burning test cannot prove it. */
static bool find_odometer(field grains, field count)
{
    if (!topple_estimated(grains, count)) return false;
    topple_until(FORWARDS, grains, count);
    fire f = new_fire(grains.n, is_quarter(grains));
    bool found = prove(grains, count, &f);
    free_fire(f);
    return found;
}

#endif
