/* su.h - reads, checks and writes seismic traces in the SU format (Seismic Unix).
 *
 * An SU file is a sequence of traces without anything before, between or after them.
 * A trace is a 240-byte header (the SEG-Y trace header, whose last 60 bytes Seismic
 * Unix redefines) and ns IEEE-754 float32 samples. The byte order is that of the
 * machine that wrote the file. The file does not name it; see SU_DETECT.
 *
 * Left out: SEG-Y files with a reel header and IBM floats (rejected with a message that
 * names them), traces of different lengths.
 */
#ifndef SU_H
#define SU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The header in file layout, with the names of Seismic Unix. Comments give units and
 * the 1-based byte at which a group of fields starts (SEG-Y rev. 1, 2002). */
typedef struct {
    int32_t tracl, tracr, fldr, tracf, ep, cdp, cdpt; /*   1: trace numbers */
    int16_t trid, nvs, nhs, duse;                     /*  29: kind of trace */
    int32_t offset;                                   /*  37: source-receiver */
    int32_t gelev, selev, sdepth, gdel, sdel, swdep,
        gwdep;              /*  41: elevations, depths */
    int16_t scalel;         /*  69: scale of the seven fields above */
    int16_t scalco;         /*  71: scale of the next four, see su_scale() */
    int32_t sx, sy, gx, gy; /*  73: source and receiver coordinates */
    int16_t counit;         /*  89 */
    int16_t wevel, swevel, sut, gut, sstat, gstat, tstat, laga, lagb, delrt, muts, mute;
    uint16_t ns; /* 115: samples in this trace */
    uint16_t dt; /* 117: sampling interval, microseconds */
    int16_t gain, igc, igi, corr, sfs, sfe, slen, styp, stas, stae, tatyp;
    int16_t afilf, afils, nofilf, nofils, lcf, hcf, lcs, hcs;
    int16_t year, day, hour, minute, sec, timbas, trwf, grnors, grnofr, grnlof, gaps,
        otrav;
    float d1, f1, d2, f2, ungpow, unscale; /* 181: defined by Seismic Unix */
    int32_t ntr;                           /* 205 */
    int16_t mark, shortpad, unass;         /* 209 */
    int16_t tscale;                        /* 215: scale of delrt, see su_delay() */
    int16_t unassigned[12];                /* 217 */
} su_header;

/* trid, the kind of a trace (SEG-Y rev. 1). 11..17 are sensors of pressure and
 * components of motion. */
enum { SU_LIVE = 1, SU_DEAD = 2, SU_PRESSURE = 11, SU_RADIAL = 17 };

typedef struct {
    su_header header;
    float *data; /* [header.ns], points into su_gather.samples */
} su_trace;

typedef struct {
    su_trace *trace; /* [ntraces] */
    float *samples;  /* [ntraces][pitch], of which each trace has the first ns */
    size_t ntraces;
    int pitch;      /* ns, or ns + 60 if the samples are in the mapped file, where a
                       header of 60 floats precedes each trace */
    int ns;         /* samples per trace, 1 .. 65535 */
    int dt;         /* microseconds, 1 .. 65535 */
    int first;      /* first recorded sample; those before it are 0 */
    int big_endian; /* byte order of the file */
    bool skip_bad;  /* SU_SKIP_BAD */
    size_t skipped; /* live traces that it made dead */
    void *block;    /* memory of the samples, for su_free() */
    size_t mapped;  /* bytes of block if it is the mapped file, else 0 */
} su_gather;

/* SU_DETECT selects the byte order in which ns and dt are not 0, all traces have the
 * same ns and dt, and the last trace ends at the end of the file. If neither order
 * does, it selects the one in which more consecutive headers agree, so that error
 * messages about a damaged file are in terms of its own order. In a tie it selects the
 * order of the machine. */
