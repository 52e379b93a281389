/* hybrid.c - the hybrid back-end: the device computes the velocity, the host the
 * density.
 *
 * The functions of fluid.h append their call to the list of a side. The density needs
 * the velocity in one place, its advection. There both sides execute their lists, the
 * device in a thread of its own; then the host receives the velocity, and the advection
 * becomes the first call of its next list, while the device computes the next step:
 *
 *      device   velocity t      | velocity t + 1               | ..
 *      host     diffusion t     | advection t, diffusion t + 1 | ..
 *
 * Left out: other divisions. One step has three diffusions, two pressures and three
 * advections of the velocity, and one diffusion and one advection of the density.
 */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

#include "hybrid.h"
#include "sides.h"

#define DECLARE(side)                                                                  \
    void side##_begin(const setup *s);                                                 \
    void side##_end(void);                                                             \
    void side##_put(int field, int i, int j, int k, float value);                      \
    void side##_get(int field, float *dst);                                            \
    void side##_clear(int field);                                                      \
    void side##_add(int x, int s);                                                     \
    int side##_solve(int wall, int x, int x0, float a, float c);                       \
    int side##_pressure(int p, int div);                                               \
    void side##_advect(int wall, int d, int d0, int u, int v, int w);                  \
    void side##_divergence(int u, int v, int w, int p, int div);                       \
    void side##_gradient(int u, int v, int w, int p);
#define FUNCTIONS(side)                                                                \
    {                                                                                  \
        side##_put, side##_get, side##_clear, side##_add, side##_solve,                \
            side##_pressure, side##_advect, side##_divergence, side##_gradient         \
    }
DECLARE(host)
DECLARE(device)

enum { HOST, DEVICE, SIDES };
static const side_functions functions[SIDES] = {FUNCTIONS(host), FUNCTIONS(device)};

typedef enum { PUT, CLEAR, ADD, SOLVE, PRESSURE, ADVECT, DIVERGENCE, GRADIENT } kind;

/* A call: the function, and its arguments in their order. */
typedef struct {
    kind kind;
    int i[6];
    float a, c;
} call;

/* The calls that a side has not executed yet; a step has at most 26 of one side. */
enum { CALLS = 64 };
static call list[SIDES][CALLS];
static int count[SIDES], sweeps[SIDES];
static long total[SIDES]; /* calls */

static setup s;
static double device_percent;

/* The side that computes a field. */
static int side_of(int field)
{
    if (device_percent == 0) return HOST;
    if (device_percent == 100) return DEVICE;
    return field == DENSITY || field == DENSITY0 ? HOST : DEVICE;
}

static void execute(int side, call c)
{
    const side_functions *f = &functions[side];
    const int *i = c.i;
    switch (c.kind) {
    case PUT:
        f->put(i[0], i[1], i[2], i[3], c.a);
        break;
    case CLEAR:
        f->clear(i[0]);
        break;
    case ADD:
        f->add(i[0], i[1]);
        break;
    case SOLVE:
        sweeps[side] += f->solve(i[0], i[1], i[2], c.a, c.c);
        break;
    case PRESSURE:
        sweeps[side] += f->pressure(i[0], i[1]);
        break;
    case ADVECT:
        f->advect(i[0], i[1], i[2], i[3], i[4], i[5]);
        break;
    case DIVERGENCE:
        f->divergence(i[0], i[1], i[2], i[3], i[4]);
        break;
    case GRADIENT:
        f->gradient(i[0], i[1], i[2], i[3]);
        break;
    }
}

/* Executes the list of a side. */
static void *execute_list(void *pointer)
{
    int side = *(const int *)pointer;
    bool on_device = side == DEVICE && count[side];
    double begin = seconds();
    if (on_device) device_select();
    for (int n = 0; n < count[side]; n++) execute(side, list[side][n]);
    if (on_device) device_finish();
    if (count[side])
        hybrid_log(side == HOST ? "host" : "device", side == HOST ? 0 : -1, "calls",
                   begin, seconds());
    total[side] += count[side];
    count[side] = 0;
    return NULL;
}

/* Executes the lists of both sides, at the same time unless kernels are timed. */
static void execute_lists(void)
{
    static const int host = HOST, device = DEVICE;
    pthread_t thread;
    bool both = count[HOST] && count[DEVICE] && !profiling();
    if (both && pthread_create(&thread, NULL, execute_list, (void *)&device))
        fail("hybrid: cannot start a thread for the device");
    execute_list((void *)&host);
    if (both)
        pthread_join(thread, NULL);
    else
        execute_list((void *)&device);
    if (s.tolerance >= 0) report_sweeps(sweeps[HOST] + sweeps[DEVICE]);
    sweeps[HOST] = sweeps[DEVICE] = 0;
}

/* Appends a call to the list of the side that computes a field. */
static void append(int field, call c)
{
    int side = side_of(field);
    if (count[side] == CALLS) execute_lists();
    list[side][count[side]++] = c;
}

void fluid_begin(const setup *requested)
{
    s = *requested;
    device_percent = hybrid_device_percent();
    device_shares_cores = 0;
    if (device_percent != 0) device_begin(&s);
    omp_set_num_threads(hybrid_host_threads(device_shares_cores));
    if (device_percent != 100) host_begin(&s);
    total[HOST] = total[DEVICE] = 0;
}

void fluid_end(void)
{
    double calls = (double)(total[HOST] + total[DEVICE]);
    if (device_percent != 0) device_end();
    if (device_percent != 100) host_end();
    printf("Share=%.1f\n", calls > 0 ? 100 * (double)total[DEVICE] / calls : 0);
    hybrid_log_write();
}

void fluid_get(int f, float *dst)
{
    execute_lists();
    functions[side_of(f)].get(f, dst);
}

void fluid_put(int f, int i, int j, int k, float value)
{
    append(f, (call){PUT, {f, i, j, k}, value, 0});
}

void fluid_clear(int f)
{
    append(f, (call){CLEAR, {f}, 0, 0});
}

void fluid_add(int x, int source)
{
    append(x, (call){ADD, {x, source}, 0, 0});
}

/* The number of sweeps is reported later, unless it is fixed. */
int fluid_solve(int wall, int x, int x0, float a, float c)
{
    append(x, (call){SOLVE, {wall, x, x0}, a, c});
    return s.tolerance < 0 ? s.sweeps : 0;
}

int fluid_pressure(int p, int div)
{
    append(p, (call){PRESSURE, {p, div}, 0, 0});
    return s.tolerance < 0 ? s.sweeps : 0;
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    const int flow[] = {u, v, w};
    if (side_of(d) != side_of(u)) {
        execute_lists();
        for (int n = 0; n < 3; n++) device_read(flow[n], host_field(flow[n]));
    }
    append(d, (call){ADVECT, {wall, d, d0, u, v, w}, 0, 0});
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    append(u, (call){DIVERGENCE, {u, v, w, p, div}, 0, 0});
}

void fluid_gradient(int u, int v, int w, int p)
{
    append(u, (call){GRADIENT, {u, v, w, p}, 0, 0});
}
