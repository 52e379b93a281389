/* semblance.c - generates the SU files that the semblance search is run and checked on.
 *
 * Each recipe is a row of the table below: a 2-D line of traces around an output point
 * (m0, h0), the events in it, and noise. An event is a Ricker wavelet with its peak at
 * the traveltime of the operator that the search uses. So the expected result is known;
 * it is printed, one event per line: t0 A B C D E amplitude. The noise is a hash of
 * trace and sample, the same on every machine. If a recipe has a gap, the traces of the
 * gap are written to OUT.missing, without noise. Left out: amplitude decay, wavelet
 * stretch, and other properties of a real survey.
 */
#include "run.h"
#include "su.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* t^2 = (t0 + a dm + b dh)^2 + c dh^2 + d dm^2 + e dh dm, with dm and dh relative to
 * (m0, h0) */
typedef struct {
    double t0;      /* s */
    double a, b;    /* s/m */
    double c, d, e; /* s^2/m^2 */
    double amplitude;
} event;

/* Traces lie on every second point of a grid, as for sources and receivers at equal
 * distances: midpoint m0 + i spacing, half-offset h0 + j spacing, i + j even. i
 * increases, and for each i j decreases, until there are ntraces. */
typedef struct {
    const char *name;
    int ntraces, ns, dt; /* dt in microseconds */
    su_order order;
    int16_t scalco;
    double m0, h0, spacing; /* m */
    int i[2], j[2];         /* first and last index of the grid */
    double shift;           /* m: added to the midpoint of the last trace */
    double gap;             /* m: traces nearer to m0 are missing; 0: none */
    double frequency;       /* Hz, peak of the wavelet's spectrum */
    double noise;           /* the noise is uniform in -noise .. noise */
    event events[3];        /* amplitude 0 ends the list */
} recipe;

