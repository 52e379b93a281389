/* profile.c - how much time each kernel took, and how often it ran (profile=1). */
#include "profile.h"

#include <string.h>

enum { KERNELS = 32 };

static struct {
    const char *name;
    double seconds;
    long calls;
} kernel[KERNELS];
static int kernels;
static bool wanted;

void profile_begin(void)
{
    wanted = true;
}

bool charging(void)
{
    return wanted;
}

void charge(const char *name, double spent)
{
    int i = 0;
    while (i < kernels && strcmp(kernel[i].name, name)) i++;
    if (i == KERNELS) fail("more than %d kernels", KERNELS);
    if (i == kernels) kernel[kernels++].name = name;
    kernel[i].seconds += spent;
    kernel[i].calls++;
}

double charged(void)
{
    double sum = 0;
    for (int i = 0; i < kernels; i++)
        if (strncmp(kernel[i].name, "copy", 4)) sum += kernel[i].seconds;
    return sum;
}

/* The largest first; of equal ones that which ran first. */
void profile_print(double run)
{
    printf("%-18s %8s %12s %9s\n", "kernel", "share", "seconds", "calls");
    bool printed[KERNELS] = {false};
    for (int n = 0; n < kernels; n++) {
        int top = -1;
        for (int i = 0; i < kernels; i++)
            if (!printed[i] && (top < 0 || kernel[i].seconds > kernel[top].seconds))
                top = i;
        printed[top] = true;
        printf("%-18s %6.2f %% %12.6f %9ld\n", kernel[top].name,
               100 * kernel[top].seconds / run, kernel[top].seconds, kernel[top].calls);
    }
}
