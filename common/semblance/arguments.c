/* arguments.c - implements arguments.h. */

#include "arguments.h"
#include "criterion.h"
#include "mute.h"
#include "processes.h"
#include "rows.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POSITIONAL = 20, TAU_MAX = 100 /* samples */ };

/* Upper bounds on arguments. */
static const double TIME_MAX = 1e30; /* seconds: no bound, the traces have their own */
static const double DISTANCE_MAX = 1e9;   /* metres: beyond any place on Earth */
static const int POINTS_MAX = 1000000000; /* output points: an int counts them */
static const double PARAMETER_MAX =
    1e3;                               /* A .. E: s/m and s^2/m^2; rock is below 0.01 */
static const double SEARCH_MAX = 9e15; /* points of a search: a double counts them */

/* Evenly spaced values; FIRST and LAST are among them. */
static const char spaced_form[] = "FIRST:LAST:COUNT";

/* Parameter sets 1 to 3 of the paper: M0 H0 T0 TAU, then P0 P1 N of A to E. */
static const char *const paper_set[3][POSITIONAL - 1] = {
    {"4120", "-480", "1.124", "0.005", "-0.1", "0.1", "20", "-0.00143", "0.00057", "20",
     "7.8e-07", "9.8e-07", "20", "-1.0e-07", "1.0e-07", "20", "-1.0e-07", "1.0e-07",
     "20"},
    {"4120", "-480", "1.94", "0.005", "-0.00088484", "0.00111516", "20", "-0.001194",
     "0.000806", "20", "6.4e-07", "8.4e-07", "20", "6.0e-10", "8.0e-10", "20",
     "4.61e-08", "6.61e-08", "20"},
    {"4120", "-480", "2.255", "0.005", "-0.001147", "0.000853", "20", "-0.001139",
     "0.000861", "20", "4.396e-07", "5.396e-07", "20", "3.002e-07", "4.102e-07", "20",
     "-2.101e-07", "0.101e-07", "20"},
};

double series_at(const series *s, int i)
{
    return s->first + s->step * i;
}

interval series_ends(const series *s)
{
    double first = s->first, last = series_at(s, s->count - 1);
    return (interval){fmin(first, last), fmax(first, last)};
}

/* The number of output traces, before it is known whether an int can count them. */
static double output_traces(const request *r)
{
    return r->positions ? r->position_count : (double)r->m0.count * r->h0.count;
}

int request_traces(const request *r)
{
    return (int)output_traces(r);
}

position request_position(const request *r, int i)
{
    if (r->positions) return r->positions[i];
    return (position){series_at(&r->m0, i / r->h0.count),
                      series_at(&r->h0, i % r->h0.count)};
}

interval request_offsets(const request *r)
{
    interval h = series_ends(&r->h0);
    for (int i = 0; i < r->position_count; i++) {
        h.low = fmin(h.low, r->positions[i].h);
        h.high = fmax(h.high, r->positions[i].h);
    }
    return h;
}

/* Parses one value, or FIRST:LAST:COUNT, with at most `most` values. Returns false if
 * text has a comma, as the older forms have. */
static bool parse_spaced(const char *key, const char *text, double low, double high,
                         int most, series *s)
{
    if (strchr(text, ',')) return false;
    *s = (series){.count = 1};
    char buffer[PARSE_SIZE], *colon[2] = {0};
    int colons = 0, length = snprintf(buffer, sizeof buffer, "%s", text);
    for (char *c = buffer; (c = strchr(c, ':')); c++)
        if (colons++ < 2) colon[colons - 1] = c;
    if (colons == 0) {
        s->first = parse_double(key, text, low, high);
        return true;
    }
    if (colons != 2 || length >= PARSE_SIZE)
        fail("%s=%.200s: expected %s", key, text, spaced_form);
    *colon[0] = *colon[1] = '\0';
    s->first = parse_double(key, buffer, low, high);
    double last = parse_double(key, colon[0] + 1, low, high);
    s->count = parse_int(key, colon[1] + 1, 1, most);
    if (s->count == 1 && last != s->first)
        fail("%s=%s: one value from %g to %g: expected a count of 2 or more", key, text,
             s->first, last);
    if (s->count > 1) s->step = (last - s->first) / (s->count - 1);
    return true;
}

/* Parses output positions or times. The older form is FIRST,STEP,COUNT. */
static series parse_series(const char *key, const char *text, double low, double high)
{
    series s;
    if (parse_spaced(key, text, low, high, POINTS_MAX, &s)) return s;
    char buffer[PARSE_SIZE];
    const char *item[3];
    parse_list(key, text, 3, spaced_form, buffer, item);
    s = (series){.first = parse_double(key, item[0], low, high),
                 .step = parse_double(key, item[1], -high, high),
                 .count = parse_int(key, item[2], 1, POINTS_MAX)};
    double last = series_at(&s, s.count - 1);
    if (!(last >= low && last <= high))
        fail("%s=%s: the last value is %g: expected %g to %g", key, text, last, low,
             high);
    return s;
}

