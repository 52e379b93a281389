/* su_test.c - tests of su.h and of semblance's line.h on files that are assembled here
 * byte by byte, without su.c.
 *
 * su_test              runs the tests
 * su_test write DIR    writes DIR/little.su and DIR/big.su with su_write()
 * su_test read DIR     reads both with su_read() and checks every value
 * The last two are used by su_segyio.py, which does the same with segyio; both programs
 * compute the values by the same formulas. Left out: files too large for memory, disk
 * errors.
 */
#define _POSIX_C_SOURCE 200809L

#include "../common/semblance/line.h"
#include "su.h"

#include "c_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files assembled byte by byte --------------------------------------------------
 */

static void put16(unsigned char *p, int big, unsigned value)
{
    p[big ? 0 : 1] = (unsigned char)(value >> 8);
    p[big ? 1 : 0] = (unsigned char)value;
}

static void put32(unsigned char *p, int big, uint32_t value)
{
    put16(p + (big ? 0 : 2), big, value >> 16);
    put16(p + (big ? 2 : 0), big, value & 0xffff);
}

static void put_float(unsigned char *p, int big, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    put32(p, big, bits);
}

static size_t row_bytes(int ns)
{
    return 240 + 4 * (size_t)ns;
}

static float sample(size_t trace, int j)
{
    return (float)(100 * (int)trace - j) / 8;
}

/* Returns the content of a valid file, which the caller frees. */
static unsigned char *pack(size_t ntraces, int ns, int dt, int big)
{
    unsigned char *bytes = calloc(ntraces, row_bytes(ns));
    assert_non_null(bytes);
    for (size_t i = 0; i < ntraces; i++) {
        unsigned char *p = bytes + i * row_bytes(ns);
        put32(p, big, (uint32_t)i + 1);
        put32(p + 72, big, (uint32_t)(-1000 - (int)i)); /* sx */
        put16(p + 114, big, (unsigned)ns);
        put16(p + 116, big, (unsigned)dt);
        for (int j = 0; j < ns; j++) put_float(p + 240 + 4 * j, big, sample(i, j));
    }
    return bytes;
}

static void check_packed(const su_gather *g, size_t ntraces, int ns, int dt, int big)
{
    assert_int_equal(g->ntraces, ntraces);
    assert_int_equal(g->ns, ns);
    assert_int_equal(g->dt, dt);
    assert_int_equal(g->big_endian, big);
    for (size_t i = 0; i < ntraces; i++) {
        assert_int_equal(g->trace[i].header.tracl, (int)i + 1);
        assert_int_equal(g->trace[i].header.sx, -1000 - (int)i);
        assert_int_equal(g->trace[i].header.ns, ns);
        assert_int_equal(g->trace[i].header.dt, dt);
        assert_ptr_equal(g->trace[i].data, g->samples + i * (size_t)g->pitch);
        for (int j = 0; j < ns; j++) assert_true(g->trace[i].data[j] == sample(i, j));
    }
}

/* Parses a copy of exactly `size` bytes, so that a sanitizer detects reads beyond it.
 */
static int parse(const unsigned char *bytes, size_t size, su_order order, su_gather *g,
                 char reason[SU_REASON_SIZE])
{
    unsigned char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    memset(g, 0xa5, sizeof *g);
    memset(reason, 0, SU_REASON_SIZE);
    int status = su_parse(copy, size, order, g, reason);
    free(copy);
    return status;
}

/* Checks that the bytes are refused with an empty gather and a reason that contains the
 * text `says`. */
