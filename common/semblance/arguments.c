/* arguments.c - see arguments.h.
 *
 * One table declares the options: how each is parsed and checked, where its value goes,
 * its help, what it needs, and how the hash of a job knows it.
 */
#include "arguments.h"
#include "tables.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { POSITIONAL = 20 };

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

/* ---- the options -------------------------------------------------------------------
 */

typedef enum {
    SET,    /* a parameter set */
    LOCAL,  /* the work-group */
    TEXT,   /* const char * */
    NUMBER, /* double */
    PAIR,   /* double[2] */
    SERIES, /* series */
    VALUES, /* of A to E, in the first row of the ranges */
    CHOICE, /* int or enum: `low` for the first of the choices, low + 1 .. */
    FLAG,   /* bool: whether it is the last of the choices */
    TABLE   /* what `read` parses */
} option_kind;

/* The uses of an option: a point, traces, traces with stack=, velocity=. The hash of
 * a job has the text of an option, unless the option is FREE (it does not change the
 * result) or HASHED (the hash has the values, rows or samples that follow from it). */
enum { POINT = 1, TRACES = 2, STACK = 4, VELOCITY = 8, FREE = 16, HASHED = 32 };

typedef struct {
    const char *key;
    option_kind kind;
    unsigned use;
    const char *help;
    size_t at; /* offset of the member of request */
    double low, high;
    const char *const *choices; /* end in NULL */
    const char *text;           /* default, or NULL */
    const char *not_with;       /* options that must not be set, too */
    void (*read)(request *r, const char *text);
} option;

#define AT(member) .at = offsetof(request, member)
#define FROM(a, b) .low = (a), .high = (b)
#define CHOICES(...)                                                                   \
    .choices = (const char *const[])                                                   \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }
#define DISTANCE     FROM(-DISTANCE_MAX, DISTANCE_MAX)
#define OF_PARAMETER FROM(-PARAMETER_MAX, PARAMETER_MAX), .not_with = "ranges velocity"