// clang-format off
static const recipe recipes[] = {
    /* The shape and the geometry of the paper's file. */
    {.name = "paper", .ntraces = 116, .ns = 2502, .dt = 2000,
     .order = SU_LITTLE, .scalco = 1,
     .m0 = 4120, .h0 = -480, .spacing = 20, .i = {-10, 10}, .j = {-6, 4},
     .frequency = 25, .noise = 0.005,
     .events = {{1.124, 0, -0.00043, 8.8e-7, 0, 0, 1},
                {1.94, 0.00011516, -0.000194, 7.4e-7, 7.0e-10, 5.61e-8, 0.5},
                {2.255, -0.000147, -0.000139, 4.896e-7, 3.552e-7, -1.0e-7, 0.25}}},

    /* Both sizes are primes; scalco is 0, which means 1. */
    {.name = "awkward", .ntraces = 37, .ns = 1009, .dt = 4000,
     .order = SU_LITTLE, .scalco = 0,
     .m0 = 4120, .h0 = -480, .spacing = 50, .i = {-4, 4}, .j = {-4, 4},
     .frequency = 20, .noise = 0.01,
     .events = {{1.5, 0.0001, -0.0002, 6e-7, 2e-7, 1e-7, 1}}},

    /* Coordinates are stored in decimetres. */
    {.name = "scaled", .ntraces = 61, .ns = 751, .dt = 2000,
     .order = SU_LITTLE, .scalco = -10,
     .m0 = 4120.3, .h0 = -480.7, .spacing = 62.5, .i = {-5, 5}, .j = {-5, 5},
     .frequency = 20, .noise = 0.01,
     .events = {{0.9, -0.0001, 0.0003, 5e-7, 3e-7, -1e-7, 1}}},

    {.name = "big", .ntraces = 41, .ns = 501, .dt = 4000,
     .order = SU_BIG, .scalco = 1,
     .m0 = 4120, .h0 = -480, .spacing = 50, .i = {-4, 4}, .j = {-4, 4},
     .frequency = 20, .noise = 0.01,
     .events = {{1.1, 0.0002, 0.0001, 7e-7, 1e-7, 2e-7, 1}}},

    /* With a window of 5 samples, the first event uses the first sample of the traces,
     * and the second, on the farthest traces, the last. */
    {.name = "edges", .ntraces = 41, .ns = 201, .dt = 4000,
     .order = SU_LITTLE, .scalco = 1,
     .m0 = 4120, .h0 = -480, .spacing = 25, .i = {-4, 4}, .j = {-4, 4},
     .frequency = 20, .noise = 0.01,
     .events = {{0.01, 0, 0, 5e-7, 2.5e-7, 0, 1},
                {0.7852, 0, 0, 5e-7, 2.5e-7, 0, 1}}},

    /* On the last trace the event is after the end of the recording. */
    {.name = "outside", .ntraces = 25, .ns = 301, .dt = 4000,
     .order = SU_LITTLE, .scalco = 1,
     .m0 = 4120, .h0 = -480, .spacing = 50, .i = {-3, 3}, .j = {-3, 3}, .shift = 3000,
     .frequency = 20, .noise = 0.01,
     .events = {{0.6, 0.0001, -0.0001, 6e-7, 4e-7, 1e-7, 1}}},

    {.name = "empty", .ntraces = 25, .ns = 301, .dt = 4000,
     .order = SU_LITTLE, .scalco = 1,
     .m0 = 4120, .h0 = -480, .spacing = 50, .i = {-3, 3}, .j = {-3, 3},
     .noise = 1},

    /* A part of a line with a gap. */
    {.name = "line", .ntraces = 306, .ns = 376, .dt = 4000,
     .order = SU_LITTLE, .scalco = 1,
     .m0 = 4120, .h0 = -480, .spacing = 25, .i = {-20, 20}, .j = {-8, 8}, .gap = 51,
     .frequency = 20, .noise = 0.1,
     .events = {{0.44, 0.0001, -0.0003, 9e-7, 3e-7, 0, 0.6},
                {0.8, -0.0001, -0.0002, 7e-7, 2e-7, 0, 1},
                {1.1, 0.00015, -0.0001, 6e-7, 1e-7, 5e-8, 0.8}}},

    /* A survey's long traces around missing ones, about 50 in an aperture. */
    {.name = "survey", .ntraces = 154, .ns = 1001, .dt = 4000,
     .order = SU_LITTLE, .scalco = 1,
     .m0 = 4120, .h0 = -480, .spacing = 25, .i = {-10, 10}, .j = {-8, 8}, .gap = 26,
     .frequency = 20, .noise = 0.1,
     .events = {{0.9, 0.0001, -0.0003, 6e-7, 3e-7, 0, 1},
                {1.7, -0.00015, -0.0002, 6e-7, 2e-7, 0, 0.8},
                {2.9, 0.0002, -0.0001, 6e-7, 4e-7, 0, 0.6}}},

    /* Zeros only; and noise whose squares almost underflow. */
    {.name = "silent", .ntraces = 12, .ns = 151, .dt = 4000,
     .order = SU_LITTLE, .scalco = 1,
     .m0 = 4120, .h0 = -480, .spacing = 100, .i = {-2, 2}, .j = {-2, 2}},

    {.name = "faint", .ntraces = 12, .ns = 301, .dt = 4000,
     .order = SU_LITTLE, .scalco = 1,
     .m0 = 4120, .h0 = -480, .spacing = 100, .i = {-2, 2}, .j = {-2, 2},
     .noise = 2e-17},

    /* An event, and a few samples before it one with 1000 times the amplitude. */
    {.name = "loud", .ntraces = 12, .ns = 301, .dt = 4000,
     .order = SU_LITTLE, .scalco = 1,
     .m0 = 4120, .h0 = -480, .spacing = 100, .i = {-2, 2}, .j = {-2, 2},
     .frequency = 60,
     .events = {{0.6, 0.0001, -0.0002, 6e-7, 3e-7, 1e-7, 1},
                {0.568, 0.0001, -0.0002, 6e-7, 3e-7, 1e-7, 1000}}},

    /* For tools that slow a program down a thousand times. */
    {.name = "small", .ntraces = 12, .ns = 301, .dt = 4000,
     .order = SU_LITTLE, .scalco = 1,
     .m0 = 4120, .h0 = -480, .spacing = 100, .i = {-2, 2}, .j = {-2, 2},
     .frequency = 20, .noise = 0.01,
     .events = {{0.6, 0.0001, -0.0002, 6e-7, 3e-7, 1e-7, 1}}},
};
// clang-format on

enum { RECIPES = sizeof recipes / sizeof recipes[0], EVENTS = 3 };

static const recipe *find_recipe(const char *name)
{
    char names[200] = "";
    for (int r = 0; r < RECIPES; r++) {
        if (strcmp(recipes[r].name, name) == 0) return &recipes[r];
        strcat(strcat(names, " "), recipes[r].name);
    }
    fail("recipe=%s: not one of%s", name, names);
}

/* Traveltime in seconds; NaN if the event does not reach the trace. */
static double traveltime(const event *v, double dm, double dh)
{
    double linear = v->t0 + v->a * dm + v->b * dh;
    return sqrt(linear * linear + v->c * dh * dh + v->d * dm * dm + v->e * dh * dm);
}

/* The Ricker wavelet, 1 at t = 0; t in seconds. */
static double ricker(double frequency, double t)
{
    const double pi = 3.14159265358979323846;
    double x = pi * frequency * t;
    return (1 - 2 * x * x) * exp(-x * x);
}

