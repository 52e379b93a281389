/* c_test.h - what the unit tests in C share: cmocka, and two macros. */
#ifndef C_TEST_H
#define C_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* The head of a test function. */
#define TEST(name) static void name(__attribute__((unused)) void **state)

#define LENGTH(array) (sizeof(array) / sizeof *(array))

#endif
