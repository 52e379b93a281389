/* picture.c - see picture.h. A PNG is a signature and chunks, each with its length and
 * its CRC-32; the pixels go through zlib's format. They are stored there as they are,
 * in blocks of at most 65535 bytes: no library, and files of a few hundred kilobytes.
 */
#include "picture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

enum { BLOCK = 65535 };

static uint32_t crc(uint32_t sum, const unsigned char *at, size_t n)
{
    while (n--) {
        sum ^= *at++;
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return sum;
}

static void put32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void chunk(FILE *f, const char *name, const unsigned char *data, size_t n)
{
    unsigned char word[4];
    put32(word, (uint32_t)n);
    fwrite(word, 1, 4, f);
    fwrite(name, 1, 4, f);
    fwrite(data, 1, n, f);
    uint32_t sum = crc(0xffffffffu, (const unsigned char *)name, 4);
    put32(word, ~crc(sum, data, n));
    fwrite(word, 1, 4, f);
}

/* zlib's format around n bytes that are not compressed; returns its length. */
static size_t store(unsigned char *to, const unsigned char *from, size_t n)
{
    uint32_t a = 1, b = 0; /* Adler-32 */
    for (size_t i = 0; i < n; i++) {
        a = (a + from[i]) % 65521;
        b = (b + a) % 65521;
    }
    unsigned char *start = to;
    *to++ = 0x78;
    *to++ = 0x01;
    for (size_t done = 0; done < n;) {
        size_t length = n - done < BLOCK ? n - done : BLOCK;
        *to++ = done + length == n;
        *to++ = (unsigned char)(length & 255);
        *to++ = (unsigned char)(length >> 8);
        *to++ = (unsigned char)(~length & 255);
        *to++ = (unsigned char)(~length >> 8 & 255);
        memcpy(to, from + done, length);
        to += length;
        done += length;
    }
    put32(to, b << 16 | a);
    return (size_t)(to + 4 - start);
}

void picture_write(const char *path, const float *field, int width, int height,
                   size_t stride)
{
    float most = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            most = fmaxf(most, fabsf(field[(size_t)y * stride + (size_t)x]));

    size_t row = 3 * (size_t)width + 1, n = row * (size_t)height;
    unsigned char *pixels = allocate(n, 1, "the picture");
    for (int y = 0; y < height; y++) {
        unsigned char *at = pixels + (size_t)y * row;
        *at++ = 0; /* no filter */
        for (int x = 0; x < width; x++, at += 3) {
            float v = most > 0 ? field[(size_t)y * stride + (size_t)x] / most : 0;
            float strength = sqrtf(fabsf(v)); /* weak waves are to be seen too */
            unsigned char fade = (unsigned char)(255 * (1 - strength));
            at[0] = v > 0 ? (unsigned char)(255 - 60 * strength) : fade;
            at[1] = fade;
            at[2] = v > 0 ? fade : (unsigned char)(255 - 60 * strength);
        }
    }
    unsigned char *packed = allocate(n + 5 * (n / BLOCK + 1) + 16, 1, "the picture");
    size_t length = store(packed, pixels, n);

    unsigned char head[13] = {[8] = 8, [9] = 2}; /* eight bits of red, green and blue */
    put32(head, (uint32_t)width);
    put32(head + 4, (uint32_t)height);
    FILE *f = result_open(path);
    if (!f) fail("picture=%s: cannot be written: %s", path, strerror(errno));
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, f);
    chunk(f, "IHDR", head, sizeof head);
    chunk(f, "IDAT", packed, length);
    chunk(f, "IEND", packed, 0);
    if (result_close(f))
        fail("picture=%s: cannot be written: %s", path, strerror(errno));
    free(packed);
    free(pixels);
}
