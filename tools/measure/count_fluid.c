/* count_fluid.c - counts the work of a fluid query; ceilings.py converts it to
 * operations and bytes.
 *
 *     fluid-count QUERY   prints updates= advected= n= steps=
 *
 * updates: relaxations of a cell. If a tolerance ends the solves, their number is known
 * only by computing them. The count is then a lower bound, so that no measured rate
 * exceeds a ceiling by mistake: the two pressure solves need all SWEEPS unless the
 * fluid is at rest, the other four need at least one. advected: updates of a cell by
 * advection, over all fields. n: cells along z.
 */
#include "arguments.h"

int main(int argc, char **argv)
{
    run_name = "fluid-count";
    arg extra[] = {{0}};
    request r = request_parse(argc, argv, extra, "counts the work of a fluid");
    setup s = make_setup(&r);
    event_list events = events_read(r.events);
    double steps = step_count(&r, &events);
    double cells = (double)s.g.nx * s.g.ny * s.g.nz;
    double sweeps = r.sweeps ? 6.0 * r.sweeps : 2.0 * SWEEPS + 4;
    bool moves = false;
    for (size_t e = 0; e < events.count; e++) moves |= events.item[e].is_force;
    if (!r.sweeps && !moves) sweeps = 6;
    printf("updates=%.0f\nadvected=%.0f\nn=%d\nsteps=%.0f\n", steps * cells * sweeps,
           4 * steps * cells, s.g.nz, steps);
    events_free(&events);
    return 0;
}
