/* cosine.h - direct solution of the pressure equation: the discrete cosine transforms
 * DCT-II and DCT-III along y and z, and the Thomas algorithm along x, for LANES rows at
 * once, in C and OpenCL C.
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
    GLOBAL const float *odd_matrix; /* [odd][odd / 2]: cos(pi (2 i + 1) k / (2 odd)) */
} dct_plan;

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
        lanes *sums = src + b, *differences = sums + pairs + 1;
        for (int i = 0; i < pairs; i++) { /* differences in reverse order */
            lanes x = sums[i], y = sums[odd - 1 - i];
            sums[i] = x + y;
            sums[odd - 1 - i] = x - y;
        }
        for (int k = 0; k < odd; k++) {
            GLOBAL const float *row = c.odd_matrix + k * pairs;
            lanes acc = k % 2 ? each(0) : k % 4 ? -sums[pairs] : sums[pairs];
            if (k % 2)
                for (int i = 0; i < pairs; i++)
                    acc += row[i] * differences[pairs - 1 - i];
            else
                for (int i = 0; i < pairs; i++) acc += row[i] * sums[i];
            dst[b + k] = acc;
        }
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
        for (int i = 0; i < pairs; i++) {
            lanes even_part = each(0), odd_part = each(0);
            for (int k = 0; k < odd; k += 2)
                even_part += c.odd_matrix[k * pairs + i] * src[b + k];
            for (int k = 1; k < odd; k += 2)
                odd_part += c.odd_matrix[k * pairs + i] * src[b + k];
            dst[b + i] = even_part + odd_part;
            dst[b + odd - 1 - i] = even_part - odd_part;
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
