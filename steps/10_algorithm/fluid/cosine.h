/* cosine.h - direct solution of the pressure equation: the discrete cosine transforms
 * DCT-II and DCT-III along y and z, and the Thomas algorithm along x, for LANES rows at
 * once, in C and OpenCL C. CUDA uses the Thomas algorithm only.
 *
 *      X[k] = sum over i of x[i] cos(pi (2 i + 1) k / (2 n))        dct2: DCT-II
 *      x[i] = sum over k of X[k] cos(pi (2 i + 1) k / (2 n))        dct3: DCT-III
 *
 * dct3 inverts dct2 if X[0] is halved and all results are multiplied by 2 / n. The
 * cosine modes k are the eigenvectors of the second difference with walls (Neumann
 * boundary conditions); their eigenvalues are 2 - 2 cos(pi k / n). See G. Strang, The
 * Discrete Cosine Transform, SIAM Review 41 (1999).
 *
 * Method: an even n is split recursively (as in B. G. Lee, IEEE Trans. ASSP 32, 1984).
 * The sums x[i] + x[n - 1 - i] have the even modes. Their differences, multiplied by 2
 * cos(pi (2 i + 1) / (2 n)), have sums of two neighbouring odd modes. The remaining odd
 * factor of n is transformed by multiplication by a matrix, so an odd n costs O(n^2)
 * operations per row.
 *
 * Layout: v and w are arrays of n vectors; a vector holds the same element of LANES
 * rows. The caller provides both arrays.
 */
#include "lanes.h"

typedef struct {
    int n, odd;                  /* length of the transform; n without its factors 2 */
    GLOBAL const float *factors; /* 2 cos(..) for n, n / 2 .. */
    GLOBAL const float *odd_matrix; /* [odd][odd / 2]: cos(pi (2 i + 1) k / (2 odd)), in
                                     * odd^2 floats */
} dct_plan;

/* Adds to y[k], y[k + 2] .. the products of these rows of the matrix with x[0], x[step]
 * .. Four rows at once read each x once, and their sums do not wait for each other. */
FN void multiply_rows(dct_plan c, int k, const lanes *x, int step, lanes *y)
{
    int odd = c.odd, pairs = odd / 2;
    for (; k + 6 < odd; k += 8) {
        GLOBAL const float *row = c.odd_matrix + k * pairs;
        lanes y0 = y[k], y1 = y[k + 2], y2 = y[k + 4], y3 = y[k + 6];
        for (int i = 0; i < pairs; i++, row++) {
            y0 += row[0] * x[i * step];
            y1 += row[2 * pairs] * x[i * step];
            y2 += row[4 * pairs] * x[i * step];
            y3 += row[6 * pairs] * x[i * step];
        }
        y[k] = y0;
        y[k + 2] = y1;
        y[k + 4] = y2;
        y[k + 6] = y3;
    }
    for (; k < odd; k += 2)
        for (int i = 0; i < pairs; i++)
            y[k] += c.odd_matrix[k * pairs + i] * x[i * step];
}

/* The sum over k, k + 2 .. of row k of the matrix, from column i on, times x[k]:
 * columns i to i + 3. */
FN void multiply_columns(dct_plan c, int k, int i, const lanes *x, lanes *y)
{
    int odd = c.odd, pairs = odd / 2;
    lanes y0 = each(0), y1 = y0, y2 = y0, y3 = y0;
    for (; k < odd; k += 2) {
        GLOBAL const float *row = c.odd_matrix + k * pairs + i;
        y0 += row[0] * x[k];
        y1 += row[1] * x[k];
        y2 += row[2] * x[k];
        y3 += row[3] * x[k];
    }
    y[0] = y0;
    y[1] = y1;
    y[2] = y2;
    y[3] = y3;
}

/* Both transforms read v, use v and w as buffers, and return the one that holds the
 * result. */
