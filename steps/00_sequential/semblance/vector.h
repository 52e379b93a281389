/* vector.h - a growing array of any type.
 *
 *   vector(float) v = {0};
 *   vector_push(v, 1.5f);
 *   for (size_t i = 0; i < v.len; i++) use(v.at[i]);
 *   free(v.at);
 */
#ifndef VECTOR_H
#define VECTOR_H

#include <stdlib.h>

#include "run.h"

#define vector(type)                                                                   \
    struct {                                                                           \
        type *at;                                                                      \
        size_t len, room;                                                              \
    }

#define vector_push(v, x)                                                              \
    do {                                                                               \
        if ((v).len == (v).room) {                                                     \
            (v).room = (v).room ? 2 * (v).room : 16;                                   \
            (v).at = realloc((v).at, (v).room * sizeof *(v).at);                       \
            if (!(v).at) fail("no memory for %zu elements", (v).room);                 \
        }                                                                              \
        (v).at[(v).len++] = (x);                                                       \
    } while (0)

#endif
