/* main.c - the front end of all steps and back-ends: arguments, the medium, the loop
 * over time, output.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "model.h"
#include "picture.h"
#include "slab.h"

static const char about[] = "models how waves travel from a source in the center of a "
                            "grid through rock in which\n"
                            "sound is faster along layers than across them, however "
                            "they are tilted (Fletcher, Du "
                            "and Fowler 2009).\n"
                            "Fields are written as [z][y][x], the absorbing band and a "
                            "halo of 4 points included.";

/* With the name of a snapshot, a path is shorter than PATH_MAX. */
enum { FOLDER_LENGTH = 4000, PATH_LENGTH = FOLDER_LENGTH + 32 };
static const double SNAPSHOT_INTERVAL = 0.01; /* seconds of model time */
static const double TIME_TOLERANCE = 1e-9;    /* seconds, for the rounding of it * dt */
/* A wave that does not grow is at most the sum of the values of the source, times the
 * number of steps. This factor allows for rocks in which p and q are not orthogonal. */
static const double GROWTH = 100;
/* The source is silent, to within rounding, after so many seconds. From then on, the
 * energy of p and q varies with the velocities that the waves meet, but by less than
 * this factor. */
static const double SILENCE = 0.25, ENERGY_GROWTH = 1e3;

/* Returns the fields of the medium, computed in double and rounded to float once. */
static float *medium_of(const model *m, const grid *g, const slab *s)
{
    size_t n = field_size(g);
    float *medium = field_allocate(STORED_FIELDS * n, "the medium");
    memset(medium, 0, STORED_FIELDS * n * sizeof *medium); /* the padding is 0 */
    for (int z = 0; z < g->sz; z++)
        for (int y = 0; y < g->sy; y++)
            for (int x = 0; x < g->sx; x++) {
                rock r = rock_at(m, x, y, s->first + z);
                double nx = sin(r.theta) * cos(r.phi);
                double ny = sin(r.theta) * sin(r.phi);
                double nz = cos(r.theta);
                double v2pz = r.vpz * r.vpz;
                double values[STORED_FIELDS] = {[CH1DXX] = nx * nx,
                                                [CH1DYY] = ny * ny,
                                                [CH1DZZ] = nz * nz,
                                                [CH1DXY] = 2 * nx * ny,
                                                [CH1DYZ] = 2 * ny * nz,
                                                [CH1DXZ] = 2 * nx * nz,
                                                [V2PX] = v2pz * (1 + 2 * r.epsilon),
                                                [V2PZ] = v2pz,
                                                [V2PN] = v2pz * (1 + 2 * r.delta),
                                                [V2SZ] = r.vsz * r.vsz,
                                                [NX] = nx,
                                                [NY] = ny,
                                                [NZ] = nz};
                size_t i = row_start(g, y, z) + (size_t)x;
                for (int k = 0; k < STORED_FIELDS; k++)
                    medium[(size_t)k * n + i] = (float)values[k];
            }
    return medium;
}

/* Writes the points of a field, without its padding. */
static void write_field(const char *path, const float *field, const grid *g,
                        const slab *s)
{
    size_t sx = (size_t)g->sx, sy = (size_t)g->sy,
           sz = (size_t)(s->own_end - s->own_first);
    float *points = allocate(sx * sy * sz, sizeof *points, "the points of a field");
    for (size_t z = 0; z < sz; z++)
        for (size_t y = 0; y < sy; y++)
            memcpy(points + (z * sy + y) * sx,
                   field + row_start(g, y, (size_t)s->own_first + z),
                   sx * sizeof *points);
    slab_write(s, path, &(npy){NPY_F4, 3, {(size_t)s->total, sy, sx}, points});
    free(points);
}

/* Writes a picture of p in the xz plane of the source. */
static void write_picture(const char *path, const float *p, const grid *g,
                          const slab *s)
{
    size_t sx = (size_t)g->sx;
    float *rows = allocate(sx * (size_t)s->total, sizeof *rows, "the picture");
    for (int z = s->own_first; z < s->own_end; z++)
        memcpy(rows + (size_t)(s->first + z) * sx, p + row_start(g, g->sy / 2, z),
               sx * sizeof *rows);
    slab_gather(s, rows, sx * sizeof *rows);
    if (run_rank == 0) picture_write(path, rows, g->sx, s->total, sx);
    free(rows);
}

static void snapshot_path(char path[PATH_LENGTH], const char *folder, int number)
{
    snprintf(path, PATH_LENGTH, "%s/p-%04d.npy", folder, number);
}

/* Creates the folder. No snapshot may replace another result or an input. */
static void prepare_snapshots(const char *folder, const model *m)
{
    char path[PATH_LENGTH];
    if (strlen(folder) > FOLDER_LENGTH)
        fail("snapshots=%.100s...: too long: expected at most %d characters", folder,
             FOLDER_LENGTH);
    result_folder("snapshots", folder);
    double last = (m->steps * m->dt + TIME_TOLERANCE) / SNAPSHOT_INTERVAL;
    for (int n = 1; n <= m->steps && n <= last; n++) {
        snapshot_path(path, folder, n);
        result_distinct("snapshots", path);
    }
}

