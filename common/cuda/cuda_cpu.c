/* cuda_cpu.c - implements cuda_cpu.h.
 *
 * There is one stream: a queue of commands. The thread of the host that executes a
 * kernel, and helpers, take one block after the other. They run its threads as
 * coroutines: each until its next barrier. A thread that reaches no barrier leaves its
 * stack to the next thread.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, ucontext.h */
#include "cuda_device.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "coroutine.h"
#include "run.h"

_Thread_local dim3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

/* Further limits of compute capability 7.5, in threads, blocks and bytes. */
enum {
    BLOCK_MAX = 1024, /* threads, also in x and in y */
    BLOCK_Z_MAX = 64,
    CONSTANT_MAX = 64 * 1024,
    MULTIPROCESSORS = 2,    /* so that code for more than one is run */
    THREADS_AT_ONCE = 1024, /* of a multiprocessor, like the next two */
    BLOCKS_AT_ONCE = 16,
    SHARED_AT_ONCE = 64 * 1024
};
#define GRID_X_MAX INT32_MAX

enum {
    TEAMS_MAX = 64,
    TOGETHER_MAX =
        MULTIPROCESSORS * BLOCKS_AT_ONCE, /* blocks of a cooperative launch */
    QUEUE_MAX = 1024, /* commands; a full queue executes the oldest */
    ALIGNMENT_MAX = 256
};

/* ---- random numbers ----------------------------------------------------------------
 */

static uint64_t seed;
static unsigned team_limit;

static void begin(void);

typedef struct {
    uint64_t start, n;
} generator;

static uint64_t random_next(generator *g)
{
    return splitmix64(g->start, ++g->n);
}

/* An order of n elements: element (first + i * step) mod n is at position i; step and n
 * are coprime. */
typedef struct {
    size_t n, first, step;
} order;

static size_t greatest_common_divisor(size_t a, size_t b)
{
    return b ? greatest_common_divisor(b, a % b) : a;
}

static order random_order(generator *g, size_t n)
{
    order o = {n, 0, 1};
    if (n == 1) return o;
    o.first = random_next(g) % n;
    do o.step = random_next(g) % n;
    while (greatest_common_divisor(o.step, n) != 1);
    return o;
}

static size_t order_at(order o, size_t i)
{
    return (o.first + i * o.step) % o.n;
}

/* ---- errors ------------------------------------------------------------------------
 */

/* The last error, and the error of a kernel, which all later calls return. */
static cudaError_t last_error, kernel_error;

static cudaError_t result(cudaError_t err)
{
    if (kernel_error) err = kernel_error;
    if (err && err != cudaErrorNotReady) last_error = err;
    return err;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t err = result(cudaSuccess) ? kernel_error : last_error;
    last_error = cudaSuccess;
    return err;
}

static const struct {
    cudaError_t err;
    const char *name, *text;
} errors[] = {
#define ERROR_ROW(name, number, text) {name, #name, text},
    CUDA_CPU_ERRORS(ERROR_ROW)};

enum { ERRORS = sizeof errors / sizeof *errors };

const char *cudaGetErrorName(cudaError_t err)
{
    int n = 0;
    while (n < ERRORS && errors[n].err != err) n++;
    return n < ERRORS ? errors[n].name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t err)
{
    int n = 0;
    while (n < ERRORS && errors[n].err != err) n++;
    return n < ERRORS ? errors[n].text : "unrecognized error code";
}

/* ---- memory ------------------------------------------------------------------------
 */

/* A block of device memory, or of host memory that is page-locked. Device memory is
 * mapped with inaccessible pages at both ends. */
typedef enum { DEVICE, MALLOC_HOST, REGISTERED } memory_kind;

typedef struct {
    memory_kind kind;
    char *begin, *end, *map;
    size_t map_size;
} memory_block;

static memory_block *memory;
static size_t memory_count, device_bytes, event_count;
static int device_open;   /* device memory can be accessed */
static int constant_open; /* constant memory holds its contents */

/* The section with all __constant__ variables, whose ends the linker defines, and its
 * contents while it holds NaN. */
extern char __start_cuda_constant[] __attribute__((weak));
extern char __stop_cuda_constant[] __attribute__((weak));
static char constant_contents[CONSTANT_MAX];

static size_t constant_bytes(void)
{
    return (size_t)((uintptr_t)__stop_cuda_constant - (uintptr_t)__start_cuda_constant);
}

