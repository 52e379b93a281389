/* cosine.h - sums of cosines, LANES rows of numbers at once: the waves that fit between
 * two walls, of which each solves its own equation.
 *
 *   X[k] = sum over i of x[i] cos(pi (2 i + 1) k / (2 n))        cosines_of
 *   x[i] = sum over k of X[k] cos(pi (2 i + 1) k / (2 n))        sum_of_cosines
 *
 * The second undoes the first where X[0] is halved and all are multiplied by 2 / n. An
 * even n is halved: the sums of x[i] and x[n - 1 - i] have the even waves, and their
 * differences the odd ones, which times 2 cos(pi (2 i + 1) / (2 n)) are the sums of two
 * neighbours among the even ones of half as many. What is left over, an odd number, is
 * summed up as it stands.
 */
#include "lanes.h"

typedef struct {
    int n, odd;                /* how many numbers; n without its factors 2 */
    GLOBAL const float *twice; /* the factors 2 cos(..) of n, then those of n / 2 .. */
    GLOBAL const float *base;  /* [odd][odd / 2]: cos(pi (2 i + 1) k / (2 odd)) */
} cosines;

/* Both of these begin in v, write to v and w, and return which has the result. */
FN lanes *cosines_of(cosines c, lanes *v, lanes *w)
{
    int n = c.n, odd = c.odd, few = odd / 2;
    lanes *from = v, *to = w, *swap;
    for (int size = n; size > odd; size /= 2, swap = from, from = to, to = swap)
        for (int b = 0; b < n; b += size)
            for (int i = 0; i < size / 2; i++) {
                lanes x = from[b + i], y = from[b + size - 1 - i];
                to[b + i] = x + y;
                to[b + size / 2 + i] = (x - y) * c.twice[n - size + i];
            }

    for (int b = 0; b < n; b += odd) {
        lanes *sum = from + b, *difference = sum + few + 1;
        for (int i = 0; i < few;
             i++) { /* differences turn round: the last comes first */
            lanes x = sum[i], y = sum[odd - 1 - i];
            sum[i] = x + y;
            sum[odd - 1 - i] = x - y;
        }
        for (int k = 0; k < odd; k++) {
            GLOBAL const float *wave = c.base + k * few;
            lanes all = k % 2 ? each(0) : k % 4 ? -sum[few] : sum[few];
            if (k % 2)
                for (int i = 0; i < few; i++) all += wave[i] * difference[few - 1 - i];
            else
                for (int i = 0; i < few; i++) all += wave[i] * sum[i];
            to[b + k] = all;
        }
    }
    swap = from, from = to, to = swap;

    for (int size = 2 * odd; size <= n; size *= 2, swap = from, from = to, to = swap)
        for (int b = 0; b < n; b += size) {
            lanes before = 0.5f * from[b + size / 2];
            to[b] = from[b];
            to[b + 1] = before;
            for (int k = 1; k < size / 2; k++) {
                to[b + 2 * k] = from[b + k];
                to[b + 2 * k + 1] = before = from[b + size / 2 + k] - before;
            }
        }
    return from;
}

/* The same way back. */
FN lanes *sum_of_cosines(cosines c, lanes *v, lanes *w)
{
    int n = c.n, odd = c.odd, few = odd / 2;
    lanes *from = v, *to = w, *swap;
    for (int size = n; size > odd; size /= 2, swap = from, from = to, to = swap)
        for (int b = 0; b < n; b += size) {
            lanes after = each(0);
            for (int k = size / 2 - 1; k >= 0; k--) {
                to[b + k] = from[b + 2 * k];
                to[b + size / 2 + k] = after = from[b + 2 * k + 1] - after;
            }
            to[b + size / 2] *= 0.5f;
        }

    for (int b = 0; b < n; b += odd) {
        lanes middle = each(0);
        for (int k = 0; k < odd; k += 2) middle += k % 4 ? -from[b + k] : from[b + k];
        to[b + few] = middle;
        for (int i = 0; i < few; i++) {
            lanes even = each(0), uneven = each(0);
            for (int k = 0; k < odd; k += 2) even += c.base[k * few + i] * from[b + k];
            for (int k = 1; k < odd; k += 2)
                uneven += c.base[k * few + i] * from[b + k];
            to[b + i] = even + uneven;
            to[b + odd - 1 - i] = even - uneven;
        }
    }
    swap = from, from = to, to = swap;

    for (int size = 2 * odd; size <= n; size *= 2, swap = from, from = to, to = swap)
        for (int b = 0; b < n; b += size)
            for (int i = 0; i < size / 2; i++) {
                lanes x = from[b + i];
                lanes y = from[b + size / 2 + i] * c.twice[n - size + i];
                to[b + i] = x + y;
                to[b + size - 1 - i] = x - y;
            }
    return from;
}

/* Where the wave (ky, kz) is, along x: neighbours differ by b, and stiff pulls to 0.
 * LANES of them at once, in x[n], by elimination. A pivot is 1 + over, and the last one
 * over itself: of the wave that is the same everywhere it is 0, and the pressure is
 * free there: its mean becomes 0.
 */
FN void solve_rows(lanes *x, lanes *inverse, int n, lanes stiff)
{
    lanes over = stiff;
    for (int i = 0; i < n - 1; i++) {
        inverse[i] = 1 / (1 + over);
        over = stiff + over * inverse[i];
        x[i + 1] += x[i] * inverse[i];
    }
    mask is_free = over == each(0);
    x[n - 1] = pick(is_free, each(0), x[n - 1] / pick(is_free, each(1), over));
    for (int i = n - 2; i >= 0; i--) x[i] = (x[i] + x[i + 1]) * inverse[i];

    if (!all(over != each(0))) {
        lanes mean = each(0);
        for (int i = 0; i < n; i++) mean += x[i];
        mean = pick(is_free, mean / (float)n, each(0));
        for (int i = 0; i < n; i++) x[i] -= mean;
    }
}
