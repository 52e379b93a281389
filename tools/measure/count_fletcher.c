/* count_fletcher.c - how much work a model is, without the modelling. ceilings.py turns
 * it into operations and bytes.
 *
 *     fletcher-count QUERY   prints points= steps= samples= planes= plane=
 *
 * A sample is one point that is updated in one step of time; the halo never is. Planes
 * lie across z, and a plane is so many floats in memory.
 */
#include "model.h"

int main(int argc, char **argv)
{
    run_name = "fletcher-count";
    arg extra[] = {{0}};
    model m = model_parse(argc, argv, extra, "counts the work of a wave modelling");
    double points = 1;
    for (int k = 0; k < 3; k++) points *= m.n[k] + 2.0 * m.absorb;
    printf("points=%.0f\nsteps=%d\nsamples=%.0f\nplanes=%d\nplane=%d\n", points,
           m.steps, points * m.steps, m.n[2] + 2 * m.absorb, grid_of(&m).plane);
    model_free(&m);
    return 0;
}
