/* fletcher_tiles.c - prints the rows of a tile that a step's tile.h chooses on a CPU,
 * for the L2 cache of CACHE_L2 bytes. tests/test_fletcher.py compiles this file.
 */
#include <stdio.h>

#include "fletcher.h"
#include "tile.h"

/* fletcher_tiles PITCH SY THREADS */
int main(int argc, char **argv)
{
    if (argc != 4) return 1;
    grid g = {.pitch = parse_int("pitch", argv[1], 1, 1 << 20),
              .sy = parse_int("sy", argv[2], 1, 1 << 20)};
    printf("%d\n", rows_per_tile(&g, parse_int("threads", argv[3], 1, 1 << 20)));
}
