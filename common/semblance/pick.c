/* pick.c - the last reduction of a search, on the host: a few thousand parts at most.
 */
#include "semblance.h"

#include <math.h>

void pick_best(const query *q, const point *part, size_t per_ab, best *found)
{
    size_t cells = (size_t)q->np[0] * q->np[1];
    found->at = part[0];
    for (size_t ab = 0; ab < cells; ab++) {
        float most = part[ab * per_ab].semblance;
        for (size_t i = ab * per_ab; i < (ab + 1) * per_ab; i++) {
            float s = part[i].semblance;
            if (!isfinite(s))
                fail("part %zu of the search is %g: never written, or the samples are "
                     "too large for float",
                     i, s);
            if (s > most) most = s;
            if (s > found->at.semblance) found->at = part[i];
        }
        if (found->panel) found->panel[ab] = most;
    }
}
