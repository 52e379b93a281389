/* hybrid.c - the hybrid back-end: distributes the operations of a time step over the
 * host and the device, as tasks on whole fields.
 *
 * Tasks are scheduled in program order. A task of the device is enqueued at once in its
 * command queue. A task of the host is appended to a list. The host executes the list
 * when the device needs one of its results, or when it waits for a result of the device
 * itself. So the device has all its commands before the host starts to compute. A field
 * is transferred only if a task reads it on the other side.
 *
 * Left out: splitting the box between host and device. Each half sweep would have to
 * exchange a plane.
 */
#include <stdlib.h>

#include "host.h"
#include "hybrid.h"
#include "sides.h"

enum { HOST, DEVICE, SIDES };

enum {
    PUT = EXTRA_SWEEPS + 1,
    CLEAR,
    ADD,
    SOLVE,
    PRESSURE,
    ADVECT,
    DIVERGENCE,
    GRADIENT,
    KINDS
};
static const char *const kind_name[KINDS] = {
    "transfer", "more sweeps", "put",    "clear",      "add",
    "solve",    "pressure",    "advect", "divergence", "gradient"};

/* A set of fields is a bit mask. */
#define SET(field) (1u << (field))

typedef struct {
    int kind, wall;
    int field[5]; /* in the order of the call's arguments */
    unsigned reads, writes;
    float a, c;
    int cell[3];
} task;

static setup s;
static grid g;
static double device_percent; /* percentage of tasks for the device; negative: auto */
static bool enabled[SIDES];   /* side is in use */
static int threads;           /* on the host */
static float *split_field;    /* used if only the device is in use */

/* Sides that hold the current values of each field after all scheduled tasks. A field
 * in zero_fields is 0 and is cleared on a side when it is needed there. */
static unsigned valid[SIDES], zero_fields;
static unsigned open_solves; /* device solves not yet checked for convergence */
static unsigned in_flight;   /* sends that still read host memory */

enum { MAX_TASKS = 64 };
static task host_tasks[MAX_TASKS]; /* on the host */
static int list_size;
static unsigned pending_writes; /* fields that tasks of the list will write */

static int perform(const side *target, const task *t)
{
    const int *f = t->field;
    switch (t->kind) {
    case PUT:
        target->put(f[0], t->cell[0], t->cell[1], t->cell[2], t->a);
        break;
    case CLEAR:
        target->clear(f[0]);
        break;
    case ADD:
        target->add(f[0], f[1]);
        break;
    case ADVECT:
        target->advect(t->wall, f[0], f[1], f[2], f[3], f[4]);
        break;
    case DIVERGENCE:
        target->divergence(f[0], f[1], f[2], f[3], f[4]);
        break;
    case GRADIENT:
        target->gradient(f[0], f[1], f[2], f[3]);
        break;
    default:
        return target->solve(t->wall, f[0], f[1], t->a, t->c);
    }
    return 0;
}

/* ---- choice of the side ---------------------------------------------------------
 *
 * In each step eight tasks are independent of others: the diffusion of four fields and
 * the advection of four fields. With share=P the device gets P percent of these. All
 * other tasks run on the host, because every later task depends on them.
 *
 * share=auto uses list scheduling: a task goes to the side on which it finishes first.
 * The estimate uses the time until each side is busy, the time at which each field is
 * ready, the average duration of such tasks so far, and the transfers of fields. The
 * host executes each kind of task first. Until the device has executed a kind of task
 * twice, it is assumed to be as fast as the host, because first executions are slow.
 */

static double average_cost[SIDES][KINDS][ALONG_Z + 1], transfer_cost; /* seconds */
static int run_count[SIDES][KINDS][ALONG_Z + 1];
static double busy_until[SIDES], ready[FIELDS]; /* estimated times */
static long shared, device_tasks;               /* counts */

/* Weight of the latest duration in the moving average; chosen, not tuned. */
static const double LATEST = 0.25;
/* The first executions of a kind of task, which are slow, replace the average. */
enum { WARM_UP = 2 };

static void update_average(double *average, bool first, double seconds)
{
    *average = first ? seconds : (1 - LATEST) * *average + LATEST * seconds;
}

