/* su.c - reads, checks and writes SU traces; su.h is the contract.
 *
 * Every byte of a file is accounted for before a sample is believed. Whatever the
 * machine, ns and dt are put together from single bytes; fields are reversed in place
 * only where file and machine differ in order.
 */
#define _POSIX_C_SOURCE 200809L

#include "su.h"
#include "run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static_assert(sizeof(su_header) == SU_HEADER_BYTES, "the header is 240 bytes");
static_assert(offsetof(su_header, offset) == 36, "SEG-Y byte 37");
static_assert(offsetof(su_header, scalco) == 70, "SEG-Y byte 71");
static_assert(offsetof(su_header, sx) == 72, "SEG-Y byte 73");
static_assert(offsetof(su_header, ns) == 114, "SEG-Y byte 115");
static_assert(offsetof(su_header, dt) == 116, "SEG-Y byte 117");
static_assert(offsetof(su_header, d1) == 180, "SU byte 181");
static_assert(offsetof(su_header, mark) == 208, "SU byte 209");
static_assert(sizeof(float) == 4, "samples are float32");

/* The header as runs of fields of one width, in file order. */
static const struct {
    int width, count;
} runs[] = {{4, 7}, {2, 4}, {4, 8}, {2, 2}, {4, 4}, {2, 46}, {4, 7}, {2, 16}};

static const char *order_name(int big)
{
    return big ? "big-endian" : "little-endian";
}

static int machine_is_big(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

static void reverse_fields(unsigned char *p, int width, size_t count)
{
    for (size_t i = 0; i < count; i++, p += width)
        for (int low = 0, high = width - 1; low < high; low++, high--) {
            unsigned char byte = p[low];
            p[low] = p[high];
            p[high] = byte;
        }
}

static void reverse_header(su_header *header)
{
    unsigned char *p = (unsigned char *)header;
    for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++) {
        reverse_fields(p, runs[r].width, (size_t)runs[r].count);
        p += runs[r].width * runs[r].count;
    }
}

static int field16(const unsigned char *p, int big)
{
    return big ? p[0] << 8 | p[1] : p[1] << 8 | p[0];
}

static int field_ns(const unsigned char *trace, int big)
{
    return field16(trace + offsetof(su_header, ns), big);
}

static int field_dt(const unsigned char *trace, int big)
{
    return field16(trace + offsetof(su_header, dt), big);
}

static size_t trace_bytes(int ns)
{
    return SU_HEADER_BYTES + sizeof(float) * (size_t)ns;
}

/* How many traces from the first on have a whole header that repeats its ns and dt, in
 * this order: 0 where ns or dt is 0, SIZE_MAX where they lead to the very end. */
static size_t agreeing(const unsigned char *bytes, size_t size, int big)
{
    if (size < SU_HEADER_BYTES) return 0;
    int ns = field_ns(bytes, big), dt = field_dt(bytes, big);
    if (ns == 0 || dt == 0) return 0;

    size_t n = 0, row = trace_bytes(ns);
    while (size >= SU_HEADER_BYTES) {
        if (field_ns(bytes, big) != ns || field_dt(bytes, big) != dt) return n;
        n++;
        if (size <= row) return size == row ? SIZE_MAX : n;
        bytes += row;
        size -= row;
    }
    return n;
}

static int detect(const unsigned char *bytes, size_t size)
{
    size_t little = agreeing(bytes, size, 0), big = agreeing(bytes, size, 1);
    return little == big ? machine_is_big() : big > little;
}

/* Index of the first sample that is not finite, ns if there is none. The bits are
 * looked at because -ffast-math lets the compiler assume that isfinite() is true. */
static int first_not_finite(const float *data, int ns)
{
    for (int i = 0; i < ns; i++) {
        uint32_t bits;
        memcpy(&bits, &data[i], sizeof bits);
        if ((bits & 0x7f800000u) == 0x7f800000u) return i;
    }
    return ns;
}

/* How many samples no instrument or program writes: neither 0 nor within 1e-30 ..
 * 1e30 (0x0da24260, 0x7149f2ca). */
static size_t strange_samples(const su_gather *g, int swapped)
{
    size_t strange = 0;
    for (size_t i = 0; i < g->ntraces; i++)
        for (int j = 0; j < g->ns; j++) {
            uint32_t bits;
            memcpy(&bits, &g->trace[i].data[j], sizeof bits);
            if (swapped)
                bits = bits >> 24 | (bits >> 8 & 0xff00) | (bits & 0xff00) << 8 |
                       bits << 24;
            bits &= 0x7fffffffu;
            strange += bits && (bits < 0x0da24260u || bits > 0x7149f2cau);
        }
    return strange;
}

