/* block.h - several sweeps in one pass over the box, in C and OpenCL C (temporal
 * blocking: wavefront, or time-skewed, tiling).
 *
 * A sweep is two half sweeps, red and black. Half sweep h may relax plane k as soon as
 * half sweep h - 1 has relaxed planes k - 1 to k + 1. So half sweep h follows half
 * sweep h - 1 at a distance of one plane, and the planes between the first and the last
 * half sweep stay in the cache:
 *
 *      plane k                      o  not yet relaxed by half sweep h
 *        7   o o o o                *  relaxed at this step of the wavefront:
 *        6   * o o o                   front = k + h = 6
 *        5   . * o o                .  relaxed before
 *        4   . . * o
 *        3   . . . *
 *            0 1 2 3   half sweep h
 *
 * The workers (threads or work-groups) divide the planes. The first plane of a worker
 * rises by one per half sweep, so a worker never reads what the worker below it has
 * still to compute. What it reads from the worker above is that worker's first planes:
 * in phase 0 every worker computes its first 2 half_sweeps wavefront steps; in phase 1,
 * after a barrier, it computes the rest.
 *
 * The caller includes strip.h first, and puts a barrier after each phase.
 */

/* First plane of a worker in half sweep h. The last plane of a worker is the one below
 * the first plane of the next worker. */
FN int lowest_plane(grid g, int worker, int workers, int half_sweeps, int h)
{
    if (worker == 0) return 1;
    if (worker == workers) return g.nz + 1;
    return 1 + (int)((long)g.nz * worker / workers) - half_sweeps / 2 + h;
}

/* Maximum number of workers, and maximum number of sweeps per pass, that a box allows.
 * At half sweep 0, the first worker owns nz / workers - sweeps planes. In phase 0 it
 * relaxes 4 sweeps planes and reads one more, which all must be its own; one plane
 * allows for the rounding of the borders. So 5 sweeps + 2 <= nz / workers, and a
 * pass of one sweep needs 7 planes per worker. */
HOST_DEVICE_FN int worker_count(grid g, int workers)
{
    int limit = g.nz / 7;
    return limit < 1 ? 1 : workers < limit ? workers : limit;
}

HOST_DEVICE_FN int pass_depth(grid g, int workers, int depth)
{
    int limit = (g.nz / workers - 2) / 5;
    return workers == 1 || depth < limit ? depth : limit;
}

/* Flags that several workers set and read. */
#ifdef __OPENCL_C_VERSION__
#define read_flag(flag) atomic_or(flag, 0)
#define set_flag(flag)  atomic_or(flag, 1)
#else
#define read_flag(flag) __atomic_load_n(flag, __ATOMIC_RELAXED)
#define set_flag(flag)  __atomic_store_n(flag, 1, __ATOMIC_RELAXED)
#endif

/* Executes one phase of a pass over sweeps `first` to first + sweeps - 1 of a solve,
 * the part of one worker. flags[n] is set if a cell changed by more than the tolerance
 * in sweep n; cells are tested only while it is not. */
FN void relax_pass(equation e, grid g, int worker, int workers, int phase, int first,
                   int sweeps, GLOBAL int *flags)
{
    int half_sweeps = 2 * sweeps,
        lowest = lowest_plane(g, worker, workers, half_sweeps, 0);
    int phase_end = lowest + 2 * half_sweeps; /* first wavefront step of phase 1 */
    int end = g.nz + half_sweeps;
    for (int front = phase ? phase_end : lowest; front < (phase ? end : phase_end);
         front++)
        for (int h = 0; h < half_sweeps; h++) {
            int k = front - h;
            GLOBAL int *flag = flags + first + h / 2;
            if (k < lowest_plane(g, worker, workers, half_sweeps, h) ||
                k >= lowest_plane(g, worker + 1, workers, half_sweeps, h))
                continue;
            part plane = {k, 1, g.ny};
            if (relax_rows(e, g, 2 * first + h, plane, !read_flag(flag)))
                set_flag(flag);
        }
}
