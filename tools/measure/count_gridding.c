/* count_gridding.c - counts the work of a query. tools/measure/ceilings.py converts it
 * to operations and bytes.
 *
 *     gridding-count QUERY   prints visibilities= points= grid=
 *
 * A point is the update of one cell of one footprint: 8 operations, a complex product
 * and a complex sum. Visibilities outside the grid are not counted. The grid has grid x
 * grid cells.
 */
#include "arguments.h"

int main(int argc, char **argv)
{
    run_name = "gridding-count";
    arg extra[] = {{0}};
    request r = request_parse(argc, argv, extra, "counts the work of gridding");
    observation o = observe(&r);
    double width = 2.0 * r.support + 1;
    printf("visibilities=%d\npoints=%.0f\ngrid=%d\n", o.n, o.n * width * width, r.grid);
    observation_free(&o);
    return 0;
}
