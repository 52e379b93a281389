/* su_test.c - tests of su.h and of semblance's line.h.
 *
 * su_test                 runs the tests
 * su_test ORDER FILE ..   reads and copies files for test_su.py, see copy_files()
 *
 * test_su.py tests what is read and refused. Left out: files too large for memory, disk
 * errors.
 */
#define _POSIX_C_SOURCE 200809L

#include "../common/run/run.h"
#include "../common/semblance/line.h"
#include "su.h"

#include "c_test.h"

#include <math.h>
#include <sys/stat.h>

static void assert_says(const char *reason, const char *text)
{
    if (!strstr(reason, text)) print_error("%s: expected: %s\n", reason, text);
    assert_non_null(strstr(reason, text));
}

static float sample(size_t trace, int j)
{
    return (float)(100 * (int)trace - j) / 8;
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
    line_axis along = {.kind = axis};
    char reason[SU_REASON_SIZE];
    return su_line(g, &along, source, receiver, &dead, reason);
}

static void line_refused(su_gather g, su_axis axis, double source, double receiver,
                         const char *says)
{
    size_t dead;
    line_axis along = {.kind = axis};
    char reason[SU_REASON_SIZE];
    assert_int_equal(su_line(&g, &along, source, receiver, &dead, reason), -1);
    assert_says(reason, says);
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
            line_axis along = {.kind = (su_axis)axis};
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
    g.trace[0].header.gx = g.trace[1].header.sx = g.trace[1].header.gx = 0;
    line_refused(g, SU_AXIS_AUTO, 0, 0, "neither x nor y varies");
}

/* Sources every 10 m and receivers 100 m before them, on a line through (x0, y0), in
 * centimetres. */
static su_gather oblique(size_t ntraces, double x0, double y0, double degrees)
{
    su_gather g = survey(ntraces, -100);
    double ux = cos(degrees * acos(-1) / 180), uy = sin(degrees * acos(-1) / 180);
    for (size_t i = 0; i < ntraces; i++) {
        su_header *h = &g.trace[i].header;
        double source = 10 * (double)i, receiver = source + 100;
        h->sx = (int32_t)lround(100 * (x0 + source * ux));
        h->sy = (int32_t)lround(100 * (y0 + source * uy));
        h->gx = (int32_t)lround(100 * (x0 + receiver * ux));
        h->gy = (int32_t)lround(100 * (y0 + receiver * uy));
    }
    return g;
}

/* Distances along an oblique line grow with x, or with y if the line is steeper. */
TEST(line_and_its_direction)
{
    static const double x0 = 612345.67, y0 = -6123456.78;
    for (int degrees = 3; degrees < 360; degrees += 10) {
        double ux = cos(degrees * acos(-1) / 180), uy = sin(degrees * acos(-1) / 180);
        int sign = fabs(ux) > fabs(uy) ? ux > 0 : uy > 0;
        su_gather g = oblique(40, x0, y0, degrees);
        line_axis axis = {.kind = SU_AXIS_AUTO};
        size_t dead, count, first;
        char reason[SU_REASON_SIZE];
        assert_int_equal(su_find_axis(&g, &axis, reason), 0);
        assert_int_equal(axis.kind, SU_AXIS_OBLIQUE);
        assert_true(axis.farthest < 0.01);
        assert_int_equal(su_check_offsets(&g, &axis, &count, &first, reason), 0);
        assert_int_equal(count, 0);
        for (int i = 0; i < 40; i++) {
            const su_header *h = &g.trace[i].header;
            trace_ends along = line_ends(h, &axis), across = line_across(h, &axis);
            double x, y;
            assert_float_equal(along.source, (sign ? 10 : -10) * i, 0.02);
            line_place(&axis, along.receiver, across.receiver, &x, &y);
            assert_float_equal(x, h->gx / 100.0, 0.002);
            assert_float_equal(y, h->gy / 100.0, 0.002);
        }
        trace_ends last = line_ends(&g.trace[39].header, &axis);
        assert_int_equal(su_line(&g, &axis, 30, -50, &dead, reason), 0);
        const su_header *h = &g.trace[39].header;
        assert_int_equal(h->scalco, -1000);
        assert_int_equal(h->sy, lround(1000 * last.source) - 30000);
        assert_int_equal(h->gy, lround(1000 * last.receiver) + 50000);
        assert_int_equal(h->sx, 0);
        assert_int_equal(h->gx, 0);
        su_free(&g);
    }
}