/* Noise, uniform in -1 .. 1, with a different number of a sequence for each sample. */
static double noise(size_t trace, int sample)
{
    uint64_t bits = splitmix64(0, 65536 * (uint64_t)trace + (uint64_t)sample + 1);
    return ldexp((double)(bits >> 11), -52) - 1;
}

static void fill_trace(const recipe *r, size_t number, double dm, double dh,
                       double noise_level, su_trace *t)
{
    double unit = r->scalco < 0 ? -1.0 / r->scalco : r->scalco > 0 ? r->scalco : 1;
    double m = r->m0 + dm, h = r->h0 + dh;
    su_header *header = &t->header;
    header->tracl = header->tracr = (int32_t)number + 1;
    header->trid = 1; /* seismic data */
    header->scalco = r->scalco;
    header->sy = (int32_t)lround((m - h) / unit);
    header->gy = (int32_t)lround((m + h) / unit);
    header->counit = 1; /* metres */
    header->offset = (int32_t)lround(2 * h);

    for (int j = 0; j < r->ns; j++) {
        double value = noise_level * noise(number, j);
        for (int v = 0; v < EVENTS && r->events[v].amplitude != 0; v++) {
            double delay = 1e-6 * r->dt * j - traveltime(&r->events[v], dm, dh);
            if (!isnan(delay))
                value += r->events[v].amplitude * ricker(r->frequency, delay);
        }
        t->data[j] = (float)value;
    }
}

static int is_missing(const recipe *r, int i)
{
    return fabs(i * r->spacing) < r->gap;
}

static void fill_gather(const recipe *r, su_gather *g)
{
    size_t n = 0;
    for (int i = r->i[0]; i <= r->i[1]; i++)
        for (int j = r->j[1]; j >= r->j[0] && n < g->ntraces; j--)
            if ((i + j) % 2 == 0 && !is_missing(r, i)) {
                double shift = n + 1 == g->ntraces ? r->shift : 0;
                fill_trace(r, n, i * r->spacing + shift, j * r->spacing, r->noise,
                           &g->trace[n]);
                n++;
            }
    if (n < g->ntraces) fail("recipe=%s: its grid has only %zu points", r->name, n);
}

static void write_gather(const char *path, const recipe *r, su_gather *g)
{
    char why[SU_REASON_SIZE];
    if (su_write(path, r->order, g, why) != 0) fail("%s: %s", path, why);
    su_free(g);
}

/* Writes the missing traces at the half-offset of the output point, without noise. */
static void write_missing(const recipe *r, const char *path)
{
    size_t n = 0;
    for (int i = r->i[0]; i <= r->i[1]; i++) n += i % 2 == 0 && is_missing(r, i);
    if (n == 0) return;
    su_gather g = su_alloc(n, r->ns, r->dt);
    if (g.trace == NULL) fail("not enough memory");
    n = 0;
    for (int i = r->i[0]; i <= r->i[1]; i++)
        if (i % 2 == 0 && is_missing(r, i)) {
            fill_trace(r, n, i * r->spacing, 0, 0, &g.trace[n]);
            n++;
        }
    write_gather(path, r, &g);
}

int main(int argc, char **argv)
{
    run_name = "semblance-data";
    const char *name = NULL, *out = NULL;
    arg table[] = {
        {"recipe", ARG_TEXT, &name, 0, 0,
         "paper, awkward, scaled, big, edges, outside, empty, line, survey, small, "
         "silent, faint or loud",
         false},
        {"out", ARG_TEXT, &out, 0, 0, "SU file to write", false},
        {0}};
    args_parse(
        argc, argv, table,
        "makes an SU file with known events for the semblance search and prints\n"
        "them, one a line: t0 A B C D E amplitude");
    if (name == NULL) fail("recipe= is missing");
    if (out == NULL) fail("out= is missing");

    const recipe *r = find_recipe(name);
    su_gather g = su_alloc((size_t)r->ntraces, r->ns, r->dt);
    if (g.trace == NULL) fail("not enough memory");
    fill_gather(r, &g);
    write_gather(out, r, &g);
    char path[4096];
    snprintf(path, sizeof path, "%s.missing", out);
    write_missing(r, path);

    for (int v = 0; v < EVENTS && r->events[v].amplitude != 0; v++) {
        const event *ev = &r->events[v];
        printf("%.9g %.9g %.9g %.9g %.9g %.9g %.9g\n", ev->t0, ev->a, ev->b, ev->c,
               ev->d, ev->e, ev->amplitude);
    }
    if (fflush(stdout) != 0) fail("standard output cannot be written");
    return 0;
}
