/* fletcher_weights.c - applies the derivatives of a step's body.h to polynomials, for
 * which they are exact. tests/test_fletcher.py compiles this file with the body.h of
 * each step.
 *
 * At 0, only x has a non-zero first derivative and only x^2 a second one. With weights
 * of order 8, the first derivative is exact up to degree 8 and the second up to
 * degree 9. For the next odd or even power the result is known: -(4!)^2 and -2 (4!)^2
 * instead of 0. The cross derivative of s^a t^b is the product of the two first
 * derivatives.
 */
#include <stdio.h>

#include "body.h"

enum { SIDE = 9, S = 1, T = SIDE, CENTER = 4 * T + 4 };

static double power(double x, int n)
{
    double result = 1;
    while (n--) result *= x;
    return result;
}

/* Sets f[t][s] = s^a t^b, with the origin in the center. */
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

/* The tolerance is the rounding error of a sum whose terms have the magnitude
 * `largest`. */
static void check(const char *what, int a, int b, double got, double expected,
                  double largest)
{
    double error = got - expected;
    if (error < 0) error = -error;
    if (error <= 2e-6 * largest) return;
    printf("%s of s^%d t^%d is %g: expected %g\n", what, a, b, got, expected);
    failed = 1;
}

int main(void)
{
    float f[SIDE * SIDE];
    for (int n = 0; n <= 10; n++) {
        double largest = power(4, n);
        fill(f, n, 0);
#ifdef DER2
        check("second", n, 0, DER2(f, CENTER, S, 1.0f), second_of_power(n), largest);
#elif !defined(FIRST)
        check("second", n, 0, der2(f, CENTER, S, 1.0f), second_of_power(n), largest);
#endif
#ifdef FIRST /* both derivatives by one function, and those along x by macros */
        const derivative_pair pair = derive(&f[CENTER], S, 1, 1);
        check("second", n, 0, pair.second, second_of_power(n), largest);
        if (n < 10) check("first", n, 0, pair.first, first_of_power(n), largest);
        check("second", n, 0, DER2_X(&f[CENTER], 1.0f), second_of_power(n), largest);
        if (n < 10)
            check("first", n, 0, DER1_X(&f[CENTER], 1.0f), first_of_power(n), largest);
#endif
#ifdef DER1
        if (n < 10)
            check("first", n, 0, DER1(f, CENTER, S, 1.0f), first_of_power(n), largest);
#elif !defined(FIRST)
        for (int m = 0; m < 10 && n < 10; m++) {
            fill(f, n, m);
            double expected = first_of_power(n) * first_of_power(m);
#ifdef DER_CROSS
            double got = DER_CROSS(f, CENTER, S, T, 1.0f);
#else
            double got = der_cross(f, CENTER, S, T, 1.0f);
#endif
            check("cross", n, m, got, expected, power(4, n) * power(4, m));
        }
#endif
    }
    puts(failed ? "wrong" : "exact");
    return failed;
}
