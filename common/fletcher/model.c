/* model.c - see model.h. */
#include "model.h"

#include <ctype.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slab.h"

enum { MAX_POINTS_PER_AXIS = 100000 };

static const double pi = 3.14159265358979323846;

/* The time step is stable up to this many grid spacings over the largest velocity. The
 * value is measured, with a margin: TTI is stable at 0.467 and unstable at 0.496. */
static const double MAX_COURANT = 0.45;

static const char *const property_name[PROPERTIES] = {"vpz", "epsilon", "delta",
                                                      "theta", "phi"};

/* The range of each property. Velocities are positive, and 1 + 2 epsilon and 1 + 2
 * delta must be positive. The other limits exclude mistakes: a velocity's square must
 * fit into a float, and an angle of more than a few turns is probably in degrees. */
static const double property_low[PROPERTIES] = {0, -0.5, -0.5, -100, -100};
static const double property_high[PROPERTIES] = {1e9, 100, 100, 100, 100};

/* ---- the command line -------------------------------------------------------------
 */

static void parse_form(model *m, const char *form)
{
    enum { ISO, VTI, TTI } chosen = parse_choice("form", form, "ISO", "VTI", "TTI");
    m->value[VPZ] = 3000;
    m->value[EPSILON] = chosen == ISO ? 0 : 0.24;
    m->value[DELTA] = chosen == ISO ? 0 : 0.1;
    m->value[THETA] = chosen == TTI ? atan(1) : 0;
    m->value[PHI] = chosen == TTI ? 1 : 0;
}

static bool property_is_valid(int k, double v)
{
    return v <= property_high[k] &&
           (k == THETA || k == PHI ? v >= property_low[k] : v > property_low[k]);
}

/* Returns the range of a property, for messages. */
static const char *property_range(int k)
{
    static const char *const text[PROPERTIES] = {
        "above 0, at most 1e9", "above -0.5, at most 100", "above -0.5, at most 100",
        "-100 to 100 radians", "-100 to 100 radians"};
    return text[k];
}

static void read_field(model *m, int k, const char *path)
{
    const char *key = property_name[k];
    npy a = npy_load(key, path);
    name_input(key, path);
    if (a.type != NPY_F4 && a.type != NPY_F8)
        fail("%s=%s: expected float32 or float64", key, path);
    bool shape_matches = a.dims == 3;
    for (int i = 0; i < 3 && shape_matches; i++)
        shape_matches = a.shape[i] == (size_t)m->n[2 - i];
    if (!shape_matches) {
        char shape[200] = "";
        int used = 0;
        for (int i = 0; i < a.dims; i++)
            used += snprintf(shape + used, sizeof shape - (size_t)used, "%s%zu",
                             i ? ", " : "", a.shape[i]);
        fail("%s=%s: wrong shape (%s): expected (nz, ny, nx) = (%d, %d, %d)", key, path,
             shape, m->n[2], m->n[1], m->n[0]);
    }
    size_t count = npy_count(&a);
    m->field[k] = allocate(count, sizeof(float), key);
    for (size_t i = 0; i < count; i++) {
        double v = npy_element(&a, i);
        if (!property_is_valid(k, v))
            fail("%s=%s: %g at (z %zu, y %zu, x %zu): expected %s", key, path, v,
                 i / a.shape[2] / a.shape[1], i / a.shape[2] % a.shape[1],
                 i % a.shape[2], property_range(k));
        m->field[k][i] = (float)v;
    }
    slab_require_equal(key, m->field[k], count * sizeof(float));
    free(a.data);
}

/* Parses a number or reads a file. A text that begins like a number is a number, unless
 * it ends in .npy. */
static void parse_property(model *m, int k, const char *text)
{
    size_t length = strlen(text);
    bool is_npy = length > 4 && !strcmp(text + length - 4, ".npy");
    const char *digits = text + strspn(text, "+-.");
    char *end;
    strtod(text, &end);
    if (is_npy || (!isdigit((unsigned char)*digits) && (end == text || *end))) {
        read_field(m, k, text);
        return;
    }
    m->value[k] = parse_double(property_name[k], text, -DBL_MAX, DBL_MAX);
    if (!property_is_valid(k, m->value[k]))
        fail("%s=%s: expected %s", property_name[k], text, property_range(k));
}

/* Calls fail() if the machine has less memory than any back-end needs for the planes of
 * this process, or if a plane has more floats than an int can count. */
