/* arguments.c - see arguments.h. */
#define _DEFAULT_SOURCE /* sysconf's pages */

#include "arguments.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POSITIONAL = 20 };

static const double LARGE = 1e30; /* seconds: any number; the traces say what fits */
static const double FAR = 1e9;    /* metres */
static const double STEEP = 1e3;  /* of A .. E; 1 s/m is slower than walking */

/* Param1 .. Param3 of the paper: M0 H0 T0 TAU, then P0 P1 N of A .. E. */
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

static void parse_range(request *r, int k, const char *key, const char *const word[3])
{
    r->p0[k] = parse_double(key, word[0], -STEEP, STEEP);
    r->p1[k] = parse_double(key, word[1], -STEEP, STEEP);
    r->np[k] = parse_int(key, word[2], 1, INT_MAX);
}

/* The nineteen words that make a query, in the paper's order. */
static void parse_words(request *r, const char *const *word)
{
    r->m0 = parse_double("m0", word[0], -FAR, FAR);
    r->h0 = parse_double("h0", word[1], -FAR, FAR);
    r->t0 = parse_double("t0", word[2], 0, LARGE);
    r->tau = parse_double("tau", word[3], 0, LARGE);
    for (int k = 0; k < 5; k++) {
        const char key[2] = {(char)('a' + k), '\0'};
        parse_range(r, k, key, word + 4 + 3 * k);
    }
}

static void parse_keys(request *r, int argc, char **argv, arg *extra, const char *about)
{
    const char *range[5] = {0}, *order = "auto", *axis = "auto";
    int set = 0;

    /* The paper's set comes first: keys override it wherever they stand. */
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "set=", 4))
            parse_words(r, paper_set[parse_int("set", argv[i] + 4, 1, 3) - 1]);

    arg table[] = {
        {"in", ARG_TEXT, &r->in, 0, 0, "SU file to search", 0},
        {"set", ARG_INT, &set, 1, 3, "the paper's parameter set; other keys override",
         0},
        {"m0", ARG_DOUBLE, &r->m0, -FAR, FAR, "midpoint of the output point, m", 0},
        {"h0", ARG_DOUBLE, &r->h0, -FAR, FAR, "half-offset of the point, m", 0},
        {"t0", ARG_DOUBLE, &r->t0, 0, LARGE, "time of the output point, s", 0},
        {"tau", ARG_DOUBLE, &r->tau, 0, LARGE, "half window, s; up to 100 samples", 0},
        {"a", ARG_TEXT, &range[0], 0, 0, "P0,P1,N: N values of A from P0, s/m", 0},
        {"b", ARG_TEXT, &range[1], 0, 0, "P0,P1,N: the same of B, s/m", 0},
        {"c", ARG_TEXT, &range[2], 0, 0, "P0,P1,N: the same of C, s^2/m^2", 0},
        {"d", ARG_TEXT, &range[3], 0, 0, "P0,P1,N: the same of D, s^2/m^2", 0},
        {"e", ARG_TEXT, &range[4], 0, 0, "P0,P1,N: the same of E, s^2/m^2", 0},
        {ARG_LOCAL(r->group)},
        {"order", ARG_TEXT, &order, 0, 0, "byte order of the file: auto, little, big",
         0},
        {"axis", ARG_TEXT, &axis, 0, 0,
         "coordinate along the line: auto (the one that varies), x, y", 0},
        {.value = extra},
    };
    args_parse(argc, argv, table, about);

    char room[PARSE_ROOM];
    const char *word[3];
    for (int k = 0; k < 5; k++) {
        if (!range[k]) continue;
        const char key[2] = {(char)('a' + k), '\0'};
        parse_list(key, range[k], "P0,P1,N", room, word);
        parse_range(r, k, key, word);
    }
    r->order = (su_order)parse_choice("order", order, "auto, little or big");
    r->axis = (su_axis)parse_choice("axis", axis, "auto, x or y");

    const char *missing = !r->in          ? "in"
                          : isnan(r->m0)  ? "m0"
                          : isnan(r->h0)  ? "h0"
                          : isnan(r->t0)  ? "t0"
                          : isnan(r->tau) ? "tau"
                          : !r->np[0]     ? "a"
                          : !r->np[1]     ? "b"
                          : !r->np[2]     ? "c"
                          : !r->np[3]     ? "d"
                          : !r->np[4]     ? "e"
                                          : NULL;
    if (missing) fail("%s= is missing (help lists the keys)", missing);
}