/* Samples of one byte order behind headers of the other: where many are strange as they
 * are, and next to none the other way round. */
static int samples_swapped(const su_gather *g)
{
    size_t strange = strange_samples(g, 0);
    return strange > g->ntraces * (size_t)g->ns / 8 &&
           strange_samples(g, 1) < strange / 50 + 1;
}

/* What a trace must be, when it was read and before it is written. */
static int check_trace(const su_trace *t, size_t number, int ns, int dt,
                       char why[SU_WHY])
{
    if (t->header.ns != ns)
        return refuse(why, "trace %zu: ns is %d, it should be %d as in trace 1", number,
                      t->header.ns, ns);
    if (t->header.dt != dt)
        return refuse(why, "trace %zu: dt is %d, it should be %d as in trace 1", number,
                      t->header.dt, dt);
    int bad = first_not_finite(t->data, ns);
    if (bad < ns)
        return refuse(why,
                      "trace %zu: sample %d of %d is not a finite number: damaged, or "
                      "not IEEE floats",
                      number, bad + 1, ns);
    return 0;
}

/* All samples, of traces from number first on. */
static int check_samples(const su_gather *g, size_t first, bool swapped,
                         char why[SU_WHY])
{
    if (swapped)
        return refuse(why, "its samples are byte-swapped: headers are %s, samples %s",
                      order_name(g->big_endian), order_name(!g->big_endian));
    for (size_t i = 0; i < g->ntraces; i++)
        if (check_trace(&g->trace[i], first + i + 1, g->ns, g->dt, why) != 0) return -1;
    return 0;
}

/* SEG-Y has 3200 bytes of text and 400 of binary numbers before its first trace: the
 * samples a trace (byte 3221) are again in that trace's header, and the format code
 * (byte 3225) is one of sixteen. */
static int has_reel_header(const unsigned char *bytes, size_t size)
{
    enum { TEXT = 3200, REEL = 3600 };
    if (size < REEL + SU_HEADER_BYTES) return 0;
    for (int big = 0; big <= 1; big++) {
        int ns = field16(bytes + TEXT + 20, big),
            code = field16(bytes + TEXT + 24, big);
        if (ns > 0 && ns == field_ns(bytes + REEL, big) && code >= 1 && code <= 16)
            return 1;
    }
    return 0;
}

/* Every header is looked at where it lies, so that nothing is allocated for a file
 * whose traces do not fill it. */
static int check_layout(const unsigned char *bytes, size_t size, int big,
                        char why[SU_WHY])
{
    if (size == 0) return refuse(why, "empty: not one trace");
    if (size < SU_HEADER_BYTES)
        return refuse(why,
                      "trace 1 stops after %zu bytes of its %d-byte header: the file "
                      "is truncated",
                      size, SU_HEADER_BYTES);

    if (has_reel_header(bytes, size) && agreeing(bytes, size, big) != SIZE_MAX)
        return refuse(why, "is SEG-Y with its reel header (3600 bytes), expected SU: "
                           "trace 1 should begin at the first byte");
    if (agreeing(bytes, size, big) != SIZE_MAX &&
        agreeing(bytes, size, !big) == SIZE_MAX)
        return refuse(why, "is byte-swapped: %s, not %s", order_name(!big),
                      order_name(big));

    int ns = field_ns(bytes, big), dt = field_dt(bytes, big);
    if (ns == 0)
        return refuse(why, "trace 1: ns is 0 (%s), it should be 1 .. 65535",
                      order_name(big));
    if (dt == 0)
        return refuse(why, "trace 1: dt is 0 (%s), it should be 1 .. 65535 us",
                      order_name(big));

    size_t row = trace_bytes(ns);
    for (size_t number = 1; size > 0; number++) {
        if (size >= SU_HEADER_BYTES) {
            int ns_here = field_ns(bytes, big), dt_here = field_dt(bytes, big);
            if (ns_here != ns)
                return refuse(why,
                              "trace %zu: ns is %d, it should be %d as in trace 1: the "
                              "file is damaged, or of traces that differ (%s)",
                              number, ns_here, ns, order_name(big));
            if (dt_here != dt)
                return refuse(why,
                              "trace %zu: dt is %d, it should be %d as in trace 1: the "
                              "file is damaged, or of traces that differ (%s)",
                              number, dt_here, dt, order_name(big));
        }
        if (size < row)
            return refuse(why,
                          "trace %zu stops after %zu of %zu bytes: the file is "
                          "truncated (%s)",
                          number, size, row, order_name(big));
        bytes += row;
        size -= row;
    }
    return 0;
}

