/* su.c - reads, checks and writes SU traces; su.h describes the functions.
 *
 * The layout of the whole file is checked before any sample is used. For these checks,
 * ns and dt are assembled from single bytes, independently of the byte order of the
 * machine. If file and machine differ in byte order, headers and samples are reversed
 * in place afterwards.
 */
#define _POSIX_C_SOURCE 200809L

#include "su.h"
#include "run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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
static_assert(offsetof(su_header, tscale) == 214, "SEG-Y byte 215");
static_assert(sizeof(float) == 4, "samples are float32");

/* The header as runs of fields of equal width in bytes, in file order. */
static const struct {
    int width, count;
} runs[] = {{4, 7}, {2, 4}, {4, 8}, {2, 2}, {4, 4}, {2, 46}, {4, 7}, {2, 16}};

/* Bits of a float32. */
static const uint32_t SIGN = 0x80000000u, EXPONENT = 0x7f800000u,
                      SMALLEST = 0x0da24260u /* 1e-30 */,
                      LARGEST = 0x7149f2cau /* 1e30 */;

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

/* Counts the traces, from the first on, whose complete header repeats the ns and dt of
 * the first in the given byte order. 0 if ns or dt is 0; SIZE_MAX if the traces end
 * exactly at the end of the file. */
static size_t matching_traces(const unsigned char *bytes, size_t size, int big)
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

static int detect_order(const unsigned char *bytes, size_t size)
{
    size_t little = matching_traces(bytes, size, 0),
           big = matching_traces(bytes, size, 1);
    return little == big ? machine_is_big() : big > little;
}

/* Returns the index of the first sample that is not finite; ns if there is none. Tests
 * the exponent bits, because -ffast-math lets the compiler assume that isfinite() is
 * always true. */
static int first_not_finite(const float *data, int ns)
{
    for (int i = 0; i < ns; i++) {
        uint32_t bits;
        memcpy(&bits, &data[i], sizeof bits);
        if ((bits & EXPONENT) == EXPONENT) return i;
    }
    return ns;
}

/* Returns the bits of a sample, in the byte order of the headers or in the other. */
static uint32_t sample_bits(const su_trace *t, int j, bool swapped)
{
    uint32_t bits;
    memcpy(&bits, &t->data[j], sizeof bits);
    if (swapped)
        bits = bits >> 24 | (bits >> 8 & 0xff00) | (bits & 0xff00) << 8 | bits << 24;
    return bits;
}

/* Counts the samples with an implausible magnitude, outside 1e-30 .. 1e30, and in
 * *total all samples; those that are 0 count as neither. */
static size_t implausible_samples(const su_gather *g, bool swapped, size_t *total)
{
    size_t implausible = 0;
    *total = 0;
    for (size_t i = 0; i < g->ntraces; i++)
        for (int j = 0; j < g->ns; j++) {
            uint32_t bits = sample_bits(&g->trace[i], j, swapped) & ~SIGN;
            *total += bits != 0;
            implausible += bits && (bits < SMALLEST || bits > LARGEST);
        }
    return implausible;
}

/* Detects samples of the other byte order than the headers: many samples are
 * implausible as they are, and almost none are after reversal.
 *
 * In a float of the wrong byte order, the exponent comes from the low mantissa bits,
 * which are nearly uniform. 1e-30 .. 1e30 covers 200 of 256 exponents, so about 22 % of
 * such samples are implausible: the threshold, 1/8, is about half of that. The factor
 * for "almost none" is a safety margin without derivation. */
static int samples_swapped(const su_gather *g)
{
    enum { MANY = 8, FEW = 50 };
    size_t total, implausible = implausible_samples(g, false, &total);
    return implausible > total / MANY &&
           implausible_samples(g, true, &total) < implausible / FEW + 1;
}

