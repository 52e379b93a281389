/* oracle_semblance.c - see oracle_semblance.h.
 *
 * Each argument becomes the text of a key: from the paper's set, from the paper's
 * twenty arguments, or as typed. The texts are parsed at the end. The file is read byte
 * by byte, at the positions that SEG-Y specifies. Queries that the search rejects may
 * pass here: rejection is tested elsewhere.
 */
#include "oracle_semblance.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { M0, H0, T0, TAU, RANGES, IN = RANGES + PARAMETERS, KEYS, TEXT_SIZE = 200 };
enum { HEADER = 240, PAPER_ARGUMENTS = 20 };

/* ---- arguments ------------------------------------------------------------------ */

static const char *const paper[3][IN] = {
    {"4120", "-480", "1.124", "0.005", "-0.1,0.1,20", "-0.00143,0.00057,20",
     "7.8e-07,9.8e-07,20", "-1e-07,1e-07,20", "-1e-07,1e-07,20"},
    {"4120", "-480", "1.94", "0.005", "-0.00088484,0.00111516,20",
     "-0.001194,0.000806,20", "6.4e-07,8.4e-07,20", "6e-10,8e-10,20",
     "4.61e-08,6.61e-08,20"},
    {"4120", "-480", "2.255", "0.005", "-0.001147,0.000853,20", "-0.001139,0.000861,20",
     "4.396e-07,5.396e-07,20", "3.002e-07,4.102e-07,20", "-2.101e-07,1.01e-08,20"},
};

static double parse_number(const char *key, const char *text)
{
    char *end;
    double value = text ? strtod(text, &end) : NAN;
    if (!isfinite(value) || *end) fail("%s=%s: not a number", key, text ? text : "");
    return value;
}