static size_t page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Returns the block that contains the bytes at p, or NULL. */
static memory_block *memory_find(const void *p, size_t bytes)
{
    const char *first = (const char *)p;
    for (memory_block *m = memory; m < memory + memory_count; m++)
        if (first >= m->begin && first <= m->end && bytes <= (size_t)(m->end - first))
            return m;
    return NULL;
}

static int is_device(const void *p, size_t bytes)
{
    const memory_block *m = memory_find(p, bytes);
    return m && m->kind == DEVICE;
}

static int is_locked(const void *p, size_t bytes)
{
    const memory_block *m = memory_find(p, bytes);
    return m && m->kind != DEVICE;
}

static void memory_add(memory_block m)
{
    memory = (memory_block *)realloc(memory, (memory_count + 1) * sizeof *memory);
    if (!memory) fail("device memory: not enough memory for its table");
    memory[memory_count++] = m;
}

static void memory_remove(memory_block *m)
{
    *m = memory[--memory_count];
    if (memory_count) return;
    free(memory);
    memory = NULL;
}

static void memory_access(const memory_block *m, int accessible)
{
    if (m && m->kind == DEVICE &&
        mprotect(m->map + page(), m->map_size - 2 * page(),
                 accessible ? PROT_READ | PROT_WRITE : PROT_NONE))
        fail("device memory: cannot change the access to its pages");
}

static void device_access(int accessible)
{
    if (device_open == accessible) return;
    for (size_t n = 0; n < memory_count; n++) memory_access(&memory[n], accessible);
    device_open = accessible;
}

static void constant_access(int accessible)
{
    size_t size = constant_bytes();
    if (constant_open == accessible || !size) return;
    if (accessible)
        memcpy(__start_cuda_constant, constant_contents, size);
    else
        memset(__start_cuda_constant, 0xff, size);
    constant_open = accessible;
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    begin();
    *p = NULL;
    if (!bytes) return result(cudaSuccess);
    if (device_bytes + (double)bytes > memory_limit())
        return result(cudaErrorMemoryAllocation);
    size_t pages = (bytes + page() - 1) / page() * page(), size = pages + 2 * page();
    char *map = (char *)mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return result(cudaErrorMemoryAllocation);

    /* The memory ends with the pages, or up to 255 bytes before them if its size is a
     * multiple of more than the alignment that CUDA promises. */
    char *begin_at = map + page() + pages - bytes;
    memory_block m = {DEVICE, begin_at, begin_at + bytes, map, size};
    memory_access(&m, 1);
    memset(map + page(), 0xff, pages);
    memory_access(&m, device_open);
    memory_add(m);
    device_bytes += bytes;
    *p = m.begin;
    return result(cudaSuccess);
}

static cudaError_t enqueued_all(void);

/* The bytes between the page and the memory must still be those of cudaMalloc. */
static void check_front(const memory_block *m)
{
    for (const char *c = m->map + page(); c < m->begin; c++)
        if (*c != (char)0xff)
            fail("device memory: a kernel wrote %td bytes before %td bytes of memory",
                 m->begin - c, m->end - m->begin);
}

static cudaError_t release(void *p, memory_kind kind, cudaError_t otherwise)
{
    if (!p) return result(cudaSuccess);
    cudaError_t err = enqueued_all();
    memory_block *m = memory_find(p, 0);
    while (m && (m->begin != p || m->kind != kind))
        m = ++m < memory + memory_count ? m : NULL;
    if (!m) return result(otherwise);
    if (kind == DEVICE) {
        memory_access(m, 1);
        check_front(m);
        device_bytes -= (size_t)(m->end - m->begin);
        munmap(m->map, m->map_size);
    } else if (kind == MALLOC_HOST) {
        free(p);
    }
    memory_remove(m);
    return err;
}

cudaError_t cudaFree(void *p)
{
    return release(p, DEVICE, cudaErrorInvalidValue);
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    *p = allocate(bytes, 1, "page-locked memory");
    memory_add((memory_block){MALLOC_HOST, (char *)*p, (char *)*p + bytes, NULL, 0});
    return result(cudaSuccess);
}

