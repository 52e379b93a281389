/* coroutine.h - functions that can be suspended: each runs on a stack of its own.
 *
 * A coroutine runs until its function returns or suspends itself; the caller continues
 * then. A coroutine whose function has returned can run another function. It may change
 * its thread only between two functions.
 *
 * x86-64 and AArch64 switch stacks in a few instructions. Elsewhere, and with
 * -DCOROUTINE_UCONTEXT, the functions of ucontext.h do it, which call the operating
 * system. AddressSanitizer and ThreadSanitizer are told about each switch.
 *
 * Left out: floating-point modes are not switched. Include this file only once.
 */
#ifndef COROUTINE_H
#define COROUTINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run.h"

#if defined(__has_feature)
#define COROUTINE_HAS(sanitizer) __has_feature(sanitizer)
#else
#define COROUTINE_HAS(sanitizer) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || COROUTINE_HAS(address_sanitizer)
#define COROUTINE_ASAN 1
#include <sanitizer/common_interface_defs.h>
#else
#define COROUTINE_ASAN 0
#endif
/* NO_TSAN: a function whose loads and stores ThreadSanitizer does not check. */
#if defined(__SANITIZE_THREAD__) || COROUTINE_HAS(thread_sanitizer)
#define COROUTINE_TSAN 1
#define NO_TSAN        __attribute__((no_sanitize_thread, noinline))
#include <sanitizer/tsan_interface.h>
#else
#define COROUTINE_TSAN 0
#define NO_TSAN        /* */
#endif

#if !defined(__x86_64__) && !defined(__aarch64__)
#define COROUTINE_UCONTEXT
#endif
#ifdef COROUTINE_UCONTEXT
#include <ucontext.h>
typedef ucontext_t coroutine_context;
#define coroutine_jump(from, to) (void)swapcontext(from, to)
#else

/* Points to the saved registers of a suspended coroutine, on top of its stack. */
typedef void *coroutine_context;
#define coroutine_jump(from, to) coroutine_switch(from, *(to))
void coroutine_switch(void **from, void *to) __asm__("coroutine_switch");
#ifdef __x86_64__
enum { COROUTINE_FRAME = 8, COROUTINE_RETURN = 6 }; /* words; index of the address */
__asm__(".pushsection .text\n"
        "coroutine_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"
        "    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n"
        "    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".popsection\n");
#else
enum { COROUTINE_FRAME = 20, COROUTINE_RETURN = 11 };
__asm__(".pushsection .text\n"
        ".balign 4\n"
        "coroutine_switch:\n"
        "    sub sp, sp, 160\n"
        "    stp x19, x20, [sp]\n      stp x21, x22, [sp, 16]\n"
        "    stp x23, x24, [sp, 32]\n  stp x25, x26, [sp, 48]\n"
        "    stp x27, x28, [sp, 64]\n  stp x29, x30, [sp, 80]\n"
        "    stp d8, d9, [sp, 96]\n    stp d10, d11, [sp, 112]\n"
        "    stp d12, d13, [sp, 128]\n stp d14, d15, [sp, 144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n      ldp x21, x22, [sp, 16]\n"
        "    ldp x23, x24, [sp, 32]\n  ldp x25, x26, [sp, 48]\n"
        "    ldp x27, x28, [sp, 64]\n  ldp x29, x30, [sp, 80]\n"
        "    ldp d8, d9, [sp, 96]\n    ldp d10, d11, [sp, 112]\n"
        "    ldp d12, d13, [sp, 128]\n ldp d14, d15, [sp, 144]\n"
        "    add sp, sp, 160\n"
        "    ret\n"
        ".popsection\n");
#endif
#endif

enum { COROUTINE_STACK = 256 * 1024 }; /* bytes of address space */

typedef struct {
    void (*function)(void *);
    void *argument;
    int running; /* the function has not returned */
    char *stack;
    coroutine_context self, caller;
    void *fiber, *caller_fiber; /* ThreadSanitizer's */
    void *fake, *caller_fake;   /* AddressSanitizer's */
    const void *caller_stack;
    size_t caller_size;
} coroutine;

static _Thread_local coroutine *coroutine_started;

NO_TSAN static void coroutine_suspend(coroutine *c)
{
#if COROUTINE_ASAN
    __sanitizer_start_switch_fiber(&c->fake, c->caller_stack, c->caller_size);
#elif COROUTINE_TSAN
    __tsan_switch_to_fiber(c->caller_fiber, __tsan_switch_to_fiber_no_sync);
#endif
    coroutine_jump(&c->self, &c->caller);
#if COROUTINE_ASAN
    __sanitizer_finish_switch_fiber(c->fake, &c->caller_stack, &c->caller_size);
#endif
}

NO_TSAN static void coroutine_main(void)
{
    coroutine *c = coroutine_started;
#if COROUTINE_ASAN
    __sanitizer_finish_switch_fiber(NULL, &c->caller_stack, &c->caller_size);
#endif
    for (;;) {
        c->function(c->argument);
        c->running = 0;
        coroutine_suspend(c);
    }
}

/* Continues a coroutine. Returns whether it was suspended again; if not, its function
 * has returned. */
NO_TSAN static int coroutine_resume(coroutine *c)
{
#if COROUTINE_ASAN
    __sanitizer_start_switch_fiber(&c->caller_fake, c->stack, COROUTINE_STACK);
#elif COROUTINE_TSAN
    c->caller_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(c->fiber, __tsan_switch_to_fiber_no_sync);
#endif
    coroutine_jump(&c->caller, &c->self);
#if COROUTINE_ASAN
    __sanitizer_finish_switch_fiber(c->caller_fake, NULL, NULL);
#endif
    return c->running;
}

/* Calls function(argument) in a coroutine that is not running; {0} is one that has not
 * run yet. Returns as coroutine_resume(). */
NO_TSAN static int coroutine_start(coroutine *c, void (*function)(void *),
                                   void *argument)
{
    c->function = function;
    c->argument = argument;
    c->running = 1;
    if (!c->stack) { /* with an inaccessible page below */
        size_t guard = (size_t)sysconf(_SC_PAGESIZE);
        char *memory = (char *)mmap(NULL, guard + COROUTINE_STACK, PROT_NONE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED ||
            mprotect(memory + guard, COROUTINE_STACK, PROT_READ | PROT_WRITE))
            fail("stack of a coroutine: not enough memory");
        c->stack = memory + guard;
        coroutine_started = c;
#ifdef COROUTINE_UCONTEXT
        getcontext(&c->self);
        c->self.uc_stack.ss_sp = c->stack;
        c->self.uc_stack.ss_size = COROUTINE_STACK;
        makecontext(&c->self, coroutine_main, 0);
#else
        uintptr_t *top = (uintptr_t *)(c->stack + COROUTINE_STACK) - COROUTINE_FRAME;
        top[COROUTINE_RETURN] = (uintptr_t)coroutine_main;
        c->self = top;
#endif
#if COROUTINE_TSAN
        c->fiber = __tsan_create_fiber(0);
#endif
    }
    return coroutine_resume(c);
}

#endif