FN lanes *dct2(dct_plan c, lanes *v, lanes *w)
{
    int n = c.n, odd = c.odd, pairs = odd / 2;
    lanes *src = v, *dst = w, *tmp;
    for (int size = n; size > odd; size /= 2, tmp = src, src = dst, dst = tmp)
        for (int b = 0; b < n; b += size)
            for (int i = 0; i < size / 2; i++) {
                lanes x = src[b + i], y = src[b + size - 1 - i];
                dst[b + i] = x + y;
                dst[b + size / 2 + i] = (x - y) * c.factors[n - size + i];
            }

    for (int b = 0; b < n; b += odd) {
        lanes *sums = src + b,
              *last = sums + odd - 1; /* last: differences, backwards */
        for (int i = 0; i < pairs; i++) {
            lanes x = sums[i], y = last[-i];
            sums[i] = x + y;
            last[-i] = x - y;
        }
        for (int k = 0; k < odd; k++)
            dst[b + k] = k % 2 ? each(0) : k % 4 ? -sums[pairs] : sums[pairs];
        multiply_rows(c, 0, sums, 1, dst + b);
        multiply_rows(c, 1, last, -1, dst + b);
    }
    tmp = src, src = dst, dst = tmp;

    for (int size = 2 * odd; size <= n; size *= 2, tmp = src, src = dst, dst = tmp)
        for (int b = 0; b < n; b += size) {
            lanes previous = 0.5f * src[b + size / 2];
            dst[b] = src[b];
            dst[b + 1] = previous;
            for (int k = 1; k < size / 2; k++) {
                dst[b + 2 * k] = src[b + k];
                dst[b + 2 * k + 1] = previous = src[b + size / 2 + k] - previous;
            }
        }
    return src;
}

/* The inverse transform, up to scaling (see above). */
FN lanes *dct3(dct_plan c, lanes *v, lanes *w)
{
    int n = c.n, odd = c.odd, pairs = odd / 2;
    lanes *src = v, *dst = w, *tmp;
    for (int size = n; size > odd; size /= 2, tmp = src, src = dst, dst = tmp)
        for (int b = 0; b < n; b += size) {
            lanes next = each(0);
            for (int k = size / 2 - 1; k >= 0; k--) {
                dst[b + k] = src[b + 2 * k];
                dst[b + size / 2 + k] = next = src[b + 2 * k + 1] - next;
            }
            dst[b + size / 2] *= 0.5f;
        }

    for (int b = 0; b < n; b += odd) {
        lanes middle = each(0);
        for (int k = 0; k < odd; k += 2) middle += k % 4 ? -src[b + k] : src[b + k];
        dst[b + pairs] = middle;
        for (int i = 0; i < pairs; i += 4) { /* reads past the end of the last row,
                                                where the table has spare floats */
            lanes even_part[4], odd_part[4];
            multiply_columns(c, 0, i, src + b, even_part);
            multiply_columns(c, 1, i, src + b, odd_part);
            for (int l = 0; l < 4 && i + l < pairs; l++) {
                dst[b + i + l] = even_part[l] + odd_part[l];
                dst[b + odd - 1 - i - l] = even_part[l] - odd_part[l];
            }
        }
    }
    tmp = src, src = dst, dst = tmp;

    for (int size = 2 * odd; size <= n; size *= 2, tmp = src, src = dst, dst = tmp)
        for (int b = 0; b < n; b += size)
            for (int i = 0; i < size / 2; i++) {
                lanes x = src[b + i];
                lanes y = src[b + size / 2 + i] * c.factors[n - size + i];
                dst[b + i] = x + y;
                dst[b + size - 1 - i] = x - y;
            }
    return src;
}

/* Solves, for LANES cosine modes (ky, kz) at once, a tridiagonal system along x in
 * place, by the Thomas algorithm:
 *
 *      (eigenvalue + d[i]) x[i] - x[i - 1] - x[i + 1] = right-hand side
 *
 * d[i] is the number of neighbours of i inside the box (2, at the ends 1), and
 * eigenvalue is the sum of the eigenvalues along y and z. All pivots but the last are 1
 * + excess; the last one is excess. It is 0 for the mode ky = kz = 0, whose pressure is
 * determined up to a constant: its mean is set to 0.
 */
FN void thomas_solve(lanes *x, lanes *inv_pivot, int n, lanes eigenvalue)
{
    lanes excess = eigenvalue;
    for (int i = 0; i < n - 1; i++) {
        inv_pivot[i] = 1 / (1 + excess);
        excess = eigenvalue + excess * inv_pivot[i];
        x[i + 1] += x[i] * inv_pivot[i];
    }
    mask singular = excess == each(0);
    x[n - 1] = pick(singular, each(0), x[n - 1] / pick(singular, each(1), excess));
    for (int i = n - 2; i >= 0; i--) x[i] = (x[i] + x[i + 1]) * inv_pivot[i];

    if (!all(excess != each(0))) {
        lanes mean = each(0);
        for (int i = 0; i < n; i++) mean += x[i];
        mean = pick(singular, mean / (float)n, each(0));
        for (int i = 0; i < n; i++) x[i] -= mean;
    }
}