request request_parse(int argc, char **argv, arg *extra, const char *about)
{
    request r = {.m0 = NAN, .h0 = NAN, .t0 = NAN, .tau = NAN, .order = SU_DETECT};
    bool words = argc > 1 && !strchr(argv[1], '=') && strcmp(argv[1], "help") &&
                 strcmp(argv[1], "-h") && strcmp(argv[1], "--help");
    if (words) {
        if (argc - 1 < POSITIONAL)
            fail("%d words, expected 20: M0 H0 T0 TAU, P0 P1 N of A to E, FILE "
                 "(or key=value; help lists the keys)",
                 argc - 1);
        parse_words(&r, (const char *const *)argv + 1);
        r.in = argv[POSITIONAL];
        argc -= POSITIONAL;
        argv += POSITIONAL;
        if (argc == 1) return r;
    }
    parse_keys(&r, argc, argv, extra, about);
    return r;
}

origin origin_of(const request *r)
{
    return (origin){round(r->m0 - r->h0), round(r->m0 + r->h0)};
}

su_gather request_gather(const request *r)
{
    su_gather g;
    char why[SU_WHY];
    size_t dead;
    origin from = origin_of(r);
    if (su_read(r->in, r->order, &g, why)) fail("%s: %s", r->in, why);
    if (su_line(&g, r->axis, from.source, from.receiver, &dead, why))
        fail("%s: %s", r->in, why);
    if (dead)
        fprintf(stderr, "%s: %s: %zu of %zu traces are dead (trid 2), not used\n",
                run_name, r->in, dead, dead + g.ntraces);
    if (g.ntraces > INT_MAX) fail("%s: %zu traces, at most 2^31 - 1", r->in, g.ntraces);
    return g;
}

int tau_samples(const request *r, const su_gather *g)
{
    return (int)(fmin(r->tau * 1e6 / g->dt, 1e6) + 1e-3);
}

/* Before anything of them is touched: the panel, and the best of each (A, B, C) that a
 * back-end may keep. */
static void fits_memory(const int np[5])
{
    double panel = (double)np[0] * np[1];
    double bytes = panel * sizeof(float) + panel * np[2] * sizeof(point);
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (bytes > memory)
        fail("np: %.3g (A, B, C) may need %.3g GB, this machine has %.3g GB",
             panel * np[2], bytes / 1e9, memory / 1e9);
}

query query_of(const request *r, const su_gather *g)
{
    double begin = g->first * (g->dt * 1e-6), end = (g->ns - 1) * (g->dt * 1e-6);
    if (!(r->t0 >= begin && r->t0 <= end))
        fail("t0=%g: expected %g to %g s, what the traces recorded", r->t0, begin, end);
    int tau = tau_samples(r, g);
    if (tau > 100)
        fail("tau=%g: %g samples, expected at most 100 of %d us", r->tau,
             r->tau * 1e6 / g->dt, g->dt);
    if (2 * tau + 2 > g->ns - g->first)
        fail("tau=%g: a window of %d samples does not fit traces of %d", r->tau,
             2 * tau + 1, g->ns - g->first);
    double points = 1;
    for (int k = 0; k < 5; k++) points *= r->np[k];
    if (points > 9e15) fail("np: a search of %g points, expected at most 9e15", points);

    fits_memory(r->np);

    origin from = origin_of(r);
    query q = {.m0 = (float)(r->m0 - (from.receiver + from.source) / 2),
               .h0 = (float)(r->h0 - (from.receiver - from.source) / 2),
               .t0 = (float)r->t0,
               .idt = 1e6f / (float)g->dt,
               .tau = tau,
               .ns = g->ns,
               .ntraces = (int)g->ntraces};
    for (int k = 0; k < 5; k++) {
        q.p0[k] = (float)r->p0[k];
        q.p1[k] = (float)r->p1[k];
        q.np[k] = r->np[k];
    }
    memcpy(q.group, r->group, sizeof q.group);
    return q;
}
