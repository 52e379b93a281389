/* semblance_bounds.c - writes the upper bounds of a search, and the maxima that the
 * same back-end finds without them.
 *
 * Replaces proc_search() of common/semblance/main.c. BACKEND is the source of a
 * back-end whose state keeps the bounds of all (A, B). A node is an (A, B) with all
 * values of C, or with one of them. BOUNDS names a folder, which receives
 *
 *     bounds.npy, maxima.npy   [1 + np[C]][np[A]][np[B]]; the first is of all C
 *     c.npy                    [np[C]]: the values of C
 */
#include <stdlib.h>
#include <string.h>

#include BACKEND
#ifdef SIDES_H /* of a hybrid back-end */
#define order input.order
#endif

/* Searches without and with a panel. Stores the bounds of the former and the panel. */
static void search_node(search_state *s, const query *q, const int *indices,
                        float *bounds, float *maxima)
{
    search_result result = {.best.semblance = NAN};
    run_times t = {0};
    search(s, q, 1, indices, &result, &t);
    for (size_t n = 0; n < cell_count(q); n++)
        bounds[s->order[n].cell] = s->order[n].bound;
    result.panel = maxima;
    search(s, q, 1, indices, &result, &t);
}

static void write_array(const char *name, npy array)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.npy", getenv("BOUNDS"), name);
    npy_write(path, &array);
}

void proc_search(search_state *s, const query *q, const int *indices,
                 search_result *result, run_times *t)
{
    size_t cells = cell_count(q), count = (size_t)q->np[C];
    float *bounds = allocate((1 + count) * cells, sizeof *bounds, "bounds");
    float *maxima = allocate((1 + count) * cells, sizeof *maxima, "maxima");
    float *c = allocate(count, sizeof *c, "values of C");
    memset(bounds, 0xff, (1 + count) * cells * sizeof *bounds);
    search_node(s, q, indices, bounds, maxima);
    for (size_t n = 0; n < count; n++) {
        query node = *q;
        node.np[C] = 1;
        node.p0[C] = node.p1[C] = c[n] = value(q, C, (int)n);
        search_node(s, &node, indices, bounds + (n + 1) * cells,
                    maxima + (n + 1) * cells);
    }
    size_t na = (size_t)q->np[A], nb = (size_t)q->np[B];
    write_array("bounds", (npy){NPY_F4, 3, {1 + count, na, nb}, bounds});
    write_array("maxima", (npy){NPY_F4, 3, {1 + count, na, nb}, maxima});
    write_array("c", (npy){NPY_F4, 1, {count}, c});
    free(bounds);
    free(maxima);
    free(c);
    search(s, q, 1, indices, result, t);
}