static void parse_range(ranges *row, int k, const char *key, const char *const item[3])
{
    row->p0[k] = parse_double(key, item[0], -PARAMETER_MAX, PARAMETER_MAX);
    row->p1[k] = parse_double(key, item[1], -PARAMETER_MAX, PARAMETER_MAX);
    row->np[k] = parse_int(key, item[2], 1, INT_MAX);
}

/* Parses a= to e=. The older form is P0,P1,N. */
static void parse_values(ranges *row, int k, const char *key, const char *text)
{
    series s;
    if (parse_spaced(key, text, -PARAMETER_MAX, PARAMETER_MAX, INT_MAX, &s)) {
        row->p0[k] = s.first;
        row->p1[k] = s.first + s.step * s.count; /* the first value that is not used */
        row->np[k] = s.count;
        return;
    }
    char buffer[PARSE_SIZE];
    const char *item[3];
    parse_list(key, text, 3, spaced_form, buffer, item);
    parse_range(row, k, key, item);
}

/* Parses the 19 positional arguments of a query, in the order of the paper. */
static void parse_positional(request *r, const char *const *text)
{
    r->m0 = (series){parse_double("m0", text[0], -DISTANCE_MAX, DISTANCE_MAX), 0, 1};
    r->h0 = (series){parse_double("h0", text[1], -DISTANCE_MAX, DISTANCE_MAX), 0, 1};
    r->t0 = (series){parse_double("t0", text[2], 0, TIME_MAX), 0, 1};
    r->tau = parse_double("tau", text[3], 0, TIME_MAX);
    for (int k = 0; k < 5; k++) {
        const char key[2] = {(char)('a' + k), '\0'};
        parse_range(r->row, k, key, text + 4 + 3 * k);
    }
}

/* Reads a row of ranges=. */
static void parse_row(const row_reader *in, ranges *row, bool *by_offset)
{
    enum { COLUMNS = 16 };
    bool offset = in->items == COLUMNS + 1;
    if ((!offset && in->items != COLUMNS) || (in->rows > 1 && offset != *by_offset))
        fail("%s: %d columns: expected %d: t0, then P0 P1 N of A, B, C, D and E; or %d "
             "in all rows, with h0 after t0",
             in->where, in->items, COLUMNS, COLUMNS + 1);
    *by_offset = offset;
    char key[sizeof in->where + 8];
    snprintf(key, sizeof key, "%s: t0", in->where);
    row->t0 = parse_double(key, in->item[0], 0, TIME_MAX);
    snprintf(key, sizeof key, "%s: h0", in->where);
    row->h0 = offset ? parse_double(key, in->item[1], -DISTANCE_MAX, DISTANCE_MAX) : 0;
    for (int k = 0; k < 5; k++) {
        snprintf(key, sizeof key, "%s: %c", in->where, "ABCDE"[k]);
        parse_range(row, k, key,
                    (const char *const *)in->item + 1 + offset + (size_t)(3 * k));
    }
}

static void read_ranges(request *r, const char *path)
{
    r->rows = 0;
    for (row_reader in = rows_open("ranges", path, ""); rows_next(&in); r->rows++) {
        r->row = rows_grow(&in, r->row, r->rows, sizeof *r->row);
        ranges *row = &r->row[r->rows], *before = row - 1;
        parse_row(&in, row, &r->by_offset);
        if (r->rows && row->h0 < before->h0)
            fail("%s: h0 is %g after %g: expected increasing half-offsets", in.where,
                 row->h0, before->h0);
        if (r->rows && row->h0 == before->h0 && !(row->t0 > before->t0))
            fail("%s: t0 is %g after %g: expected increasing times", in.where, row->t0,
                 before->t0);
    }
}

/* Reads positions=: rows of m0 and h0, or, after a row "sx gx", of the coordinates of
 * source and receiver. */