/* Returns the sum of squares over all points. It is summed plane by plane, so that the
 * result does not depend on the number of processes. Calls fail() if a value is not
 * finite.
 */
static double energy_of(const char *name, const float *field, const grid *g,
                        const slab *s)
{
    double *plane_energy = allocate((size_t)s->total, sizeof *plane_energy, "energies"),
           sum = 0;
    for (int z = s->own_first; z < s->own_end; z++) {
        double *energy = &plane_energy[s->first + z];
        *energy = 0;
        for (int y = 0; y < g->sy; y++)
            for (int x = 0; x < g->sx; x++) {
                float v = field[row_start(g, y, z) + (size_t)x];
                if (!isfinite(v))
                    fail("%s is %g at (x %d, y %d, z %d): expected a finite number: a "
                         "point was not written, or the values exceed the range of "
                         "float",
                         name, v, x, y, s->first + z);
                *energy += (double)v * v;
            }
    }
    slab_gather(s, plane_energy, sizeof *plane_energy);
    for (int z = 0; z < s->total; z++) sum += plane_energy[z];
    free(plane_energy);
    return sum;
}

int main(int argc, char **argv)
{
    run_name = "fletcher";
    const char *out = NULL, *out_q = NULL, *snapshots = NULL, *picture = NULL;
    arg extra[] = {
        {"out", ARG_TEXT, &out, 0, 0, ".npy of p at the end", 0},
        {"q", ARG_TEXT, &out_q, 0, 0, ".npy of q at the end", 0},
        {"snapshots", ARG_TEXT, &snapshots, 0, 0, "folder for a .npy of p every 0.01 s",
         0},
        {"picture", ARG_TEXT, &picture, 0, 0, ".png of p in the xz plane of the source",
         0},
        {0},
    };
    double start = seconds();
    model m = model_parse(argc, argv, extra, about);
    if (out) result_check("out", out);
    if (out_q) result_check("q", out_q);
    if (picture) result_check("picture", picture);
    if (snapshots) prepare_snapshots(snapshots, &m);
    if (m.absorb == 0 && run_rank == 0)
        fprintf(stderr, "fletcher: absorb=0: no absorbing band: the faces reflect\n");

    grid g = grid_of(&m);
    const slab s = slab_of(&g);
    float *medium = medium_of(&m, &g, &s);
    float *p = allocate(field_size(&g), sizeof *p, "p");
    float *q = allocate(field_size(&g), sizeof *q, "q");
    size_t bytes = Initialize(&g, medium);
    double init = seconds() - start;

    double run = 0, kernel = 0, source = 0, silent_energy = INFINITY;
    int written = 0;
    for (int it = 1; it <= m.steps; it++) {
        bool last = it == m.steps;
        bool snapshot = snapshots &&
                        it * m.dt + TIME_TOLERANCE >= (written + 1) * SNAPSHOT_INTERVAL;
        double step_start = seconds();
        source += fabs(source_at(&m, it));
        InsertSource((float)source_at(&m, it));
        kernel += Propagate();
        bool silent = isinf(silent_energy) && it * m.dt >= SILENCE;
        UpdatePointers(last || snapshot || silent ? p : NULL,
                       last || silent ? q : NULL);
        run += seconds() - step_start;
        if (silent)
            silent_energy = energy_of("p", p, &g, &s) + energy_of("q", q, &g, &s);
        if (snapshot) {
            char path[PATH_LENGTH];
            snapshot_path(path, snapshots, ++written);
            write_field(path, p, &g, &s);
        }
        progress("time", it, m.steps);
    }
    Finalize();

    double energy = energy_of("p", p, &g, &s) + energy_of("q", q, &g, &s);
    if (sqrt(energy) > GROWTH * source * m.steps ||
        energy > ENERGY_GROWTH * silent_energy)
        fail("p and q have grown without bound (energy %.3g): expected rock with delta "
             "at most epsilon and an axis that turns slowly, or fewer steps than %d",
             energy, m.steps);
    if (out) write_field(out, p, &g, &s);
    if (out_q) write_field(out_q, q, &g, &s);
    if (picture) write_picture(picture, p, &g, &s);

    double samples = (double)(g.sx - 2 * HALO) * (g.sy - 2 * HALO);
    samples *= s.total - 2 * HALO;
    printf("MSamples/s=%.9g\n", samples * m.steps / run * 1e-6);
    printf("Steps=%d\nEnergy=%.9g\nMemory=%zu\n", m.steps, energy, bytes);
    printf("Time_init=%.9g\nTime_run=%.9g\nTime_kernel=%.9g\n", init, run, kernel);
    if (fflush(stdout)) fail("standard output: cannot be written");
    free(q);
    free(p);
    field_free(medium);
    model_free(&m);
    return 0;
}
