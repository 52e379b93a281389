/* verdict.h - what a checker makes of many comparisons: which one used most of its
 * budget, or failed first.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct {
    bool ok;
    double share;    /* of a budget, in percent, the largest so far */
    char worst[240]; /* the check that used it, or the first that failed */
} report;

/* d may be at most budget. The check that failed stays: what comes after may be its
 * consequence. */
__attribute__((format(printf, 4, 5))) static void
judge(report *r, double d, double budget, const char *format, ...)
{
    bool within = d <= budget; /* false for NaN */
    double share = 100 * (d / budget);
    if (!r->ok || (within && share <= r->share)) return;
    r->ok = within;
    r->share = share;
    va_list values;
    va_start(values, format);
    vsnprintf(r->worst, sizeof r->worst, format, values);
    va_end(values);
}

/* What has no budget: true or not. */
#define require(r, condition, ...)                                                     \
    do {                                                                               \
        if (!(condition)) judge(r, INFINITY, 1, __VA_ARGS__);                          \
    } while (0)

#endif