/* `code` combines the kind of the task and the wall: kind + KINDS * wall. */
void record_task_time(int code, double begin, double end)
{
    int kind = code % KINDS, wall = code / KINDS;
    hybrid_log("device", -1, kind_name[kind], begin, end);
    if (kind == TRANSFER)
        update_average(&transfer_cost, transfer_cost == 0, end - begin);
    else
        update_average(&average_cost[DEVICE][kind][wall],
                       run_count[DEVICE][kind][wall]++ < WARM_UP, end - begin);
}

static int earliest_finish(const task *t)
{
    double end[SIDES];
    int estimate = run_count[DEVICE][t->kind][t->wall] < WARM_UP ? HOST : DEVICE;
    double duration[SIDES] = {average_cost[HOST][t->kind][t->wall],
                              average_cost[estimate][t->kind][t->wall]};
    for (int n = 0; n < SIDES; n++) {
        double begin = busy_until[n], transfer_time = 0;
        for (int f = 0; f < FIELDS; f++) {
            if (!(t->reads & ~zero_fields & SET(f))) continue;
            if (ready[f] > begin) begin = ready[f];
            if (!(valid[n] & SET(f))) transfer_time += transfer_cost;
        }
        end[n] = begin + transfer_time + duration[n];
    }
    bool first = run_count[HOST][t->kind][t->wall] == 0;
    int target_side = end[DEVICE] < end[HOST] && !first ? DEVICE : HOST;
    busy_until[target_side] = end[target_side];
    for (int f = 0; f < FIELDS; f++)
        if (t->writes & SET(f)) ready[f] = end[target_side];
    return target_side;
}

static int choose_side(const task *t)
{
    bool is_shareable = t->kind == SOLVE || t->kind == ADVECT;
    int target_side = HOST;
    if (!enabled[HOST] || !enabled[DEVICE])
        target_side = enabled[DEVICE] ? DEVICE : HOST;
    else if (device_percent < 0)
        target_side = earliest_finish(t);
    else if (is_shareable &&
             100. * (double)(device_tasks + 1) <= device_percent * (double)(shared + 1))
        target_side = DEVICE;
    shared += is_shareable;
    device_tasks += is_shareable && target_side == DEVICE;
    return target_side;
}

/* ---- execution ------------------------------------------------------------------- */

#define ALL_FIELDS (~0u)

/* Executes the host's list up to the last task that writes one of these fields. Later
 * tasks stay on the list, to be executed while the device computes. */
static void run_host_tasks(unsigned fields)
{
    int end = 0;
    for (int n = 0; n < list_size; n++)
        if (host_tasks[n].writes & fields) end = n + 1;
    for (int n = 0; n < end; n++) {
        const task *t = &host_tasks[n];
        for (int f = 0; f < FIELDS; f++)
            if (t->writes & in_flight & SET(f)) device_await_send(f);
        in_flight &= ~t->writes;

        double begin = seconds();
        int sweeps = perform(&host, t);
        double end = seconds();
        if (s.tolerance >= 0) report_sweeps(sweeps);
        update_average(&average_cost[HOST][t->kind][t->wall],
                       run_count[HOST][t->kind][t->wall]++ < WARM_UP, end - begin);
        for (int thread = 0; thread < threads; thread++)
            hybrid_log("host", thread, kind_name[t->kind], begin, end);
    }
    list_size -= end;
    pending_writes = 0;
    for (int n = 0; n < list_size; n++) {
        host_tasks[n] = host_tasks[n + end];
        pending_writes |= host_tasks[n].writes;
    }
}

static void dispatch(int target_side, const task *t)
{
    if (target_side == DEVICE) {
        device_task(t->kind + KINDS * t->wall);
        perform(&device, t);
        if (t->kind == SOLVE && s.tolerance >= 0) open_solves |= t->writes;
    } else {
        if (list_size == MAX_TASKS) run_host_tasks(ALL_FIELDS);
        host_tasks[list_size++] = *t;
        pending_writes |= t->writes;
    }
}

static void finish_solves(unsigned fields)
{
    if (!(fields & open_solves)) return;
    run_host_tasks(ALL_FIELDS);
    for (int f = 0; f < FIELDS; f++)
        if (fields & open_solves & SET(f)) report_sweeps(device_finish_solve(f));
    open_solves &= ~fields;
}

