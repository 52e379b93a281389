/* fletcher_tiles.c - prints the rows of a tile that a step's tile.h chooses on a CPU,
 * for the L2 cache of CACHE_L2 bytes. tests/test_fletcher.py compiles this file.
 */
#include <stdio.h>

#include "fletcher.h"
#include "tile.h"

/* fletcher_tiles ROWS PITCH THREADS */
int main(int argc, char **argv)
{
    if (argc != 4) return 1;
    int number[3];
    for (int i = 0; i < 3; i++)
        number[i] = parse_int("number", argv[i + 1], 1, 1 << 20);
    printf("%d\n", rows_per_tile(number[0], number[1], number[2]));
}