static const option options[] = {
    {"in", TEXT, HASHED, "SU file to search, in either byte order", AT(in)},
    {"set", SET, HASHED, "parameter set of the paper; other keys override it",
     FROM(1, 3)},
    {"m0", SERIES, HASHED, "midpoints of the output, m: values, see above", AT(m0),
     DISTANCE, .not_with = "positions fill"},
    {"h0", SERIES, HASHED, "half-offsets of the output, m: values", AT(h0), DISTANCE,
     .not_with = "positions fill"},
    {"positions", TABLE, HASHED | TRACES,
     "file instead of m0= and h0=: rows of m0 h0, m, or, after a row \"sx gx\", of "
     "these",
     .read = read_positions, .not_with = "fill"},
    {"fill", FLAG, HASHED | STACK,
     "dead, instead of m0= and h0=: the traces with trid 2 or zeros only; stack= is "
     "the whole file with these filled",
     AT(fill), CHOICES("dead")},
    {"t0", SERIES, HASHED,
     "times of the output, s: values up to the end of the traces; default for traces: "
     "all samples",
     AT(t0), FROM(0, TIME_MAX), .not_with = "fill"},
    {"tau", NUMBER, HASHED,
     "half width of the window, s: at most 100 samples; default: with velocity= 0.6 "
     "periods, else none",
     AT(tau), FROM(0, TIME_MAX)},
    {"a", VALUES, HASHED, "values of A to search, s/m, see above; no default",
     OF_PARAMETER},
    {"b", VALUES, HASHED, "values of B, s/m", OF_PARAMETER},
    {"c", VALUES, HASHED, "values of C, s^2/m^2", OF_PARAMETER},
    {"d", VALUES, HASHED, "values of D, s^2/m^2", OF_PARAMETER},
    {"e", VALUES, HASHED, "values of E, s^2/m^2", OF_PARAMETER},
    {"ranges", TABLE, HASHED,
     "file instead of a= to e=: rows of t0 in s (and h0 in m), then P0 P1 N of A to E",
     .read = read_ranges, .not_with = "velocity"},
    {"velocity", TABLE, HASHED | TRACES,
     "VMIN,VMAX, m/s, from 1 to 1e5, ends included, or a file of rows t0 v dv, s and "
     "m/s, instead of ranges",
     .read = read_velocity},
    {"dip", NUMBER, HASHED | VELOCITY,
     "largest |A|, s/m; default .68 / VMIN, a dip of 20 degrees", AT(dip),
     FROM(0, PARAMETER_MAX)},
    {"period", NUMBER, HASHED | VELOCITY,
     "period of the events, s; default: measured in the traces, at most 0.25",
     AT(period), FROM(1e-6, TIME_MAX)},
    {"ranges_out", TEXT, FREE | VELOCITY,
     "file for the ranges, in the form that ranges= reads", AT(ranges_out)},
    {"mute", TABLE, HASHED | TRACES,
     "file of rows offset t, m and s: samples before t are 0 and not used; with "
     "velocity=, also the largest NMO stretch, 0.01 to 3, such as 0.5; default: none",
     .read = read_mute},
    {"aperture", PAIR, HASHED,
     "DM,DH: maximum distance of traces in midpoint and half-offset, m; default: all, "
     "with velocity= 0.6 shot gaps and 5 receiver gaps",
     AT(aperture), FROM(0, DISTANCE_MAX)},
    {"window", CHOICE, TRACES,
     "parallel (samples around each arrival) or moveout (the arrivals of neighbouring "
     "t0)",
     AT(window), CHOICES("parallel", "moveout"), .text = "parallel"},
    {"search", CHOICE, TRACES,
     "full (all values of A to E) or coarse (half of the values of each, then those "
     "next to the best)",
     AT(search), CHOICES("full", "coarse"), .text = "full"},
    {"passes", CHOICE, HASHED | STACK,
     "1, or 2: search again in what the first pass does not predict", AT(passes),
     .low = 1, CHOICES("1", "2"), .text = "1"},
    {"choose", FLAG, HASHED | VELOCITY | STACK,
     "0, or 1: choose aperture, tau, weight and passes, unless they are set, by "
     "filling live traces that are left out",
     AT(choose), CHOICES("0", "1"), .text = "0"},
    {"check", FLAG, FREE | TRACES,
     "1, the default: also fill a few live traces that are left out, and print their "
     "SNR; or 0",
     AT(check), CHOICES("0", "1"), .text = "1"},
    {"refine", FLAG, HASHED | TRACES,
     "1: move the curves between the values of A to E, or 0; default: 1 with "
     "velocity=, else 0",
     AT(refine), CHOICES("0", "1")},
    {"average", NUMBER, HASHED | TRACES,
     "A to E are means over so many seconds before and after each time; default: tau "
     "with velocity=, else 0",
     AT(average), FROM(0, TIME_MAX)},
    {"smooth", CHOICE, TRACES,
     "centre (mean of the traces on the curve) or window (mean of the windows)",
     AT(smooth), CHOICES("centre", "window"), .text = "centre"},
    {"weight", CHOICE, HASHED | TRACES,
     "factor of a sample: semblance (small where traces disagree) or none", AT(weight),
     CHOICES("semblance", "none"), .text = "semblance"},
    {"local", LOCAL, FREE, NULL, .read = NULL},
    {"order", CHOICE, HASHED, "byte order of the file: auto, little or big", AT(order),
     CHOICES("auto", "little", "big"), .text = "auto"},
    {"bad", FLAG, 0,
     "traces with samples that are not finite: refuse, or skip (they count as dead)",
     AT(skip_bad), CHOICES("refuse", "skip"), .text = "refuse"},
    {"axis", CHOICE, HASHED,
     "coordinate along the line: auto (the one that varies; if both do, along the "
     "straight line that is closest), x or y",
     AT(axis.kind), CHOICES("auto", "x", "y"), .text = "auto"},
    {"offset", FLAG, FREE,
     "header word offset: check (it must agree with the positions) or ignore",
     AT(any_offset), CHOICES("check", "ignore"), .text = "check"},
    {"out", TEXT, FREE | POINT, ".npy of A, B, C, D, E, stack, semblance", AT(out)},
    {"panel", TEXT, FREE | POINT, ".npy of the largest semblance for each (A, B)",
     AT(panel)},
    {"stack", TEXT, FREE | TRACES, "SU file of the filled traces", AT(stack)},
    {"coherence", TEXT, FREE | TRACES, "SU file of their semblance", AT(coherence)},
    {"parameters", TEXT, FREE | TRACES, ".npy of A to E, [traces][samples][5]",
     AT(parameters)},
};