static void require_memory(const model *m)
{
    grid g = {.sx = m->n[0] + 2 * (m->absorb + HALO),
              .sy = m->n[1] + 2 * (m->absorb + HALO),
              .sz = m->n[2] + 2 * (m->absorb + HALO)};
    slab_of(&g);
    double points = (double)g.sx * g.sy * g.sz;
    double needed = (MEDIUM_FIELDS + 4) * sizeof(float) * points;
    memory_check(needed, "nx=%d ny=%d nz=%d: a grid of %.3g points", m->n[0], m->n[1],
                 m->n[2], points);
    if ((g.sx + 3.0 * LINE) * (g.sy + 1.0) * HALO > INT_MAX)
        fail("nx=%d ny=%d: plane too large: expected at most %d points", m->n[0],
             m->n[1], INT_MAX / HALO);
}

/* If sigma exceeds this value, vsz is 0, as in the paper's code. */
static const double SIGMA_WITHOUT_SHEAR = 10;

static double vsz_of(const model *m, const rock *r)
{
    return m->sigma > SIGMA_WITHOUT_SHEAR
               ? 0
               : r->vpz * sqrt(fabs(r->epsilon - r->delta) / m->sigma);
}

static double property(const model *m, int k, size_t i)
{
    return m->field[k] ? m->field[k][i] : m->value[k];
}

/* Returns the rock at point i of the inner grid. */
static rock rock_inside(const model *m, size_t i)
{
    rock r = {.vpz = property(m, VPZ, i),
              .epsilon = property(m, EPSILON, i),
              .delta = property(m, DELTA, i),
              .theta = property(m, THETA, i),
              .phi = property(m, PHI, i)};
    r.vsz = vsz_of(m, &r);
    return r;
}

/* ---- stability ----------------------------------------------------------------------
 *
 * A plane wave with the parts a = k_H2^2 across the axis and b = k_H1^2 along it obeys
 * u_tt = -vpz^2 M u with
 *
 *     M = | X a + s b   (1 - s) b |    X = 1 + 2 epsilon, N = 1 + 2 delta,
 *         | (N - s) a   b + s a   |    s = vsz^2 / vpz^2
 *
 * It does not grow if the eigenvalues of M are real and not negative for all a, b >= 0.
 * The determinant, s (X a^2 + b^2) + (X - N + s (1 + N)) a b, is not negative if
 * s (1 + delta + sqrt(X)) >= delta - epsilon; the discriminant, ((X - s) a - (1 - s)
 * b)^2 + 4 (1 - s) (N - s) a b, is not negative if s <= min(1, N), and, for epsilon
 * below delta, if s <= 1.
 *
 * If the velocities vary, but not their ratios and the axis, H M is symmetric for
 * H = (1, -1; -1, (X - s) / (N - s)), which is positive if epsilon >= delta and s < N:
 * then an energy is conserved. Otherwise waves gain energy from random velocities: the
 * absorbing band keeps those of the rock. Where the axis turns within a few points,
 * waves may gain energy, too: the front end compares the energy at the end.
 */
typedef struct {
    double x, n, s;
} ratios;

static const double ROUNDING = 1e-9; /* of the ratios, relative */

static ratios ratios_of(const rock *r)
{
    return (ratios){1 + 2 * r->epsilon, 1 + 2 * r->delta,
                    r->vsz * r->vsz / r->vpz / r->vpz};
}

/* Returns whether waves conserve an energy where the velocities of the rock vary. The
 * largest vsz of this kind, vpz sqrt(1 + 2 delta), belongs to it despite rounding. */
static bool conserves_energy(const rock *r)
{
    ratios k = ratios_of(r);
    return r->epsilon >= r->delta && k.s <= k.n * (1 + ROUNDING);
}

/* Returns the largest phase velocity in this rock, over all angles, m/s. */
static double largest_velocity(const rock *r)
{
    enum { ANGLES = 256 };
    ratios k = ratios_of(r);
    double largest = 0;
    for (int i = 0; i <= ANGLES; i++) {
        double a = (double)i / ANGLES, b = 1 - a;
        double difference = (k.x - k.s) * a - (1 - k.s) * b;
        double root = sqrt(
            fmax(difference * difference + 4 * (1 - k.s) * (k.n - k.s) * a * b, 0));
        largest = fmax(largest, (k.x * a + b + k.s + root) / 2);
    }
    return r->vpz * sqrt(largest);
}

/* Calls fail() if plane waves grow in the rock at point i of the inner grid, whatever
 * the time step is. */
