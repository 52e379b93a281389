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
FN int lowest_plane(grid g, int worker, int workers, int split_field, int h)
{
    if (worker == 0) return 1;
    if (worker == workers) return g.nz + 1;
    return 1 + (int)((long)g.nz * worker / workers) - split_field / 2 + h;
}

/* How many teams there can be, and how many sweeps a pass, at most those given: a team
 * must not reach beyond its own planes in the first phase. */
BOTH_FN int worker_count(grid g, int workers)
{
    int limit = g.nz / 7;
    return limit < 1 ? 1 : workers < limit ? workers : limit;
}

BOTH_FN int pass_depth(grid g, int workers, int depth)
{
    int limit = (g.nz / workers - 2) / 5;
    return workers == 1 || depth < limit ? depth : limit;
}

/* One phase of a pass of some sweeps by one of the teams. far[n] becomes 1 if a cell
 * moved too far to stop in sweep n. */
FN void relax_pass(GLOBAL float *x, GLOBAL const float *x0, GLOBAL int *flags, grid g,
                   int worker, int workers, int phase, int sweeps, int wall, float a,
                   float inv_c, float tolerance)
{
    int split_field = 2 * sweeps,
        lowest = lowest_plane(g, worker, workers, split_field, 0);
    int phase_end = lowest + 2 * split_field; /* the first phase ends here */
    int end = g.nz + split_field;
    for (int front = phase ? phase_end : lowest; front < (phase ? end : phase_end);
         front++)
        for (int h = 0; h < split_field; h++) {
            int k = front - h, unconverged = 0;
            if (k < lowest_plane(g, worker, workers, split_field, h) ||
                k >= lowest_plane(g, worker + 1, workers, split_field, h))
                continue;
            for (int j = 1; j <= g.ny; j++)
                unconverged |=
                    relax_row(x, x0, g, h % 2, j, k, wall, a, inv_c, tolerance);
            if (unconverged) flags[h / 2] = 1;
        }
}