enum { OPTIONS = sizeof options / sizeof *options };

/* The options of a command line. */
typedef struct {
    union {
        const char *text;
        double number;
        int set;
    } value[OPTIONS];
    bool set[OPTIONS]; /* whether the command line has them */
} command;

/* Returns whether an option is set. */
static bool is_set(const command *c, const char *key)
{
    int i = 0;
    while (strcmp(options[i].key, key)) i++;
    return c->set[i];
}

/* Stores the command line in *c; the work-group in r. */
static void read_command(request *r, int argc, char **argv, const char *about,
                         command *c)
{
    char help[OPTIONS][256];
    arg table[OPTIONS + 1] = {0};
    for (int i = 0; i < OPTIONS; i++) {
        const option *o = &options[i];
        snprintf(help[i], sizeof help[i], "%s%s",
                 o->use & VELOCITY           ? "with velocity=: "
                 : o->use & (TRACES | STACK) ? "for traces: "
                 : o->use & POINT            ? "for a point: "
                                             : "",
                 o->help ? o->help : "");
        arg_type type = o->kind == SET      ? ARG_INT
                        : o->kind == NUMBER ? ARG_DOUBLE
                                            : ARG_TEXT;
        table[i] = (arg){o->key, type, &c->value[i], o->low, o->high, help[i], 0};
        if (o->kind == LOCAL) table[i] = (arg){ARG_LOCAL(r->group)};
        c->value[i].text = o->text;
        if (o->kind == NUMBER) c->value[i].number = NAN;
        if (o->kind == SET) c->value[i].set = 0;
    }
    args_parse(argc, argv, table, about);
    for (int i = 0; i < OPTIONS; i++)
        for (int k = 1; k < argc; k++) {
            size_t length = strlen(options[i].key);
            c->set[i] |=
                !strncmp(argv[k], options[i].key, length) && argv[k][length] == '=';
        }
}

/* Checks that the options are set that option i needs, and none that excludes it. */
static void check_option(const command *c, int i)
{
    const option *o = &options[i];
    char excluded[PARSE_SIZE];
    snprintf(excluded, sizeof excluded, "%s", o->not_with ? o->not_with : "");
    for (char *key = strtok(excluded, " "); key; key = strtok(NULL, " "))
        if (is_set(c, key))
            fail("%s= and %s= are both set: expected only one of them", o->key, key);
    if (o->text && !strcmp(c->value[i].text, o->text)) return; /* the default */
    bool stack = is_set(c, "stack"), section = stack || is_set(c, "coherence");
    if (o->use & VELOCITY && !is_set(c, "velocity"))
        fail("%s= is for velocity=: expected that, too", o->key);
    if (o->use & STACK && !stack)
        fail("%s= is for traces: expected stack=, too", o->key);
    if (o->use & TRACES && !section)
        fail("%s= is for traces: expected stack= or coherence=, too", o->key);
    if (o->use & POINT && section)
        fail("%s= is for one output point: expected only stack=, coherence= and "
             "parameters= for traces",
             o->key);
}