typedef enum {
    SU_DETECT,
    SU_LITTLE,
    SU_BIG,
    SU_SKIP_BAD = 4 /* may be added: traces with samples that are not finite become dead
                       traces of zeros, and are not an error */
} su_order;

enum { SU_HEADER_BYTES = 240, SU_REASON_SIZE = 256 };

/* Reads all traces from a file (su_read) or from a copy of one in memory (su_parse)
 * into *g. A file is mapped privately, not copied, and its samples are converted in
 * place if it has another byte order than the machine; see su_check_size(). Returns 0,
 * or -1 with an empty *g and a reason: one
 * line that says what is wrong, in which trace and sample (counted from 1), and what
 * was expected, without the path. Rejected are: files that are not regular, unreadable
 * or empty, end inside a trace, or have a reel header; ns or dt that is 0 or changes;
 * headers or samples of another byte order; IBM floats; samples that are not finite;
 * more bytes than memory_limit(), which is checked before samples are read. */
int su_read(const char *path, su_order order, su_gather *g,
            char reason[SU_REASON_SIZE]);
int su_parse(const unsigned char *bytes, size_t size, su_order order, su_gather *g,
             char reason[SU_REASON_SIZE]);

/* su_read() in two parts, for callers that need only some of the samples or store them
 * elsewhere. su_read_headers() reads everything except the samples: samples and data
 * are NULL, pitch is that of the file. It reads samples only if the headers do not
 * determine the byte order. su_check_samples() converts the samples of *part, as read
 * from the file, to the byte order of the machine and rejects what su_read() rejects;
 * the first trace of *part is number `first` of the file, counted from 0. */
int su_read_headers(const char *path, su_order order, su_gather *g,
                    char reason[SU_REASON_SIZE]);
int su_check_samples(su_gather *part, size_t first, char reason[SU_REASON_SIZE]);

/* Returns 0, or -1 and a reason if the file at `path`, from which *g was read, has
 * become shorter and samples are still used in place. An access to a page that the file
 * has lost ends the program with a message. */
int su_check_size(const char *path, const su_gather *g, char reason[SU_REASON_SIZE]);

/* Writes the gather in the given byte order (SU_DETECT: that of the machine) as a
 * result file of run.h, completely or not at all. Returns 0, or -1 and a reason.
 * Rejects what su_read() rejects. */
int su_write(const char *path, su_order order, const su_gather *g,
             char reason[SU_REASON_SIZE]);

/* Allocates ntraces traces of ns samples. Samples and headers are 0, except for ns and
 * dt. Returns an empty gather (trace == NULL) if memory is short, also if the samples
 * exceed memory_limit(), or if a number is out of range. */
su_gather su_alloc(size_t ntraces, int ns, int dt);
void su_free(su_gather *g);

/* The factor that scalco stands for: 1 for 0, s for s > 0, and 1 / -s for s < 0 (SEG-Y
 * rev. 1, bytes 71-72). */
static inline float su_scale(int16_t scalco)
{
    return scalco == 0 ? 1 : scalco > 0 ? scalco : -1.0f / scalco;
}

/* The time of the first sample in microseconds: delrt, in ms, scaled by tscale as
 * coordinates are by scalco (SEG-Y rev. 1, bytes 215-216). */
static inline double su_delay(const su_header *h)
{
    double delay = 1000.0 * h->delrt;
    return h->tscale == 0  ? delay
           : h->tscale > 0 ? delay * h->tscale
                           : delay / -h->tscale;
}

/* Returns whether a trace has seismic data: trid 0 (unknown), 1, 11..17. A dead trace
 * (2) has none, and all other kinds are auxiliary: time breaks, sweeps, signatures ...
 */
static inline bool su_is_data(const su_header *h)
{
    return h->trid == 0 || h->trid == SU_LIVE ||
           (h->trid >= SU_PRESSURE && h->trid <= SU_RADIAL);
}

#ifdef __cplusplus
}
#endif

#endif