static void read_positions(request *r, const char *path)
{
    bool ends = false;
    for (row_reader in = rows_open("positions", path, ""); rows_next(&in);) {
        if (in.items != 2)
            fail("%s: %d columns: expected 2: m0 h0, or sx gx with these names in the "
                 "first row",
                 in.where, in.items);
        if (in.rows == 1 && !ends && !strcmp(in.item[0], "sx") &&
            !strcmp(in.item[1], "gx")) {
            ends = true;
            in.rows = 0; /* names are no row */
            continue;
        }
        double x = parse_double(in.where, in.item[0], -DISTANCE_MAX, DISTANCE_MAX);
        double y = parse_double(in.where, in.item[1], -DISTANCE_MAX, DISTANCE_MAX);
        r->positions =
            rows_grow(&in, r->positions, r->position_count, sizeof *r->positions);
        r->positions[r->position_count++] =
            ends ? (position){(x + y) / 2, (y - x) / 2} : (position){x, y};
    }
    r->m0 = (series){r->positions[0].m, 0, 1};
    r->h0 = (series){r->positions[0].h, 0, 1};
}

static void check_fill(request *r, const char *fill)
{
    r->fill = parse_choice("fill", fill, "dead") == 0;
    const char *place = r->positions  ? "positions"
                        : r->m0.count ? "m0"
                        : r->h0.count ? "h0"
                        : r->t0.count ? "t0"
                                      : NULL;
    if (place) fail("%s= and fill= are both set: expected only one of them", place);
    if (!r->stack) fail("fill= is for traces: expected stack=, too");
}

/* Options that digest_options() leaves out: files for results, options that do not
 * change the result, and those whose values, contents of files, or results are in the
 * hash of a job (section.c). */
static const char *const not_digested[] = {
    "in",        "order",    "local",      "out",        "panel",    "stack",
    "coherence", "set",      "choose",     "check",      "fill",     "m0",
    "h0",        "t0",       "parameters", "a",          "b",        "c",
    "d",         "e",        "tau",        "ranges_out", "ranges",   "dip",
    "period",    "velocity", "positions",  "axis",       "aperture", "mute",
    "passes",    "refine",   "average",    "weight",     "offset",   NULL};

/* Returns a digest of the values of all other options of a table. */
static uint64_t digest_options(const arg *table)
{
    uint64_t digest = 0;
    for (const arg *a = table; a->key; a++) {
        const char *const *left_out = not_digested;
        while (*left_out && strcmp(*left_out, a->key)) left_out++;
        if (*left_out) continue;
        const void *value = a->value;
        size_t size = a->type == ARG_DOUBLE ? sizeof(double) : sizeof(int);
        if (a->type == ARG_INTS) size *= (size_t)a->count;
        if (a->type == ARG_TEXT) {
            const char *text = *(const char *const *)value;
            value = text ? text : "";
            size = strlen(value);
        }
        digest = digest_update(digest, a->key, strlen(a->key) + 1);
        digest = digest_update(digest, value, size);
    }
    return digest;
}