static void require_stable_rock(const model *m, const rock *r, size_t i)
{
    ratios k = ratios_of(r);
    double apart = fabs(r->epsilon - r->delta);
    double low = r->delta > r->epsilon ? apart : apart / fmin(1, k.n);
    double high = fmin(1 + r->delta + sqrt(k.x), SIGMA_WITHOUT_SHEAR);
    bool below = k.s > 0 && m->sigma < low * (1 - ROUNDING);
    bool above = r->delta > r->epsilon && m->sigma > high * (1 + ROUNDING);
    /* Shear waves faster than P waves are stable, too, if they are fast enough. */
    if (below && k.s >= fmax(1, r->delta > r->epsilon ? k.n : 0)) below = false;
    if (!below && !above) return;
    size_t nx = (size_t)m->n[0], ny = (size_t)m->n[1];
    fail("sigma=%g: waves grow without bound where epsilon=%g and delta=%g (z %zu, y "
         "%zu, x %zu): expected %s %.6g",
         m->sigma, r->epsilon, r->delta, i / nx / ny, i / nx % ny, i % nx,
         above ? "at most" : "at least", above ? high : low);
}

/* Finds the largest velocities. Calls fail() if the rock or the time step is unstable.
 */
static void require_stability(model *m)
{
    size_t points = (size_t)m->n[0] * (size_t)m->n[1] * (size_t)m->n[2];
    bool uniform = true;
    for (int k = 0; k < PROPERTIES; k++) uniform &= !m->field[k];
    double epsilon = -1, fastest = 0;
    for (size_t i = 0; i < (uniform ? 1 : points); i++) {
        rock r = rock_inside(m, i);
        require_stable_rock(m, &r, i);
        m->vpz_max = fmax(m->vpz_max, r.vpz);
        m->vsz_max = fmax(m->vsz_max, r.vsz);
        if (r.epsilon > epsilon) epsilon = r.epsilon; /* fmax stops gcc 12, AArch64 */
        if (!conserves_energy(&r)) fastest = fmax(fastest, largest_velocity(&r));
    }
    /* The largest velocity and the largest epsilon can meet in the absorbing band. */
    double vpx = m->vpz_max * sqrt(1 + 2 * fmax(epsilon, 0));
    fastest = fmax(fastest, fmax(vpx, m->vsz_max));
    double h = fmin(m->d[0], fmin(m->d[1], m->d[2]));
    double limit = MAX_COURANT * h / fastest;
    if (!(m->dt <= limit))
        fail("dt=%g: unstable: expected at most %.6g s for %g m between points and "
             "%.6g m/s",
             m->dt, limit, h, fastest);
}

model model_parse(int argc, char **argv, arg *extra, const char *about)
{
    model m = {.n = {216, 216, 216},
               .absorb = 16,
               .d = {12.5, 12.5, 12.5},
               .dt = 0.001,
               .tmax = 0.1,
               .sigma = 0.75};
    const char *form = "TTI", *property[PROPERTIES] = {0};
    arg table[] = {
        {"form", ARG_TEXT, &form, 0, 0,
         "ISO (isotropic), VTI (vertical symmetry axis) or TTI (tilted axis)", 0},
        {"nx", ARG_INT, &m.n[0], 1, MAX_POINTS_PER_AXIS,
         "points of the inner grid along x", 0},
        {"ny", ARG_INT, &m.n[1], 1, MAX_POINTS_PER_AXIS, "along y", 0},
        {"nz", ARG_INT, &m.n[2], 1, MAX_POINTS_PER_AXIS, "along z (depth)", 0},
        {"absorb", ARG_INT, &m.absorb, 0, 10000,
         "points of the absorbing band on each face; 0: none", 0},
        {"dx", ARG_DOUBLE, &m.d[0], 1e-3, 1e6, "distance of points along x, m", 0},
        {"dy", ARG_DOUBLE, &m.d[1], 1e-3, 1e6, "along y", 0},
        {"dz", ARG_DOUBLE, &m.d[2], 1e-3, 1e6, "along z", 0},
        {"dt", ARG_DOUBLE, &m.dt, 1e-9, 1e3, "time step, s", 0},
        {"tmax", ARG_DOUBLE, &m.tmax, 1e-9, 1e6, "duration of the model, s", 0},
        {"vpz", ARG_TEXT, &property[VPZ], 0, 0,
         "P velocity along the axis, m/s: a number, or a .npy of (nz, ny, nx)", 0},
        {"epsilon", ARG_TEXT, &property[EPSILON], 0, 0, "Thomsen's epsilon, likewise",
         0},
        {"delta", ARG_TEXT, &property[DELTA], 0, 0, "Thomsen's delta, likewise", 0},
        {"theta", ARG_TEXT, &property[THETA], 0, 0, "angle of the axis from z, radians",
         0},
        {"phi", ARG_TEXT, &property[PHI], 0, 0, "azimuth of the axis from x, radians",
         0},
        {"sigma", ARG_DOUBLE, &m.sigma, 1e-3, 1e9,
         "vpz^2 |epsilon - delta| / vsz^2; above 10: vsz is 0", 0},
        {ARG_LOCAL(m.group)},
        {.value = extra},
    };
    args_parse(argc, argv, table, about);

    /* A remainder of less than 1e-6 steps is rounding error. */
    double steps = ceil(m.tmax / m.dt - 1e-6);
    if (steps > INT_MAX)
        fail("tmax=%g: too many steps (%g of %g s): expected at most 2147483647",
             m.tmax, steps, m.dt);
    m.steps = steps < 1 ? 1 : (int)steps;
    require_memory(&m);
    parse_form(&m, form);
    for (int k = 0; k < PROPERTIES; k++)
        if (property[k]) parse_property(&m, k, property[k]);
    require_stability(&m);
    return m;
}

