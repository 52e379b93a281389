/* degrid.c - implements degrid.h. */
#include "degrid.h"

#include <complex.h>

#include "parallel.h"

typedef struct {
    const problem *p;
    const double complex *grid;
    double complex *value;
} degridding;

/* Returns the visibility of one footprint. The function is separable: each row is
 * summed with the taps of the columns, and the sum is multiplied by the tap of the row.
 */
static double complex degrid_footprint(const problem *p, const double complex *grid,
                                       const footprint *fp)
{
    size_t width = (size_t)p->dims.width, pitch = (size_t)p->dims.pitch;
    const double complex *plane = (const double complex *)p->taps +
                                  (size_t)(fp->plane * p->dims.oversampling) * width;
    const double complex *cv = plane + (size_t)fp->fv * width;
    const double complex *cu = plane + (size_t)fp->fu * width;
    double complex d = 0;
    for (size_t j = 0; j < width; j++) {
        const double complex *row = grid + ((size_t)fp->v + j) * pitch + fp->u;
        double complex sum = 0;
        for (size_t i = 0; i < width; i++)
            sum += row[i] * (fp->negative_w ? cu[i] : conj(cu[i]));
        d += sum * (fp->negative_w ? cv[j] : conj(cv[j]));
    }
    return d;
}

/* Computes every threads-th visibility. */
static void degrid_part(void *context, int t, int threads)
{
    const degridding *to = context;
    for (int k = t; k < to->p->dims.visibilities; k += threads)
        to->value[k] = degrid_footprint(to->p, to->grid, &to->p->footprints[k]);
}

double *degrid(const problem *p, const double *grid)
{
    double *value =
        allocate((size_t)p->dims.visibilities, 2 * sizeof *value, "the visibilities");
    degridding to = {p, (const double complex *)grid, (double complex *)value};
    parallel_run(parallel_threads(), degrid_part, &to);
    return value;
}