/* Parses the value of option i, which is set or has a default, into r. */
static void store(request *r, const command *c, int i)
{
    const option *o = &options[i];
    const char *text = c->value[i].text, *item[2];
    char buffer[PARSE_SIZE];
    void *at = (char *)r + o->at;
    switch (o->kind) {
    case LOCAL:
        break;
    case SET:
        parse_positional(r, paper_set[c->value[i].set - 1]);
        break;
    case TEXT:
        *(const char **)at = text;
        break;
    case NUMBER:
        *(double *)at = c->value[i].number;
        break;
    case PAIR:
        parse_list(o->key, text, 2, "DM,DH", buffer, item);
        for (int k = 0; k < 2; k++)
            ((double *)at)[k] = parse_double(o->key, item[k], o->low, o->high);
        break;
    case SERIES:
        *(series *)at = parse_series(o->key, text, o->low, o->high);
        break;
    case VALUES:
        parse_values(r->row, *o->key - 'a', o->key, text);
        break;
    case CHOICE:
        *(int *)at = (int)o->low + parse_choice_of(o->key, text, o->choices);
        break;
    case FLAG:
        *(bool *)at = !o->choices[1 + parse_choice_of(o->key, text, o->choices)];
        break;
    case TABLE:
        o->read(r, text);
        break;
    }
}

/* Returns a digest of the options that are neither FREE nor HASHED. */
static uint64_t digest_options(const command *c)
{
    uint64_t digest = 0;
    for (int i = 0; i < OPTIONS; i++) {
        const option *o = &options[i];
        if (o->use & (FREE | HASHED)) continue;
        const void *value = &c->value[i];
        size_t size = sizeof(double);
        if (o->kind != NUMBER) {
            value = c->value[i].text ? c->value[i].text : "";
            size = strlen(value);
        }
        digest = digest_update(digest, o->key, strlen(o->key) + 1);
        digest = digest_update(digest, value, size);
    }
    return digest;
}

static void parse_keys(request *r, int argc, char **argv, const char *about)
{
    command c = {0};
    read_command(r, argc, argv, about, &c);
    for (int i = 0; i < OPTIONS; i++)
        if (c.set[i]) check_option(&c, i);
    for (int i = 0; i < OPTIONS; i++)
        if (c.set[i] || options[i].text) store(r, &c, i);
    r->digest = digest_options(&c);
    r->passes_set = is_set(&c, "passes");
    r->weight_set = is_set(&c, "weight");
    r->refine_set = is_set(&c, "refine");
    if (!r->refine_set) r->refine = r->velocities > 0;
    if (!r->velocities && isnan(r->average)) r->average = 0;
    if (r->skip_bad) r->order |= SU_SKIP_BAD;
    if (r->window == WINDOW_MOVEOUT && r->smooth == SMOOTH_WINDOW)
        fail("smooth=window: not with window=moveout: expected smooth=centre");
    if (r->window == WINDOW_MOVEOUT && r->search == SEARCH_COARSE)
        fail("search=coarse: not with window=moveout: expected search=full");
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
    if (r->fill && r->m0.count) /* of a parameter set */
        fail("m0= and fill= are both set: expected only one of them");
    if (missing) fail("%s= is missing (help lists the keys)", missing);
    name_input("in", r->in);
    double points = request_trace_count(r) * (r->t0.count ? r->t0.count : 1);
    if (points > POINTS_MAX)
        fail("m0, h0, t0: %g output points: expected at most %d", points, POINTS_MAX);
    if (!is_section(r) && points > 1)
        fail("m0, h0, t0: %g output points: expected stack=FILE for more than one",
             points);
}

request request_parse(int argc, char **argv, const char *about)
{
    request r = {.tau = NAN,
                 .dip = NAN,
                 .period = NAN,
                 .average = NAN,
                 .order = SU_DETECT,
                 .filled = {INFINITY, -INFINITY},
                 .rows = 1,
                 .row = allocate(1, sizeof *r.row, "the ranges"),
                 .aperture = {INFINITY, INFINITY}};
    memset(r.row, 0, sizeof *r.row);
    bool positional = argc > 1 && !strchr(argv[1], '=') && strcmp(argv[1], "help") &&
                      strcmp(argv[1], "keys") && strcmp(argv[1], "-h") &&
                      strcmp(argv[1], "--help");
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
