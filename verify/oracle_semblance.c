/* oracle_semblance.c - see oracle_semblance.h.
 *
 * Every word becomes text of a key, from the paper's set, from the paper's twenty words
 * or as it is; numbers are made of that text at the end. The file is read byte by byte,
 * at the places that SEG-Y gives. A query that no search takes may pass here: what is
 * refused, and how, is not the checker's to judge.
 */
#include "oracle_semblance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { M0, H0, T0, TAU, RANGES, IN = RANGES + PARAMETERS, KEYS, ROOM = 200 };
enum { HEADER = 240, PAPER_WORDS = 20 };

/* ---- words ---------------------------------------------------------------------- */

static const char *const paper[3][IN] = {
    {"4120", "-480", "1.124", "0.005", "-0.1,0.1,20", "-0.00143,0.00057,20",
     "7.8e-07,9.8e-07,20", "-1e-07,1e-07,20", "-1e-07,1e-07,20"},
    {"4120", "-480", "1.94", "0.005", "-0.00088484,0.00111516,20",
     "-0.001194,0.000806,20", "6.4e-07,8.4e-07,20", "6e-10,8e-10,20",
     "4.61e-08,6.61e-08,20"},
    {"4120", "-480", "2.255", "0.005", "-0.001147,0.000853,20", "-0.001139,0.000861,20",
     "4.396e-07,5.396e-07,20", "3.002e-07,4.102e-07,20", "-2.101e-07,1.01e-08,20"},
};

static double number(const char *key, const char *text)
{
    char *end;
    double value = text ? strtod(text, &end) : NAN;
    if (!isfinite(value) || *end) fail("%s=%s: not a number", key, text ? text : "");
    return value;
}

static void range(problem *p, int k, const char *text)
{
    int used = 0;
    if (!text ||
        sscanf(text, "%lf,%lf,%d%n", &p->p0[k], &p->p1[k], &p->np[k], &used) != 3 ||
        text[used] || p->np[k] < 1)
        fail("%c=%s: not P0,P1,N", 'a' + k, text ? text : "");
    p->widest[k] = fmax(fabs(p->p0[k]), fabs(p->p1[k]));
}

/* ---- the file ------------------------------------------------------------------- */

typedef struct {
    unsigned char *byte;
    size_t size;
    bool big;
    long ns, dt; /* of the first trace */
} file;

static file read_all(const char *path)
{
    file f = {0};
    FILE *stream = fopen(path, "rb");
    if (!stream || fseek(stream, 0, SEEK_END)) fail("%s: cannot be read", path);
    f.size = (size_t)ftell(stream);
    rewind(stream);
    f.byte = allocate(f.size, 1, "the file");
    if (fread(f.byte, 1, f.size, stream) != f.size) fail("%s: cannot be read", path);
    fclose(stream);
    return f;
}

/* Bytes at .. at + width - 1 of a trace, counted from 1 as SEG-Y does, unsigned. */
static uint32_t bits(const file *f, size_t trace, size_t at, int width)
{
    const unsigned char *b = f->byte + trace + at - 1;
    uint32_t value = 0;
    for (int i = 0; i < width; i++) value = value << 8 | b[f->big ? i : width - 1 - i];
    return value;
}

static long narrow(const file *f, size_t trace, size_t at)
{
    long value = (long)bits(f, trace, at, 2);
    return value < 0x8000 ? value : value - 0x10000;
}

static double wide(const file *f, size_t trace, size_t at)
{
    double value = bits(f, trace, at, 4);
    return value < 0x80000000u ? value : value - 0x100000000;
}

/* Whether the file is traces of one length and interval in the order f->big, whose ns
 * and dt are then set. */
