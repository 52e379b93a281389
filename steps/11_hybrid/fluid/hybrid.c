/* hybrid.c - the fluid, dealt out by field: what a step does to one is a task of the
 * host or of the device.
 *
 * Tasks are dealt out in the order in which they are asked for. The device is given its
 * own at once, as commands of a queue; the host's are put on a list, which is worked
 * off when something on it is needed: by the device, or by the host of the device. So
 * the device has all its work before the host begins, and nobody waits before there is
 * nothing else to do. A field that the other side has made is carried over, and only
 * then.
 *
 * Left out: a cut through the box. Each half sweep would carry a plane over.
 */
#include <stdlib.h>

#include "host.h"
#include "share.h"
#include "sides.h"

enum { HOST, DEVICE, SIDES };

enum { PUT = MORE + 1, CLEAR, ADD, SOLVE, PRESSURE, ADVECT, DIVERGENCE, GRADIENT, ALL };
static const char *const kind_name[ALL] = {
    "carry", "more sweeps", "put",    "clear",      "add",
    "solve", "pressure",    "advect", "divergence", "gradient"};

/* A set of fields has a bit for each. */
#define SET(field) (1u << (field))

typedef struct {
    int kind, wall;
    int field[5]; /* in the order of the call */
    unsigned reads, writes;
    float a, c;
    int cell[3];
} task;

static setup s;
static grid g;
static double wanted;   /* percent for the device; negative: as is measured */
static bool has[SIDES]; /* is there this side? */
static int threads;     /* of the host */
static float *halves;   /* a field on its way from the device, where it is alone */

/* Where the fields are when all is done that was dealt out. A blank one is 0, and made
 * anew where it is needed. */
static unsigned holds[SIDES], blank;
static unsigned solving; /* by the device, to be settled before they are used */
static unsigned
    sending; /* from the host's memory, which must stay as it is till then */

enum { LIST = 64 };
static task list[LIST]; /* of the host */
static int listed;
static unsigned promised; /* what it will write */

static int perform(const side *on, const task *t)
{
    const int *f = t->field;
    switch (t->kind) {
    case PUT:
        on->put(f[0], t->cell[0], t->cell[1], t->cell[2], t->a);
        break;
    case CLEAR:
        on->clear(f[0]);
        break;
    case ADD:
        on->add(f[0], f[1]);
        break;
    case ADVECT:
        on->advect(t->wall, f[0], f[1], f[2], f[3], f[4]);
        break;
    case DIVERGENCE:
        on->divergence(f[0], f[1], f[2], f[3], f[4]);
        break;
    case GRADIENT:
        on->gradient(f[0], f[1], f[2], f[3]);
        break;
    default:
        return on->solve(t->wall, f[0], f[1], t->a, t->c);
    }
    return 0;
}

/* ---- whose it is --------------------------------------------------------------------
 *
 * Eight tasks of a step have others beside them that do not wait for them: four fields
 * spread, and four are moved. Of these the device gets its share, counted. What all
 * others wait for stays with the host.
 *
 * auto has a timetable instead: when each side will have done what it has, and when
 * each field will be ready, by what such tasks took so far. A task goes where it will
 * end first, with what must be carried there. The host does all once; the device is
 * taken for as fast as the host until it has done a task twice, since first times are
 * slow.
 */

static double cost[SIDES][ALL][ALONG_Z + 1], carry; /* seconds */
static int tried[SIDES][ALL][ALONG_Z + 1];
static double until[SIDES], ready[FIELDS]; /* the timetable */
static long shared, of_device;             /* tasks */

static void learn(double *known, bool first, double seconds)
{
    *known = first ? seconds : 0.75 * *known + 0.25 * seconds;
}

/* What the device is told as kind is the kind and the wall. */
void took(int which, double begin, double end)
{
    int kind = which % ALL, wall = which / ALL;
    share_note("device", -1, kind_name[kind], begin, end);
    if (kind == CARRY)
        learn(&carry, carry == 0, end - begin);
    else
        learn(&cost[DEVICE][kind][wall], tried[DEVICE][kind][wall]++ < 2, end - begin);
}

static int first_done(const task *t)
{
    double end[SIDES];
    int known = tried[DEVICE][t->kind][t->wall] < 2 ? HOST : DEVICE;
    double takes[SIDES] = {cost[HOST][t->kind][t->wall], cost[known][t->kind][t->wall]};
    for (int n = 0; n < SIDES; n++) {
        double start = until[n], carried = 0;
        for (int f = 0; f < FIELDS; f++) {
            if (!(t->reads & ~blank & SET(f))) continue;
            if (ready[f] > start) start = ready[f];
            if (!(holds[n] & SET(f))) carried += carry;
        }
        end[n] = start + carried + takes[n];
    }
    bool first = tried[HOST][t->kind][t->wall] == 0;
    int to = end[DEVICE] < end[HOST] && !first ? DEVICE : HOST;
    until[to] = end[to];
    for (int f = 0; f < FIELDS; f++)
        if (t->writes & SET(f)) ready[f] = end[to];
    return to;
}

static int side_for(const task *t)
{
    bool counts = t->kind == SOLVE || t->kind == ADVECT;
    int to = HOST;
    if (!has[HOST] || !has[DEVICE])
        to = has[DEVICE] ? DEVICE : HOST;
    else if (wanted < 0)
        to = first_done(t);
    else if (counts && 100. * (double)(of_device + 1) <= wanted * (double)(shared + 1))
        to = DEVICE;
    shared += counts;
    of_device += counts && to == DEVICE;
    return to;
}