void model_free(model *m)
{
    for (int k = 0; k < PROPERTIES; k++) free(m->field[k]);
}

/* ---- the grid ---------------------------------------------------------------------
 */

/* Rounds up to an odd number of cache lines. Rows at distances of a power of two would
 * map to the same few cache sets. */
static int round_to_odd_lines(int floats)
{
    return ((floats + LINE - 1) / LINE | 1) * LINE;
}

grid grid_of(const model *m)
{
    int border = 2 * (m->absorb + HALO);
    double dx = m->d[0], dy = m->d[1], dz = m->d[2];
    grid g = {.sx = m->n[0] + border,
              .sy = m->n[1] + border,
              .sz = m->n[2] + border,
              .dt = (float)m->dt,
              .dxinv = (float)(1 / dx),
              .dyinv = (float)(1 / dy),
              .dzinv = (float)(1 / dz),
              .dxxinv = (float)(1 / dx / dx),
              .dyyinv = (float)(1 / dy / dy),
              .dzzinv = (float)(1 / dz / dz),
              .dxyinv = (float)(1 / dx / dy),
              .dyzinv = (float)(1 / dy / dz),
              .dxzinv = (float)(1 / dx / dz)};
    g.lead = LINE - HALO; /* point HALO begins a cache line */
    g.pitch = round_to_odd_lines(g.lead + g.sx);
    g.plane = round_to_odd_lines(g.pitch * g.sy);
    g.source_z = g.sz / 2;
    g.source_offset = (int)row_start(&g, g.sy / 2, 0) + g.sx / 2;
    memcpy(g.group, m->group, sizeof g.group);
    return g;
}

/* ---- the rock ---------------------------------------------------------------------
 */

/* Returns the random number of a point, uniform in [0, 1). */
static double random_number(uint64_t point)
{
    return ldexp((double)(splitmix64(0, point + 1) >> 11), -53);
}

rock rock_at(const model *m, int x, int y, int z)
{
    int position[3] = {x, y, z}, nearest[3], depth = 0;
    uint64_t point = 0;
    bool halo = false;
    for (int k = 2; k >= 0; k--) {
        int first = HALO + m->absorb, last = first + m->n[k] - 1;
        int side = m->n[k] + 2 * (m->absorb + HALO);
        nearest[k] = position[k] < first  ? first
                     : position[k] > last ? last
                                          : position[k];
        int distance = abs(position[k] - nearest[k]);
        if (distance > depth) depth = distance;
        nearest[k] -= first;
        halo |= position[k] < HALO || position[k] >= side - HALO;
        point = point * (uint64_t)side + (uint64_t)position[k];
    }
    rock r =
        rock_inside(m, ((size_t)nearest[2] * (size_t)m->n[1] + (size_t)nearest[1]) *
                               (size_t)m->n[0] +
                           (size_t)nearest[0]);
    if (halo) {
        r.vpz = r.vsz = 0;
    } else if (depth > 0 && conserves_energy(&r)) {
        double d = fmin((double)depth / m->absorb, 1), random = random_number(point);
        r.vpz = r.vpz * (1 - d) + m->vpz_max * random * d;
        r.vsz = r.vsz * (1 - d) + m->vsz_max * random * d;
        r.vsz = fmin(r.vsz, r.vpz * sqrt(1 + 2 * r.delta));
    }
    return r;
}

double source_at(const model *m, int it)
{
    /* Center frequency and delay of the paper's code for a cut-off frequency of 40 Hz.
     */
    double fc = 40 / (3 * sqrt(pi)), tf = 2 * sqrt(pi) / 40;
    double e = fc * ((it - 1) * m->dt - tf);
    e *= e * pi * pi * pi;
    return (1 - 2 * e) * exp(-e);
}
