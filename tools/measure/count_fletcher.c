/* count_fletcher.c - how much work a model is, without the modelling. ceilings.py turns
 * it into operations and bytes.
 *
 *     fletcher-count QUERY   prints points= steps= samples=
 *
 * A sample is one point that is updated in one step of time; the halo never is.
 */
#include "model.h"

int main(int argc, char **argv)
{
    run_name = "fletcher-count";
    arg extra[] = {{0}};
    model m = model_parse(argc, argv, extra, "counts the work of a wave modelling");
    double points = 1;
    for (int k = 0; k < 3; k++) points *= m.n[k] + 2.0 * m.absorb;
    printf("points=%.0f\nsteps=%d\nsamples=%.0f\n", points, m.steps, points * m.steps);
    model_free(&m);
    return 0;
}
