/* sandpile.c - generates the .npy files with which the sandpile is checked.
 *
 * Prints known facts about them: "grains N", the grains of all grids, and a line
 * "ends N" for each grid that must become stable with N grains in every cell. This is
 * known for sums with the identity of the sandpile group: the recurrent stable piles
 * form a group under "add and topple", with the identity e = S(6 - S(6)), where 6 means
 * six grains in every cell and S topples until stable (Creutz, Comput. Phys. 5, 198,
 * 1991). Three grains everywhere plus e must end as three everywhere, in every order.
 */
#include <stdlib.h>
#include <string.h>

#include "sandpile.h"

typedef enum { IDENTITY, UNIFORM } kind;

// clang-format off
static const struct {
    const char *name;
    int batch, dim;
    kind kind;
    int max_grains; /* UNIFORM: grains per cell, 0 .. max_grains */
    int one_in;     /* UNIFORM: only one cell in so many gets grains */
} recipes[] = {
    /* Grid g is three everywhere plus g + 1 times the identity. */
    {"identity", 2, 14, IDENTITY, 0, 1},
    /* Cells above 255 at first: they fit in 8 bits only later. */
    {"wide", 1, 29, UNIFORM, 6000, 60},
    /* Grids that become stable one after the other. */
    {"batch", 3, 15, UNIFORM, 9, 1},
    /* Several tiles in every step, each with another content. */
    {"large", 1, 275, UNIFORM, 7, 1},
    /* For checkers that slow a program down a thousand times. */
    {"tiny", 2, 9, UNIFORM, 700, 9},
};
// clang-format on
enum { RECIPES = sizeof recipes / sizeof *recipes };

/* Topples until stable, cell by cell. */
static void settle(int dim, int *grid)
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (int y = 1; y < dim - 1; y++)
            for (int *c = grid + y * dim + 1; c < grid + y * dim + dim - 1; c++) {
                int quarter = *c / 4;
                *c -= 4 * quarter;
                c[1] += quarter;
                c[-1] += quarter;
                c[dim] += quarter;
                c[-dim] += quarter;
                moved = moved || quarter;
            }
    }
    for (int i = 0; i < dim; i++)
        grid[i] = grid[i * dim] = grid[i * dim + dim - 1] = grid[(dim - 1) * dim + i] =
            0;
}

/* Fills the grid with three everywhere plus `times` times the identity. */
static void fill_identity(int dim, int times, int *grid)
{
    int *e = allocate((size_t)(dim * dim), sizeof *e, "the identity");
    memset(e, 0, (size_t)(dim * dim) * sizeof *e);
    for (int y = 1; y < dim - 1; y++)
        for (int x = 1; x < dim - 1; x++) e[y * dim + x] = 6;
    settle(dim, e);
    for (int y = 1; y < dim - 1; y++)
        for (int x = 1; x < dim - 1; x++) e[y * dim + x] = 6 - e[y * dim + x];
    settle(dim, e);
    for (int y = 1; y < dim - 1; y++)
        for (int x = 1; x < dim - 1; x++)
            grid[y * dim + x] = 3 + times * e[y * dim + x];
    free(e);
}

/* Returns a random number for a cell, by the finalizer of splitmix64; it is the same on
 * every machine. */
static unsigned hash(int g, int y, int x)
{
    uint64_t z =
        0x9e3779b97f4a7c15u * (((uint64_t)g << 40) + ((uint64_t)y << 20) + x + 1);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (unsigned)(z >> 33);
}

int main(int argc, char **argv)
{
    run_name = "sandpile-data";
    const char *name = NULL, *out = NULL;
    arg table[] = {
        {"recipe", ARG_TEXT, &name, 0, 0, "identity, wide, batch, large or tiny", 0},
        {"out", ARG_TEXT, &out, 0, 0, ".npy file to write", 0},
        {0}};
    args_parse(argc, argv, table, "generates piles with known results, as .npy files");
    if (!name) fail("recipe= is missing");
    if (!out) fail("out= is missing");
    int r = 0;
    while (r < RECIPES && strcmp(recipes[r].name, name)) r++;
    if (r == RECIPES)
        fail("recipe=%s: expected identity, wide, batch, large or tiny", name);

    int dim = recipes[r].dim, batch = recipes[r].batch;
    size_t cells = (size_t)(dim * dim), all = cells * (size_t)batch;
    int *grid = allocate(all, sizeof *grid, "the grids");
    memset(grid, 0, all * sizeof *grid);
    for (int g = 0; g < batch; g++) {
        int *at = grid + (size_t)g * cells;
        if (recipes[r].kind == IDENTITY) {
            fill_identity(dim, g + 1, at);
            continue;
        }
        for (int y = 1; y < dim - 1; y++)
            for (int x = 1; x < dim - 1; x++) {
                unsigned h = hash(g, y, x);
                if (h % (unsigned)recipes[r].one_in == 0)
                    at[y * dim + x] =
                        (int)(h / 64 % (unsigned)(recipes[r].max_grains / (g + 1) + 1));
            }
    }
    npy file = {NPY_I4, 3, {(size_t)batch, (size_t)dim, (size_t)dim}, grid};
    npy_write(out, &file);

    int64_t grains = 0;
    for (size_t i = 0; i < all; i++) grains += grid[i];
    printf("grains %jd\n", (intmax_t)grains);
    for (int g = 0; recipes[r].kind == IDENTITY && g < batch; g++) printf("ends 3\n");
    if (fflush(stdout)) fail("standard output: cannot be written");
    free(grid);
    return 0;
}
