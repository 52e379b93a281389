/* count_gridding.c - how much work a query is: tools/measure/ceilings.py turns it into
 * operations and bytes.
 *
 *     gridding-count QUERY   prints visibilities= points=
 *
 * A point is one cell of one footprint: 8 operations, a product of two complex numbers
 * and a sum. Visibilities outside the grid are none.
 */
#include "arguments.h"

int main(int argc, char **argv)
{
    run_name = "gridding-count";
    arg extra[] = {{0}};
    request r = request_parse(argc, argv, extra, "counts the work of gridding");
    observation o = observe(&r);
    double width = 2.0 * r.support + 1;
    printf("visibilities=%d\npoints=%.0f\n", o.n, o.n * width * width);
    observation_free(&o);
    return 0;
}