/* Makes the current values of a field available on a side. */
static void make_available(int target_side, int f)
{
    if (valid[target_side] & SET(f)) return;
    if (zero_fields & SET(f)) {
        dispatch(target_side, &(task){.kind = CLEAR, .field = {f}, .writes = SET(f)});
    } else if (target_side == DEVICE) {
        if (pending_writes & SET(f)) run_host_tasks(SET(f));
        device_send(f, host_field(f));
        in_flight |= SET(f);
    } else {
        run_host_tasks(ALL_FIELDS);
        device_receive(f, host_field(f));
    }
    valid[target_side] |= SET(f);
}

static void schedule_task(task t)
{
    int target_side = choose_side(&t);
    finish_solves(t.reads | t.writes);
    for (int f = 0; f < FIELDS; f++)
        if (t.reads & SET(f)) make_available(target_side, f);
    dispatch(target_side, &t);
    zero_fields &= ~t.writes;
    valid[target_side] |= t.writes;
    valid[!target_side] &= ~t.writes;
}

/* ---- interface of fluid.h -------------------------------------------------------- */

void fluid_begin(const setup *requested)
{
    s = *requested;
    g = s.g;
    device_percent = hybrid_device_percent();
    enabled[HOST] = device_percent != 100;
    enabled[DEVICE] = device_percent != 0;
    int shares_cores = enabled[DEVICE] && device_begin(&s, hybrid_host_threads(1));
    threads = hybrid_host_threads(shares_cores);
    shared = device_tasks = 0;
    split_field = NULL;
    if (enabled[HOST])
        host_begin(&s, threads);
    else
        split_field = allocate(field_size(g), sizeof *split_field, "a field");
    for (int f = 0; f < FIELDS; f++) fluid_clear(f);
}

void fluid_end(void)
{
    if (enabled[DEVICE]) device_end();
    if (enabled[HOST]) host_end();
    free(split_field);
    printf("Share=%.1f\n", shared ? 100. * (double)device_tasks / (double)shared : 0);
    hybrid_log_write();
}

void fluid_put(int x, int i, int j, int k, float value)
{
    schedule_task((task){.kind = PUT,
                         .field = {x},
                         .reads = SET(x),
                         .writes = SET(x),
                         .a = value,
                         .cell = {i, j, k}});
}

void fluid_get(int x, float *dst)
{
    finish_solves(open_solves);
    make_available(enabled[HOST] ? HOST : DEVICE, x);
    run_host_tasks(ALL_FIELDS);
    if (!enabled[HOST]) device_receive(x, split_field);
    merge_colours(g, enabled[HOST] ? host_field(x) : split_field, dst);
}

void fluid_clear(int x)
{
    finish_solves(SET(x));
    zero_fields |= SET(x);
    valid[HOST] &= ~SET(x);
    valid[DEVICE] &= ~SET(x);
}

void fluid_add(int x, int source)
{
    schedule_task((task){.kind = ADD,
                         .field = {x, source},
                         .reads = SET(x) | SET(source),
                         .writes = SET(x)});
}

/* The number of sweeps is reported later, unless it is fixed by the caller. */
int fluid_solve(int wall, int x, int x0, float a, float c)
{
    schedule_task((task){.kind = a == 1 && c == 6 ? PRESSURE : SOLVE,
                         .wall = wall,
                         .field = {x, x0},
                         .reads = SET(x) | SET(x0),
                         .writes = SET(x),
                         .a = a,
                         .c = c});
    return s.tolerance < 0 ? s.sweeps : 0;
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    schedule_task((task){.kind = ADVECT,
                         .wall = wall,
                         .field = {d, d0, u, v, w},
                         .reads = SET(d0) | SET(u) | SET(v) | SET(w),
                         .writes = SET(d)});
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    schedule_task((task){.kind = DIVERGENCE,
                         .field = {u, v, w, p, div},
                         .reads = SET(u) | SET(v) | SET(w),
                         .writes = SET(p) | SET(div)});
}

void fluid_gradient(int u, int v, int w, int p)
{
    schedule_task((task){.kind = GRADIENT,
                         .field = {u, v, w, p},
                         .reads = SET(u) | SET(v) | SET(w) | SET(p),
                         .writes = SET(u) | SET(v) | SET(w)});
}
