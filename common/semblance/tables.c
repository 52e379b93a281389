/* tables.c - see tables.h. */
#include "tables.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const double TIME_LAST = 1e6;                      /* s */
static const double VELOCITY_MIN = 1, VELOCITY_MAX = 1e5; /* m/s */
static const double STRETCH_MIN = 0.01, STRETCH_MAX = 3;  /* t / tn - 1 */

/* ---- rows of numbers ---------------------------------------------------------------
 */

/* The row that was read last. */
typedef struct {
    const char *key, *path;
    FILE *file;
    int number; /* of the line, from 1 */
    int rows;   /* number of rows so far, with this one */
    char line[1024];
    char where[4200]; /* "key=path, line number", for messages */
    int items;        /* columns */
    char *item[18];   /* the first of them */
} row_reader;

/* Opens the file of key=path. fail() if that is impossible; the message ends in `form`.
 */
static row_reader rows_open(const char *key, const char *path, const char *form)
{
    row_reader in = {.key = key, .path = path};
    const char *problem = input_open(path, &in.file);
    if (problem) fail("%s=%s: %s%s", key, path, problem, form);
    name_input(key, path);
    return in;
}

/* Reads the next row that is not empty; # begins a comment. Returns false after the
 * last one, and closes the file. fail() if the file has no rows. */
static bool rows_next(row_reader *in)
{
    enum { ITEMS = sizeof in->item / sizeof *in->item };
    char reason[REASON_SIZE];
    int status;
    while ((status = input_line(in->file, in->line, sizeof in->line, reason))) {
        snprintf(in->where, sizeof in->where, "%s=%.4000s, line %d", in->key, in->path,
                 ++in->number);
        if (status < 0) fail("%s: %s", in->where, reason);
        in->line[strcspn(in->line, "#")] = '\0';
        in->items = 0;
        for (char *w = strtok(in->line, " \t\r"); w; w = strtok(NULL, " \t\r")) {
            if (in->items < ITEMS) in->item[in->items] = w;
            in->items++;
        }
        if (in->items == 0) continue;
        in->rows++;
        return true;
    }
    fclose(in->file);
    if (in->rows == 0) fail("%s=%s: no rows: expected at least one", in->key, in->path);
    return false;
}

/* Returns the array `block` of `count` elements with space for one more. */
static void *rows_grow(const row_reader *in, void *block, int count, size_t size)
{
    void *larger = realloc(block, ((size_t)count + 1) * size);
    if (!larger) fail("%s: not enough memory", in->where);
    return larger;
}

/* ---- the options -------------------------------------------------------------------
 */

void parse_range(ranges *row, int k, const char *key, const char *const item[3])
{
    row->p0[k] = parse_double(key, item[0], -PARAMETER_MAX, PARAMETER_MAX);
    row->p1[k] = parse_double(key, item[1], -PARAMETER_MAX, PARAMETER_MAX);
    row->np[k] = parse_int(key, item[2], 1, INT_MAX);
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
    for (int k = 0; k < PARAMETERS; k++) {
        snprintf(key, sizeof key, "%s: %c", in->where, "ABCDE"[k]);
        parse_range(row, k, key,
                    (const char *const *)in->item + 1 + offset + (size_t)(3 * k));
    }
}

void read_ranges(request *r, const char *path)
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

void read_positions(request *r, const char *path)
{
    bool ends = false;
    int count = 0;
    position *at = NULL;
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
        at = rows_grow(&in, at, count, sizeof *at);
        at[count++] = ends ? (position){(x + y) / 2, (y - x) / 2} : (position){x, y};
    }
    request_set_positions(r, at, count);
}

static void read_velocities(request *r, const char *path)
{
    for (row_reader in = rows_open("velocity", path,
                                   ": expected VMIN,VMAX or a file of rows t0 v dv");
         rows_next(&in); r->velocities++) {
        if (in.items != 3)
            fail("%s: %d columns: expected 3: t0, v and its tolerance dv", in.where,
                 in.items);
        double t0 = parse_double(in.where, in.item[0], 0, TIME_LAST);
        double v = parse_double(in.where, in.item[1], VELOCITY_MIN, VELOCITY_MAX);
        double dv = parse_double(in.where, in.item[2], 0, VELOCITY_MAX);
        if (v - dv < VELOCITY_MIN)
            fail("%s: %g m/s less %g m/s: expected at least %g m/s", in.where, v, dv,
                 VELOCITY_MIN);
        if (r->velocities && !(t0 > r->velocity[r->velocities - 1].t0))
            fail("%s: t0 is %g after %g: expected increasing times", in.where, t0,
                 r->velocity[r->velocities - 1].t0);
        r->velocity = rows_grow(&in, r->velocity, r->velocities, sizeof *r->velocity);
        r->velocity[r->velocities] = (velocity_row){t0, v - dv, v + dv};
    }
}

void read_velocity(request *r, const char *velocity)
{
    if (!strchr(velocity, ',')) {
        read_velocities(r, velocity);
        return;
    }
    char buffer[PARSE_SIZE];
    const char *item[2];
    parse_list("velocity", velocity, 2, "VMIN,VMAX or a file", buffer, item);
    double low = parse_double("velocity", item[0], VELOCITY_MIN, VELOCITY_MAX);
    double high = parse_double("velocity", item[1], VELOCITY_MIN, VELOCITY_MAX);
    if (low > high)
        fail("velocity=%s: the smallest is above the largest: expected VMIN,VMAX",
             velocity);
    r->velocity = allocate(1, sizeof *r->velocity, "the velocity");
    r->velocity[r->velocities++] = (velocity_row){0, low, high};
}

void read_mute(request *r, const char *mute)
{
    char *end;
    strtod(mute, &end);
    if (!*end) {
        r->stretch = parse_double("mute", mute, STRETCH_MIN, STRETCH_MAX);
        if (!r->velocities)
            fail("mute=%s: a limit of the stretch is for velocity=: expected that, too",
                 mute);
        return;
    }
    for (row_reader in =
             rows_open("mute", mute, ": expected a stretch or a file of rows offset t");
         rows_next(&in); r->mutes++) {
        if (in.items != 2)
            fail("%s: %d columns: expected 2: offset and time", in.where, in.items);
        r->mute = rows_grow(&in, r->mute, r->mutes, sizeof *r->mute);
        mute_row *row = &r->mute[r->mutes];
        row->offset = parse_double(in.where, in.item[0], 0, DISTANCE_MAX);
        row->time = parse_double(in.where, in.item[1], 0, TIME_LAST);
        if (r->mutes && !(row->offset > row[-1].offset))
            fail("%s: the offset is %g after %g: expected increasing offsets", in.where,
                 row->offset, row[-1].offset);
    }
}
