/* memory.c - faults that AddressSanitizer, UBSan and LeakSanitizer must find: memory [i
 * [FAULT]] prints element i of a block of 5 that was never written, and a value of the
 * stack. FAULT is overflow, of an integer, or leak.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "run.h"

int main(int argc, char **argv)
{
    int i = argc > 1 ? atoi(argv[1]) : 4, large = INT_MAX;
    char fault = argc > 2 ? argv[2][0] : '-';
    float *block = allocate_untouched(5, sizeof *block, "floats"), local[2];
    char *volatile leaked = calloc(8, 1);
    large += fault == 'o';
    printf("heap %g stack %g large %d\n", block[i], local[argc % 2], large);
    if (fault != 'l') free(leaked);
    leaked = NULL;
    free(block);
    return 0;
}