/* Detects IBM floats, a sign, 7 bits of an exponent of 16 and 24 bits of a fraction
 * whose first digit of 4 bits is not 0. As IEEE floats they are plausible, but wrong.
 * In IEEE floats, these 4 bits are the last of the exponent and the first of the
 * fraction, and 0 in 4 to 9 percent of samples of both signs and of any size. Tests
 * words in the byte order of the headers, or in the other one, of about SAMPLES
 * samples. */
static bool has_ibm_floats(const su_gather *g, bool swapped)
{
    enum {
        DIGIT = 20,
        EXPONENT_16 = 24,
        SAMPLES = 1 << 16,
        ENOUGH = 1000,
        RARE = 1000
    };
    size_t digits[16] = {0}, signs[2] = {0}, total = 0;
    uint32_t first = 0, exponents = 0;
    for (size_t i = 0; i < g->ntraces; i++) {
        /* Evenly many of all traces; more of the next ones after dead traces. */
        if ((double)total > (double)SAMPLES * (double)i / (double)g->ntraces) continue;
        for (int j = 0; j < g->ns; j++) {
            uint32_t bits = sample_bits(&g->trace[i], j, swapped);
            if (!(bits & ~SIGN)) continue;
            if (!total++) first = bits;
            digits[bits >> DIGIT & 15]++;
            signs[bits >> 31]++;
            exponents |= (first ^ bits) >> EXPONENT_16 & 127;
        }
    }
    bool all = signs[0] && signs[1] && exponents && total >= ENOUGH;
    for (int d = 1; d < 16; d++) all = all && digits[d];
    return all && digits[0] < total / RARE + 1;
}

/* Checks a trace after reading and before writing. */
static int check_trace(const su_trace *t, size_t number, int ns, int dt,
                       char reason[SU_REASON_SIZE])
{
    if (t->header.ns != ns)
        return refuse(reason, "trace %zu: ns is %d: expected %d as in trace 1", number,
                      t->header.ns, ns);
    if (t->header.dt != dt)
        return refuse(reason, "trace %zu: dt is %d: expected %d as in trace 1", number,
                      t->header.dt, dt);
    int bad = first_not_finite(t->data, ns);
    if (bad < ns)
        return refuse(
            reason,
            "trace %zu: sample %d of %d is not a finite number: the file is "
            "damaged or its samples are not IEEE floats (bad=skip ignores such "
            "traces)",
            number, bad + 1, ns);
    return 0;
}

/* Makes a trace dead if it has samples that are not finite. An auxiliary trace stays
 * one. */
static void skip_bad_trace(su_gather *g, su_trace *t)
{
    if (first_not_finite(t->data, g->ns) == g->ns) return;
    memset(t->data, 0, (size_t)g->ns * sizeof(float));
    if (!su_is_data(&t->header)) return;
    g->skipped++;
    t->header.trid = SU_DEAD;
}

/* Checks all samples of a gather whose first trace is number `first` of the file,
 * counted from 0. */
static int check_samples(su_gather *g, size_t first, bool swapped,
                         char reason[SU_REASON_SIZE])
{
    for (int other = 0; other < 2; other++)
        if (has_ibm_floats(g, other))
            return refuse(reason,
                          "its samples are IBM floats (%s): expected IEEE floats: "
                          "convert them first: make su IN=FILE OUT=FILE IBM=1",
                          order_name(g->big_endian ^ other));
    if (swapped)
        return refuse(reason,
                      "its samples are byte-swapped: headers are %s, samples %s",
                      order_name(g->big_endian), order_name(!g->big_endian));
    for (size_t i = 0; i < g->ntraces; i++) {
        if (g->skip_bad) skip_bad_trace(g, &g->trace[i]);
        if (check_trace(&g->trace[i], first + i + 1, g->ns, g->dt, reason) != 0)
            return -1;
    }
    return 0;
}

/* Returns whether bytes are text in EBCDIC or ASCII: in one of them, at most one of 20
 * is a control character or of the other half of the code. */
