/* fletcher_weights.c - a step's derivatives on polynomials, where they have to be
 * exact; tests/fletcher_test.py compiles it with the body.h of each step and runs it.
 *
 * At 0 only x has a first derivative and only x x a second. With weights of order 8 the
 * first derivative is exact to degree 8 and the second to 9, and the next odd or even
 * power is known to fail: it gives -(4!)^2 and -2 (4!)^2 instead of 0. Of a
 * product the cross derivative is the product of both.
 */
#include <stdio.h>

#include "body.h"

enum { SIDE = 9, S = 1, T = SIDE, HERE = 4 * T + 4 };

static double power(double x, int n)
{
    double result = 1;
    while (n--) result *= x;
    return result;
}

/* f[t][s] = s^a t^b around the middle. */
static void fill(float f[SIDE * SIDE], int a, int b)
{
    for (int t = 0; t < SIDE; t++)
        for (int s = 0; s < SIDE; s++)
            f[t * T + s] = (float)(power(s - 4, a) * power(t - 4, b));
}

static double first_of_power(int n)
{
    return n == 1 ? 1 : n == 9 ? -576 : 0;
}

static double second_of_power(int n)
{
    return n == 2 ? 2 : n == 10 ? -1152 : 0;
}

static int failed;

/* largest is what the sum of the terms may reach, whose rounding is allowed. */
static void check(const char *what, int a, int b, double got, double right,
                  double largest)
{
    double off = got - right;
    if (off < 0) off = -off;
    if (off <= 2e-6 * largest) return;
    printf("%s of s^%d t^%d is %g, not %g\n", what, a, b, got, right);
    failed = 1;
}

int main(void)
{
    float f[SIDE * SIDE];
    for (int n = 0; n <= 10; n++) {
        double largest = power(4, n);
        fill(f, n, 0);
#ifdef DER2
        check("second", n, 0, DER2(f, HERE, S, 1.0f), second_of_power(n), largest);
#else
        check("second", n, 0, der2(f, HERE, S, 1.0f), second_of_power(n), largest);
#endif
#ifdef DER1
        if (n < 10)
            check("first", n, 0, DER1(f, HERE, S, 1.0f), first_of_power(n), largest);
#else
        for (int m = 0; m < 10 && n < 10; m++) {
            fill(f, n, m);
            double right = first_of_power(n) * first_of_power(m);
#ifdef DER_CROSS
            double got = DER_CROSS(f, HERE, S, T, 1.0f);
#else
            double got = der_cross(f, HERE, S, T, 1.0f);
#endif
            check("cross", n, m, got, right, power(4, n) * power(4, m));
        }
#endif
    }
    puts(failed ? "wrong" : "exact");
    return failed;
}
