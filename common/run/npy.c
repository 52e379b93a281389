/* npy.c - NumPy's array file: read and write.
 *
 * The file is the magic "\x93NUMPY", a version (two bytes), the length of the header
 * (two bytes in version 1, four in version 2), the header, which is a Python dictionary
 * with the keys descr, fortran_order and shape, and the elements. The header is padded
 * with spaces so that the elements begin at a multiple of 64 bytes.
 *
 * Nothing in a file is trusted: the shape is multiplied with a check for overflow, and
 * the file must have exactly the size that its header promises before memory is asked
 * for.
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
#error "npy.c writes elements as they lie in memory: little-endian machines only"
#endif

enum { DIMS = 8, ALIGN = 64, HEADER_MAX = 65536 };

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
    if (a->dims < 0 || a->dims > DIMS)
        fail("%s: an array of %d dimensions, expected 0 to %d", path, a->dims, DIMS);
    FILE *f = result_open(path);
    if (!f) fail("%s: cannot be written: %s", path, strerror(errno));

    char bytes[NPY_HEADER];
    size_t header = npy_header(a, bytes), count = npy_count(a);
    errno = 0;
    bool done = fwrite(bytes, 1, header, f) == header &&
                (!count || fwrite(a->data, npy_size(a->type), count, f) == count);
    if (!done) fail("%s: cannot be written: %s", path, strerror(errno));
    if (result_close(f) != 0) fail("%s: cannot be written: %s", path, strerror(errno));
}

void npy_writable(const char *key, const char *path)
{
    /* Who reads a pipe would see it end here, where it is opened to try. */
    struct stat there;
    if (stat(path, &there) == 0 && S_ISFIFO(there.st_mode)) {
        if (access(path, W_OK))
            fail("%s=%s: cannot be written: %s", key, path, strerror(errno));
        return;
    }
    FILE *f = result_open(path);
    if (!f) fail("%s=%s: cannot be written: %s", key, path, strerror(errno));
    result_drop(f);
}

/* ---- reading ------------------------------------------------------------------- */

/* The header is read from left to right; each function below takes what it expects from
 * *at, after spaces, and says whether it was there. */
static bool take(const char **at, const char *word)
{
    *at += strspn(*at, " \t\n");
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0) return false;
    *at += length;
    return true;
}

static bool take_quoted(const char **at, char text[16])
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

/* (), (3,) or (3, 4): one element wants its comma, or it would be a number in brackets.
 */
static bool take_shape(const char **at, npy *a)
{
    if (!take(at, "(")) return false;
    bool comma = true;
    a->dims = 0;
    while (!take(at, ")")) {
        if (!comma || a->dims == DIMS || **at < '0' || **at > '9') return false;
        char *end;
        errno = 0;
        unsigned long long extent = strtoull(*at, &end, 10);
        if (errno || extent > SIZE_MAX) return false;
        a->shape[a->dims++] = (size_t)extent;
        *at = end;
        comma = take(at, ",");
    }
    return a->dims != 1 || comma;
}

static int header_parse(const char *text, size_t length, npy *a, char why[NPY_WHY])
{
    const char *at = text;
    char key[16], descr[16] = "";
    bool order = false, shape = false, comma = true;

    if (!take(&at, "{")) return refuse(why, "its header is not a dictionary");
    while (!take(&at, "}")) {
        if (!comma || !take_quoted(&at, key) || !take(&at, ":"))
            return refuse(why, "its header is damaged at byte %td", at - text);
        if (!strcmp(key, "descr") && !*descr) {
            if (!take_quoted(&at, descr) || !*descr)
                return refuse(why, "its type is not one of <f4 <f8 <i4 |u1");
        } else if (!strcmp(key, "fortran_order") && !order) {
            order = true;
            if (!take(&at, "False")) return refuse(why, "it is not in C order");
        } else if (!strcmp(key, "shape") && !shape) {
            shape = true;
            if (!take_shape(&at, a))
                return refuse(why, "its shape is not a tuple of 0 to %d sizes", DIMS);
        } else {
            return refuse(why, "its header has the key '%s', unknown or given twice",
                          key);
        }
        comma = take(&at, ",");
    }
    at += strspn(at, " \t\n");
    if (at != text + length) return refuse(why, "text follows its header");
    if (!*descr || !order || !shape)
        return refuse(why, "its header lacks one of descr, fortran_order and shape");

    for (int i = 0; i < TYPES; i++) {
        if (strcmp(descr, types[i].descr) != 0) continue;
        a->type = (npy_type)i;
        return 0;
    }
    return refuse(why, "its type is '%s', expected one of <f4 <f8 <i4 |u1", descr);
}

/* The bytes of all elements, or false where that is more than a size_t holds. */
static bool bytes_of(const npy *a, size_t *bytes)
{
    *bytes = npy_size(a->type);
    for (int i = 0; i < a->dims; i++) {
        if (a->shape[i] && *bytes > SIZE_MAX / a->shape[i]) return false;
        *bytes *= a->shape[i];
    }
    return true;
}

static int read_stream(FILE *f, npy *a, char why[NPY_WHY])
{
    struct stat file;
    if (fstat(fileno(f), &file) != 0) return refuse(why, "%s", strerror(errno));

    unsigned char start[MAGIC + 6]; /* version 2: four bytes of length */
    if (fread(start, 1, MAGIC + 4, f) != MAGIC + 4 || memcmp(start, magic, MAGIC) != 0)
        return refuse(why, "not an .npy file");
    const unsigned char *version = start + MAGIC, *l = start + MAGIC + 2;
    size_t before = MAGIC + 4, length = l[0] | (size_t)l[1] << 8;
    if ((version[0] != 1 && version[0] != 2) || version[1] != 0)
        return refuse(why, ".npy version %d.%d, expected 1.0 or 2.0", version[0],
                      version[1]);
    if (version[0] == 2) {
        if (fread(start + before, 1, 2, f) != 2)
            return refuse(why, "truncated inside its header");
        before += 2;
        length |= (size_t)l[2] << 16 | (size_t)l[3] << 24;
    }
    if (length >= HEADER_MAX)
        return refuse(why, "a header of %zu bytes, expected less than %d", length,
                      HEADER_MAX);
    char header[HEADER_MAX];
    if (fread(header, 1, length, f) != length)
        return refuse(why, "truncated inside its header");
    header[length] = 0;
    if (header_parse(header, length, a, why) != 0) return -1;

    size_t bytes;
    if (!bytes_of(a, &bytes) || bytes > SIZE_MAX - before - length)
        return refuse(why, "its shape has more elements than memory can hold");
    uintmax_t expected = before + length + bytes, size = (uintmax_t)file.st_size;
    if (size != expected)
        return refuse(why, "%s: %ju bytes, expected %ju",
                      size < expected ? "truncated" : "too long", size, expected);
    a->data = malloc(bytes ? bytes : 1);
    if (!a->data) return refuse(why, "too little memory for %zu bytes", bytes);
    if (fread(a->data, 1, bytes, f) != bytes) {
        free(a->data);
        return refuse(why, "it cannot be read to its end");
    }
    return 0;
}

int npy_read(const char *path, npy *a, char why[NPY_WHY])
{
    *a = (npy){0};
    FILE *f;
    const char *problem = input_open(path, &f);
    if (problem) return refuse(why, "%s", problem);
    int status = read_stream(f, a, why);
    fclose(f);
    if (status != 0) *a = (npy){0};
    return status;
}
