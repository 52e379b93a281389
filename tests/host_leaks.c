/* host_leaks.c - a library that is preloaded to count the blocks of memory that a
 * program itself allocates and does not free: those of the libraries that it uses are
 * left out. At the end it prints them on stderr, such as "memory: not released: 2
 * blocks, one of them allocated at 0x1a2b". LeakSanitizer cannot do this in programs
 * that use OpenCL or MPI.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

/* The code of the program, and where it is loaded. */
static uintptr_t code_begin, code_end, base;

/* A hash table of the blocks that are in use: their addresses, and the
 * addresses of the calls that allocated them. A slot that was used and is free keeps
 * the block 1. */
enum { SLOTS = 1 << 20 };
static struct {
    uintptr_t block, caller;
} slot[SLOTS];
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int find_code(struct dl_phdr_info *program, size_t size, void *unused)
{
    (void)size, (void)unused;
    base = program->dlpi_addr;
    for (int i = 0; i < program->dlpi_phnum; i++)
        if (program->dlpi_phdr[i].p_type == PT_LOAD &&
            program->dlpi_phdr[i].p_flags & PF_X) {
            code_begin = base + program->dlpi_phdr[i].p_vaddr;
            code_end = code_begin + program->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the first one is the program */
}

/* Programs that this one starts, such as the linker of an OpenCL kernel, are not
 * counted, but ranks are. */
__attribute__((constructor)) static void begin(void)
{
    const char *name = program_invocation_short_name;
    if (strncmp(name, "mpi", 3) && strncmp(name, "orte", 4) && strncmp(name, "prte", 4))
        unsetenv("LD_PRELOAD");
    dl_iterate_phdr(find_code, NULL);
}

__attribute__((destructor)) static void print_blocks(void)
{
    size_t blocks = 0;
    uintptr_t caller = 0;
    for (int i = 0; i < SLOTS; i++)
        if (slot[i].block > 1) blocks++, caller = slot[i].caller;
    if (blocks)
        fprintf(stderr,
                "memory: not released: %zu blocks, one of them allocated at %#zx\n",
                blocks, (size_t)(caller - base));
}

static size_t place(uintptr_t block)
{
    return (block >> 4) * 0x9e3779b97f4a7c15u >> 44;
}

static void *allocated(void *block, const void *caller)
{
    if (!block || (uintptr_t)caller < code_begin || (uintptr_t)caller >= code_end)
        return block;
    pthread_mutex_lock(&lock);
    if (++used > SLOTS / 2) abort();
    size_t i = place((uintptr_t)block);
    while (slot[i].block > 1) i = (i + 1) % SLOTS;
    slot[i].block = (uintptr_t)block;
    slot[i].caller = (uintptr_t)caller;
    pthread_mutex_unlock(&lock);
    return block;
}

static void released(void *block)
{
    if (!block) return;
    pthread_mutex_lock(&lock);
    for (size_t i = place((uintptr_t)block); slot[i].block; i = (i + 1) % SLOTS)
        if (slot[i].block == (uintptr_t)block) {
            slot[i].block = 1;
            used--;
            break;
        }
    pthread_mutex_unlock(&lock);
}

void *malloc(size_t size)
{
    return allocated(__libc_malloc(size), __builtin_return_address(0));
}

void *calloc(size_t count, size_t size)
{
    return allocated(__libc_calloc(count, size), __builtin_return_address(0));
}

void *realloc(void *block, size_t size)
{
    released(block);
    return allocated(__libc_realloc(block, size), __builtin_return_address(0));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return allocated(__libc_memalign(alignment, size), __builtin_return_address(0));
}

void free(void *block)
{
    released(block);
    __libc_free(block);
}