static bool is_text(const unsigned char *bytes, size_t size)
{
    size_t ascii = 0, ebcdic = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = bytes[i];
        ascii += (c >= 0x20 && c < 0x7f) || c == '\r' || c == '\n';
        ebcdic += c >= 0x40 && c < 0xfa;
    }
    return ascii >= size - size / 20 || ebcdic >= size - size / 20;
}

/* Detects a SEG-Y file and returns the bytes before its first trace; 0 if it is none.
 * It begins with 3200 bytes of text and 400 bytes of binary fields. Among these are the
 * sampling interval (byte 3217) and the samples per trace (byte 3221, sometimes 0),
 * which the header of the first trace repeats, the format code (byte 3225), 1 to 16,
 * and the number of further text headers of 3200 bytes (byte 3505), or -1. */
static size_t reel_header(const unsigned char *bytes, size_t size)
{
    enum {
        TEXT = 3200,
        REEL = 3600,
        DT_AT = TEXT + 16,
        NS_AT = TEXT + 20,
        FORMAT_AT = TEXT + 24,
        FORMATS = 16,
        TEXTS_AT = TEXT + 304
    };
    if (size < REEL + SU_HEADER_BYTES) return 0;
    for (int big = 0; big <= 1; big++) {
        int ns = field16(bytes + NS_AT, big), format = field16(bytes + FORMAT_AT, big);
        int dt = field16(bytes + DT_AT, big);
        size_t begin = REEL + TEXT * (size_t)field16(bytes + TEXTS_AT, big);
        if (begin > size - SU_HEADER_BYTES) begin = REEL;
        if (format < 1 || format > FORMATS) continue;
        const unsigned char *trace = bytes + begin;
        bool repeated =
            ns > 0 ? ns == field_ns(trace, big)
                   : dt > 0 && dt == field_dt(trace, big) && field_ns(trace, big) > 0;
        if (repeated || is_text(bytes, TEXT)) return begin;
    }
    return 0;
}

/* Checks every header in place, before memory is allocated. */
static int check_layout(const unsigned char *bytes, size_t size, int big,
                        char reason[SU_REASON_SIZE])
{
    if (size == 0) return refuse(reason, "is empty: expected at least one trace");
    if (size < SU_HEADER_BYTES)
        return refuse(reason,
                      "trace 1 stops after %zu bytes of its %d-byte header: the file "
                      "is truncated",
                      size, SU_HEADER_BYTES);

    size_t matching = matching_traces(bytes, size, big);
    if (matching == SIZE_MAX) return 0;
    size_t reel = reel_header(bytes, size);
    if (reel)
        return refuse(reason,
                      "is SEG-Y with its reel header (%zu bytes): expected SU, where "
                      "trace 1 begins at the first byte: the page \"Use your own "
                      "data\" explains the conversion",
                      reel);
    if (matching_traces(bytes, size, !big) == SIZE_MAX)
        return refuse(reason, "is byte-swapped: %s, not %s", order_name(!big),
                      order_name(big));

    int ns = field_ns(bytes, big), dt = field_dt(bytes, big);
    if (ns == 0)
        return refuse(reason, "trace 1: ns is 0 (%s): expected 1 to 65535",
                      order_name(big));
    if (dt == 0)
        return refuse(reason, "trace 1: dt is 0 (%s): expected 1 to 65535 us",
                      order_name(big));

    size_t row = trace_bytes(ns);
    if (matching * row + SU_HEADER_BYTES > size)
        return refuse(reason,
                      "trace %zu stops after %zu of %zu bytes: the file is truncated "
                      "(%s)",
                      size / row + 1, size % row, row, order_name(big));
    int ns_here = field_ns(bytes + matching * row, big),
        dt_here = field_dt(bytes + matching * row, big);
    if (ns_here != ns)
        return refuse(reason,
                      "trace %zu: ns is %d: expected %d as in trace 1: the file is "
                      "damaged or its traces differ in length (%s)",
                      matching + 1, ns_here, ns, order_name(big));
    return refuse(reason,
                  "trace %zu: dt is %d: expected %d as in trace 1: the file is damaged "
                  "or its sampling interval changes (%s)",
                  matching + 1, dt_here, dt, order_name(big));
}

