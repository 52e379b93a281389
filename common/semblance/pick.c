/* pick.c - the last reduction of a search, on the host. */
#include "semblance.h"

#include <math.h>

void pick_best(const query *q, const point *part, size_t per_ab, search_result *result)
{
    size_t cells = (size_t)q->np[A] * q->np[B];
    result->best = part[0];
    for (size_t ab = 0; ab < cells; ab++) {
        float cell_max = part[ab * per_ab].semblance;
        for (size_t i = ab * per_ab; i < (ab + 1) * per_ab; i++) {
            float s = part[i].semblance;
            if (!isfinite(s))
                fail("internal error: part %zu of the search is %g: never written", i,
                     s);
            if (s > cell_max) cell_max = s;
            if (s > result->best.semblance) result->best = part[i];
        }
        if (result->panel) result->panel[ab] = cell_max;
    }
}
