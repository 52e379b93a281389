/* npy.c - reads and writes NumPy's array files.
 *
 * A file consists of the magic "\x93NUMPY", a version (two bytes), the length of the
 * header (two bytes in version 1, four in version 2), the header, and the elements. The
 * header is a Python dictionary with the keys descr, fortran_order and shape, padded
 * with spaces so that the elements begin at a multiple of 64 bytes.
 *
 * A file is not trusted: the product of the shape is checked for overflow, and the file
 * size must agree with its header before memory is allocated.
 *
 * Left out: the other element types, Fortran order, big-endian elements, version 3
 * (UTF-8 field names), reading from a pipe.
 */
#define _POSIX_C_SOURCE 200809L

#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "npy.c copies elements between file and memory: little-endian machines only"
#endif

enum { DIMS_MAX = 8, ALIGN = 64, HEADER_MAX = 65536 };

static const char magic[] = "\x93NUMPY";
enum { MAGIC = sizeof magic - 1 };

static const struct {
    const char *descr;
    size_t size;
} types[] = {
    [NPY_F4] = {"<f4", 4},
    [NPY_F8] = {"<f8", 8},
    [NPY_I4] = {"<i4", 4},
    [NPY_U1] = {"|u1", 1},
};
enum { TYPES = sizeof types / sizeof types[0] };
#define TYPE_NAMES "<f4, <f8, <i4 or |u1"

size_t npy_size(npy_type type)
{
    return types[type].size;
}

size_t npy_count(const npy *a)
{
    size_t count = 1;
    for (int i = 0; i < a->dims; i++) count *= a->shape[i];
    return count;
}

double npy_element(const npy *a, size_t i)
{
    switch (a->type) {
    case NPY_F4:
        return (double)((const float *)a->data)[i];
    case NPY_F8:
        return ((const double *)a->data)[i];
    case NPY_I4:
        return ((const int32_t *)a->data)[i];
    default:
        return ((const uint8_t *)a->data)[i];
    }
}

/* ---- writing ------------------------------------------------------------------- */

size_t npy_header(const npy *a, char bytes[NPY_HEADER])
{
    const size_t before = MAGIC + 4;
    char shape[256] = "";
    size_t n = 0;
    for (int i = 0; i < a->dims; i++)
        n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%zu", i ? ", " : "",
                              a->shape[i]);
    int used = snprintf(bytes + before, NPY_HEADER - before,
                        "{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }",
                        types[a->type].descr, shape, a->dims == 1 ? "," : "");
    size_t end = before + (size_t)used + 1; /* with the closing line feed */
    size_t total = (end + ALIGN - 1) / ALIGN * ALIGN;
    memset(bytes + end - 1, ' ', total - end);
    bytes[total - 1] = '\n';

    memcpy(bytes, magic, MAGIC);
    bytes[MAGIC] = 1;
    bytes[MAGIC + 1] = 0;
    bytes[MAGIC + 2] = (char)((total - before) & 255);
    bytes[MAGIC + 3] = (char)((total - before) >> 8);
    return total;
}

void npy_write(const char *path, const npy *a)
{
    if (a->dims < 0 || a->dims > DIMS_MAX)
        fail("%s: %d dimensions: expected 0 to %d", path, a->dims, DIMS_MAX);
    FILE *f = result_open(path);
    if (!f) fail("%s: cannot be written: %s", path, strerror(errno));

    char bytes[NPY_HEADER];
    size_t header = npy_header(a, bytes), count = npy_count(a);
    errno = 0;
    bool written = fwrite(bytes, 1, header, f) == header &&
                   (!count || fwrite(a->data, npy_size(a->type), count, f) == count);
    if (!written) fail("%s: cannot be written: %s", path, strerror(errno));
    if (result_close(f) != 0) fail("%s: cannot be written: %s", path, strerror(errno));
}

/* ---- reading ------------------------------------------------------------------- */

/* The header is parsed from left to right. Each of the functions below skips spaces,
 * consumes the text that it expects at *at, and returns whether it was there. */
static bool consume(const char **at, const char *word)
{
    *at += strspn(*at, " \t\n");
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0) return false;
    *at += length;
    return true;
}

static bool consume_quoted(const char **at, char text[16])
{
    *at += strspn(*at, " \t\n");
    char quote = **at;
    if (quote != '\'' && quote != '"') return false;
    const char *end = strchr(*at + 1, quote);
    if (!end || end - *at - 1 >= 16) return false;
    size_t length = (size_t)(end - *at - 1);
    memcpy(text, *at + 1, length);
    text[length] = 0;
    *at = end + 1;
    return true;
}

/* Consumes (), (3,) or (3, 4). A tuple of one element needs its comma, because (3) is a
 * number in parentheses. */
static bool consume_shape(const char **at, npy *a)
{
    if (!consume(at, "(")) return false;
    bool comma = true;
    a->dims = 0;
    while (!consume(at, ")")) {
        if (!comma || a->dims == DIMS_MAX || **at < '0' || **at > '9') return false;
        char *end;
        errno = 0;
        unsigned long long extent = strtoull(*at, &end, 10);
        if (errno || extent > SIZE_MAX) return false;
        a->shape[a->dims++] = (size_t)extent;
        *at = end;
        comma = consume(at, ",");
    }
    return a->dims != 1 || comma;
}

