/* profile.c - records how often each kernel ran and how long (profile=1). */
#include "profile.h"

#include <string.h>

enum { MAX_KERNELS = 32 };

static struct {
    const char *name;
    double seconds;
    long calls;
} kernel[MAX_KERNELS];
static int kernel_count;
static bool enabled;

void profile_begin(void)
{
    enabled = true;
}

bool profiling(void)
{
    return enabled;
}

void profile_record(const char *name, double duration)
{
    int i = 0;
    while (i < kernel_count && strcmp(kernel[i].name, name)) i++;
    if (i == MAX_KERNELS) fail("more than %d kernels", MAX_KERNELS);
    if (i == kernel_count) kernel[kernel_count++].name = name;
    kernel[i].seconds += duration;
    kernel[i].calls++;
}

double profiled_seconds(void)
{
    double sum = 0;
    for (int i = 0; i < kernel_count; i++)
        if (strncmp(kernel[i].name, "copy", 4)) sum += kernel[i].seconds;
    return sum;
}

/* Sorts by decreasing time; equal times in the order of the first call. */
void profile_print(double run)
{
    printf("%-18s %8s %12s %9s\n", "kernel", "share", "seconds", "calls");
    bool printed[MAX_KERNELS] = {false};
    for (int n = 0; n < kernel_count; n++) {
        int top = -1;
        for (int i = 0; i < kernel_count; i++)
            if (!printed[i] && (top < 0 || kernel[i].seconds > kernel[top].seconds))
                top = i;
        printed[top] = true;
        printf("%-18s %6.2f %% %12.6f %9ld\n", kernel[top].name,
               100 * kernel[top].seconds / run, kernel[top].seconds, kernel[top].calls);
    }
}