static bool fits(file *f)
{
    if (f->size < HEADER) return false;
    f->ns = (long)bits(f, 0, 115, 2);
    f->dt = (long)bits(f, 0, 117, 2);
    size_t row = HEADER + 4 * (size_t)f->ns;
    if (!f->ns || !f->dt || f->size % row) return false;
    for (size_t at = 0; at < f->size; at += row)
        if (bits(f, at, 115, 2) != f->ns || bits(f, at, 117, 2) != f->dt) return false;
    return true;
}

/* How many samples are of a size that somebody would write, or 0. */
static size_t ordinary(const file *f)
{
    size_t found = 0, row = HEADER + 4 * (size_t)f->ns;
    for (size_t trace = 0; trace < f->size; trace += row)
        for (size_t at = HEADER + 1; at <= row; at += 4) {
            int exponent = (int)(bits(f, trace, at, 4) >> 23 & 255);
            found += exponent == 0 || abs(exponent - 127) < 40;
        }
    return found;
}

static void find_order(file *f, const char *path, const char *order)
{
    size_t found[2] = {0};
    for (int big = 0; big <= 1; big++) {
        f->big = big;
        if (strcmp(order, big ? "little" : "big") && fits(f))
            found[big] = 1 + ordinary(f);
    }
    f->big = found[1] > found[0];
    if (!fits(f)) fail("%s: not traces of one length", path);
}

/* A coordinate in metres. */
static double metres(const file *f, size_t trace, size_t at)
{
    double value = wide(f, trace, at), scale = (double)narrow(f, trace, 71);
    return scale < 0 ? value / -scale : scale > 0 ? value * scale : value;
}

/* Whether the sources' and receivers' coordinates at these bytes are not all one. */
static bool varies(const file *f, size_t source, size_t receiver)
{
    double least = INFINITY, most = -INFINITY;
    size_t row = HEADER + 4 * (size_t)f->ns;
    for (size_t at = 0; at < f->size; at += row) {
        if (narrow(f, at, 29) == 2) continue;
        double s = metres(f, at, source), r = metres(f, at, receiver);
        least = fmin(least, fmin(s, r));
        most = fmax(most, fmax(s, r));
    }
    return most > least;
}

/* The traces that are alive, their coordinates and their samples from time 0 on: what
 * was not recorded before delrt is 0. */
static void take_traces(problem *p, const file *f, const char *path, const char *axis)
{
    bool along_x = varies(f, 73, 81), along_y = varies(f, 77, 85);
    if (strcmp(axis, "auto")) {
        along_x = !strcmp(axis, "x");
    } else if (along_x == along_y) {
        fail("%s: the axis is not to be seen", path);
    }
    size_t source = along_x ? 73 : 77, receiver = along_x ? 81 : 85;
    size_t row = HEADER + 4 * (size_t)f->ns, all = f->size / row;

    long late = 0; /* samples */
    for (size_t i = 0; i < all; i++)
        if (narrow(f, i * row, 29) != 2) late = narrow(f, i * row, 109) * 1000 / f->dt;
    p->ns = (int)(f->ns + late);
    if (p->ns < 1) fail("%s: no sample after time 0", path);
    p->dm = allocate(all, sizeof *p->dm, "midpoints");
    p->dh = allocate(all, sizeof *p->dh, "half-offsets");
    p->sample = allocate(all * (size_t)p->ns, sizeof(float), "samples");

    for (size_t i = 0; i < all; i++) {
        size_t at = i * row;
        if (narrow(f, at, 29) == 2) continue;
        double s = metres(f, at, source), r = metres(f, at, receiver);
        p->dm[p->traces] = (r + s) / 2 - p->m0;
        p->dh[p->traces] = (r - s) / 2 - p->h0;
        float *to = p->sample + (size_t)p->traces * (size_t)p->ns;
        for (long k = 0; k < p->ns; k++) {
            uint32_t pattern =
                k < late ? 0 : bits(f, at, HEADER + 1 + 4 * (size_t)(k - late), 4);
            memcpy(&to[k], &pattern, 4);
            p->loudest = fmax(p->loudest, fabs((double)to[k]));
        }
        p->traces++;
    }
    if (p->traces == 0) fail("%s: no trace is alive", path);
}

