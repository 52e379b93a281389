/* semblance_nodes.c - is the error of the cubics through 4 x 4 nodes what body.h says
 * it is? Compiled with the body.h of a step that has nodes.
 *
 * Arrivals whose square is linear in D and E are drawn, with piecewise-linear functions
 * of w samples over them. Between the nodes x and the sum of squares are compared with
 * what they are. The bounds hold, but for the rounding of float, and are not far from
 * what happens: a bound that nothing comes near proves nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "body.h"

static double uniform(double from, double to)
{
    return from + (to - from) * rand() / RAND_MAX;
}

/* The value at (p, q) of what has node[4 p + q] at the nodes p, q = 0 .. 3. */
static double between(const double node[NODES], double p, double q)
{
    lanes along_p[4], along_q[4];
    double column[4];
    cubic(each((float)p), along_p);
    cubic(each((float)q), along_q);
    for (int m = 0; m < 4; m++) {
        column[m] = node[4 * m];
        for (int n = 1; n < 4; n++)
            column[m] += lane(along_q[n], 0) * (node[4 * m + n] - node[4 * m]);
    }
    double sum = column[0];
    for (int m = 1; m < 4; m++) sum += lane(along_p[m], 0) * (column[m] - column[0]);
    return sum;
}

int main(void)
{
    double most_x = 0, most_den = 0, most_part = 0; /* in units of their bounds */
    for (int t = 0; t < 3000; t++) {
        double x = pow(10, uniform(0.5, 3.5)), h = x * pow(10, uniform(-1.2, -0.8));
        double share = uniform(0, 1), squares = 0, slope[5], at[5];
        for (int j = 0; j < 5; j++) {
            slope[j] = uniform(-1, 1);
            at[j] = uniform(-1, 1) * h * pow(10, uniform(-3, 1));
            squares += slope[j] * slope[j];
        }
        double u = ((x + h) * (x + h) - x * x) / 3, node_x[NODES], node_den[NODES];
        double largest = 0;
        for (int n = 0; n < NODES; n++) {
            node_x[n] = sqrt(x * x + u * (share * (n / 4) + (1 - share) * (n % 4)));
            node_den[n] = 0;
            for (int j = 0; j < 5; j++) {
                double v = at[j] + slope[j] * (node_x[n] - x);
                node_den[n] += v * v;
            }
            largest = fmax(largest, node_den[n]);
        }
        for (int i = 0; i < 20; i++) {
            double p = uniform(0, 3), q = uniform(0, 3), den = 0;
            double exact = sqrt(x * x + u * (share * p + (1 - share) * q));
            for (int j = 0; j < 5; j++) {
                double v = at[j] + slope[j] * (exact - x);
                den += v * v;
            }
            double off_x = fabs(between(node_x, p, q) - exact) - 5e-7 * x;
            double off_den = fabs(between(node_den, p, q) - den) - 1e-6 * largest;
            most_x = fmax(most_x, off_x / (0.013 * pow(h, 4) / pow(x, 3)));
            most_den = fmax(most_den, off_den / (0.025 * squares * pow(h, 4) / x / x));
            most_part = fmax(most_part, off_den / (largest * 0.2 * h * h / x / x));
        }
    }
    int passed = (most_x > 0.1 && most_x <= 1) + (most_den > 0.1 && most_den <= 1) +
                 (most_part > 0.05 && most_part <= 1);
    printf("x %.3f, den %.3f, of its largest node %.3f of the bound\n", most_x,
           most_den, most_part);
    printf("%d passed, %d failed\n", passed, 3 - passed);
    return passed != 3;
}
