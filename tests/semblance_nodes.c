/* semblance_nodes.c - tests the error bounds of the interpolation in nodes.h. Compiled
 * with the nodes.h of a step that has them.
 *
 * Draws random arrivals whose squares are linear in D and E, and piecewise-linear
 * windows of 5 samples. Between the nodes, x and the sum of squares are compared with
 * their exact values. The errors must be below the bounds, except for float rounding,
 * and not far below: a bound that is never approached proves nothing. At SMOOTH_RATIO,
 * the error must be below 10^-6 of the largest node.
 */
#include <stdio.h>
#include <stdlib.h>

#include "block.h"
#include "nodes.h"

static double uniform(double from, double to)
{
    return from + (to - from) * rand() / RAND_MAX;
}

/* Interpolates at (p, q) a function that is node[4 p + q] at p, q = 0 .. 3. */
static double interpolated(const double node[NODES], double p, double q)
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
    double max_x = 0, max_den = 0, max_relative = 0; /* relative to their bounds */
    for (int t = 0; t < 3000; t++) {
        double x = pow(10, uniform(0.5, 3.5)), h = x * pow(10, uniform(-1.2, -0.8));
        double fraction = uniform(0, 1), squares = 0, slope[5], offset[5];
        for (int j = 0; j < 5; j++) {
            slope[j] = uniform(-1, 1);
            offset[j] = uniform(-1, 1) * h * pow(10, uniform(-3, 1));
            squares += slope[j] * slope[j];
        }
        double u = ((x + h) * (x + h) - x * x) / 3, node_x[NODES], node_den[NODES];
        double largest = 0;
        for (int n = 0; n < NODES; n++) {
            node_x[n] =
                sqrt(x * x + u * (fraction * (n / 4) + (1 - fraction) * (n % 4)));
            node_den[n] = 0;
            for (int j = 0; j < 5; j++) {
                double v = offset[j] + slope[j] * (node_x[n] - x);
                node_den[n] += v * v;
            }
            largest = fmax(largest, node_den[n]);
        }
        for (int i = 0; i < 20; i++) {
            double p = uniform(0, 3), q = uniform(0, 3), den = 0;
            double exact = sqrt(x * x + u * (fraction * p + (1 - fraction) * q));
            for (int j = 0; j < 5; j++) {
                double v = offset[j] + slope[j] * (exact - x);
                den += v * v;
            }
            double error_x = fabs(interpolated(node_x, p, q) - exact) - 5e-7 * x;
            double error_den =
                fabs(interpolated(node_den, p, q) - den) - 1e-6 * largest;
            max_x = fmax(max_x, error_x / (0.013 * pow(h, 4) / pow(x, 3)));
            max_den = fmax(max_den, error_den / (0.025 * squares * pow(h, 4) / x / x));
            max_relative =
                fmax(max_relative, error_den / (largest * 0.2 * h * h / x / x));
        }
    }
    int passed = (max_x > 0.1 && max_x <= 1) + (max_den > 0.1 && max_den <= 1) +
                 (max_relative > 0.05 && max_relative <= 1) +
                 (0.2 / SMOOTH_RATIO / SMOOTH_RATIO < 1e-6);
    printf("x %.3f, den %.3f, of its largest node %.3f of the bound\n", max_x, max_den,
           max_relative);
    printf("%d passed, %d failed\n", passed, 4 - passed);
    return passed != 4;
}