/* ---- both ----------------------------------------------------------------------- */

/* Windows reach as many whole samples from their middle as tau has; a thousandth short
 * of one is one. */
static int whole_samples(double tau, double dt)
{
    double samples = tau * 1e6 / dt, near = round(samples);
    if (fabs(samples - near) > 1e-3) near = floor(samples);
    if (!(near >= 0 && 2 * near + 1 <= WINDOW_MAX)) fail("tau=%g: too long", tau);
    return (int)near;
}

problem problem_read(int argc, char **argv, arg *extra, const char *about)
{
    const char *text[KEYS] = {0}, *typed[KEYS] = {0}, *order = "auto", *axis = "auto";
    int set = 0, group[3];
    char joined[PARAMETERS][ROOM];

    if (argc > PAPER_WORDS && !strchr(argv[1], '=')) {
        for (int k = 0; k < RANGES; k++) text[k] = argv[1 + k];
        for (int k = 0; k < PARAMETERS; k++) {
            char **word = argv + 1 + RANGES + 3 * k;
            snprintf(joined[k], ROOM, "%s,%s,%s", word[0], word[1], word[2]);
            text[RANGES + k] = joined[k];
        }
        text[IN] = argv[PAPER_WORDS];
        argc -= PAPER_WORDS;
        argv += PAPER_WORDS;
    }
    arg table[] = {
        {"in", ARG_TEXT, &typed[IN], 0, 0, "SU file", 0},
        {"set", ARG_INT, &set, 1, 3, "the paper's parameter set", 0},
        {"m0", ARG_TEXT, &typed[M0], 0, 0, "midpoint, m", 0},
        {"h0", ARG_TEXT, &typed[H0], 0, 0, "half-offset, m", 0},
        {"t0", ARG_TEXT, &typed[T0], 0, 0, "time, s", 0},
        {"tau", ARG_TEXT, &typed[TAU], 0, 0, "half window, s", 0},
        {"a", ARG_TEXT, &typed[RANGES], 0, 0, "P0,P1,N of A", 0},
        {"b", ARG_TEXT, &typed[RANGES + 1], 0, 0, "P0,P1,N of B", 0},
        {"c", ARG_TEXT, &typed[RANGES + 2], 0, 0, "P0,P1,N of C", 0},
        {"d", ARG_TEXT, &typed[RANGES + 3], 0, 0, "P0,P1,N of D", 0},
        {"e", ARG_TEXT, &typed[RANGES + 4], 0, 0, "P0,P1,N of E", 0},
        {ARG_LOCAL(group)},
        {"order", ARG_TEXT, &order, 0, 0, "byte order: auto, little, big", 0},
        {"axis", ARG_TEXT, &axis, 0, 0, "along the line: auto, x, y", 0},
        {.value = extra},
    };
    if (argc > 1 || !text[IN]) args_parse(argc, argv, table, about);
    for (int k = 0; k < KEYS; k++) {
        if (set && k < IN) text[k] = paper[set - 1][k];
        if (typed[k]) text[k] = typed[k];
    }
    if (!text[IN]) fail("in= is missing");

    problem p = {.m0 = number("m0", text[M0]),
                 .h0 = number("h0", text[H0]),
                 .t0 = number("t0", text[T0]),
                 .tau = number("tau", text[TAU])};
    for (int k = 0; k < PARAMETERS; k++) range(&p, k, text[RANGES + k]);

    file f = read_all(text[IN]);
    find_order(&f, text[IN], order);
    p.dt = (double)f.dt;
    p.idt = 1e6 / p.dt;
    p.half = whole_samples(p.tau, p.dt);
    take_traces(&p, &f, text[IN], axis);
    free(f.byte);
    return p;
}

void problem_free(problem *p)
{
    free(p->dm);
    free(p->dh);
    free(p->sample);
}