/* ---- how it is done ---------------------------------------------------------------
 */

#define ALL_FIELDS (~0u)

/* Works off the list as far as the last task that writes one of these fields: what
 * comes after it is for the time when the device has something to do. */
static void work_off(unsigned fields)
{
    int end = 0;
    for (int n = 0; n < listed; n++)
        if (list[n].writes & fields) end = n + 1;
    for (int n = 0; n < end; n++) {
        const task *t = &list[n];
        for (int f = 0; f < FIELDS; f++)
            if (t->writes & sending & SET(f)) device_sent(f);
        sending &= ~t->writes;

        double begin = seconds();
        int sweeps = perform(&host, t);
        double end = seconds();
        if (s.tolerance >= 0) swept(sweeps);
        learn(&cost[HOST][t->kind][t->wall], tried[HOST][t->kind][t->wall]++ < 2,
              end - begin);
        for (int thread = 0; thread < threads; thread++)
            share_note("host", thread, kind_name[t->kind], begin, end);
    }
    listed -= end;
    promised = 0;
    for (int n = 0; n < listed; n++) {
        list[n] = list[n + end];
        promised |= list[n].writes;
    }
}

static void give(int to, const task *t)
{
    if (to == DEVICE) {
        device_task(t->kind + ALL * t->wall);
        perform(&device, t);
        if (t->kind == SOLVE && s.tolerance >= 0) solving |= t->writes;
    } else {
        if (listed == LIST) work_off(ALL_FIELDS);
        list[listed++] = *t;
        promised |= t->writes;
    }
}

static void settle(unsigned fields)
{
    if (!(fields & solving)) return;
    work_off(ALL_FIELDS);
    for (int f = 0; f < FIELDS; f++)
        if (fields & solving & SET(f)) swept(device_settle(f));
    solving &= ~fields;
}

/* Sees to it that a side has a field. */
static void bring(int to, int f)
{
    if (holds[to] & SET(f)) return;
    if (blank & SET(f)) {
        give(to, &(task){.kind = CLEAR, .field = {f}, .writes = SET(f)});
    } else if (to == DEVICE) {
        if (promised & SET(f)) work_off(SET(f));
        device_send(f, host_field(f));
        sending |= SET(f);
    } else {
        work_off(ALL_FIELDS);
        device_fetch(f, host_field(f));
    }
    holds[to] |= SET(f);
}

static void deal(task t)
{
    int to = side_for(&t);
    settle(t.reads | t.writes);
    for (int f = 0; f < FIELDS; f++)
        if (t.reads & SET(f)) bring(to, f);
    give(to, &t);
    blank &= ~t.writes;
    holds[to] |= t.writes;
    holds[!to] &= ~t.writes;
}

/* ---- what is asked for --------------------------------------------------------------
 */

void fluid_begin(const setup *asked)
{
    s = *asked;
    g = s.g;
    wanted = share_wanted();
    has[HOST] = wanted != 100;
    has[DEVICE] = wanted != 0;
    int beside = has[DEVICE] && device_begin(&s, share_threads(1));
    threads = share_threads(beside);
    if (has[HOST])
        host_begin(&s, threads);
    else
        halves = allocate(cells_of(g), sizeof *halves, "a field");
    for (int f = 0; f < FIELDS; f++) fluid_clear(f);
}

void fluid_end(void)
{
    if (has[DEVICE]) device_end();
    if (has[HOST]) host_end();
    free(halves);
    printf("Share=%.1f\n", shared ? 100. * (double)of_device / (double)shared : 0);
    if (fflush(stdout)) fail("standard output: cannot be written");
    share_trace();
}

void fluid_put(int x, int i, int j, int k, float value)
{
    deal((task){.kind = PUT,
                .field = {x},
                .reads = SET(x),
                .writes = SET(x),
                .a = value,
                .cell = {i, j, k}});
}

void fluid_get(int x, float *to)
{
    settle(solving);
    bring(has[HOST] ? HOST : DEVICE, x);
    work_off(ALL_FIELDS);
    if (!has[HOST]) device_fetch(x, halves);
    join(g, has[HOST] ? host_field(x) : halves, to);
}

void fluid_clear(int x)
{
    settle(SET(x));
    blank |= SET(x);
    holds[HOST] &= ~SET(x);
    holds[DEVICE] &= ~SET(x);
}

void fluid_add(int x, int source)
{
    deal((task){.kind = ADD,
                .field = {x, source},
                .reads = SET(x) | SET(source),
                .writes = SET(x)});
}

/* How many sweeps there were is known later, unless so many are asked for. */
int fluid_solve(int wall, int x, int x0, float a, float c)
{
    deal((task){.kind = a == 1 && c == 6 ? PRESSURE : SOLVE,
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
    deal((task){.kind = ADVECT,
                .wall = wall,
                .field = {d, d0, u, v, w},
                .reads = SET(d0) | SET(u) | SET(v) | SET(w),
                .writes = SET(d)});
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    deal((task){.kind = DIVERGENCE,
                .field = {u, v, w, p, div},
                .reads = SET(u) | SET(v) | SET(w),
                .writes = SET(p) | SET(div)});
}

void fluid_gradient(int u, int v, int w, int p)
{
    deal((task){.kind = GRADIENT,
                .field = {u, v, w, p},
                .reads = SET(u) | SET(v) | SET(w) | SET(p),
                .writes = SET(u) | SET(v) | SET(w)});
}
