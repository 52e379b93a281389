/* block.h - several sweeps in one pass through the box, in C and OpenCL C.
 *
 * Half sweep h is red or black; plane k of it may be relaxed as soon as half sweep h -
 * 1 has done planes k - 1 to k + 1. So they follow each other upwards, each a plane
 * behind the one before, while all these planes are in the cache: a wavefront.
 *
 * Teams share the planes. Seen over the half sweeps, the part of a team leans upwards:
 * its borders rise by a plane from one to the next. So it needs nobody below it, and of
 * the team above only what that one has done first: in the first phase each begins, and
 * in the second, when all have begun, each ends.
 *
 * Whoever includes this has included strip.h.
 */

/* The lowest plane of a team in half sweep h; that of the team above its last one is
 * one more than its highest. */
FN int border(grid g, int team, int teams, int halves, int h)
{
    if (team == 0) return 1;
    if (team == teams) return g.nz + 1;
    return 1 + (int)((long)g.nz * team / teams) - halves / 2 + h;
}

/* How many teams there can be, and how many sweeps a pass, at most those given: a team
 * must not reach beyond its own planes in the first phase. */
BOTH_FN int teams_of(grid g, int teams)
{
    int most = g.nz / 7;
    return most < 1 ? 1 : teams < most ? teams : most;
}

BOTH_FN int depth_of(grid g, int teams, int depth)
{
    int most = (g.nz / teams - 2) / 5;
    return teams == 1 || depth < most ? depth : most;
}

/* One phase of a pass of some sweeps by one of the teams. far[n] becomes 1 if a cell
 * moved too far to stop in sweep n. */
FN void relax_pass(GLOBAL float *x, GLOBAL const float *x0, GLOBAL int *far, grid g,
                   int team, int teams, int phase, int sweeps, int wall, float a,
                   float over_c, float tolerance)
{
    int halves = 2 * sweeps, lowest = border(g, team, teams, halves, 0);
    int begun = lowest + 2 * halves; /* the first phase ends here */
    int end = g.nz + halves;
    for (int front = phase ? begun : lowest; front < (phase ? end : begun); front++)
        for (int h = 0; h < halves; h++) {
            int k = front - h, moved = 0;
            if (k < border(g, team, teams, halves, h) ||
                k >= border(g, team + 1, teams, halves, h))
                continue;
            for (int j = 1; j <= g.ny; j++)
                moved |= relax_row(x, x0, g, h % 2, j, k, wall, a, over_c, tolerance);
            if (moved) far[h / 2] = 1;
        }
}