static void refused(const unsigned char *bytes, size_t size, su_order order,
                    const char *says)
{
    su_gather g;
    char reason[SU_REASON_SIZE];
    assert_int_equal(parse(bytes, size, order, &g, reason), -1);
    assert_null(g.trace);
    assert_null(g.samples);
    assert_int_equal(g.ntraces, 0);
    assert_null(strchr(reason, '\n'));
    if (strstr(reason, says) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", reason, says);
}

static void accepted(const unsigned char *bytes, size_t ntraces, int ns, int dt,
                     su_order order, int big)
{
    su_gather g;
    char reason[SU_REASON_SIZE];
    if (parse(bytes, ntraces * row_bytes(ns), order, &g, reason) != 0)
        fail_msg("%s", reason);
    check_packed(&g, ntraces, ns, dt, big);
    su_free(&g);
    assert_null(g.trace);
}

static int machine_is_big(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 0;
}

/* A linear congruential generator, so that every run tests the same bytes. */
static uint32_t random_bits(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

/* ---- a folder for files ------------------------------------------------------------
 */

static char folder[] = "/tmp/su_test.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

/* rmdir fails if su_write() has left a temporary file. */
static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static const char *in_folder(const char *name)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put_file(const char *path, const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void file_refused(const char *path, const char *says)
{
    su_gather g;
    char reason[SU_REASON_SIZE];
    assert_int_equal(su_read(path, SU_DETECT, &g, reason), -1);
    assert_null(g.trace);
    if (strstr(reason, says) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", reason, says);
}

/* ---- tests -------------------------------------------------------------------------
 */

TEST(order_is_detected_or_forced)
{
    for (int big = 0; big <= 1; big++) {
        unsigned char *bytes = pack(3, 17, 2000, big);
        accepted(bytes, 3, 17, 2000, SU_DETECT, big);
        accepted(bytes, 3, 17, 2000, big ? SU_BIG : SU_LITTLE, big);
        refused(bytes, 3 * row_bytes(17), big ? SU_LITTLE : SU_BIG,
                big ? "is byte-swapped: big-endian, not little-endian"
                    : "is byte-swapped: little-endian, not big-endian");
        free(bytes);
    }
}

/* ns = 0x0101 and dt = 0x0202 are the same in both orders: only samples distinguish
 * them, unless they are 0. */
TEST(ambiguous_order)
{
    for (int big = 0; big <= 1; big++) {
        unsigned char *bytes = pack(2, 257, 514, big);
        accepted(bytes, 2, 257, 514, SU_DETECT, big);
        refused(
            bytes, 2 * row_bytes(257), big ? SU_LITTLE : SU_BIG,
            big ? "samples are byte-swapped: headers are little-endian, samples big"
                : "samples are byte-swapped: headers are big-endian, samples little");
        for (size_t i = 0; i < 2; i++)
            memset(bytes + i * row_bytes(257) + 240, 0, 4 * 257);
        su_gather g;
        char reason[SU_REASON_SIZE];
        assert_int_equal(parse(bytes, 2 * row_bytes(257), SU_DETECT, &g, reason), 0);
        assert_int_equal(g.big_endian, machine_is_big());
        su_free(&g);
        free(bytes);
    }
}

/* Samples in another byte order than their headers are detected. */
TEST(samples_of_the_other_order)
{
    for (int big = 0; big <= 1; big++) {
        unsigned char *bytes = pack(3, 17, 2000, big);
        for (size_t i = 0; i < 3; i++)
            for (int j = 0; j < 17; j++)
                put_float(bytes + i * row_bytes(17) + 240 + 4 * j, !big, sample(i, j));
        refused(bytes, 3 * row_bytes(17), SU_DETECT, "its samples are byte-swapped");
        free(bytes);
    }
}

/* A reel header is recognized in both orders, but not with an invalid format code. */
TEST(reel_header)
{
    for (int big = 0; big <= 1; big++) {
        size_t size = 3600 + 3 * row_bytes(17);
        unsigned char *bytes = malloc(size), *traces = pack(3, 17, 2000, big);
        assert_non_null(bytes);
        memset(bytes, big ? 0x40 : ' ', 3200); /* EBCDIC and ASCII */
        memset(bytes + 3200, 0, 400);
        put16(bytes + 3216, big, 2000);
        put16(bytes + 3220, big, 17);
        put16(bytes + 3224, big, 5);
        memcpy(bytes + 3600, traces, size - 3600);
        for (int o = 0; o < 3; o++)
            refused(bytes, size, (su_order)o, "is SEG-Y with its reel header");
        put16(bytes + 3224, big, 17);
        refused(bytes, size, SU_DETECT, "trace ");
        free(traces);
        free(bytes);
    }
}

/* ---- su_line() ---------------------------------------------------------------------
 */

/* Returns traces of 20 samples of 4 ms; trace i has its source at x = 10 i and its
 * receiver at x = 10 i + 100, in units of scalco; y = 7. */
static su_gather survey(size_t ntraces, int16_t scalco)
{
    su_gather g = su_alloc(ntraces, 20, 4000);
    assert_non_null(g.trace);
    for (size_t i = 0; i < ntraces; i++) {
        su_header *h = &g.trace[i].header;
        h->tracl = (int)i + 1;
        h->cdp = 500 + (int)i;
        h->offset = -100;
        h->trid = 1;
        h->scalco = scalco;
        h->sx = 10 * (int)i;
        h->gx = 10 * (int)i + 100;
        h->sy = h->gy = 7;
        for (int j = 0; j < 20; j++) g.trace[i].data[j] = sample(i, j + 1);
    }
    return g;
}

static int to_line(su_gather *g, su_axis axis, double source, double receiver)
{
    size_t dead;
    char reason[SU_REASON_SIZE];
    return su_line(g, &axis, source, receiver, &dead, reason);
}

static void line_refused(su_gather g, su_axis axis, double source, double receiver,
                         const char *says)
{
    size_t dead;
    char reason[SU_REASON_SIZE];
    assert_int_equal(su_line(&g, &axis, source, receiver, &dead, reason), -1);
    if (strstr(reason, says) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", reason, says);
    su_free(&g);
}

/* Origins are subtracted in whole units; other fields of a header stay the same. */
TEST(line_and_its_origin)
{
    static const struct {
        int16_t scalco, becomes;
        int times, per; /* new units per metre, and per old unit */
    } units[] = {{0, 0, 1, 1},      {1, 1, 1, 1},
                 {-1, -1, 1, 1},    {10, 1, 1, 10},
                 {-10, -10, 10, 1}, {-100, -100, 100, 1},
                 {7, 1, 1, 7},      {-32768, -32768, 32768, 1}};
    for (size_t u = 0; u < LENGTH(units); u++)
        for (int axis = SU_AXIS_AUTO; axis <= SU_AXIS_X; axis++) {
            su_gather g = survey(3, units[u].scalco);
            size_t dead = 9;
            char reason[SU_REASON_SIZE];
            su_axis along = (su_axis)axis;
            assert_int_equal(su_line(&g, &along, 30, -50, &dead, reason), 0);
            assert_int_equal(dead, 0);
            for (int i = 0; i < 3; i++) {
                const su_header *h = &g.trace[i].header;
                assert_int_equal(h->scalco, units[u].becomes);
                assert_int_equal(h->sy, units[u].per * 10 * i - 30 * units[u].times);
                assert_int_equal(h->gy,
                                 units[u].per * (10 * i + 100) + 50 * units[u].times);
                assert_int_equal(h->sx, 0);
                assert_int_equal(h->gx, 0);
                assert_int_equal(h->cdp, 500 + i);
                assert_int_equal(h->offset, -100);
                assert_int_equal(h->tracl, i + 1);
            }
            su_free(&g);
        }
}

TEST(line_and_its_axis)
{
    su_gather g = survey(2, 1);
    assert_int_equal(to_line(&g, SU_AXIS_Y, 0, 0), 0);
    assert_int_equal(g.trace[1].header.sy, 7);
    su_free(&g);

    g = survey(2, 1); /* one receiver with another x suffices */
    g.trace[0].header.sx = g.trace[0].header.gx = g.trace[1].header.sx = 5;
    g.trace[1].header.gx = 6;
    assert_int_equal(to_line(&g, SU_AXIS_AUTO, 0, 0), 0);
    assert_int_equal(g.trace[1].header.gy, 6);
    su_free(&g);

    g = survey(2, 1); /* 70 metres and 7 tens of metres are the same place */
    g.trace[1].header = g.trace[0].header;
    g.trace[1].header.scalco = 10;
    g.trace[0].header.sx = 50, g.trace[1].header.sx = 5;
    g.trace[0].header.gx = 60, g.trace[1].header.gx = 6;
    g.trace[0].header.sy = g.trace[0].header.gy = 70;
    assert_int_equal(to_line(&g, SU_AXIS_AUTO, 0, 0), 0);
    assert_int_equal(g.trace[1].header.sy, 50);
    su_free(&g);

    g = survey(2, 1);
    g.trace[1].header.sy = 8;
    line_refused(g, SU_AXIS_AUTO, 0, 0, "x and y both vary");
    g = survey(2, 1);
    g.trace[0].header.gx = g.trace[1].header.sx = g.trace[1].header.gx = 0;
    line_refused(g, SU_AXIS_AUTO, 0, 0, "neither x nor y varies");
}

TEST(line_too_far)
{
    su_gather g = survey(2, 1);
    g.trace[1].header.sx = INT32_MIN;
    g.trace[1].header.gx = INT32_MAX;
    assert_int_equal(to_line(&g, SU_AXIS_X, 0, 0), 0);
    assert_int_equal(g.trace[1].header.sy, INT32_MIN);
    assert_int_equal(g.trace[1].header.gy, INT32_MAX);
    su_free(&g);

    g = survey(2, 1);
    g.trace[1].header.sx = INT32_MIN;
    line_refused(g, SU_AXIS_X, 1, 0, "trace 2: source at -2.1");
    g = survey(2, 1);
    g.trace[1].header.gx = INT32_MAX;
    line_refused(g, SU_AXIS_X, 0, -1, "trace 2: receiver at 2.1");
    line_refused(survey(1, -10000), SU_AXIS_X, 1e6, 0, "trace 1: source at 0 m");
}

/* Dead traces are kept, and their coordinates and delays are ignored. */
TEST(line_without_the_dead)
{
    su_gather g = survey(5, 1);
    for (size_t i = 0; i < 5; i += 2) {
        g.trace[i].header.trid = 2;
        g.trace[i].header.sy = INT32_MAX - (int)i;
        g.trace[i].header.sx = INT32_MIN;
        g.trace[i].header.delrt = (int16_t)(7 * i + 3);
    }
    size_t dead;
    su_axis axis;
    char reason[SU_REASON_SIZE];
    axis = SU_AXIS_AUTO;
    assert_int_equal(su_line(&g, &axis, 1000, 1000, &dead, reason), 0);
    assert_int_equal(dead, 3);
    assert_int_equal(g.ntraces, 5);
    assert_int_equal(axis, SU_AXIS_X);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(g.trace[i].header.trid, i % 2 ? 1 : SU_DEAD);
        assert_int_equal(g.trace[i].header.cdp, 500 + (int)i);
        for (int j = 0; j < 20; j++)
            assert_true(g.trace[i].data[j] == sample(i, j + 1));
    }
    su_free(&g);

    g = survey(2, 1);
    g.trace[0].header.trid = g.trace[1].header.trid = 2;
    line_refused(g, SU_AXIS_X, 0, 0, "all of its 2 traces are dead (trid 2)");
}

TEST(line_from_time_0)
{
    for (int delay = -19; delay <= 30; delay += 7) {
        su_gather g = survey(2, 1);
        g.trace[0].header.delrt = g.trace[1].header.delrt = (int16_t)(4 * delay);
        assert_int_equal(to_line(&g, SU_AXIS_X, 0, 0), 0);
        assert_int_equal(g.ns, 20 + delay);
        assert_int_equal(g.dt, 4000);
        assert_int_equal(g.first, delay > 0 ? delay : 0);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(g.trace[i].header.ns, g.ns);
            assert_int_equal(g.trace[i].header.delrt, 0);
            assert_int_equal(g.trace[i].header.cdp, 500 + (int)i);
            assert_ptr_equal(g.trace[i].data, g.samples + i * (size_t)g.pitch);
            for (int k = 0; k < g.ns; k++)
                assert_true(g.trace[i].data[k] ==
                            (k < delay ? 0 : sample(i, k - delay + 1)));
        }
        su_free(&g);
    }
    static const struct {
        int16_t delrt[2];
        int dt;
        const char *says;
    } bad[] = {{{8, 12}, 4000, "trace 2: delrt is 12 ms, other traces have 8"},
               {{6, 6}, 4000, "delrt is 6 ms, not a whole number of samples of 4000"},
               {{-80, -80}, 4000, "delrt is -80 ms: the traces end before time 0"},
               {{-32768, -32768}, 4000, "the traces end before time 0"},
               {{32767, 32767}, 1, "delrt is 32767 ms: 32767020 samples from time 0"}};
    for (size_t b = 0; b < LENGTH(bad); b++) {
        su_gather g = survey(2, 1);
        g.dt = bad[b].dt;
        for (int i = 0; i < 2; i++) g.trace[i].header.delrt = bad[b].delrt[i];
        line_refused(g, SU_AXIS_X, 0, 0, bad[b].says);
    }
}

/* ns = 256 is 1 in the other byte order, in which a first trace fits as well. */
TEST(plausible_other_order_loses)
{
    for (int big = 0; big <= 1; big++) {
        unsigned char *bytes = pack(4, 256, 4000, big);
        accepted(bytes, 4, 256, 4000, SU_DETECT, big);
        free(bytes);
        bytes = pack(100, 1, 4000, big);
        accepted(bytes, 100, 1, 4000, SU_DETECT, big);
        free(bytes);

        /* The samples of the only trace contain a second header of the other order. It
         * agrees, but in that order the traces do not end at the end of the file. */
        bytes = pack(1, 256, 4000, big);
        put16(bytes + row_bytes(1) + 114, big, 256);
        put16(bytes + row_bytes(1) + 116, big, 4000);
        su_gather g;
        char reason[SU_REASON_SIZE];
        assert_int_equal(parse(bytes, row_bytes(256), SU_DETECT, &g, reason), 0);
        assert_int_equal(g.big_endian, big);
        su_free(&g);

        /* Truncated, neither order fits: the one with more headers is reported. */
        refused(bytes, row_bytes(256) - 1, SU_DETECT, "trace 3: ns is");
        free(bytes);
    }
}

TEST(longest_trace)
{
    for (int big = 0; big <= 1; big++) {
        unsigned char *bytes = pack(2, 65535, 65535, big);
        accepted(bytes, 2, 65535, 65535, big ? SU_BIG : SU_LITTLE, big);
        refused(bytes, 2 * row_bytes(65535) - 1, big ? SU_BIG : SU_LITTLE,
                "trace 2 stops after 262379 of 262380 bytes: the file is truncated");
        free(bytes);
    }
}

/* Every truncated length is an error in every order, and its message names the trace.
 */
TEST(every_truncation)
{
    static const su_order orders[] = {SU_DETECT, SU_LITTLE, SU_BIG};
    for (int big = 0; big <= 1; big++) {
        unsigned char *bytes = pack(3, 5, 2000, big);
        for (size_t size = 0; size < 3 * row_bytes(5); size++) {
            if (size > 0 && size % row_bytes(5) == 0) continue; /* whole traces */
            for (int o = 0; o < 3; o++)
                refused(bytes, size, orders[o], size == 0 ? "empty" : "trace ");
            refused(bytes, size, big ? SU_BIG : SU_LITTLE,
                    size == 0 ? "empty" : "truncated");
        }
        refused(bytes, 2 * row_bytes(5) + 7, SU_DETECT,
                "trace 3 stops after 7 of 260 bytes: the file is truncated");
        refused(bytes, 2 * row_bytes(5) - 1, SU_DETECT,
                "trace 2 stops after 259 of 260 bytes: the file is truncated");
        free(bytes);
    }
}

/* A field of 16 bits in a header that contradicts the rest of the file. */
TEST(contradicting_headers)
{
    static const struct {
        int trace, at; /* trace from 0, byte from 0 */
        unsigned value;
        const char *says;
    } bad[] = {{2, 114, 8, "trace 3: ns is 8: expected 9"},
               {2, 114, 0, "trace 3: ns is 0: expected 9"},
               {2, 116, 4000, "trace 3: dt is 4000: expected 2000"},
               {0, 114, 0, "trace 1: ns is 0"},
               {0, 116, 0, "trace 1: dt is 0"}};
    for (int big = 0; big <= 1; big++) {
        su_order order = big ? SU_BIG : SU_LITTLE;
        size_t size = 4 * row_bytes(9);
        for (size_t i = 0; i < LENGTH(bad); i++) {
            unsigned char *bytes = pack(4, 9, 2000, big);
            accepted(bytes, 4, 9, 2000, order, big);
            put16(bytes + (size_t)bad[i].trace * row_bytes(9) + bad[i].at, big,
                  bad[i].value);
            refused(bytes, size, SU_DETECT, bad[i].says);
            free(bytes);
        }
        unsigned char *bytes = pack(4, 9, 2000, big);
        put16(bytes + 114, big, 65535);
        refused(bytes, size, order, "trace 1 stops after 1104 of 262380 bytes");
        free(bytes);
    }
}

TEST(samples_not_finite)
{
    static const uint32_t bits[] = {0x7fc00000, 0xffc00000, 0x7f800001,
                                    0x7fffffff, 0x7f800000, 0xff800000};
    for (int big = 0; big <= 1; big++)
        for (int b = 0; b < 6; b++) {
            unsigned char *bytes = pack(3, 6, 2000, big);
            unsigned char *last = bytes + 3 * row_bytes(6) - 4;
            put32(last, big, bits[b]);
            refused(bytes, 3 * row_bytes(6), SU_DETECT,
                    "trace 3: sample 6 of 6 is not a finite number");
            put32(last, big, 0x7f7fffff); /* FLT_MAX is finite */
            put32(bytes + 240, big, bits[b]);
            refused(bytes, 3 * row_bytes(6), SU_DETECT,
                    "trace 1: sample 1 of 6 is not a finite number");
            free(bytes);
        }
}

TEST(random_bytes)
{
    unsigned char bytes[1500];
    char reason[SU_REASON_SIZE];
    su_gather g;
    int read = 0;
    for (int run = 0; run < 20000; run++) {
        size_t size = random_bits() % (sizeof bytes + 1);
        for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)random_bits();
        /* Most of the time, plausible headers of short traces. */
        if (run % 4 && size >= 240) {
            int ns = 1 + (int)(random_bits() % 8), big = run & 1;
            if (run % 8 < 4) size -= size % row_bytes(ns);
            for (size_t at = 0; at + 240 <= size; at += row_bytes(ns)) {
                put16(bytes + at + 114, big, (unsigned)ns);
                put16(bytes + at + 116, big, 1000);
            }
        }
        if (parse(bytes, size, (su_order)(run % 3), &g, reason) == 0) {
            assert_int_equal(g.ntraces * row_bytes(g.ns), size);
            su_free(&g);
            read++;
        } else {
            assert_true(strlen(reason) > 0 && strlen(reason) < SU_REASON_SIZE);
            assert_null(g.trace);
        }
    }
    assert_true(read > 100);
}

/* Every byte of a header survives writing and reading in each byte order. */
TEST(round_trip)
{
    static const su_order orders[] = {SU_DETECT, SU_LITTLE, SU_BIG};
    char reason[SU_REASON_SIZE];
    const char *path = in_folder("trip.su");
    su_gather g = su_alloc(5, 11, 4000);
    assert_non_null(g.trace);
    for (size_t i = 0; i < g.ntraces; i++) {
        unsigned char *p = (unsigned char *)&g.trace[i].header;
        for (int k = 0; k < 240; k++) p[k] = (unsigned char)(7 * k + 3 * (int)i + 1);
        g.trace[i].header.ns = 11;
        g.trace[i].header.dt = 4000;
        for (int j = 0; j < g.ns; j++) g.trace[i].data[j] = sample(i, j);
    }
    for (int o = 0; o < 3; o++) {
        su_gather back;
        if (su_write(path, orders[o], &g, reason) != 0) fail_msg("%s", reason);
        if (su_read(path, SU_DETECT, &back, reason) != 0) fail_msg("%s", reason);
        assert_int_equal(back.big_endian, o == 0 ? machine_is_big() : o == 2);
        assert_int_equal(back.ntraces, 5);
        for (size_t i = 0; i < 5; i++)
            assert_memory_equal(&back.trace[i].header, &g.trace[i].header, 240);
        for (int i = 0; i < 5; i++)
            assert_memory_equal(back.trace[i].data, g.trace[i].data,
                                11 * sizeof(float));
        su_free(&back);
    }
    su_free(&g);
    unlink(path);
}

TEST(write_refuses_what_read_would)
{
    char reason[SU_REASON_SIZE];
    const char *path = in_folder("never.su");
    su_gather g = {0};
    assert_int_equal(su_write(path, SU_LITTLE, &g, reason), -1);

    g = su_alloc(3, 4, 1000);
    uint32_t nan_bits = 0x7fc00000;
    memcpy(&g.trace[1].data[2], &nan_bits, 4);
    assert_int_equal(su_write(path, SU_LITTLE, &g, reason), -1);
    assert_non_null(strstr(reason, "trace 2: sample 3 of 4"));
    g.trace[1].data[2] = 0;
    g.trace[2].header.ns = 5;
    assert_int_equal(su_write(path, SU_LITTLE, &g, reason), -1);
    assert_non_null(strstr(reason, "trace 3: ns is 5"));
    g.trace[2].header.ns = 4;
    assert_int_equal(access(path, F_OK), -1);

    assert_int_equal(su_write(in_folder("no/such/folder"), SU_LITTLE, &g, reason), -1);
    assert_non_null(strstr(reason, "No such file"));
    assert_int_equal(su_write(folder, SU_LITTLE, &g, reason), -1);
    assert_non_null(strstr(reason, "cannot be written"));
    /* Every write to /dev/full fails. */
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(su_write("/dev/full", SU_LITTLE, &g, reason), -1);
        assert_non_null(strstr(reason, "cannot be written"));
    }
    su_free(&g);
}

TEST(paths_without_file)
{
    file_refused(in_folder("absent.su"), "No such file");
    file_refused(folder, "directory");
    file_refused("/dev/null", "not a regular file");

    const char *path = in_folder("fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    file_refused(path, "not a regular file");
    unlink(path);

    /* Neither a link to it blocks; a link to a file is followed. */
    const char *target = "fifo";
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    path = in_folder("link.su");
    assert_int_equal(symlink(target, path), 0);
    file_refused(path, "not a regular file");
    unlink(path);
    assert_int_equal(symlink("/dev/null", path), 0);
    file_refused(path, "not a regular file");
    unlink(path);
    unlink(in_folder("fifo"));

    path = in_folder("cut.su");
    unsigned char *bytes = pack(40, 50, 2000, 1);
    put_file(path, bytes, 0);
    file_refused(path, "empty");
    put_file(path, bytes, 36 * row_bytes(50) + 301);
    file_refused(path, "trace 37 stops after 301 of 440 bytes: the file is truncated");
    put_file(path, bytes, 100);
    file_refused(path, "trace 1 stops after 100");
    if (geteuid() != 0) {
        assert_int_equal(chmod(path, 0), 0);
        file_refused(path, "Permission denied");
    }
    unlink(path);
    free(bytes);
}

TEST(scalco_multiplies_or_divides)
{
    assert_true(su_scale(0) == 1.0f);
    assert_true(su_scale(1) == 1.0f);
    assert_true(su_scale(-1) == 1.0f);
    assert_true(su_scale(10) == 10.0f);
    assert_true(su_scale(-10) == 0.1f);
    assert_true(su_scale(32767) == 32767.0f);
    assert_true(su_scale(-32768) == 1.0f / 32768.0f);
}

TEST(allocation_limits)
{
    assert_null(su_alloc(0, 10, 1000).trace);
    assert_null(su_alloc(1, 0, 1000).trace);
    assert_null(su_alloc(1, -1, 1000).trace);
    assert_null(su_alloc(1, 65536, 1000).trace);
    assert_null(su_alloc(1, 10, 0).trace);
    assert_null(su_alloc(1, 10, 65536).trace);
    assert_null(su_alloc(SIZE_MAX, 65535, 1000).trace); /* overflows size_t */
    su_gather empty = {0};
    su_free(&empty);
}

/* ---- exchange with segyio (su_segyio.py) -------------------------------------------
 */

enum { SHARED_TRACES = 5, SHARED_NS = 65, SHARED_DT = 4000 };
static const int16_t shared_scalco[SHARED_TRACES] = {0, 10, -10, 1, -1};

/* Fields of 32 and 16 bits with their 1-based SEG-Y byte, from which the value follows.
 */
// clang-format off
#define WIDE(f)                                                                        \
    f(1, tracl) f(5, tracr) f(9, fldr) f(13, tracf) f(17, ep) f(21, cdp) f(25, cdpt)   \
    f(37, offset) f(41, gelev) f(45, selev) f(65, gwdep) f(73, sx) f(77, sy) f(81, gx) \
    f(85, gy)
#define NARROW(f)                                                                      \
    f(29, trid) f(31, nvs) f(35, duse) f(69, scalel) f(89, counit) f(91, wevel)        \
    f(105, laga) f(109, delrt) f(113, mute) f(119, gain) f(137, stae) f(141, afilf)    \
    f(157, year) f(159, day) f(165, sec) f(179, otrav)
// clang-format on

static int32_t wide_value(int byte, size_t trace)
{
    return -100003 * byte + 65537 * (int)trace;
}

static int16_t narrow_value(int byte, size_t trace)
{
    return (int16_t)(-150 * byte + 17 * (int)trace);
}

static void must(int condition, const char *path, const char *what)
{
    if (condition) return;
    fprintf(stderr, "su_test: %s: %s\n", path, what);
    exit(1);
}

static su_gather shared_gather(void)
{
    su_gather g = su_alloc(SHARED_TRACES, SHARED_NS, SHARED_DT);
    must(g.trace != NULL, "expected values", "not enough memory");
    for (size_t i = 0; i < SHARED_TRACES; i++) {
        su_header *h = &g.trace[i].header;
#define SET_WIDE(byte, name)   h->name = wide_value(byte, i);
#define SET_NARROW(byte, name) h->name = narrow_value(byte, i);
        WIDE(SET_WIDE)
        NARROW(SET_NARROW)
        h->scalco = shared_scalco[i];
        for (int j = 0; j < g.ns; j++) g.trace[i].data[j] = sample(i, j);
    }
    return g;
}

static void write_or_read(int write, const char *directory)
{
    static const char *names[] = {"little.su", "big.su"};
    char path[4096], reason[SU_REASON_SIZE];
    su_gather want = shared_gather(), g;
    for (int big = 0; big <= 1; big++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[big]);
        if (write) {
            must(su_write(path, big ? SU_BIG : SU_LITTLE, &want, reason) == 0, path,
                 reason);
            continue;
        }
        must(su_read(path, SU_DETECT, &g, reason) == 0, path, reason);
        must(g.big_endian == big, path, "detected as the other byte order");
        must(g.ntraces == want.ntraces && g.ns == want.ns, path, "wrong shape");
        for (size_t i = 0; i < g.ntraces; i++)
            must(memcmp(&g.trace[i].header, &want.trace[i].header, 240) == 0, path,
                 "a header differs");
        for (size_t i = 0; i < g.ntraces; i++)
            must(memcmp(g.trace[i].data, want.trace[i].data,
                        sizeof(float) * (size_t)g.ns) == 0,
                 path, "samples differ");
        su_free(&g);
    }
    su_free(&want);
}

int main(int argc, char **argv)
{
    if (argc == 3 && (strcmp(argv[1], "write") == 0 || strcmp(argv[1], "read") == 0)) {
        write_or_read(strcmp(argv[1], "write") == 0, argv[2]);
        return 0;
    }
    if (argc != 1) {
        fprintf(stderr, "usage: su_test [write DIR | read DIR]\n");
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_detected_or_forced),
        cmocka_unit_test(ambiguous_order),
        cmocka_unit_test(samples_of_the_other_order),
        cmocka_unit_test(reel_header),
        cmocka_unit_test(line_and_its_origin),
        cmocka_unit_test(line_and_its_axis),
        cmocka_unit_test(line_too_far),
        cmocka_unit_test(line_without_the_dead),
        cmocka_unit_test(line_from_time_0),
        cmocka_unit_test(plausible_other_order_loses),
        cmocka_unit_test(longest_trace),
        cmocka_unit_test(every_truncation),
        cmocka_unit_test(contradicting_headers),
        cmocka_unit_test(samples_not_finite),
        cmocka_unit_test(random_bytes),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(write_refuses_what_read_would),
        cmocka_unit_test(paths_without_file),
        cmocka_unit_test(scalco_multiplies_or_divides),
        cmocka_unit_test(allocation_limits),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