cudaError_t cudaFreeHost(void *p)
{
    return release(p, MALLOC_HOST, cudaErrorInvalidValue);
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags)
{
    char *first = (char *)p;
    if (!p || !bytes || flags != cudaHostRegisterDefault)
        return result(cudaErrorInvalidValue);
    for (size_t n = 0; n < memory_count; n++)
        if (first < memory[n].end && memory[n].begin < first + bytes)
            return result(cudaErrorHostMemoryAlreadyRegistered);
    memory_add((memory_block){REGISTERED, first, first + bytes, NULL, 0});
    return result(cudaSuccess);
}

cudaError_t cudaHostUnregister(void *p)
{
    return release(p, REGISTERED, cudaErrorHostMemoryNotRegistered);
}

/* ---- kernels -----------------------------------------------------------------------
 */

typedef struct {
    cuda_cpu_kernel kernel;
    dim3 grid, block;
    size_t shared;
    int together; /* a cooperative launch */
    int illegal;  /* an argument that points to memory of the host, from 1; 0: none */
} launch;

/* A thread of a block. */
struct team;
typedef struct {
    coroutine run;
    struct team *team;
    unsigned index;
    const char *line; /* the barrier at which it waits */
    int of_grid;      /* the barrier is one of all blocks */
    int predicate;
} cuda_thread;

/* A thread of the system and what it needs to run one block at a time. */
typedef struct team {
    cuda_thread threads[BLOCK_MAX];
    unsigned started;
    char *shared_end; /* of the memory from which blocks get theirs, before a guard */
    void *shared;
    const launch *of;
    dim3 block;     /* index of the block */
    unsigned phase; /* counts barriers, and beginnings of blocks */
    int any;        /* result of the last barrier */
    generator orders;
    unsigned waiting; /* threads at a barrier */
    char begun, ended[2];
} team;

/* The first TEAMS_MAX teams run ordinary launches, the others cooperative ones. */
static team *teams[TEAMS_MAX + TOGETHER_MAX];
static _Thread_local cuda_thread *current;

static unsigned grid_phase; /* counts barriers of the grid */
static char grid_ended[2];

/* These macros tell ThreadSanitizer the order at a barrier: a thread's accesses after
 * the barrier follow the accesses of its team before it. Blocks of different teams are
 * not ordered, so one thread of the system runs all teams in turn. */
#if COROUTINE_TSAN
#define happens_before(token) __tsan_release(token)
#define happens_after(token)  __tsan_acquire(token)
#else
#define happens_before(token) ((void)(token))
#define happens_after(token)  ((void)(token))
#endif

/* Makes the calling coroutine the current thread of its block. */
NO_TSAN static void thread_enter(cuda_thread *t)
{
    dim3 block = t->team->of->block;
    unsigned n = t->index;
    current = t;
    blockIdx = t->team->block;
    threadIdx.x = n % block.x;
    threadIdx.y = n / block.x % block.y;
    threadIdx.z = n / block.x / block.y;
    happens_after(&t->team->begun);
    happens_after(&t->team->ended[(t->team->phase + 1) % 2]);
}

NO_TSAN static void thread_leave(cuda_thread *t)
{
    happens_before(&t->team->ended[t->team->phase % 2]);
}

NO_TSAN static void thread_main(void *thread)
{
    cuda_thread *t = (cuda_thread *)thread;
    thread_enter(t);
    t->team->of->kernel.run((void *)t->team->of->kernel.arguments);
    thread_leave(t);
}

NO_TSAN int cuda_cpu_barrier(const char *line, int predicate)
{
    cuda_thread *t = current;
    t->line = line;
    t->of_grid = 0;
    t->predicate = predicate != 0;
    thread_leave(t);
    coroutine_suspend(&t->run);
    thread_enter(t);
    return t->team->any;
}

NO_TSAN void cuda_cpu_grid_barrier(const char *line)
{
    cuda_thread *t = current;
    char *ended = &grid_ended[grid_phase % 2];
    t->line = line;
    t->of_grid = 1;
    thread_leave(t);
    happens_before(ended);
    coroutine_suspend(&t->run);
    happens_after(ended);
    thread_enter(t);
}

NO_TSAN void *cuda_cpu_shared(void)
{
    return current->team->shared;
}

static team *team_allocate(void)
{
    /* The parts of the map: shared memory, a page that no thread can access, the team.
     */
    size_t shared = (CUDA_SHARED_BYTES + page() - 1) / page() * page();
    char *map =
        (char *)mmap(NULL, shared + page() + sizeof(team), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + shared, page(), PROT_NONE))
        fail("a block of a kernel: not enough memory");
    team *t = (team *)(map + shared + page());
    t->shared_end = map + shared;
    return t;
}