static void parse_keys(request *r, int argc, char **argv, const char *about)
{
    const char *range[5] = {0}, *order = "auto", *axis = "auto", *bad = "refuse";
    const char *offset = "check";
    static const char parallel[] = "parallel", centre[] = "centre";
    static const char semblance[] = "semblance";
    const char *window = parallel, *smooth = centre, *weight = semblance;
    static const char one_pass[] = "1";
    static const char checked[] = "1";
    const char *passes = one_pass, *choose = "0", *check = checked;
    const char *refine = NULL;
    const char *m0 = NULL, *h0 = NULL, *t0 = NULL, *file = NULL, *aperture = NULL;
    const char *velocity = NULL, *positions = NULL, *fill = NULL, *mute = NULL;
    int set = 0;

    /* The parameter set is applied first, so that other keys override it in any order.
     */
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "set=", 4))
            parse_positional(r, paper_set[parse_int("set", argv[i] + 4, 1, 3) - 1]);

    arg table[] = {
        {"in", ARG_TEXT, &r->in, 0, 0, "SU file to search, in either byte order", 0},
        {"set", ARG_INT, &set, 1, 3,
         "parameter set of the paper; other keys override it", 0},
        {"m0", ARG_TEXT, &m0, 0, 0,
         "midpoints of the output, m: values from -1e9 to 1e9, see above", 0},
        {"h0", ARG_TEXT, &h0, 0, 0,
         "half-offsets of the output, m: values from -1e9 to 1e9", 0},
        {"positions", ARG_TEXT, &positions, 0, 0,
         "for traces: file instead of m0= and h0=: rows of m0 h0, m, or, after a row "
         "\"sx gx\", of these",
         0},
        {"fill", ARG_TEXT, &fill, 0, 0,
         "for traces: dead, instead of m0= and h0=: the traces with trid 2 or zeros "
         "only; "
         "stack= is the whole file with these filled",
         0},
        {"t0", ARG_TEXT, &t0, 0, 0,
         "times of the output, s: values from 0 to the end of the traces; default for "
         "traces: all samples",
         0},
        {"tau", ARG_DOUBLE, &r->tau, 0, TIME_MAX,
         "half width of the window, s: at most 100 samples; default: with velocity= "
         "0.6 periods, else none",
         0},
        {"a", ARG_TEXT, &range[0], 0, 0,
         "values of A to search, s/m: from -1000 to 1000, see above; no default", 0},
        {"b", ARG_TEXT, &range[1], 0, 0, "values of B, s/m: from -1000 to 1000", 0},
        {"c", ARG_TEXT, &range[2], 0, 0, "values of C, s^2/m^2: from -1000 to 1000", 0},
        {"d", ARG_TEXT, &range[3], 0, 0, "values of D, s^2/m^2: from -1000 to 1000", 0},
        {"e", ARG_TEXT, &range[4], 0, 0, "values of E, s^2/m^2: from -1000 to 1000", 0},
        {"ranges", ARG_TEXT, &file, 0, 0,
         "file instead of a= to e=: rows of t0 in s (and h0 in m), then P0 P1 N of A "
         "to E",
         0},
        {"velocity", ARG_TEXT, &velocity, 0, 0,
         "for traces: VMIN,VMAX, m/s, from 1 to 1e5, ends included, or a file of rows "
         "t0 v dv, s and m/s, instead of ranges",
         0},
        {"dip", ARG_DOUBLE, &r->dip, 0, PARAMETER_MAX,
         "with velocity=: largest |A|, s/m; default .68 / VMIN, a dip of 20 degrees",
         0},
        {"period", ARG_DOUBLE, &r->period, 1e-6, TIME_MAX,
         "with velocity=: period of the events, s; default: measured in the traces, at "
         "most 0.25",
         0},
        {"ranges_out", ARG_TEXT, &r->ranges_out, 0, 0,
         "with velocity=: file for the ranges, in the form that ranges= reads", 0},
        {"mute", ARG_TEXT, &mute, 0, 0,
         "for traces: file of rows offset t, m and s: samples before t are 0 and not "
         "used; "
         "with velocity=, also the largest NMO stretch, 0.01 to 3, such as 0.5; "
         "default: "
         "none",
         0},
        {"aperture", ARG_TEXT, &aperture, 0, 0,
         "DM,DH: maximum distance of traces in midpoint and half-offset, m, from 0 to "
         "1e9; default: all, with velocity= 0.6 shot gaps and 5 receiver gaps",
         0},
        {"window", ARG_TEXT, &window, 0, 0,
         "for traces: parallel (samples around each arrival) or moveout (the arrivals "
         "of neighbouring t0)",
         0},
        {"passes", ARG_TEXT, &passes, 0, 0,
         "for traces: 1, or 2: search again in what the first pass does not predict",
         0},
        {"choose", ARG_TEXT, &choose, 0, 0,
         "with velocity=: 0, or 1: choose aperture, tau, weight and passes, unless "
         "they are "
         "set, by filling live traces that are left out",
         0},
        {"check", ARG_TEXT, &check, 0, 0,
         "for traces: 1, the default: also fill a few live traces that are left out, "
         "and print their SNR; or 0",
         0},
        {"refine", ARG_TEXT, &refine, 0, 0,
         "for traces: 1: move the curves between the values of A to E, or 0; default: "
         "1 "
         "with velocity=, else 0",
         0},
        {"average", ARG_DOUBLE, &r->average, 0, TIME_MAX,
         "for traces: A to E are means over so many seconds before and after each "
         "time; "
         "default: tau with velocity=, else 0",
         0},
        {"smooth", ARG_TEXT, &smooth, 0, 0,
         "for traces: centre (mean of the traces on the curve) or window (mean of the "
         "windows)",
         0},
        {"weight", ARG_TEXT, &weight, 0, 0,
         "for traces: factor of a sample: semblance (small where traces disagree) or "
         "none",
         0},
        {ARG_LOCAL(r->group)},
        {"order", ARG_TEXT, &order, 0, 0, "byte order of the file: auto, little or big",
         0},
        {"bad", ARG_TEXT, &bad, 0, 0,
         "traces with samples that are not finite: refuse, or skip (they count as "
         "dead)",
         0},
        {"axis", ARG_TEXT, &axis, 0, 0,
         "coordinate along the line: auto (the one that varies; if both do, along the "
         "straight line that is closest), x or y",
         0},
        {"offset", ARG_TEXT, &offset, 0, 0,
         "header word offset: check (it must agree with the positions) or ignore", 0},
        {"out", ARG_TEXT, &r->out, 0, 0,
         "for a point: .npy of A, B, C, D, E, stack, semblance", 0},
        {"panel", ARG_TEXT, &r->panel, 0, 0,
         "for a point: .npy of the largest semblance for each (A, B)", 0},
        {"stack", ARG_TEXT, &r->stack, 0, 0, "for traces: SU file of the filled traces",
         0},
        {"coherence", ARG_TEXT, &r->coherence, 0, 0,
         "for traces: SU file of their semblance", 0},
        {"parameters", ARG_TEXT, &r->parameters, 0, 0,
         "for traces: .npy of A to E, [traces][samples][5]", 0},
        {0},
    };
    args_parse(argc, argv, table, about);
    r->options = digest_options(table);

    if (m0) r->m0 = parse_series("m0", m0, -DISTANCE_MAX, DISTANCE_MAX);
    if (h0) r->h0 = parse_series("h0", h0, -DISTANCE_MAX, DISTANCE_MAX);
    if (positions && (m0 || h0))
        fail("%s= and positions= are both set: expected only one of them",
             m0 ? "m0" : "h0");
    if (positions && !is_section(r))
        fail("positions= is for traces: expected stack= or coherence=, too");
    if (positions) read_positions(r, positions);
    if (t0) r->t0 = parse_series("t0", t0, 0, TIME_MAX);
    if (fill) check_fill(r, fill);

    char buffer[PARSE_SIZE];
    const char *item[2];
    for (int k = 0; k < 5; k++) {
        if (!range[k]) continue;
        const char key[2] = {(char)('a' + k), '\0'};
        if (file || velocity)
            fail("%s= and %s= are both set: expected only one of them", key,
                 file ? "ranges" : "velocity");
        parse_values(r->row, k, key, range[k]);
    }
    if (file && velocity)
        fail("ranges= and velocity= are both set: expected only one of them");
    if (file) read_ranges(r, file);
    if (velocity) criterion_parse(r, velocity);
    if (mute && !is_section(r))
        fail("mute= is for traces: expected stack= or coherence=, too");
    if (mute) mute_parse(r, mute);
    r->choose = parse_choice("choose", choose, "0", "1");
    const char *needs = !isnan(r->dip)      ? "dip"
                        : !isnan(r->period) ? "period"
                        : r->choose         ? "choose"
                        : r->ranges_out     ? "ranges_out"
                                            : NULL;
    if (!velocity && needs) fail("%s= is for velocity=: expected that, too", needs);
    if (velocity && !is_section(r))
        fail("velocity= is for traces: expected stack= or coherence=, too");
    if (aperture) {
        parse_list("aperture", aperture, 2, "DM,DH", buffer, item);
        for (int i = 0; i < 2; i++)
            r->aperture[i] = parse_double("aperture", item[i], 0, DISTANCE_MAX);
    }
    const char *for_traces = window != parallel    ? "window"
                             : smooth != centre    ? "smooth"
                             : weight != semblance ? "weight"
                             : refine              ? "refine"
                             : check != checked    ? "check"
                             : !isnan(r->average)  ? "average"
                                                   : NULL;
    if (!is_section(r) && for_traces)
        fail("%s= is for traces: expected stack= or coherence=, too", for_traces);
    r->refine_set = refine;
    r->refine = refine ? parse_choice("refine", refine, "0", "1") : velocity != NULL;
    if (!velocity && isnan(r->average)) r->average = 0;
    r->check = parse_choice("check", check, "0", "1");
    r->passes = 1 + parse_choice("passes", passes, "1", "2");
    if ((r->passes > 1 || r->choose) && !r->stack)
        fail("%s= is for traces: expected stack=, too",
             r->choose ? "choose" : "passes");
    r->passes_set = passes != one_pass;
    r->weight_set = weight != semblance;
    r->smooth = (smooth_choice)parse_choice("smooth", smooth, "centre", "window");
    r->window = (window_choice)parse_choice("window", window, "parallel", "moveout");
    if (r->window == WINDOW_MOVEOUT && r->smooth == SMOOTH_WINDOW)
        fail("smooth=window: not with window=moveout: expected smooth=centre");
    r->weight = (weight_choice)parse_choice("weight", weight, "semblance", "none");
    r->order = (su_order)parse_choice("order", order, "auto", "little", "big");
    if (parse_choice("bad", bad, "refuse", "skip")) r->order |= SU_SKIP_BAD;
    r->axis.kind = (su_axis)parse_choice("axis", axis, "auto", "x", "y");
    r->any_offset = parse_choice("offset", offset, "check", "ignore") == 1;
}