/* Allocates a gather without samples. */
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

/* The bytes between the end of a mapped file and the end of its last page. */
static size_t after_end(size_t size)
{
    return -size % (size_t)sysconf(_SC_PAGESIZE);
}

/* Mapped files, and the message if one becomes shorter. */
static struct {
    const unsigned char *begin;
    size_t size;
    char line[512];
} mappings[8];
enum { MAPPINGS = sizeof mappings / sizeof *mappings };

/* Handles SIGBUS, which an access to a page that a mapped file has lost raises. */
static void explain_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    const unsigned char *at = info->si_addr;
    for (int i = 0; i < MAPPINGS; i++)
        if (mappings[i].begin && at >= mappings[i].begin &&
            at < mappings[i].begin + mappings[i].size)
            fail_in_handler(mappings[i].line);
    signal(number, SIG_DFL); /* the access is repeated */
}

static const char shorter[] = "became shorter while it was read";

static void note_mapping(const char *path, const unsigned char *begin, size_t size)
{
    struct sigaction action = {.sa_sigaction = explain_bus_error,
                               .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
    int i = 0;
    while (i < MAPPINGS - 1 && mappings[i].begin) i++;
    mappings[i].begin = begin;
    mappings[i].size = size;
    snprintf(mappings[i].line, sizeof mappings[i].line, "%s: %.400s: %s\n", run_name,
             path, shorter);
}

int su_check_size(const char *path, const su_gather *g, char reason[SU_REASON_SIZE])
{
    struct stat status;
    if (!g->mapped || stat(path, &status) != 0 || (size_t)status.st_size >= g->mapped)
        return 0;
    return refuse(reason, shorter);
}

static void unmap(unsigned char *bytes, size_t size)
{
    for (int i = 0; i < MAPPINGS; i++)
        if (mappings[i].begin == bytes) mappings[i].begin = NULL;
    memory_permit(bytes + size, after_end(size));
    munmap(bytes, size);
}

/* Frees a gather, except for the mapped file, which the caller unmaps. */
static void free_unmapped(su_gather *g)
{
    if (g->mapped) g->block = NULL;
    g->mapped = 0;
    su_free(g);
}

/* How samples are read: copied; used in place; or not at all. */
typedef enum { COPY_SAMPLES, MAP_SAMPLES, SKIP_SAMPLES } sample_mode;

/* Returns 0, or -1 and a reason if a gather needs more memory than the process may use:
 * headers, and the samples unless they stay in the mapped file as they are. */
static int check_memory(size_t ntraces, int ns, bool samples,
                        char reason[SU_REASON_SIZE])
{
    double need =
        (double)ntraces *
        (double)(sizeof(su_trace) + (samples ? sizeof(float) * (size_t)ns : 0));
    if (need <= memory_limit()) return 0;
    return refuse(reason,
                  "%zu traces of %d samples need %.3g GB of memory: expected at most "
                  "%.3g GB, the memory limit: split the file",
                  ntraces, ns, need / 1e9, memory_limit() / 1e9);
}

static void reverse_samples(su_gather *g)
{
    for (size_t i = 0; i < g->ntraces; i++)
        reverse_fields((unsigned char *)g->trace[i].data, sizeof(float), (size_t)g->ns);
}

/* Converts the content of a file to *g; *g is empty if it is rejected. If the samples
 * are used in place, g->block is `bytes`. */
static int convert(unsigned char *bytes, size_t size, su_order order, sample_mode mode,
                   su_gather *g, char reason[SU_REASON_SIZE])
{
    *g = (su_gather){0};
    bool skip_bad = order & SU_SKIP_BAD;
    order &= ~SU_SKIP_BAD;
    int big = order == SU_DETECT ? detect_order(bytes, size) : order == SU_BIG;
    if (check_layout(bytes, size, big, reason) != 0) return -1;

    int ns = field_ns(bytes, big), dt = field_dt(bytes, big);
    int swap = big != machine_is_big();
    size_t row = trace_bytes(ns), ntraces = size / row;
    bool written = mode == COPY_SAMPLES || (mode == MAP_SAMPLES && swap);
    if (check_memory(ntraces, ns, written, reason) != 0) return -1;
    su_gather read = mode == COPY_SAMPLES ? su_alloc(ntraces, ns, dt)
                                          : headers_alloc(ntraces, ns, dt);
    if (read.trace == NULL)
        return refuse(reason, "not enough memory for %zu traces of %d samples", ntraces,
                      ns);
    read.big_endian = big;
    read.skip_bad = skip_bad;
    if (!read.samples) read.pitch = ns + SU_HEADER_BYTES / (int)sizeof(float);
    if (!read.samples && mode == MAP_SAMPLES) {
        read.samples = (float *)(void *)(bytes + SU_HEADER_BYTES);
        read.block = bytes;
        read.mapped = size;
    }

    for (size_t i = 0; i < ntraces; i++) {
        su_trace *t = &read.trace[i];
        memcpy(&t->header, bytes + i * row, SU_HEADER_BYTES);
        if (swap) reverse_header(&t->header);
        if (mode == SKIP_SAMPLES) continue;
        t->data = read.samples + i * (size_t)read.pitch;
        if (!read.mapped)
            memcpy(t->data, bytes + i * row + SU_HEADER_BYTES, row - SU_HEADER_BYTES);
    }
    if (mode == SKIP_SAMPLES) {
        *g = read;
        return 0;
    }
    if (swap) reverse_samples(&read);

    bool swapped = samples_swapped(&read);
    if (swapped && order == SU_DETECT &&
        matching_traces(bytes, size, !big) == SIZE_MAX) {
        /* The headers fit both orders, the samples do not; they are still as in the
         * file, because the order of the machine is tried first. */
        free_unmapped(&read);
        order = big ? SU_LITTLE : SU_BIG;
        if (skip_bad) order |= SU_SKIP_BAD;
        return convert(bytes, size, order, mode, g, reason);
    }
    if (check_samples(&read, 0, swapped, reason) == 0) {
        *g = read;
        return 0;
    }
    free_unmapped(&read);
    return -1;
}

int su_parse(const unsigned char *bytes, size_t size, su_order order, su_gather *g,
             char reason[SU_REASON_SIZE])
{
    return convert((unsigned char *)(uintptr_t)bytes, size, order, COPY_SAMPLES, g,
                   reason);
}

/* Maps a regular file into memory. Opens it before it is examined, so that the path
 * cannot be exchanged in between; O_NONBLOCK keeps a FIFO from waiting for a writer.
 * Returns 0, or -1 and a reason. */
static int map_file(const char *path, unsigned char **bytes, size_t *size,
                    char reason[SU_REASON_SIZE])
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) return refuse(reason, "cannot be read: %s", strerror(errno));
    struct stat status;
    int result = 0;
    if (fstat(file, &status) != 0)
        result = refuse(reason, "cannot be read: %s", strerror(errno));
    else if (S_ISDIR(status.st_mode))
        result = refuse(reason, "is a directory: expected an SU file");
    else if (!S_ISREG(status.st_mode))
        result = refuse(reason, "is not a regular file");
    else if (status.st_size == 0)
        result = refuse(reason, "is empty: expected at least one trace");
    else if ((uintmax_t)status.st_size > SIZE_MAX)
        result = refuse(reason, "is too large for the address space");
    if (result == 0) {
        *size = (size_t)status.st_size;
        void *mapped = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
        if (mapped == MAP_FAILED)
            result = refuse(reason, "cannot be read: %s", strerror(errno));
        else
            memory_forbid((char *)mapped + *size, after_end(*size));
        *bytes = mapped;
        if (result == 0) note_mapping(path, *bytes, *size);
    }
    close(file);
    return result;
}