static unsigned block_size(const launch *l)
{
    return l->block.x * l->block.y * l->block.z;
}

/* Checks that all threads of a block wait at the same barrier. Sets its result. Returns
 * the barrier's line if it is one of the grid, otherwise NULL. */
static const char *barrier_check(team *t)
{
    const char *line = NULL;
    unsigned same = 0, threads = block_size(t->of);
    int of_grid = 0;
    t->any = 0;
    for (unsigned n = 0; n < t->started; n++) {
        const cuda_thread *thread = &t->threads[n];
        if (!thread->run.running) continue;
        if (!line) line = thread->line, of_grid = thread->of_grid;
        same += line == thread->line;
        t->any |= !of_grid && thread->predicate;
    }
    if (same != threads)
        fail("kernel %s, block (%u, %u, %u): %s in %s is reached by %u of %u threads: "
             "expected all of them",
             t->of->kernel.name, t->block.x, t->block.y, t->block.z,
             of_grid ? "CUDA_GRID_SYNC()" : "__syncthreads()", line, same, threads);
    return of_grid ? line : NULL;
}

/* Fills shared memory with NaN, without a function that ThreadSanitizer checks. */
NO_TSAN static void fill_shared(team *t)
{
    if (!COROUTINE_TSAN) memset(t->shared, 0xff, t->of->shared);
    for (size_t n = 0; COROUTINE_TSAN && n < t->of->shared; n++)
        ((volatile unsigned char *)t->shared)[n] = 0xff;
}

/* Runs each thread of a block up to its first barrier. */
static void begin_block(team *t, size_t block, uint64_t start)
{
    const launch *l = t->of;
    unsigned threads = block_size(l);
    t->block.x = (unsigned)(block % l->grid.x);
    t->block.y = (unsigned)(block / l->grid.x % l->grid.y);
    t->block.z = (unsigned)(block / l->grid.x / l->grid.y);
    t->shared = t->shared_end - l->shared;
    t->orders = (generator){start, 0};
    t->waiting = 0;
    t->phase++;
    fill_shared(t);

    /* ThreadSanitizer tells threads apart by their stacks. */
    order o = random_order(&t->orders, threads);
    for (unsigned i = 0; i < threads; i++) {
        unsigned index = (unsigned)order_at(o, i),
                 slot = COROUTINE_TSAN ? index : t->waiting;
        cuda_thread *thread = &t->threads[slot];
        if (t->started <= slot) t->started = slot + 1;
        thread->team = t;
        thread->index = index;
        t->waiting += (unsigned)coroutine_start(&thread->run, thread_main, thread);
    }
}

/* Runs each thread from the barrier at which all wait to its next one. */
static void pass_barrier(team *t)
{
    unsigned threads = block_size(t->of);
    order o = random_order(&t->orders, threads);
    t->phase++;
    t->waiting = 0;
    for (unsigned i = 0; i < threads; i++)
        t->waiting += (unsigned)coroutine_resume(&t->threads[order_at(o, i)].run);
}

/* Runs a block until it has ended, then returns NULL, or until all its threads wait at
 * a barrier of the grid, then returns the barrier's line. */
static const char *run_to_grid_barrier(team *t)
{
    while (t->waiting) {
        const char *line = barrier_check(t);
        if (line) return line;
        pass_barrier(t);
    }
    return NULL;
}

static void run_block(team *t, size_t block, uint64_t start)
{
    begin_block(t, block, start);
    const char *line = run_to_grid_barrier(t);
    if (line)
        fail("kernel %s: CUDA_GRID_SYNC() in %s: expected CUDA_LAUNCH_TOGETHER",
             t->of->kernel.name, line);
}

/* Runs the blocks of a cooperative launch: all exist from the beginning, and each runs
 * to its next barrier of the grid, one after the other, in another order each time. */