/* Checks conditions on several arguments. */
static void check_arguments(const request *r)
{
    const char *missing = !r->in                           ? "in"
                          : !r->m0.count && !r->fill       ? "m0"
                          : !r->h0.count && !r->fill       ? "h0"
                          : !r->t0.count && !is_section(r) ? "t0"
                          : r->velocities                  ? NULL
                          : isnan(r->tau)                  ? "tau"
                          : !r->row[0].np[A]               ? "a"
                          : !r->row[0].np[B]               ? "b"
                          : !r->row[0].np[C]               ? "c"
                          : !r->row[0].np[D]               ? "d"
                          : !r->row[0].np[E]               ? "e"
                                                           : NULL;
    if (missing) fail("%s= is missing (help lists the keys)", missing);
    name_input("in", r->in);
    double points = output_traces(r) * (r->t0.count ? r->t0.count : 1);
    if (points > POINTS_MAX)
        fail("m0, h0, t0: %g output points: expected at most %d", points, POINTS_MAX);
    if (is_section(r)) {
        if (r->out || r->panel)
            fail("%s= is for one output point: expected only stack=, coherence= and "
                 "parameters= for traces",
                 r->out ? "out" : "panel");
        return;
    }
    if (points > 1)
        fail("m0, h0, t0: %g output points: expected stack=FILE for more than one",
             points);
    if (r->parameters)
        fail("parameters= is for traces: expected stack= or coherence=, too");
}