/* Makes *g a gather as su_read_headers() returns it. The caller unmaps the file. */
static void drop_samples(su_gather *g)
{
    if (!g->mapped) free(g->block);
    g->block = NULL;
    g->samples = NULL;
    g->mapped = 0;
    g->pitch = g->ns + SU_HEADER_BYTES / (int)sizeof(float);
    for (size_t i = 0; i < g->ntraces; i++) g->trace[i].data = NULL;
}

static int read_file(const char *path, su_order order, sample_mode mode, su_gather *g,
                     char reason[SU_REASON_SIZE])
{
    *g = (su_gather){0};
    unsigned char *bytes = NULL;
    size_t size = 0;
    if (map_file(path, &bytes, &size, reason) != 0) return -1;
    bool ambiguous = (order & ~SU_SKIP_BAD) == SU_DETECT &&
                     matching_traces(bytes, size, 0) == SIZE_MAX &&
                     matching_traces(bytes, size, 1) == SIZE_MAX;
    bool needed = mode == SKIP_SAMPLES && (ambiguous || order & SU_SKIP_BAD);
    int status = convert(bytes, size, order, needed ? MAP_SAMPLES : mode, g, reason);
    if (status == 0 && needed) drop_samples(g);
    if (!g->mapped) unmap(bytes, size);
    return status;
}