static void run_together(const launch *l, uint64_t start)
{
    team **of_block = teams + TEAMS_MAX;
    generator g = {start, 0};
    unsigned blocks = l->grid.x * l->grid.y * l->grid.z, waiting = blocks;
    for (unsigned n = 0; n < blocks; n++) {
        if (!of_block[n]) of_block[n] = team_allocate();
        of_block[n]->of = l;
        happens_before(&of_block[n]->begun);
    }
    for (int begun = 0; waiting; begun = 1) {
        order o = random_order(&g, blocks);
        const char *line = NULL;
        grid_phase++;
        waiting = 0;
        for (unsigned i = 0; i < blocks; i++) {
            unsigned n = (unsigned)order_at(o, i);
            if (begun)
                pass_barrier(of_block[n]);
            else
                begin_block(of_block[n], n, start + 1 + n);
            const char *next = run_to_grid_barrier(of_block[n]);
            if (!line) line = next;
            waiting += next && next == line;
        }
        if (waiting && waiting != blocks)
            fail("kernel %s: CUDA_GRID_SYNC() in %s is reached by %u of %u blocks: "
                 "expected all of them",
                 l->kernel.name, line, waiting, blocks);
    }
    for (unsigned n = 0; n < blocks; n++)
        for (int i = 0; i < 2; i++) happens_after(&of_block[n]->ended[i]);
}

/* The kernel that is running. Helpers join it if they are awake before its last block
 * has been taken, so that a busy machine need not wait for them. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t opened, left;
    int open;
    unsigned helpers, inside; /* helpers that exist, and that run blocks */
    order order;
    size_t next; /* position of the next block in the order */
    uint64_t number, start;
} running = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .opened = PTHREAD_COND_INITIALIZER,
             .left = PTHREAD_COND_INITIALIZER};

static void run_blocks(team *t)
{
    for (;;) {
        size_t position = __atomic_fetch_add(&running.next, 1, __ATOMIC_RELAXED);
        if (position >= running.order.n) return;
        size_t block = order_at(running.order, position);
        if (COROUTINE_TSAN) t = teams[position % team_limit];
        run_block(t, block, running.start + block);
    }
}

static void *help(void *own_team)
{
    uint64_t seen = 0;
    pthread_mutex_lock(&running.lock);
    for (;;) {
        while (!running.open || seen == running.number)
            pthread_cond_wait(&running.opened, &running.lock);
        seen = running.number;
        running.inside++;
        pthread_mutex_unlock(&running.lock);
        run_blocks((team *)own_team);
        pthread_mutex_lock(&running.lock);
        if (!--running.inside) pthread_cond_signal(&running.left);
    }
    return NULL;
}

static void start_helper(void)
{
    pthread_t thread;
    team *t = teams[++running.helpers] = team_allocate();
    if (pthread_create(&thread, NULL, help, t) || pthread_detach(thread))
        fail("a kernel: cannot start a thread");
}

static void run_kernel(const launch *l)
{
    if (l->illegal) {
        fprintf(stderr,
                "%s: kernel %s: argument %d points to memory of the host that is not "
                "page-locked\n",
                run_name, l->kernel.name, l->illegal);
        kernel_error = cudaErrorIllegalAddress;
        return;
    }
    if (l->together) {
        gridDim = l->grid;
        blockDim = l->block;
        run_together(l, splitmix64(seed, ++running.number));
        return;
    }
    size_t blocks = (size_t)l->grid.x * l->grid.y * l->grid.z;
    while (!COROUTINE_TSAN && running.helpers + 1 < team_limit &&
           running.helpers + 1 < blocks)
        start_helper();

    pthread_mutex_lock(&running.lock);
    gridDim = l->grid;
    blockDim = l->block;
    for (unsigned n = 0; n < team_limit && teams[n]; n++) {
        teams[n]->of = l;
        happens_before(&teams[n]->begun);
    }
    running.start = splitmix64(seed, ++running.number);
    running.order = random_order(&(generator){running.start, 0}, blocks);
    running.next = 0;
    running.open = 1;
    if (blocks > 1) pthread_cond_broadcast(&running.opened);
    pthread_mutex_unlock(&running.lock);

    run_blocks(teams[0]);

    pthread_mutex_lock(&running.lock);
    running.open = 0;
    while (running.inside) pthread_cond_wait(&running.left, &running.lock);
    pthread_mutex_unlock(&running.lock);
    for (unsigned n = 0; n < team_limit && teams[n]; n++)
        for (int i = 0; i < 2; i++) happens_after(&teams[n]->ended[i]);
}

/* Explains an access to memory of the device that is not allowed, then lets the system
 * end the process. */