request request_parse(int argc, char **argv, const char *about)
{
    request r = {.tau = NAN,
                 .dip = NAN,
                 .period = NAN,
                 .average = NAN,
                 .order = SU_DETECT,
                 .rows = 1,
                 .row = allocate(1, sizeof *r.row, "the ranges"),
                 .aperture = {INFINITY, INFINITY}};
    memset(r.row, 0, sizeof *r.row);
    bool positional = argc > 1 && !strchr(argv[1], '=') && strcmp(argv[1], "help") &&
                      strcmp(argv[1], "-h") && strcmp(argv[1], "--help");
    if (positional) {
        if (argc - 1 < POSITIONAL)
            fail("%d arguments: expected 20: M0 H0 T0 TAU, P0 P1 N of A to E, FILE "
                 "(or key=value; help lists the keys)",
                 argc - 1);
        parse_positional(&r, (const char *const *)argv + 1);
        r.in = argv[POSITIONAL];
        backend_check(argc, argv); /* all arguments, including keys that follow */
        argc -= POSITIONAL;
        argv += POSITIONAL;
    }
    if (!positional || argc > 1) parse_keys(&r, argc, argv, about);
    check_arguments(&r);
    return r;
}

origin request_origin(const request *r)
{
    double m0 = r->m0.first, h0 = r->h0.first;
    return (origin){round(m0 - h0), round(m0 + h0)};
}

static void report_line(const request *r)
{
    const line_axis *a = &r->axis;
    if (a->kind != SU_AXIS_OBLIQUE) return;
    fprintf(stderr,
            "%s: %s: x and y vary: positions are metres from (%.10g, %.10g) along a "
            "line at %.2f degrees to x; sources and receivers are up to %.2f m away "
            "from it\n",
            run_name, r->in, a->x0, a->y0, atan2(a->uy, a->ux) * 180 / acos(-1),
            a->farthest);
}

/* Prints in how many traces offset and positions differ, the first of which is given.
 */
static void report_offsets(const request *r, const su_gather *g, size_t count,
                           int offset, double distance, size_t first)
{
    if (!count) return;
    fprintf(stderr,
            "%s: %s: %zu of %zu traces: offset is not the distance of source and "
            "receiver, the first time in trace %zu (offset %d, %g m apart)\n",
            run_name, r->in, count, g->ntraces, first + 1, offset, distance);
}

/* Prints how many traces are auxiliary, and of which kinds. */
static void report_auxiliary(const request *r, const su_gather *g)
{
    enum { KINDS = 5 };
    int kind[KINDS], kinds = 0;
    size_t count = 0;
    for (size_t i = 0; i < g->ntraces; i++) {
        const su_header *h = &g->trace[i].header;
        if (su_is_data(h) || h->trid == SU_DEAD) continue;
        count++;
        int k = 0;
        while (k < kinds && kind[k] != h->trid) k++;
        if (k == kinds && k < KINDS) kind[kinds++] = h->trid;
    }
    if (!count) return;
    fprintf(stderr, "%s: %s: %zu of %zu traces are not seismic data (trid", run_name,
            r->in, count, g->ntraces);
    for (int k = 0; k < kinds; k++) fprintf(stderr, " %d", kind[k]);
    fprintf(stderr, "%s) and not used\n", kinds == KINDS ? " .." : "");
}