/* A line may bend by 15 degrees, not by 30, and sources and receivers must not be on
 * two lines that are far apart. */
TEST(line_that_is_not_straight)
{
    static const struct {
        double bend; /* degrees */
        int apart;   /* centimetres */
        bool straight;
    } lines[] = {
        {0, 0, true}, {15, 0, true}, {30, 0, false}, {0, 2500, true}, {0, 5000, false}};
    for (size_t k = 0; k < LENGTH(lines); k++) {
        su_gather g = oblique(100, 0, 0, 20);
        su_gather bent = oblique(100, 0, 0, 20 + lines[k].bend);
        for (int i = 0; i < 50; i++) { /* the first half, mirrored and turned */
            su_header *h = &g.trace[i].header, *other = &bent.trace[i].header;
            h->sx = -other->sx, h->sy = -other->sy;
            h->gx = -other->gx, h->gy = -other->gy;
        }
        for (int i = 0; i < 100; i++) g.trace[i].header.gy += lines[k].apart;
        line_axis axis = {.kind = SU_AXIS_AUTO};
        char reason[SU_REASON_SIZE];
        assert_int_equal(su_find_axis(&g, &axis, reason), lines[k].straight ? 0 : -1);
        if (!lines[k].straight) assert_says(reason, "not along a straight line");
        su_free(&g);
        su_free(&bent);
    }
}