static void handle_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    const char *at = (const char *)info->si_addr;
    char where[96] = "", thread[128], text[384];
    int by_host = 0;
    for (const memory_block *m = memory; m < memory + memory_count; m++)
        if (m->kind == DEVICE && at >= m->map && at < m->map + m->map_size) {
            by_host = at >= m->begin && at < m->end;
            snprintf(where, sizeof where, "byte %td of %td of device memory",
                     at - m->begin, m->end - m->begin);
        }
    for (unsigned n = 0; n < TEAMS_MAX + TOGETHER_MAX; n++)
        if (teams[n] && at >= teams[n]->shared_end &&
            at < teams[n]->shared_end + page())
            snprintf(where, sizeof where, "byte %td of %zu of shared memory",
                     at - (const char *)teams[n]->shared, teams[n]->of->shared);
    if (*where) {
        snprintf(thread, sizeof thread, "block (%u, %u, %u), thread (%u, %u, %u)",
                 blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y,
                 threadIdx.z);
        int size = snprintf(text, sizeof text, "%s: %s: %s accesses %s\n", run_name,
                            cudaGetErrorName(cudaErrorIllegalAddress),
                            by_host ? "host code" : thread, where);
        if (write(STDERR_FILENO, text, (size_t)size) < 0) _exit(1);
    }
    signal(number, SIG_DFL);
}

/* ---- the stream --------------------------------------------------------------------
 */

struct cuda_cpu_event {
    double time;
    int recorded, pending; /* pending: enqueued records */
};

typedef enum { LAUNCH, COPY, FILL, RECORD } command_kind;

typedef struct {
    command_kind kind;
    launch launch;
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, bytes, rows;
    int byte;
    cudaEvent_t event;
    void *owned; /* a copy of arguments, or of memory that is not page-locked */
} command;

static command queue[QUEUE_MAX];
static size_t queue_first, queue_count;
static generator delays;

/* A program that ends well has released all that it has allocated. */
static void check_released(int status, void *unused)
{
    (void)unused;
    if (status || !(memory_count + event_count)) return;
    fprintf(stderr, "CUDA: not released: %zu blocks of memory, %zu events\n",
            memory_count, event_count);
    fflush(NULL);
    _exit(EXIT_FAILURE);
}

static void begin(void)
{
    if (team_limit) return;
#ifdef __GLIBC__
    on_exit(check_released, NULL);
#endif
    const char *text = getenv("CUDA_CPU_SEED");
    seed = text && *text ? (uint64_t)parse_double("CUDA_CPU_SEED", text, 1, UINT32_MAX)
                         : 1;
    delays.start = splitmix64(seed, 0);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    text = getenv("CUDA_CPU_BLOCKS");
    team_limit = text && *text
                     ? (unsigned)parse_int("CUDA_CPU_BLOCKS", text, 1, TEAMS_MAX)
                 : processors < 2 || COROUTINE_TSAN ? 2
                 : processors > 16                  ? 16
                                                    : (unsigned)processors;
    for (unsigned n = 0; n < (COROUTINE_TSAN ? team_limit : 1); n++)
        teams[n] = team_allocate();
    if (constant_bytes() > CONSTANT_MAX)
        fail("__constant__ variables take %zu bytes: expected at most %d",
             constant_bytes(), CONSTANT_MAX);
    if (constant_bytes())
        memcpy(constant_contents, __start_cuda_constant, constant_bytes());
    constant_open = 1;
    constant_access(0);
    if (!COROUTINE_ASAN && !COROUTINE_TSAN) {
        struct sigaction action = {.sa_sigaction = handle_fault,
                                   .sa_flags = SA_SIGINFO};
        sigaction(SIGSEGV, &action, NULL);
    }
}

/* Copies between host and device memory, which may be inaccessible. */
static void copy(const command *c)
{
    const memory_block *to = memory_find(c->to, 0), *from = memory_find(c->from, 0);
    if (!device_open) memory_access(to, 1), memory_access(from, 1);
    for (size_t row = 0; row < c->rows; row++)
        memmove(c->to + row * c->to_pitch, c->from + row * c->from_pitch, c->bytes);
    if (!device_open) memory_access(to, 0), memory_access(from, 0);
}

static void execute(command *c)
{
    if (kernel_error && c->kind != RECORD) return;
    switch (c->kind) {
    case LAUNCH:
        device_access(1);
        constant_access(1);
        run_kernel(&c->launch);
        break;
    case COPY:
        constant_access(0);
        copy(c);
        break;
    case FILL: {
        const memory_block *m = memory_find(c->to, c->bytes);
        if (!device_open) memory_access(m, 1);
        memset(c->to, c->byte, c->bytes);
        if (!device_open) memory_access(m, 0);
        break;
    }
    case RECORD:
        if (!c->event) break; /* destroyed */
        c->event->time = seconds();
        c->event->pending--;
    }
}

