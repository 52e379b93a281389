/* su.h - seismic traces in the SU format: read, check, write.
 *
 * An SU file is a sequence of traces with nothing before, between or after them: a
 * 240-byte header (the SEG-Y trace header; Seismic Unix uses its last 60 bytes for
 * itself) and ns IEEE-754 float32 samples. The byte order is that of the machine that
 * wrote the file, and nothing in the file names it; see SU_DETECT.
 *
 * Left out: SEG-Y reel headers (refused by their name), IBM floats, traces of different
 * lengths.
 */
#ifndef SU_H
#define SU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The 240 bytes as they lie in the file. Names are those of Seismic Unix; the comments
 * give units and the 1-based byte where a run of fields starts (SEG-Y rev. 1, 2002). */
typedef struct {
    int32_t tracl, tracr, fldr, tracf, ep, cdp, cdpt; /*   1: trace numbers */
    int16_t trid, nvs, nhs, duse;                     /*  29: kind of trace */
    int32_t offset;                                   /*  37: source-receiver */
    int32_t gelev, selev, sdepth, gdel, sdel, swdep,
        gwdep;      /*  41: elevations, depths */
    int16_t scalel; /*  69: scales the seven above */
    int16_t scalco; /*  71: scales the next four: < 0 divides by -scalco, 0 is 1 */
    int32_t sx, sy, gx, gy; /*  73: source and receiver coordinates */
    int16_t counit;         /*  89 */
    int16_t wevel, swevel, sut, gut, sstat, gstat, tstat, laga, lagb, delrt, muts, mute;
    uint16_t ns; /* 115: samples in this trace */
    uint16_t dt; /* 117: sampling interval, microseconds */
    int16_t gain, igc, igi, corr, sfs, sfe, slen, styp, stas, stae, tatyp;
    int16_t afilf, afils, nofilf, nofils, lcf, hcf, lcs, hcs;
    int16_t year, day, hour, minute, sec, timbas, trwf, grnors, grnofr, grnlof, gaps,
        otrav;
    float d1, f1, d2, f2, ungpow, unscale; /* 181: Seismic Unix's own */
    int32_t ntr;                           /* 205 */
    int16_t mark, shortpad, unass[14];     /* 209 */
} su_header;

enum { SU_LIVE = 1, SU_DEAD = 2 }; /* trid */

typedef struct {
    su_header header;
    float *data; /* [header.ns], points into su_gather.samples */
} su_trace;

typedef struct {
    su_trace *trace; /* [ntraces] */
    float *samples;  /* [ntraces][pitch], of which each trace has the first ns */
    size_t ntraces;
    int pitch;      /* ns, or 60 more: traces lie in the file, each after its header */
    int ns;         /* samples a trace, 1 .. 65535 */
    int dt;         /* microseconds, 1 .. 65535 */
    int first;      /* what lies before it was not recorded, and is 0 */
    int big_endian; /* how the file was written */
    void *block;    /* where the samples are: su_free()'s */
    size_t mapped;  /* bytes of block if it is the file itself, else 0 */
} su_gather;

/* SU_DETECT: the order in which ns and dt are non-zero and the traces, taken one ns
 * after another, share ns and dt and end where the file ends. Where neither order does,
 * the one in which more headers in a row agree, so that a damaged file is described in
 * its own order. Of equals the machine's own. */
typedef enum { SU_DETECT, SU_LITTLE, SU_BIG } su_order;

enum { SU_HEADER_BYTES = 240, SU_WHY = 256 };

/* Reads all traces of a file (su_read) or of a copy of one in memory (su_parse) into
 * *g. A file in the machine's order is not copied: its pages are mapped, and what is
 * changed stays in memory; it must not shrink meanwhile. Returns 0, or -1 with *g empty
 * and one line in why[SU_WHY] saying what is wrong, where (trace and sample are counted
 * from 1) and what was expected; the line does not repeat the path. Refused: what is
 * not a regular file, cannot be read, is empty, stops inside a trace, has a reel
 * header; ns or dt of 0 or changing between traces; headers or samples of another byte
 * order; NaN and infinite samples; too little memory. */
int su_read(const char *path, su_order order, su_gather *g, char why[SU_WHY]);
int su_parse(const unsigned char *bytes, size_t size, su_order order, su_gather *g,
             char why[SU_WHY]);

/* The same in two halves, for who does not want all samples, or has a place of his own
 * for them. su_headers() is su_read() but for the samples, which are not looked at,
 * unless headers alone leave the order of bytes open: samples and data are NULL, pitch
 * is that of the file. su_arrived() turns the samples of *part, as they came from the
 * file, into the machine's order, and refuses what su_read() would; part's traces are
 * those from number first on, counted from 0. */
int su_headers(const char *path, su_order order, su_gather *g, char why[SU_WHY]);
int su_arrived(su_gather *part, size_t first, char why[SU_WHY]);

/* Writes the gather, order SU_LITTLE or SU_BIG (SU_DETECT: the machine's own), as a
 * result file of run.h: complete or not at all. 0, or -1 with a line in why. Refused:
 * what su_read would refuse. */
int su_write(const char *path, su_order order, const su_gather *g, char why[SU_WHY]);

/* A gather of ntraces x ns zero samples with zero headers but for ns and dt, or an
 * empty one (trace == NULL) where memory is short or a number out of range. */
su_gather su_alloc(size_t ntraces, int ns, int dt);
void su_free(su_gather *g);

/* What scalco multiplies a coordinate by: 0 is 1, s > 0 is s, s < 0 is 1 / -s (SEG-Y
 * rev. 1, bytes 71-72). */
static inline float su_scale(int16_t scalco)
{
    return scalco == 0 ? 1 : scalco > 0 ? scalco : -1.0f / scalco;
}

#ifdef __cplusplus
}
#endif

#endif
