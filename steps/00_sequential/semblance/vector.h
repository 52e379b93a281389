/* vector.h - a growing array of any type.
 *
 *   vector(float) v = {0};
 *   vector_push(v, 1.5f);
 *   for (size_t i = 0; i < v.len; i++) use(v.items[i]);
 *   free(v.items);
 */
#ifndef VECTOR_H
#define VECTOR_H

#include <stdlib.h>

#include "run.h"

#define vector(type)                                                                   \
    struct {                                                                           \
        type *items;                                                                   \
        size_t len, capacity;                                                          \
    }

#define vector_push(v, x)                                                              \
    do {                                                                               \
        if ((v).len == (v).capacity) {                                                 \
            (v).capacity = (v).capacity ? 2 * (v).capacity : 16;                       \
            (v).items = realloc((v).items, (v).capacity * sizeof *(v).items);          \
            if (!(v).items) fail("no memory for %zu elements", (v).capacity);          \
        }                                                                              \
        (v).items[(v).len++] = (x);                                                    \
    } while (0)

#endif