su_gather request_gather(request *r, su_header **header)
{
    su_gather g;
    char reason[SU_REASON_SIZE];
    size_t dead, differing = 0, first = 0;
    origin from = request_origin(r);
    if (proc_read_headers(r->in, r->order, &g, reason)) fail("%s: %s", r->in, reason);
    for (int i = 0; i < r->dead_count; i++) g.trace[r->dead[i]].header.trid = SU_DEAD;
    if (header) {
        *header = allocate(g.ntraces, sizeof **header, "the headers");
        for (size_t i = 0; i < g.ntraces; i++) (*header)[i] = g.trace[i].header;
    }
    if (su_find_axis(&g, &r->axis, reason) ||
        (!r->any_offset && su_check_offsets(&g, &r->axis, &differing, &first, reason)))
        fail("%s: %s", r->in, reason);
    trace_ends ends = line_ends(&g.trace[first].header, &r->axis);
    if (su_line(&g, &r->axis, from.source, from.receiver, &dead, reason))
        fail("%s: %s", r->in, reason);
    bool quiet = run_rank || r->silent || r->reported;
    r->reported = true;
    if (g.skipped && !quiet)
        fprintf(
            stderr,
            "%s: %s: %zu of %zu traces have samples that are not finite and count as "
            "dead (bad=skip)\n",
            run_name, r->in, g.skipped, g.ntraces);
    if (dead > g.skipped && !quiet && !r->dead)
        fprintf(stderr, "%s: %s: %zu of %zu traces are dead (trid 2) and ignored\n",
                run_name, r->in, dead - g.skipped, g.ntraces);
    if (!quiet) {
        report_auxiliary(r, &g);
        report_line(r);
        report_offsets(r, &g, differing, g.trace[first].header.offset,
                       fabs(ends.receiver - ends.source), first);
    }
    if (g.ntraces > INT_MAX)
        fail("%s: %zu traces: expected at most 2^31 - 1", r->in, g.ntraces);
    return g;
}

/* Part of a sample that is added before truncation, because 0.005 s, for example, is
 * not exact in binary. */
static const double TAU_ROUNDING = 1e-3;

int tau_samples(const request *r, const su_gather *g)
{
    /* Any larger number is rejected: it only has to fit an int. */
    const double limit = 1e6;
    return (int)(fmin(r->tau * 1e6 / g->dt, limit) + TAU_ROUNDING);
}

/* Checks that a search can be counted and fits into memory: the panel, and one point
 * for each (A, B, C), which some back-ends store. */
static void check_search(const int np[5])
{
    double panel = (double)np[A] * np[B], points = panel * np[C];
    if (points * np[D] * np[E] > SEARCH_MAX)
        fail("np: a search of %g points: expected at most %g", points * np[D] * np[E],
             SEARCH_MAX);
    memory_check(panel * sizeof(float) + points * sizeof(point), "np: %.3g (A, B, C)",
                 points);
}

/* Returns the row a fraction `part` of the way from *low to *high. */
static ranges interpolate(const ranges *low, const ranges *high, double part)
{
    ranges at = *low;
    for (int k = 0; k < 5; k++) {
        at.p0[k] += part * (high->p0[k] - low->p0[k]);
        at.p1[k] += part * (high->p1[k] - low->p1[k]);
        at.np[k] += part * (high->np[k] - low->np[k]);
    }
    return at;
}