static void parse_range(problem *p, int k, const char *text)
{
    int used = 0;
    double count = 0;
    bool spaced = text && strchr(text, ':'); /* FIRST:LAST:COUNT */
    if (text && !strpbrk(text, ":,")) {
        char key[] = {(char)('a' + k), '\0'};
        p->p0[k] = p->p1[k] = parse_number(key, text);
        p->np[k] = 1;
        p->max_parameter[k] = fabs(p->p0[k]);
        return;
    }
    const char *form = spaced ? "%lf:%lf:%lf%n" : "%lf,%lf,%lf%n";
    if (!text || sscanf(text, form, &p->p0[k], &p->p1[k], &count, &used) != 3 ||
        text[used] || !(count >= 1 && count <= INT_MAX) || count != floor(count))
        fail("%c=%s: not FIRST:LAST:COUNT or P0,P1,N", 'a' + k, text ? text : "");
    if (spaced && count > 1)
        p->p1[k] = p->p0[k] + (p->p1[k] - p->p0[k]) / (count - 1) * count;
    p->np[k] = (int)count;
    p->max_parameter[k] = fmax(fabs(p->p0[k]), fabs(p->p1[k]));
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

/* Returns the unsigned integer in `width` bytes from `position` on, counted from 1 as
 * SEG-Y does. */
static uint32_t field(const file *f, size_t trace, size_t position, int width)
{
    const unsigned char *b = f->byte + trace + position - 1;
    uint32_t value = 0;
    for (int i = 0; i < width; i++) value = value << 8 | b[f->big ? i : width - 1 - i];
    return value;
}

static long int16_at(const file *f, size_t trace, size_t position)
{
    long value = (long)field(f, trace, position, 2);
    return value < 0x8000 ? value : value - 0x10000;
}

static double int32_at(const file *f, size_t trace, size_t position)
{
    double value = field(f, trace, position, 4);
    return value < 0x80000000u ? value : value - 0x100000000;
}

/* Returns whether the file consists of traces of one length and interval in the byte
 * order f->big; sets ns and dt. */
static bool has_layout(file *f)
{
    if (f->size < HEADER) return false;
    f->ns = (long)field(f, 0, 115, 2);
    f->dt = (long)field(f, 0, 117, 2);
    size_t row = HEADER + 4 * (size_t)f->ns;
    if (!f->ns || !f->dt || f->size % row) return false;
    for (size_t start = 0; start < f->size; start += row)
        if (field(f, start, 115, 2) != f->ns || field(f, start, 117, 2) != f->dt)
            return false;
    return true;
}

/* Returns how many samples have a plausible magnitude (2^-40 to 2^40, or 0). */
static size_t plausible_samples(const file *f)
{
    size_t plausible = 0, row = HEADER + 4 * (size_t)f->ns;
    for (size_t trace = 0; trace < f->size; trace += row)
        for (size_t position = HEADER + 1; position <= row; position += 4) {
            int exponent = (int)(field(f, trace, position, 4) >> 23 & 255);
            plausible += exponent == 0 || abs(exponent - 127) < 40;
        }
    return plausible;
}

static void find_order(file *f, const char *path, const char *order)
{
    size_t plausible[2] = {0};
    for (int big = 0; big <= 1; big++) {
        f->big = big;
        if (strcmp(order, big ? "little" : "big") && has_layout(f))
            plausible[big] = 1 + plausible_samples(f);
    }
    f->big = plausible[1] > plausible[0];
    if (!has_layout(f)) fail("%s: not traces of one length", path);
}

/* A coordinate in metres. */
static double metres(const file *f, size_t trace, size_t position)
{
    double value = int32_at(f, trace, position), scale = (double)int16_at(f, trace, 71);
    return scale < 0 ? value / -scale : scale > 0 ? value * scale : value;
}

/* Returns whether a trace has data, which trid 0, 1 and 11 to 17 have. */
static bool is_data(const file *f, size_t trace)
{
    long kind = int16_at(f, trace, 29);
    return kind == 0 || kind == 1 || (kind >= 11 && kind <= 17);
}

/* Returns whether the coordinates of sources and receivers at these positions differ.
 */
static bool varies(const file *f, size_t source, size_t receiver)
{
    double min = INFINITY, max = -INFINITY;
    size_t row = HEADER + 4 * (size_t)f->ns;
    for (size_t start = 0; start < f->size; start += row) {
        if (!is_data(f, start)) continue;
        double s = metres(f, start, source), r = metres(f, start, receiver);
        min = fmin(min, fmin(s, r));
        max = fmax(max, fmax(s, r));
    }
    return max > min;
}

/* Stores the coordinates and the samples, from time 0 on, of the traces that are
 * data. Samples before delrt are 0. */
static void take_traces(problem *p, const file *f, const char *path, const char *axis)
{
    bool along_x = varies(f, 73, 81), along_y = varies(f, 77, 85);
    if (strcmp(axis, "auto")) {
        along_x = !strcmp(axis, "x");
    } else if (along_x == along_y) {
        fail("%s: cannot tell which axis the line follows: expected axis=x or axis=y",
             path);
    }
    size_t source = along_x ? 73 : 77, receiver = along_x ? 81 : 85;
    size_t row = HEADER + 4 * (size_t)f->ns, all = f->size / row;

    long delay = 0; /* samples */
    for (size_t i = 0; i < all; i++)
        if (is_data(f, i * row)) {
            long scale = int16_at(f, i * row, 215),
                 time = int16_at(f, i * row, 109) * 1000;
            delay = (scale > 0   ? time * scale
                     : scale < 0 ? time / -scale
                                 : time) /
                    f->dt;
        }
    p->ns = (int)(f->ns + delay);
    if (p->ns < 1) fail("%s: no sample after time 0", path);
    p->dm = allocate(all, sizeof *p->dm, "midpoints");
    p->dh = allocate(all, sizeof *p->dh, "half-offsets");
    p->sample = allocate(all * (size_t)p->ns, sizeof(float), "samples");

    for (size_t i = 0; i < all; i++) {
        size_t start = i * row;
        if (!is_data(f, start)) continue;
        double s = metres(f, start, source), r = metres(f, start, receiver);
        p->dm[p->traces] = (r + s) / 2 - p->m0;
        p->dh[p->traces] = (r - s) / 2 - p->h0;
        float *to = p->sample + (size_t)p->traces * (size_t)p->ns;
        for (long k = 0; k < p->ns; k++) {
            uint32_t pattern =
                k < delay ? 0
                          : field(f, start, HEADER + 1 + 4 * (size_t)(k - delay), 4);
            memcpy(&to[k], &pattern, 4);
            p->max_sample = fmax(p->max_sample, fabs((double)to[k]));
        }
        p->traces++;
    }
    if (p->traces == 0) fail("%s: no trace is alive", path);
}

/* ---- the whole query --------------------------------------------------------------
 */

/* Returns the half window in samples: tau rounded down, but up if a thousandth is
 * missing. */
static int whole_samples(double tau, double dt)
{
    double samples = tau * 1e6 / dt, nearest = round(samples);
    if (fabs(samples - nearest) > 1e-3) nearest = floor(samples);
    if (!(nearest >= 0 && 2 * nearest + 1 <= WINDOW_MAX)) fail("tau=%g: too long", tau);
    return (int)nearest;
}

problem problem_read(int argc, char **argv, arg *extra, const char *about)
{
    const char *text[KEYS] = {0}, *typed[KEYS] = {0}, *order = "auto", *axis = "auto";
    int set = 0, group[3];
    char range_text[PARAMETERS][TEXT_SIZE];

    if (argc > PAPER_ARGUMENTS && !strchr(argv[1], '=')) {
        for (int k = 0; k < RANGES; k++) text[k] = argv[1 + k];
        for (int k = 0; k < PARAMETERS; k++) {
            char **word = argv + 1 + RANGES + 3 * k;
            snprintf(range_text[k], TEXT_SIZE, "%s,%s,%s", word[0], word[1], word[2]);
            text[RANGES + k] = range_text[k];
        }
        text[IN] = argv[PAPER_ARGUMENTS];
        argc -= PAPER_ARGUMENTS;
        argv += PAPER_ARGUMENTS;
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

    problem p = {.m0 = parse_number("m0", text[M0]),
                 .h0 = parse_number("h0", text[H0]),
                 .t0 = parse_number("t0", text[T0]),
                 .tau = parse_number("tau", text[TAU])};
    for (int k = 0; k < PARAMETERS; k++) parse_range(&p, k, text[RANGES + k]);

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
