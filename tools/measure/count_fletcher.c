/* count_fletcher.c - prints the amount of work of a model. ceilings.py computes
 * operations and bytes from it.
 *
 *     fletcher-count QUERY   prints points= steps= samples= planes= plane=
 *
 * points: updated per step (all except the halo). samples: points times steps. planes:
 * updated xy planes. plane: floats of one plane in memory.
 */
#include "model.h"

int main(int argc, char **argv)
{
    run_name = "fletcher-count";
    arg extra[] = {{0}};
    model m = model_parse(argc, argv, extra, "prints the amount of work of a model");
    double points = 1;
    for (int k = 0; k < 3; k++) points *= m.n[k] + 2.0 * m.absorb;
    printf("points=%.0f\nsteps=%d\nsamples=%.0f\nplanes=%d\nplane=%d\n", points,
           m.steps, points * m.steps, m.n[2] + 2 * m.absorb, grid_of(&m).plane);
    model_free(&m);
    return 0;
}
