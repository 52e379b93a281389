/* fletcher_layout.c - checks how a step's cpu.c allocates its fields. The first
 * point after the halo begins a cache line in every row. All of a field is 0 before the
 * first step, whatever the memory contained (run with MALLOC_PERTURB_). In steps with
 * tiles, each thread has a tile if there are enough rows, and a number of threads that
 * grows later does no harm. tests/test_fletcher.py compiles this file
 * with the cpu.c of each step.
 */
#include "cpu.c"

#include <stdint.h>
#include <stdio.h>

#include "model.h"

#ifdef HOST_H /* cpu.c has no functions of fletcher.h, but these */
#define Initialize           host_begin
#define InsertSource         host_source
#define Propagate()          host_planes(HALO, model_grid.sz - HALO, NULL)
#define UpdatePointers(p, q) host_swap()
#define Finalize             host_end
#endif

#ifdef _OPENMP
#include <omp.h>
#endif

static int failed;

static void check(int good, const char *what)
{
    if (good) return;
    puts(what);
    failed = 1;
}

static int on_line(const float *field, const grid *model_grid)
{
    for (int y = 0; y < model_grid->sy; y++) {
        uintptr_t address =
            (uintptr_t)(field + row_start(model_grid, y, y % model_grid->sz) + HALO);
        if (address % (LINE * sizeof(float))) return 0;
    }
    return 1;
}

static int all_zero(const float *field, size_t n)
{
    while (n--)
        if (field[n] != 0) return 0;
    return 1;
}

/* fletcher_layout nx=. ny=. nz=. threads */
int main(int argc, char **argv)
{
    run_name = "fletcher_layout";
    if (argc != 5) fail("expected nx=. ny=. nz=. threads");
    int threads = parse_int("threads", argv[4], 1, 1000);
    model m = model_parse(4, argv, &(arg){0}, "");
    grid model_grid = grid_of(&m);
#ifdef _OPENMP
    omp_set_num_threads(threads);
#endif
    size_t n = field_size(&model_grid);
    float *rock = memset(field_allocate(STORED_FIELDS * n, "the medium"), 0,
                         STORED_FIELDS * n * 4);
    Initialize(&model_grid, rock);
    const float *fields[] = {rock, pp, pc, qp, qc};
    for (int i = 0; i < 5; i++) {
        check(on_line(fields[i], &model_grid), "a row does not begin a cache line");
        check(all_zero(fields[i], n), "a field is not 0 before the first step");
    }
    check(on_line(rock + n, &model_grid),
          "the fields of the medium differ in their alignment");

#ifdef TILES
    int rows = model_grid.sy - 2 * HALO;
    check(tile_rows >= 1 && tile_rows <= (rows + threads - 1) / threads,
          "a tile has no rows, or more than the rows per thread");
#ifdef MARCH_H
    check((uintptr_t)(workspaces + LINE) % (LINE * sizeof(float)) == 0,
          "a row of a workspace does not begin a cache line");
    check(all_zero(workspaces, work_size(model_grid.sx - 2 * HALO)),
          "a workspace is not 0 before the first step");
#else
    check((uintptr_t)(derivatives + model_grid.lead + HALO) % (LINE * sizeof(float)) ==
              0,
          "a plane of a tile does not begin a cache line");
#endif
    tile_rows = 1; /* so that all threads have tiles */
#endif
#ifdef _OPENMP
    omp_set_num_threads(2 * threads);
#endif
    InsertSource(1);
    Propagate();
    UpdatePointers(NULL, NULL);
    check(!all_zero(pp, n), "a step leaves p at 0");
    Finalize();
    field_free(rock);
    model_free(&m);
    puts(failed ? "wrong" : "right");
    return failed;
}