/* A gather without its samples. */
static su_gather headers_alloc(size_t ntraces, int ns, int dt)
{
    su_gather g = {0};
    if (ntraces == 0 || ns < 1 || ns > 65535 || dt < 1 || dt > 65535) return g;
    if (ntraces > SIZE_MAX / (size_t)ns) return g;

    g.trace = calloc(ntraces, sizeof(su_trace));
    if (g.trace == NULL) return g;
    g.ntraces = ntraces;
    g.ns = g.pitch = ns;
    g.dt = dt;
    g.big_endian = machine_is_big();
    for (size_t i = 0; i < ntraces; i++) {
        g.trace[i].header.ns = (uint16_t)ns;
        g.trace[i].header.dt = (uint16_t)dt;
    }
    return g;
}

/* Frees a gather, but bytes of the file stay the caller's. */
static void give_back(su_gather *g)
{
    if (g->mapped) g->block = NULL;
    g->mapped = 0;
    su_free(g);
}

/* What becomes of a file's samples: copied, left where they are if they may be, or not
 * looked at. */
typedef enum { COPY, KEEP, LEAVE } samples_to;

/* Bytes that are all the file's traces become *g, which is emptied if not. Those that
 * may be kept are: g->block is then bytes. */
static int take(unsigned char *bytes, size_t size, su_order order, samples_to to,
                su_gather *g, char why[SU_WHY])
{
    *g = (su_gather){0};
    int big = order == SU_DETECT ? detect(bytes, size) : order == SU_BIG;
    if (check_layout(bytes, size, big, why) != 0) return -1;

    int ns = field_ns(bytes, big), dt = field_dt(bytes, big);
    int swap = big != machine_is_big();
    size_t row = trace_bytes(ns), ntraces = size / row;
    su_gather read = to == LEAVE || (to == KEEP && !swap)
                         ? headers_alloc(ntraces, ns, dt)
                         : su_alloc(ntraces, ns, dt);
    if (read.trace == NULL)
        return refuse(why, "not enough memory for %zu traces of %d samples", ntraces,
                      ns);
    read.big_endian = big;
    if (!read.samples) read.pitch = ns + SU_HEADER_BYTES / (int)sizeof(float);
    if (!read.samples && to == KEEP) {
        read.samples = (float *)(void *)(bytes + SU_HEADER_BYTES);
        read.block = bytes;
        read.mapped = size;
    }

    for (size_t i = 0; i < ntraces; i++) {
        su_trace *t = &read.trace[i];
        memcpy(&t->header, bytes + i * row, SU_HEADER_BYTES);
        if (swap) reverse_header(&t->header);
        if (to == LEAVE) continue;
        t->data = read.samples + i * (size_t)read.pitch;
        if (!read.mapped)
            memcpy(t->data, bytes + i * row + SU_HEADER_BYTES, row - SU_HEADER_BYTES);
        if (swap) reverse_fields((unsigned char *)t->data, sizeof(float), (size_t)ns);
    }
    if (to == LEAVE) {
        *g = read;
        return 0;
    }

    bool swapped = samples_swapped(&read);
    if (swapped && order == SU_DETECT && agreeing(bytes, size, !big) == SIZE_MAX) {
        give_back(&read); /* headers are the same either way, samples are not */
        return take(bytes, size, big ? SU_LITTLE : SU_BIG, to, g, why);
    }
    if (check_samples(&read, 0, swapped, why) == 0) {
        *g = read;
        return 0;
    }
    give_back(&read);
    return -1;
}

int su_parse(const unsigned char *bytes, size_t size, su_order order, su_gather *g,
             char why[SU_WHY])
{
    return take((unsigned char *)(uintptr_t)bytes, size, order, COPY, g, why);
}

/* A whole file in memory: 0, or -1 with a line in why. Only a regular file has a size
 * to check the traces against; opening a FIFO would wait for a writer. */
static int map(const char *path, unsigned char **bytes, size_t *size, char why[SU_WHY])
{
    struct stat about;
    if (stat(path, &about) != 0)
        return refuse(why, "cannot be read: %s", strerror(errno));
    if (S_ISDIR(about.st_mode)) return refuse(why, "is a directory, not an SU file");
    if (!S_ISREG(about.st_mode)) return refuse(why, "is not a regular file");
    if (about.st_size == 0) return refuse(why, "empty: not one trace");
    if ((uintmax_t)about.st_size > SIZE_MAX) return refuse(why, "too large to hold");

    *size = (size_t)about.st_size;
    int file = open(path, O_RDONLY);
    if (file < 0) return refuse(why, "cannot be read: %s", strerror(errno));
    void *mapped = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    int problem = errno;
    close(file);
    if (mapped == MAP_FAILED)
        return refuse(why, "cannot be read: %s", strerror(problem));
    *bytes = mapped;
    return 0;
}

