/* c_test.h - what the unit tests in C share: cmocka, the list of the tests of a file,
 * and a new temporary folder for each test, in which no unfinished result may be left.
 */
#ifndef C_TEST_H
#define C_TEST_H

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#undef fail /* run.h declares another */

static char test_folder[] = "/tmp/c_test.XXXXXX";

static int folder_make(void **state)
{
    (void)state;
    strcpy(test_folder, "/tmp/c_test.XXXXXX");
    return mkdtemp(test_folder) ? chdir(test_folder) : -1;
}

/* Fails if a temporary file of result_open(), NAME.XXXXXX, is left. */
static int folder_remove(void **state)
{
    (void)state;
    char command[64];
    glob_t found;
    int clean = glob("*.??????", 0, NULL, &found) == GLOB_NOMATCH;
    globfree(&found);
    snprintf(command, sizeof command, "rm -r %s", test_folder);
    return clean && chdir("/") == 0 ? system(command) : -1;
}

/* The tests of a file in their order; cmocka ignores the empty rest. */
static struct CMUnitTest tests[64];

static void test_add(const char *name, CMUnitTestFunction function)
{
    size_t i = 0;
    while (tests[i].name) i++;
    tests[i] = (struct CMUnitTest){name, function, folder_make, folder_remove, NULL};
}

/* The head of a test function, which is added to tests before main() starts. */
#define TEST(name)                                                                     \
    static void name(void **state);                                                    \
    __attribute__((constructor)) static void add_##name(void)                          \
    {                                                                                  \
        test_add(#name, name);                                                         \
    }                                                                                  \
    static void name(__attribute__((unused)) void **state)

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static inline void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static inline void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

#endif