static int header_parse(const char *text, size_t length, npy *a,
                        char reason[REASON_SIZE])
{
    const char *at = text;
    char key[16], descr[16] = "";
    bool order = false, shape = false, comma = true;

    if (!consume(&at, "{")) return refuse(reason, "header is not a dictionary");
    while (!consume(&at, "}")) {
        if (!comma || !consume_quoted(&at, key) || !consume(&at, ":"))
            return refuse(reason, "header is damaged at byte %td", at - text);
        if (!strcmp(key, "descr") && !*descr) {
            if (!consume_quoted(&at, descr) || !*descr)
                return refuse(reason, "unsupported type: expected %s", TYPE_NAMES);
        } else if (!strcmp(key, "fortran_order") && !order) {
            order = true;
            if (!consume(&at, "False"))
                return refuse(reason, "not in C order: expected fortran_order False");
        } else if (!strcmp(key, "shape") && !shape) {
            shape = true;
            if (!consume_shape(&at, a))
                return refuse(reason, "wrong shape: expected a tuple of 0 to %d sizes",
                              DIMS_MAX);
        } else {
            return refuse(reason, "header key '%s' is unknown or occurs twice", key);
        }
        comma = consume(&at, ",");
    }
    at += strspn(at, " \t\n");
    if (at != text + length)
        return refuse(reason, "text follows the dictionary of the header");
    if (!*descr || !order || !shape)
        return refuse(reason,
                      "incomplete header: expected descr, fortran_order and shape");

    for (int i = 0; i < TYPES; i++) {
        if (strcmp(descr, types[i].descr) != 0) continue;
        a->type = (npy_type)i;
        return 0;
    }
    return refuse(reason, "unsupported type '%s': expected %s", descr, TYPE_NAMES);
}

/* Computes the size of all elements; false if it exceeds size_t. */
static bool data_bytes(const npy *a, size_t *bytes)
{
    *bytes = npy_size(a->type);
    for (int i = 0; i < a->dims; i++) {
        if (a->shape[i] && *bytes > SIZE_MAX / a->shape[i]) return false;
        *bytes *= a->shape[i];
    }
    return true;
}

static int read_stream(FILE *f, npy *a, char reason[REASON_SIZE])
{
    struct stat file;
    if (fstat(fileno(f), &file) != 0) return refuse(reason, "%s", strerror(errno));

    unsigned char start[MAGIC + 6]; /* version 2: four bytes of length */
    if (fread(start, 1, MAGIC + 4, f) != MAGIC + 4 || memcmp(start, magic, MAGIC) != 0)
        return refuse(reason, "not an .npy file");
    const unsigned char *version = start + MAGIC, *l = start + MAGIC + 2;
    size_t before = MAGIC + 4, length = l[0] | (size_t)l[1] << 8;
    if ((version[0] != 1 && version[0] != 2) || version[1] != 0)
        return refuse(reason, ".npy version %d.%d: expected 1.0 or 2.0", version[0],
                      version[1]);
    if (version[0] == 2) {
        if (fread(start + before, 1, 2, f) != 2)
            return refuse(reason, "truncated: the file ends inside the header");
        before += 2;
        length |= (size_t)l[2] << 16 | (size_t)l[3] << 24;
    }
    if (length >= HEADER_MAX)
        return refuse(reason, "header of %zu bytes: expected less than %d", length,
                      HEADER_MAX);
    char header[HEADER_MAX];
    if (fread(header, 1, length, f) != length)
        return refuse(reason, "truncated: the file ends inside the header");
    header[length] = 0;
    if (header_parse(header, length, a, reason) != 0) return -1;

    size_t bytes;
    if (!data_bytes(a, &bytes) || bytes > SIZE_MAX - before - length)
        return refuse(reason, "wrong shape: more elements than memory can hold");
    uintmax_t expected = before + length + bytes, size = (uintmax_t)file.st_size;
    if (size != expected)
        return refuse(reason, "%s (%ju bytes): expected %ju",
                      size < expected ? "truncated" : "too long", size, expected);
    a->data = malloc(bytes ? bytes : 1);
    if (!a->data) return refuse(reason, "not enough memory for %zu bytes", bytes);
    if (fread(a->data, 1, bytes, f) != bytes) {
        free(a->data);
        return refuse(reason, "cannot be read to the end");
    }
    return 0;
}

int npy_read(const char *path, npy *a, char reason[REASON_SIZE])
{
    *a = (npy){0};
    FILE *f;
    const char *problem = input_open(path, &f);
    if (problem) return refuse(reason, "%s", problem);
    int status = read_stream(f, a, reason);
    fclose(f);
    if (status != 0) *a = (npy){0};
    return status;
}

npy npy_load(const char *key, const char *path)
{
    npy a;
    char reason[REASON_SIZE];
    if (npy_read(path, &a, reason))
        fail("%s%s%s: %s", key ? key : "", key ? "=" : "", path, reason);
    return a;
}
