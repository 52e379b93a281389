/* cpu.c - the fluid, a slab of it: planes of this rank, whose rows of cells are shared
 * among threads; along a row cells are next to each other in memory too.
 */
#include <stdlib.h>
#include <string.h>

#ifdef __SSE__
#include <immintrin.h>
#endif

#include "host.h"
#include "cosine.h"
#include "slab.h"

/* Sweeps before all ask one another whether something still moves, at most. */
enum { BATCH = 20 };

static setup s;
static grid g;
static slab mine;    /* of it */
static size_t cells; /* of a field, with ghosts */
static float *field[FIELDS];
static cosines along_y, along_z;
static float *stiff_y, *stiff_z, *part_y, *part_z; /* of each wave */
static float *waves;       /* [planes][ny][pitch]: a pressure, or what it is made of */
static float *columns;     /* [nz][rows][pitch]: the same, other parts of it */
static size_t pitch;       /* of their rows: nx, rounded up to whole vectors */
static float *start;       /* what a solve started from, where that is not 0 */
static bool blank[FIELDS]; /* whether all of a field is 0 */

/* From now on a thread takes denormals, below 1.2e-38, for 0 and makes none: many
 * processors compute them apart, and slowly. Threads start with what their maker has.
 */
static void flush_denormals(void)
{
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON | 0x40 /* DAZ: in what is read too */);
#elif defined(__aarch64__)
    unsigned long word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    __asm__ volatile("msr fpcr, %0" : : "r"(word | 1ul << 24));
#endif
}

static cosines waves_along(int n, float **stiff, float **part)
{
    int odd = odd_of(n);
    float *twice = allocate((size_t)n, sizeof *twice, "cosines");
    float *base = allocate((size_t)odd * (size_t)odd, sizeof *base, "cosines");
    *stiff = allocate((size_t)n, sizeof **stiff, "waves");
    *part = allocate((size_t)n, sizeof **part, "waves");
    fill_twice(n, twice);
    fill_base(odd, base);
    fill_stiff(n, *stiff, *part);
    return (cosines){n, odd, twice, base};
}

void fluid_begin(const setup *wanted)
{
#pragma omp parallel
    flush_denormals();
    s = *wanted;
    refuse_gauss_seidel(&s);
    g = s.g;
    cells = cells_of(g);
    along_y = waves_along(g.ny, &stiff_y, &part_y);
    along_z = waves_along(g.nz, &stiff_z, &part_z);
    pitch = (size_t)(g.nx + LANES - 1) / LANES * LANES;
    mine = slab_of(g);
    waves = untouched(pitch * (size_t)g.ny * (size_t)(mine.last - mine.first + 2),
                      sizeof *waves, "a pressure");
    columns = untouched(pitch * (size_t)(mine.rows + 1) * (size_t)g.nz, sizeof *columns,
                        "a pressure");
    start = untouched(cells, sizeof(float), "a field");
    for (int f = 0; f < FIELDS; f++) {
        field[f] = untouched(cells, sizeof(float), "a field");
        fluid_clear(f);
    }
    ranks_begin(field, waves, columns, pitch);
}

void fluid_end(void)
{
    ranks_end();
    for (int f = 0; f < FIELDS; f++) free(field[f]);
    free(start);
    free(waves);
    free(columns);
    free((void *)along_y.twice);
    free((void *)along_y.base);
    free((void *)along_z.twice);
    free((void *)along_z.base);
    free(stiff_y);
    free(stiff_z);
    free(part_y);
    free(part_z);
}

void fluid_put(int f, int i, int j, int k, float value)
{
    field[f][at(g, i, j, k)] = value;
    blank[f] = false;
}

/* Rank 0 has it, who prints and writes; others get 0. */
void fluid_get(int f, float *to)
{
    TIMED("copy to rank 0", planes_to_first(field[f]));
    if (run_rank)
        memset(to, 0,
               (size_t)(g.nx + 2) * (size_t)(g.ny + 2) * (size_t)(g.nz + 2) *
                   sizeof *to);
    else
        TIMED("copy", join(g, field[f], to));
}

/* The planes of this rank, and those beside them. A page of memory is there when
 * somebody writes to it, near the thread that does: planes are shared here as they are
 * when they are computed. */
#define EACH_PLANE(k)                                                                  \
    _Pragma("omp parallel for schedule(static)") for (int k = mine.first - 1;          \
                                                      k <= mine.last + 1; k++)