/* Returns how many rows are before (h0, t0) in the order of a file. */
static int rows_before(const ranges *row, int rows, double h0, double t0)
{
    int low = 0, high = rows;
    while (low < high) {
        int middle = low + (high - low) / 2;
        const ranges *at = &row[middle];
        if (at->h0 < h0 || (at->h0 == h0 && at->t0 < t0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the number of rows with the half-offset of row[0]. */
static int rows_of_offset(const ranges *row, int rows)
{
    return rows_before(row, rows, row[0].h0, INFINITY);
}

/* Returns the ranges at t0, interpolated linearly between the two rows around it, of
 * rows with one half-offset. */
static ranges ranges_at_time(const ranges *row, int rows, double t0)
{
    if (rows == 1) return row[0];
    int i = rows_before(row, rows, row[0].h0, t0);
    const ranges *high = &row[i < 1 ? 1 : i < rows ? i : rows - 1], *low = high - 1;
    return interpolate(low, high, (t0 - low->t0) / (high->t0 - low->t0));
}

/* Returns the ranges at (h0, t0), interpolated in t0 at the two half-offsets around h0,
 * and between these. */
static ranges ranges_at(const request *r, double h0, double t0)
{
    int end = rows_before(r->row, r->rows, h0, INFINITY);
    if (end == 0) end = rows_of_offset(r->row, r->rows);
    int begin = rows_before(r->row, end, r->row[end - 1].h0, -INFINITY);
    const ranges *low = r->row + begin, *high = r->row + end;
    ranges a = ranges_at_time(low, end - begin, t0);
    if (end == r->rows) return a;
    ranges b = ranges_at_time(high, rows_of_offset(high, r->rows - end), t0);
    return interpolate(&a, &b, (h0 - low->h0) / (high->h0 - low->h0));
}

/* Checks that the rows cover all half-offsets of h and, for each of their own, all
 * times of t. */
static void check_rows(const request *r, interval t, interval h)
{
    const ranges *row = r->row, *end = r->row + r->rows;
    if (r->by_offset && (h.low < row->h0 || h.high > end[-1].h0))
        fail("ranges: rows from %g to %g m: expected rows for h0 from %g to %g m",
             row->h0, end[-1].h0, h.low, h.high);
    for (int n; row < end; row += n) {
        n = rows_of_offset(row, (int)(end - row));
        if (n > 1 && (t.low < row->t0 || t.high > row[n - 1].t0))
            fail("ranges: rows from %g to %g s: expected rows for t0 from %g to %g s",
                 row->t0, row[n - 1].t0, t.low, t.high);
    }
}

void request_fit(request *r, const su_gather *g)
{
    double dt = g->dt * 1e-6, begin = g->first * dt, end = (g->ns - 1) * dt;
    if (!r->t0.count) r->t0 = (series){begin, dt, g->ns - g->first};
    if (!(r->t0.count * output_traces(r) <= POINTS_MAX))
        fail("m0, h0: %g output points: expected at most %d",
             r->t0.count * output_traces(r), POINTS_MAX);
    double t0 = r->t0.first, last = series_at(&r->t0, r->t0.count - 1);
    if (!(t0 >= begin && t0 <= end)) last = t0;
    if (!(last >= begin && last <= end + 1e-3 * dt))
        fail("t0=%g: expected %g to %g s, the recorded time of the traces", last, begin,
             end);
    double sample = t0 / dt;
    const char *consecutive = r->choose                     ? "choose=1"
                              : r->passes > 1               ? "passes=2"
                              : r->window == WINDOW_MOVEOUT ? "window=moveout"
                                                            : NULL;
    if (consecutive && (fabs(sample - nearbyint(sample)) > 1e-3 ||
                        (r->t0.count > 1 && fabs(r->t0.step / dt - 1) > 1e-6)))
        fail("%s: t0 from %g s in steps of %g s: expected consecutive samples of %d us",
             consecutive, t0, r->t0.step, g->dt);
    if (!r->velocities) request_check_search(r, g);
}

void request_check_search(const request *r, const su_gather *g)
{
    check_rows(r, series_ends(&r->t0), request_offsets(r));
    int tau = tau_samples(r, g);
    if (tau > TAU_MAX)
        fail("tau=%g: %g samples: expected at most %d samples of %d us", r->tau,
             r->tau * 1e6 / g->dt, TAU_MAX, g->dt);
    if (2 * tau + 2 > g->ns - g->first)
        fail("tau=%g: a window of %d samples does not fit traces of %d samples", r->tau,
             2 * tau + 1, g->ns - g->first);
    query largest = query_largest(r, g);
    check_search(largest.np);
    double points = 1;
    for (int k = 0; k < PARAMETERS; k++) points *= largest.np[k];
    if (r->window == WINDOW_MOVEOUT && points > INT_MAX)
        fail("np: a search of %g points: expected at most 2^31 - 1 with window=moveout",
             points);
}

query query_at(const request *r, const su_gather *g, double m0, double h0, double t0)
{
    origin from = request_origin(r);
    ranges at = ranges_at(r, h0, t0);
    query q = {.m0 = (float)(m0 - (from.receiver + from.source) / 2),
               .h0 = (float)(h0 - (from.receiver - from.source) / 2),
               .t0 = (float)t0,
               .idt = 1e6f / (float)g->dt,
               .tau = tau_samples(r, g),
               .ns = g->ns,
               .pitch = g->pitch};
    for (int k = 0; k < 5; k++) {
        q.p0[k] = (float)at.p0[k];
        q.p1[k] = (float)at.p1[k];
        q.np[k] = (int)lround(at.np[k]);
    }
    memcpy(q.group, r->group, sizeof q.group);
    return q;
}

query query_largest(const request *r, const su_gather *g)
{
    query q = query_at(r, g, r->m0.first, r->h0.first, r->t0.first);
    for (int i = 0; i < r->rows; i++)
        for (int k = 0; k < 5; k++)
            if (r->row[i].np[k] > q.np[k]) q.np[k] = (int)r->row[i].np[k];
    q.ntraces = (int)g->ntraces;
    return q;
}