/* The header word offset names scalco, feet or other units, or axis=. */
TEST(offsets_and_positions)
{
    static const struct {
        int16_t scalco;
        double times; /* offset, in metres of the right scale 1 */
        int zeros, wrong;
        const char *says; /* NULL: no error */
    } surveys[] = {
        {1, 1, 0, 0, NULL},
        {1, 0, 0, 0, NULL}, /* no offsets */
        {1, 1.05, 0, 0, NULL},
        {1, 0.95, 0, 0, NULL},
        {-10, 1, 0, 20, "factor of 0.1 as in most traces: set scalco to 1 if"},
        {1, 0.01, 0, 20, "factor of 100 as in most traces: set scalco to -100 if"},
        {-100, 0.1, 0, 20, "factor of 0.1 as in most traces: set scalco to -10 if"},
        {-1000, 10, 0, 20, "factor of 0.0001 as in most traces: set scalco to 10 if"},
        {10, 1, 0, 20, "factor of 10 as in most traces: set scalco to 1 if"},
        {1, 3.2808, 0, 20, "factor of 0.305 as in most traces: one is in feet"},
        {1, 0.3048, 0, 20, "factor of 3.28 as in most traces: one is in feet"},
        {1, 30.87, 0, 20, "project coordinates that are angles"},
        {1, 0.01, 9, 11, "factor of 100"}, /* 9 of 20 offsets are not known */
        {1, 0.01, 10, 10, "factor of 100"},
        {1, 0.01, 11, 9, NULL}, /* too few to judge */
    };
    for (size_t k = 0; k < LENGTH(surveys); k++) {
        su_gather g = survey(20, surveys[k].scalco);
        for (int i = 0; i < 20; i++) {
            su_header *h = &g.trace[i].header;
            h->gx = h->sx + 1000 + 200 * i;
            h->offset = (int32_t)lround(surveys[k].times * (h->gx - h->sx));
            if (i % 2) h->offset = -h->offset;
            if (i >= 20 - surveys[k].zeros) h->offset = 0;
        }
        line_axis axis = {.kind = SU_AXIS_X};
        size_t count, first;
        char reason[SU_REASON_SIZE] = "";
        int status = su_check_offsets(&g, &axis, &count, &first, reason);
        if (surveys[k].says) assert_says(reason, surveys[k].says);
        assert_int_equal(status, surveys[k].says ? -1 : 0);
        assert_int_equal(count, surveys[k].wrong);
        su_free(&g);
    }
    /* Offsets that are right, of a line that does not follow x. */
    su_gather g = oblique(20, 0, 0, 45);
    line_axis axis = {.kind = SU_AXIS_X};
    size_t count, first;
    char reason[SU_REASON_SIZE];
    assert_int_equal(su_check_offsets(&g, &axis, &count, &first, reason), -1);
    assert_says(reason, "the line does not follow axis=x: leave that option out");
    su_free(&g);
    /* A few wrong ones are counted; of dead and auxiliary traces, none. */
    g = survey(20, 1);
    for (int i = 3; i < 15; i++) g.trace[i].header.offset = 90 + 3 * i;
    g.trace[4].header.trid = SU_DEAD;
    for (int i = 7; i < 10; i++) g.trace[i].header.trid = 6;
    assert_int_equal(su_check_offsets(&g, &axis, &count, &first, reason), 0);
    assert_int_equal(first, 10);
    assert_int_equal(count, 5);
    /* Half of the traces are no majority. */
    for (int i = 0; i < 20; i++) g.trace[i].header.trid = 1;
    for (size_t wrong = 10; wrong <= 11; wrong++) {
        for (size_t i = 0; i < 20; i++)
            g.trace[i].header.offset = i < wrong ? 300 : 100;
        assert_int_equal(su_check_offsets(&g, &axis, &count, &first, reason),
                         wrong == 10 ? 0 : -1);
        assert_int_equal(count, wrong);
    }
    /* Without a constant factor, positions are asked for. */
    for (int i = 0; i < 20; i++) g.trace[i].header.offset = 1 + 37 * i * i;
    assert_int_equal(su_check_offsets(&g, &axis, &count, &first, reason), -1);
    assert_says(reason, "most traces differ, too: expected positions in sx, sy, gx");
    su_free(&g);
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
    line_axis axis = {.kind = SU_AXIS_AUTO};
    char reason[SU_REASON_SIZE];
    assert_int_equal(su_line(&g, &axis, 1000, 1000, &dead, reason), 0);
    assert_int_equal(dead, 3);
    assert_int_equal(g.ntraces, 5);
    assert_int_equal(axis.kind, SU_AXIS_X);
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

/* Auxiliary traces are kept, and their coordinates and delays are ignored. Data are of
 * one kind. */
TEST(line_without_auxiliary_traces)
{
    static const int16_t data[] = {0, 1, 11, 12, 13, 14, 15, 16, 17};
    for (int trid = -2; trid < 300; trid++) {
        bool is_data = false;
        for (size_t k = 0; k < LENGTH(data); k++) is_data |= trid == data[k];
        su_gather g = survey(3, 1);
        su_header *h = &g.trace[1].header;
        h->trid = (int16_t)trid;
        assert_int_equal(su_is_data(h), is_data);
        if (!is_data) h->sx = INT32_MIN, h->sy = INT32_MAX, h->delrt = 3, h->counit = 3;
        char reason[SU_REASON_SIZE];
        line_axis axis = {.kind = SU_AXIS_AUTO};
        size_t dead;
        int status = su_line(&g, &axis, 0, 0, &dead, reason);
        assert_int_equal(status, is_data && trid > 1 ? -1 : 0);
        if (status) assert_says(reason, "but 1 in trace 1: expected one kind of data");
        if (!status) assert_int_equal(axis.kind, SU_AXIS_X);
        if (!status) assert_int_equal(dead, trid == SU_DEAD);
        su_free(&g);
    }
    su_gather g = survey(3, 1);
    for (int i = 0; i < 3; i++) g.trace[i].header.trid = 12;
    assert_int_equal(to_line(&g, SU_AXIS_X, 0, 0), 0);
    su_free(&g);
    g = survey(3, 1);
    for (int i = 0; i < 3; i++) g.trace[i].header.trid = (int16_t)(2 + i);
    line_refused(g, SU_AXIS_X, 0, 0, "none of its 3 traces has seismic data");
}

/* Bytes 215-216 scale delrt. */
TEST(line_with_a_scale_of_times)
{
    static const struct {
        int16_t delrt, tscale;
        int samples;
    } delays[] = {{40, 0, 10},    {40, 1, 10},       {40, -1, 10},       {4, 10, 10},
                  {400, -10, 10}, {4000, -100, 10},  {-80, -10, -2},     {0, 77, 0},
                  {2, 1000, 500}, {20000, -1000, 5}, {30000, -10000, -1}};
    for (size_t k = 0; k < LENGTH(delays); k++) {
        su_gather g = survey(2, 1);
        for (int i = 0; i < 2; i++) {
            g.trace[i].header.delrt = delays[k].delrt;
            g.trace[i].header.tscale = delays[k].tscale;
        }
        if (delays[k].samples == -1 && delays[k].tscale == -10000) {
            line_refused(g, SU_AXIS_X, 0, 0,
                         "delrt is 3 ms, not a whole number of samples");
            continue;
        }
        assert_int_equal(to_line(&g, SU_AXIS_X, 0, 0), 0);
        assert_int_equal(g.ns, 20 + delays[k].samples);
        su_free(&g);
    }
    su_gather g = survey(2, 1); /* 40 ms in two ways */
    g.trace[0].header.delrt = 40, g.trace[1].header.delrt = 4;
    g.trace[1].header.tscale = 10;
    assert_int_equal(to_line(&g, SU_AXIS_X, 0, 0), 0);
    su_free(&g);
    g = survey(2, 1);
    g.trace[0].header.delrt = g.trace[1].header.delrt = 40;
    g.trace[1].header.tscale = -10;
    line_refused(g, SU_AXIS_X, 0, 0, "trace 2: delrt is 4 ms, other traces have 40");
    g = survey(2, 1);
    g.trace[1].header.delrt = 40, g.trace[1].header.tscale = 77;
    g.trace[0].header.trid = SU_DEAD;
    line_refused(g, SU_AXIS_X, 0, 0,
                 "trace 2: delrt is 40 and its scale in bytes 215-216 is 77");
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

TEST(write_refuses_what_read_would)
{
    char reason[SU_REASON_SIZE];
    const char *path = "never.su";
    su_gather g = {0};
    assert_int_equal(su_write(path, SU_LITTLE, &g, reason), -1);

    g = su_alloc(3, 4, 1000);
    uint32_t nan_bits = 0x7fc00000;
    memcpy(&g.trace[1].data[2], &nan_bits, 4);
    assert_int_equal(su_write(path, SU_LITTLE, &g, reason), -1);
    assert_says(reason, "trace 2: sample 3 of 4");
    g.trace[1].data[2] = 0;
    g.trace[2].header.ns = 5;
    assert_int_equal(su_write(path, SU_LITTLE, &g, reason), -1);
    assert_says(reason, "trace 3: ns is 5");
    g.trace[2].header.ns = 4;
    assert_int_equal(access(path, F_OK), -1);

    assert_int_equal(su_write("no/such/folder", SU_LITTLE, &g, reason), -1);
    assert_says(reason, "No such file");
    assert_int_equal(su_write(".", SU_LITTLE, &g, reason), -1);
    assert_says(reason, "cannot be written");
    /* Every write to /dev/full fails. */
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(su_write("/dev/full", SU_LITTLE, &g, reason), -1);
        assert_says(reason, "cannot be written");
    }
    su_free(&g);
}

/* Without an order, a file has the machine's. */
TEST(write_in_the_order_of_the_machine)
{
    char reason[SU_REASON_SIZE];
    su_gather g = su_alloc(2, 3, 1000), read;
    g.trace[1].data[2] = 0.3f;
    for (int order = SU_DETECT; order <= SU_BIG; order++) {
        assert_int_equal(su_write("written.su", (su_order)order, &g, reason), 0);
        assert_int_equal(su_read("written.su", SU_DETECT, &read, reason), 0);
        int big = order == SU_DETECT ? g.big_endian : order == SU_BIG;
        assert_int_equal(read.big_endian, big);
        assert_float_equal(read.trace[1].data[2], 0.3f, 0);
        su_free(&read);
    }
    su_free(&g);
}

TEST(paths_without_file)
{
    write_text("locked.su", "text");
    assert_int_equal(chmod("locked.su", 0), 0);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(symlink("fifo", "to_fifo.su"), 0);
    assert_int_equal(symlink("/dev/null", "to_null.su"), 0);
    static const struct {
        const char *path, *says;
    } bad[] = {{"absent.su", "No such file"},
               {".", "directory"},
               {"/dev/null", "not a regular file"},
               {"fifo", "not a regular file"},
               /* Neither a link to it blocks; a link to a file is followed. */
               {"to_fifo.su", "not a regular file"},
               {"to_null.su", "not a regular file"},
               {"locked.su", "Permission denied"}};
    for (size_t i = 0; i < LENGTH(bad) - (geteuid() == 0); i++) {
        su_gather g;
        char reason[SU_REASON_SIZE];
        assert_int_equal(su_read(bad[i].path, SU_DETECT, &g, reason), -1);
        assert_null(g.trace);
        assert_says(reason, bad[i].says);
    }
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

/* The 1-based bytes at which fields of 32 and 16 bits begin (SEG-Y rev. 1). */
// clang-format off
#define WIDE(f)                                                                        \
    f(1, tracl) f(5, tracr) f(9, fldr) f(13, tracf) f(17, ep) f(21, cdp) f(25, cdpt)   \
    f(37, offset) f(41, gelev) f(45, selev) f(65, gwdep) f(73, sx) f(77, sy) f(81, gx) \
    f(85, gy)
#define NARROW(f)                                                                      \
    f(29, trid) f(31, nvs) f(35, duse) f(69, scalel) f(71, scalco) f(89, counit)       \
    f(91, wevel) f(105, laga) f(109, delrt) f(113, mute) f(115, ns) f(117, dt)         \
    f(119, gain) f(137, stae) f(141, afilf) f(157, year) f(159, day) f(165, sec)       \
    f(179, otrav) f(215, tscale)
// clang-format on

TEST(header_layout)
{
#define IS_AT(byte, name, width)                                                       \
    assert_int_equal(offsetof(su_header, name), (byte)-1);                             \
    assert_int_equal(sizeof(((su_header *)0)->name), width);
#define IS_WIDE(byte, name)   IS_AT(byte, name, 4)
#define IS_NARROW(byte, name) IS_AT(byte, name, 2)
    WIDE(IS_WIDE)
    NARROW(IS_NARROW)
}

/* ---- for test_su.py -------------------------------------------------------------- */

/* Returns a buffer that is not longer than the file, so that a sanitizer detects reads
 * beyond it. */
static unsigned char *read_bytes(const char *path, size_t *size)
{
    struct stat status;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &status)) fail("%s: cannot be read", path);
    *size = (size_t)status.st_size;
    unsigned char *bytes = malloc(*size ? *size : 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size)
        fail("%s: cannot be read", path);
    fclose(file);
    return bytes;
}