static void clear(float *x)
{
    EACH_PLANE(k)
    {
        size_t plane = (size_t)plane_of(g), red = plane * (size_t)k;
        memset(x + red, 0, plane * sizeof(float));
        memset(x + half_of(g) + red, 0, plane * sizeof(float));
    }
}

static void copy(float *to, const float *from)
{
    EACH_PLANE(k)
    {
        size_t plane = (size_t)plane_of(g), red = plane * (size_t)k,
               black = red + (size_t)half_of(g);
        memcpy(to + red, from + red, plane * sizeof(float));
        memcpy(to + black, from + black, plane * sizeof(float));
    }
}

void fluid_clear(int f)
{
    TIMED("clear", clear(field[f]));
    blank[f] = true;
}

static void add_source(float *x, const float *source)
{
    EACH_PLANE(k)
    {
        int plane = plane_of(g), red = plane * k, black = red + half_of(g);
        for (int c = 0; c < plane; c++) {
            x[red + c] += s.dt * source[red + c];
            x[black + c] += s.dt * source[black + c];
        }
    }
}

void fluid_add(int x, int source)
{
    TIMED("add_source", add_source(field[x], field[source]));
    blank[x] = false;
}

/* Relaxes the cells of a colour in some planes; returns whether one moved too far to
 * stop. */
static int relax_planes(float *x, const float *x0, int colour, int first, int last,
                        int step, int wall, float a, float over_c)
{
    int far = 0;
#pragma omp parallel for collapse(2) schedule(static) reduction(| : far)
    for (int k = first; k <= last; k += step)
        for (int j = 1; j <= g.ny; j++)
            far |= relax_row(x, x0, g, colour, j, k, wall, a, over_c, s.tolerance);
    return far;
}

/* The next sweeps of a solve, a colour at a time: first the planes for which others
 * wait, which are on their way while those between them are relaxed. Returns the first
 * sweep after which no cell of any rank moved farther than the tolerance, counted from
 * 1; 0 if there is none. */
static int relax(int to, const float *x0, int sweeps, int wall, float a, float over_c)
{
    int far[BATCH] = {0};
    int apart = mine.last > mine.first ? mine.last - mine.first : 1;
    for (int h = 0; h < 2 * sweeps; h++) {
        int *moved = &far[h / 2], colour = h % 2 ? BLACK : RED;
        *moved |= relax_planes(field[to], x0, colour, mine.first, mine.last, apart,
                               wall, a, over_c);
        halo_begin(to, colour);
        *moved |= relax_planes(field[to], x0, colour, mine.first + 1, mine.last - 1, 1,
                               wall, a, over_c);
        halo_end(to, colour);
    }
    if (s.tolerance < 0) return 0;
    agree(far, sweeps);
    for (int n = 0; n < sweeps; n++)
        if (!far[n]) return n + 1;
    return 0;
}