int su_read(const char *path, su_order order, su_gather *g, char why[SU_WHY])
{
    *g = (su_gather){0};
    unsigned char *bytes = NULL;
    size_t size = 0;
    if (map(path, &bytes, &size, why) != 0) return -1;
    int status = take(bytes, size, order, KEEP, g, why);
    if (!g->mapped) munmap(bytes, size);
    return status;
}

int su_headers(const char *path, su_order order, su_gather *g, char why[SU_WHY])
{
    *g = (su_gather){0};
    unsigned char *bytes = NULL;
    size_t size = 0;
    if (map(path, &bytes, &size, why) != 0) return -1;
    int status = 0;
    if (order == SU_DETECT && agreeing(bytes, size, 0) == SIZE_MAX &&
        agreeing(bytes, size, 1) == SIZE_MAX) { /* the samples have to tell */
        status = take(bytes, size, order, KEEP, g, why);
        order = g->big_endian ? SU_BIG : SU_LITTLE;
        give_back(g);
    }
    if (status == 0) status = take(bytes, size, order, LEAVE, g, why);
    munmap(bytes, size);
    return status;
}

int su_arrived(su_gather *part, size_t first, char why[SU_WHY])
{
    if (part->big_endian != machine_is_big())
        for (size_t i = 0; i < part->ntraces; i++)
            reverse_fields((unsigned char *)part->trace[i].data, sizeof(float),
                           (size_t)part->ns);
    return check_samples(part, first, samples_swapped(part), why);
}

/* row is room for one trace as it lies in the file. 0, or -1 with errno set. */
static int write_traces(FILE *file, int big, const su_gather *g, unsigned char *row)
{
    size_t size = trace_bytes(g->ns);
    for (size_t i = 0; i < g->ntraces; i++) {
        su_header header = g->trace[i].header;
        if (big != machine_is_big()) reverse_header(&header);
        memcpy(row, &header, SU_HEADER_BYTES);
        memcpy(row + SU_HEADER_BYTES, g->trace[i].data, size - SU_HEADER_BYTES);
        if (big != machine_is_big())
            reverse_fields(row + SU_HEADER_BYTES, sizeof(float), (size_t)g->ns);
        if (fwrite(row, 1, size, file) != size) return -1;
    }
    return 0;
}

int su_write(const char *path, su_order order, const su_gather *g, char why[SU_WHY])
{
    if (g->ntraces == 0) return refuse(why, "empty: not one trace");
    if (g->ns < 1 || g->ns > 65535 || g->dt < 1 || g->dt > 65535)
        return refuse(why, "ns %d and dt %d should both be 1 .. 65535", g->ns, g->dt);
    for (size_t i = 0; i < g->ntraces; i++)
        if (check_trace(&g->trace[i], i + 1, g->ns, g->dt, why) != 0) return -1;

    unsigned char *row = malloc(trace_bytes(g->ns));
    if (row == NULL) return refuse(why, "not enough memory to write it");
    int big = order == SU_DETECT ? machine_is_big() : order == SU_BIG;
    int status = 0;
    FILE *file = result_open(path);
    if (file == NULL) {
        status = refuse(why, "cannot be written: %s", strerror(errno));
    } else if (write_traces(file, big, g, row) != 0) {
        status = refuse(why, "cannot be written: %s", strerror(errno));
        result_drop(file);
    } else if (result_close(file) != 0) {
        status = refuse(why, "cannot be written: %s", strerror(errno));
    }
    free(row);
    return status;
}

su_gather su_alloc(size_t ntraces, int ns, int dt)
{
    su_gather g = headers_alloc(ntraces, ns, dt);
    if (g.trace == NULL) return g;
    g.block = g.samples = calloc(ntraces * (size_t)ns, sizeof(float));
    if (g.samples == NULL) {
        su_free(&g);
        return g;
    }
    for (size_t i = 0; i < ntraces; i++) g.trace[i].data = g.samples + i * (size_t)ns;
    return g;
}

void su_free(su_gather *g)
{
    free(g->trace);
    if (g->mapped)
        munmap(g->block, g->mapped);
    else
        free(g->block);
    *g = (su_gather){0};
}