/* Executes the oldest commands: `count` of them, and more until event has completed. */
static void execute_oldest(size_t count, cudaEvent_t event)
{
    while (queue_count && (count || (event && event->pending))) {
        command c = queue[queue_first];
        queue_first = (queue_first + 1) % QUEUE_MAX;
        queue_count--;
        if (count) count--;
        execute(&c);
        free(c.owned);
    }
    device_access(0);
    constant_access(0);
}

static cudaError_t enqueued_all(void)
{
    execute_oldest(queue_count, NULL);
    return result(cudaSuccess);
}

static cudaError_t enqueue(command c)
{
    begin();
    if (queue_count == QUEUE_MAX) execute_oldest(1, NULL);
    queue[(queue_first + queue_count++) % QUEUE_MAX] = c;
    size_t now = seed % 3 == 0   ? queue_count
                 : seed % 3 == 1 ? 0
                                 : random_next(&delays) % (2 * queue_count);
    if (now) execute_oldest(now < queue_count ? now : queue_count, NULL);
    return result(cudaSuccess);
}

static void *duplicate(const void *bytes, size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p) fail("a command of the device: not enough memory");
    return memcpy(p, bytes, size);
}

static int is_configuration(dim3 grid, dim3 block)
{
    return grid.x >= 1 && grid.x <= GRID_X_MAX && grid.y >= 1 &&
           grid.y <= CUDA_GRID_YZ_MAX && grid.z >= 1 && grid.z <= CUDA_GRID_YZ_MAX &&
           block.x >= 1 && block.x <= BLOCK_MAX && block.y >= 1 &&
           block.y <= BLOCK_MAX && block.z >= 1 && block.z <= BLOCK_Z_MAX &&
           block.x * block.y * block.z <= BLOCK_MAX;
}

cudaError_t cuda_cpu_blocks_at_once(int *blocks, int threads, size_t shared)
{
    if (threads < 1 || threads > BLOCK_MAX) return result(cudaErrorInvalidValue);
    *blocks = THREADS_AT_ONCE / threads;
    if (*blocks > BLOCKS_AT_ONCE) *blocks = BLOCKS_AT_ONCE;
    if (shared && *blocks > (int)(SHARED_AT_ONCE / shared))
        *blocks = (int)(SHARED_AT_ONCE / shared);
    return result(cudaSuccess);
}

void cuda_cpu_launch(const cuda_cpu_kernel *kernel, dim3 grid, dim3 block,
                     size_t shared, int together)
{
    if (!is_configuration(grid, block)) {
        result(cudaErrorInvalidConfiguration);
        return;
    }
    if (shared > CUDA_SHARED_BYTES) {
        result(cudaErrorInvalidValue);
        return;
    }
    int at_once = 0;
    cuda_cpu_blocks_at_once(&at_once, (int)(block.x * block.y * block.z), shared);
    if (together &&
        (uint64_t)grid.x * grid.y * grid.z > MULTIPROCESSORS * (uint64_t)at_once) {
        result(cudaErrorCooperativeLaunchTooLarge);
        return;
    }
    command c = {.kind = LAUNCH, .launch = {*kernel, grid, block, shared, together, 0}};
    enum { POINTER = 5 }; /* of __builtin_classify_type */
    for (int n = 0; n < 16 && kernel->values[n].value; n++) {
        const void *p = NULL;
        if (kernel->values[n].kind == POINTER)
            memcpy(&p, kernel->values[n].value, sizeof p);
        if (p && !memory_find(p, 0)) c.launch.illegal = n + 1;
    }
    c.owned = duplicate(kernel->arguments, kernel->size);
    c.launch.kernel.arguments = c.owned;
    enqueue(c);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t bytes, size_t rows,
                              enum cudaMemcpyKind kind, int stream)
{
    (void)stream;
    if (!bytes || !rows) return result(cudaSuccess);
    if (rows > 1 && (to_pitch < bytes || from_pitch < bytes))
        return result(cudaErrorInvalidPitchValue);
    size_t to_size = (rows - 1) * to_pitch + bytes,
           from_size = (rows - 1) * from_pitch + bytes;
    int to_device = kind != cudaMemcpyDeviceToHost,
        from_device = kind != cudaMemcpyHostToDevice;
    if (is_device(to, to_device ? to_size : 0) != to_device ||
        is_device(from, from_device ? from_size : 0) != from_device)
        return result(cudaErrorInvalidValue);

