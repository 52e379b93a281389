/* count_fluid.c - how much work a fluid query is: ceilings.py turns it into
 * operations and bytes.
 *
 *     fluid-count QUERY   prints updates= advected= n= steps=
 *
 * An update is one relaxation of one cell; how many sweeps a solve takes is known only
 * by doing it where a tolerance ends it, and then they are counted as the fewest there
 * can be, so that no ceiling is ever too low: the pressure's solves take all of SWEEPS
 * in any flow that is not at rest, and the others at least one. Advected are the cells
 * of each field that is carried with the flow. The box has n cells along z.
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