int su_read(const char *path, su_order order, su_gather *g, char reason[SU_REASON_SIZE])
{
    return read_file(path, order, MAP_SAMPLES, g, reason);
}

int su_read_headers(const char *path, su_order order, su_gather *g,
                    char reason[SU_REASON_SIZE])
{
    return read_file(path, order, SKIP_SAMPLES, g, reason);
}

int su_check_samples(su_gather *part, size_t first, char reason[SU_REASON_SIZE])
{
    if (part->big_endian != machine_is_big()) reverse_samples(part);
    return check_samples(part, first, samples_swapped(part), reason);
}

/* Writes all traces; row is a buffer for one trace with its header. Returns 0, or -1
 * with errno set. */
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

int su_write(const char *path, su_order order, const su_gather *g,
             char reason[SU_REASON_SIZE])
{
    if (g->ntraces == 0) return refuse(reason, "is empty: expected at least one trace");
    if (g->ns < 1 || g->ns > 65535 || g->dt < 1 || g->dt > 65535)
        return refuse(reason, "ns is %d and dt is %d: expected 1 to 65535", g->ns,
                      g->dt);
    for (size_t i = 0; i < g->ntraces; i++)
        if (check_trace(&g->trace[i], i + 1, g->ns, g->dt, reason) != 0) return -1;

    unsigned char *row = malloc(trace_bytes(g->ns));
    if (row == NULL) return refuse(reason, "not enough memory for one trace");
    int big = order == SU_DETECT ? machine_is_big() : order == SU_BIG;
    int status = 0;
    FILE *file = result_open(path);
    if (file == NULL) {
        status = refuse(reason, "cannot be written: %s", strerror(errno));
    } else if (write_traces(file, big, g, row) != 0) {
        status = refuse(reason, "cannot be written: %s", strerror(errno));
        result_drop(file);
    } else if (result_close(file) != 0) {
        status = refuse(reason, "cannot be written: %s", strerror(errno));
    }
    free(row);
    return status;
}

su_gather su_alloc(size_t ntraces, int ns, int dt)
{
    su_gather g = headers_alloc(ntraces, ns, dt);
    if (g.trace == NULL) return g;
    if ((double)ntraces * ns * sizeof(float) <= memory_limit())
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
        unmap(g->block, g->mapped);
    else
        free(g->block);
    *g = (su_gather){0};
}