    command c = {.kind = COPY,
                 .to = (char *)to,
                 .from = (const char *)from,
                 .to_pitch = to_pitch,
                 .from_pitch = from_pitch,
                 .bytes = bytes,
                 .rows = rows};
    if (!from_device && !is_locked(from, from_size))
        c.from = (const char *)(c.owned = duplicate(from, from_size));
    cudaError_t err = enqueue(c);
    return to_device || is_locked(to, to_size) ? err : enqueued_all();
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind kind, int stream)
{
    return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       enum cudaMemcpyKind kind)
{
    cudaError_t err = cudaMemcpyAsync(to, from, bytes, kind, 0);
    return err || kind == cudaMemcpyDeviceToDevice ? err : enqueued_all();
}

cudaError_t cuda_cpu_copy_to_symbol(void *symbol, size_t size, const void *from,
                                    size_t bytes, size_t offset, int wait)
{
    begin();
    size_t at = (size_t)((uintptr_t)symbol - (uintptr_t)__start_cuda_constant);
    if (at >= constant_bytes()) return result(cudaErrorInvalidSymbol);
    if (offset > size || bytes > size - offset || is_device(from, 0))
        return result(cudaErrorInvalidValue);
    command c = {.kind = COPY,
                 .to = constant_contents + at + offset,
                 .from = (const char *)from,
                 .bytes = bytes,
                 .rows = 1};
    if (!is_locked(from, bytes))
        c.from = (const char *)(c.owned = duplicate(from, bytes));
    cudaError_t err = enqueue(c);
    return wait ? enqueued_all() : err;
}

cudaError_t cudaMemset(void *p, int byte, size_t bytes)
{
    if (!bytes) return result(cudaSuccess);
    if (!is_device(p, bytes)) return result(cudaErrorInvalidValue);
    return enqueue(
        (command){.kind = FILL, .to = (char *)p, .byte = byte, .bytes = bytes});
}

cudaError_t cudaDeviceSynchronize(void)
{
    return enqueued_all();
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = (cudaEvent_t)calloc(1, sizeof **event);
    if (!*event) fail("an event: not enough memory");
    begin();
    event_count++;
    return result(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, int stream)
{
    (void)stream;
    event->recorded = 1;
    event->pending++;
    return enqueue((command){.kind = RECORD, .event = event});
}

/* Each call executes one more command, so that a loop that polls ends. */
cudaError_t cudaEventQuery(cudaEvent_t event)
{
    int pending = event->pending;
    if (pending) execute_oldest(1, NULL);
    return result(pending ? cudaErrorNotReady : cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    execute_oldest(0, event);
    return result(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    for (size_t n = 0; n < QUEUE_MAX; n++)
        if (queue[n].event == event) queue[n].event = NULL;
    event_count--;
    free(event);
    return result(cudaSuccess);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t before, cudaEvent_t after)
{
    if (!before->recorded || !after->recorded)
        return result(cudaErrorInvalidResourceHandle);
    if (before->pending || after->pending) return result(cudaErrorNotReady);
    *ms = (float)((after->time - before->time) * 1e3);
    return result(cudaSuccess);
}

/* ---- the device --------------------------------------------------------------------
 */

cudaError_t cudaGetDeviceCount(int *devices)
{
    *devices = 1;
    return result(cudaSuccess);
}

cudaError_t cudaSetDevice(int device)
{
    return result(device ? cudaErrorInvalidDevice : cudaSuccess);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return result(cudaSuccess);
}

/* The L2 cache is so small that the small grids of tests are divided, too. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int device)
{
    *value = what == cudaDevAttrMultiProcessorCount ? MULTIPROCESSORS
             : what == cudaDevAttrL2CacheSize       ? 128 * 1024
                                                    : THREADS_AT_ONCE;
    return cudaSetDevice(device);
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    *total = (size_t)memory_limit();
    *available = *total / 2; /* the host's copies need the rest */
    *available -= *available < device_bytes ? *available : device_bytes;
    return result(cudaSuccess);
}

#ifdef __clang__
/* The class that blocks of clang refer to; not used here. See CUDA_LAUNCH. */
void *_NSConcreteStackBlock[32];
#endif