/* Writes PATH.ORDER. */
static void write_copy(const char *path, su_order order, const su_gather *g)
{
    char copy[4096], reason[SU_REASON_SIZE];
    snprintf(copy, sizeof copy, "%s.%s", path, order == SU_BIG ? "big" : "little");
    if (su_write(copy, order, g, reason)) fail("%s: %s", copy, reason);
}

/* Reads each file with su_read() and su_parse(), which must agree. Prints a line per
 * file: its byte order, or the reason why it is refused. Writes what su_read() has read
 * to PATH.little, and the result of su_parse() to PATH.big. */
static void copy_files(su_order order, int count, char **paths)
{
    for (int i = 0; i < count; i++) {
        su_gather read, parsed;
        char reason[SU_REASON_SIZE] = "", again[SU_REASON_SIZE] = "";
        size_t size;
        unsigned char *bytes = read_bytes(paths[i], &size);
        memset(&read, 0xa5, sizeof read);
        memset(&parsed, 0xa5, sizeof parsed);
        int status = su_read(paths[i], order, &read, reason);
        int second = su_parse(bytes, size, order, &parsed, again);
        free(bytes);
        if (status != second || strcmp(reason, again) ||
            read.big_endian != parsed.big_endian)
            fail("%s: su_read and su_parse differ: %s, %s", paths[i], reason, again);
        if (status && (read.trace || read.samples || read.ntraces || parsed.trace ||
                       parsed.samples || parsed.ntraces))
            fail("%s: refused, but the gather is not empty", paths[i]);
        puts(status ? reason : read.big_endian ? "big" : "little");
        if (status) continue;
        write_copy(paths[i], SU_LITTLE, &read);
        write_copy(paths[i], SU_BIG, &parsed);
        su_free(&read);
        su_free(&parsed);
    }
}

int main(int argc, char **argv)
{
    run_name = "su_test";
    if (argc > 1) {
        su_order order =
            (su_order)parse_choice("ORDER", argv[1], "auto", "little", "big");
        copy_files(order, argc - 2, argv + 2);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