/* What lies beside the slab, of both colours. */
static void halo(int f)
{
    for (int colour = RED; colour <= BLACK; colour++) halo_begin(f, colour);
    for (int colour = RED; colour <= BLACK; colour++) halo_end(f, colour);
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* All waves along z of row j, and along x what is left: a slab that a core's cache
 * holds. */
static void solve_slab(int j, lanes *v, lanes *w)
{
    size_t plane = pitch * (size_t)mine.rows;
    float *slab = columns + pitch * (size_t)(j - mine.rows_from);
    for (size_t i = 0; i < pitch; i += LANES) {
        for (int k = 0; k < g.nz; k++) v[k] = load(slab + plane * (size_t)k + i);
        lanes *found = cosines_of(along_z, v, w);
        for (int k = 0; k < g.nz; k++) unload(slab + plane * (size_t)k + i, found[k]);
    }
    for (int k = 0; k < g.nz; k += LANES) {
        lanes stiff = each(1), part = each(0);
        int count = g.nz - k < LANES ? g.nz - k : LANES;
        for (int l = 0; l < count; l++) {
            lane(stiff, l) = stiff_y[j] + stiff_z[k + l];
            lane(part, l) = part_y[j] * part_z[k + l];
        }
        for (int i = 0; i < g.nx; i++) {
            for (int l = 0; l < count; l++)
                lane(v[i], l) = slab[plane * (size_t)(k + l) + (size_t)i];
            v[i] *= part;
        }
        solve_rows(v, w, g.nx, stiff);
        for (int i = 0; i < g.nx; i++)
            for (int l = 0; l < count; l++)
                slab[plane * (size_t)(k + l) + (size_t)i] = lane(v[i], l);
    }
    for (size_t i = 0; i < pitch; i += LANES) {
        for (int k = 0; k < g.nz; k++) v[k] = load(slab + plane * (size_t)k + i);
        lanes *found = sum_of_cosines(along_z, v, w);
        for (int k = 0; k < g.nz; k++) unload(slab + plane * (size_t)k + i, found[k]);
    }
}

/* Waves along y of plane k, or there and back. */
static void turn_plane(int k, int back, lanes *v, lanes *w)
{
    float *plane = waves + pitch * (size_t)g.ny * (size_t)(k - mine.first);
    for (size_t i = 0; i < pitch; i += LANES) {
        for (int j = 0; j < g.ny; j++) v[j] = load(plane + pitch * (size_t)j + i);
        lanes *found = back ? sum_of_cosines(along_y, v, w) : cosines_of(along_y, v, w);
        for (int j = 0; j < g.ny; j++) unload(plane + pitch * (size_t)j + i, found[j]);
    }
}

/* The plane k of waves from a field, or to one. */
static void copy_plane(int k, float *x, int back)
{
    for (int j = 0; j < g.ny; j++) {
        float *row =
            waves + pitch * ((size_t)j + (size_t)g.ny * (size_t)(k - mine.first));
        for (int i = 1; i <= 2 && i <= g.nx; i++) {
            float *cells = x + at(g, i, j + 1, k);
            int count = (g.nx - i + 2) / 2;
            if (back) {
                for (int n = 0; n < count; n++) cells[n] = row[i - 1 + 2 * n];
                set_bnd(x, g, i, count, j + 1, k, SCALAR);
            } else {
                for (int n = 0; n < count; n++) row[i - 1 + 2 * n] = cells[n];
            }
        }
        for (size_t i = (size_t)g.nx; i < pitch && !back; i++) row[i] = 0;
    }
}

/* Room for so many vectors. */
static lanes *aligned(size_t count)
{
    lanes *p = aligned_alloc(64, (count * sizeof *p + 63) / 64 * 64);
    if (!p) fail("no memory for %zu vectors", count);
    return p;
}

/* The pressure, outright: 6 p - (the six neighbours) = b. Waves along y want planes,
 * and those along z want rows of all planes: in between all ranks have something for
 * all. */
static void solve_pressure(float *p, float *b)
{
    size_t longest = (size_t)longest_side(g);
#pragma omp parallel
    {
        lanes *v = aligned(longest), *w = aligned(longest);
#pragma omp for schedule(static)
        for (int k = mine.first; k <= mine.last; k++) {
            copy_plane(k, b, 0);
            turn_plane(k, 0, v, w);
        }
#pragma omp master
        waves_to_columns();
#pragma omp barrier
#pragma omp for schedule(static)
        for (int j = mine.rows_from; j < mine.rows_from + mine.rows; j++)
            solve_slab(j, v, w);
#pragma omp master
        waves_to_planes();
#pragma omp barrier
#pragma omp for schedule(static)
        for (int k = mine.first; k <= mine.last; k++) {
            turn_plane(k, 1, v, w);
            copy_plane(k, p, 1);
        }
        free(v);
        free(w);
    }
}

/* Whether a sweep was the last one is known only when all have said so. So it is
 * guessed: all but one of those that the last such solve took go without a word, and
 * then one by one. Where one of them would have ended the solve, all is done once more,
 * from the start. */
int fluid_solve(int wall, int to, int from, float a, float c)
{
    if (s.tolerance >= 0 && a == 1 && c == 6) {
        TIMED("pressure", solve_pressure(field[to], field[from]));
        blank[to] = false;
        return 0;
    }

    static int taken[ALONG_Z + 1][FIELDS];
    float *x = field[to];
    const float *x0 = field[from];
    int guess = s.tolerance < 0 ? s.sweeps : taken[wall][to] - 1, done = 0, last = 0;
    TIMED("copy halo", halo(to));
    if (guess > 1 && !blank[to]) copy(start, x);

    while (done < s.sweeps && !last) {
        int some = guess > done ? smaller(guess - done, BATCH) : 1;
        TIMED("relax", last = relax(to, x0, some, wall, a, 1 / c));
        if (last) last += done;
        done += some;
    }
    if (last && last < done) {
        if (blank[to])
            clear(x);
        else
            copy(x, start);
        TIMED("relax", relax(to, x0, last, wall, a, 1 / c));
        done = last;
    }
    taken[wall][to] = done;
    blank[to] = false;
    return done;
}

/* The cells of each colour in each row: count of them, in columns i, i + 2 .. */
#define EACH_STRETCH(i, count, j, k)                                                   \
    for (int k = mine.first; k <= mine.last; k++)                                      \
        for (int j = 1; j <= g.ny; j++)                                                \
            for (int i = 1, count = (g.nx + 1) / 2; i <= 2 && count > 0;               \
                 i++, count = g.nx / 2)

/* The planes between which the flow w came from that is here now. */
static void reach(const float *w, int *lowest, int *highest)
{
    int low = g.nz, high = -1;
#pragma omp parallel for reduction(min : low) reduction(max : high)
    EACH_STRETCH(i, count, j, k)
    {
        int here = at(g, i, j, k);
        for (int n = 0; n < count; n++) {
            int below = (int)origin(k, s.dt * g.nz * w[here + n], g.nz);
            low = below < low ? below : low;
            high = below > high ? below : high;
        }
    }
    *lowest = low;
    *highest = high + 1;
}

static void advect(float *d, const float *d0, const float *u, const float *v,
                   const float *w, int wall)
{
#pragma omp parallel for collapse(2) schedule(static)
    EACH_STRETCH(i, count, j, k)
    {
        int here = at(g, i, j, k);
#pragma omp simd
        for (int n = 0; n < count; n++)
            d[here + n] = carried(d0, u[here + n], v[here + n], w[here + n], g,
                                  i + 2 * n, j, k, s.dt);
        set_bnd(d, g, i, count, j, k, wall);
    }
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    int low, high;
    TIMED("reach", reach(field[w], &low, &high));
    TIMED("copy planes", planes_from_all(field[d0], low, high));
    TIMED("advect", advect(field[d], field[d0], field[u], field[v], field[w], wall));
    blank[d] = false;
}

static void divergence(const float *u, const float *v, const float *w, float *p,
                       float *div)
{
    float scale = -0.5f / longest_side(g);
    int row = row_of(g), plane = plane_of(g);
#pragma omp parallel for collapse(2) schedule(static)
    EACH_STRETCH(i, count, j, k)
    {
        int mine = at(g, i, j, k);
        int here = half_at(g, i + 1, j, k) + place(g, i, j, k), left = left_of(here, i);
#pragma omp simd
        for (int n = 0; n < count; n++) {
            div[mine + n] = outflow(u, v, w, here + n, left + n, row, plane, scale);
            p[mine + n] = 0;
        }
        set_bnd(div, g, i, count, j, k, SCALAR);
        set_bnd(p, g, i, count, j, k, SCALAR);
    }
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    TIMED("copy halo", halo(w));
    TIMED("divergence", divergence(field[u], field[v], field[w], field[p], field[div]));
    blank[div] = false;
    blank[p] = true;
}

static void gradient(float *u, float *v, float *w, const float *p)
{
    int row = row_of(g), plane = plane_of(g);
#pragma omp parallel for collapse(2) schedule(static)
    EACH_STRETCH(i, count, j, k)
    {
        int mine = at(g, i, j, k), here = half_at(g, i + 1, j, k) + place(g, i, j, k);
        const float *left = p + left_of(here, i), *beside = p + here;
#pragma omp simd
        for (int n = 0; n < count; n++) {
            u[mine + n] -= 0.5f * (left[n + 1] - left[n]);
            v[mine + n] -= 0.5f * (beside[n + row] - beside[n - row]);
            w[mine + n] -= 0.5f * (beside[n + plane] - beside[n - plane]);
        }
        set_bnd(u, g, i, count, j, k, ALONG_X);
        set_bnd(v, g, i, count, j, k, ALONG_Y);
        set_bnd(w, g, i, count, j, k, ALONG_Z);
    }
}

void fluid_gradient(int u, int v, int w, int p)
{
    TIMED("copy halo", halo(p));
    TIMED("gradient", gradient(field[u], field[v], field[w], field[p]));
    blank[u] = blank[v] = blank[w] = false;
}
