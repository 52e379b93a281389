/* calls.c - calls the main() of a program several times in one process (LD_PRELOAD). An
 * argument "--" ends the arguments of one call and begins those of the next.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int main_function(int, char **, char **);

static main_function *program;

/* Calls main() until one call fails. Returns the exit status of the last call. */
static int call_all(int argc, char **argv, char **environment)
{
    char *name = argv[0];
    int status = 0;
    unsetenv("LD_PRELOAD"); /* not for compilers that an OpenCL driver starts */
    for (int first = 0, end; first < argc && !status; first = end) {
        end = first + 1;
        while (end < argc && strcmp(argv[end], "--")) end++;
        argv[first] = name;
        argv[end] = NULL;
        status = program(end - first, argv + first, environment);
    }
    return status;
}

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    program = main;
    __typeof__(__libc_start_main) *real;
    void *found = dlsym(RTLD_NEXT, "__libc_start_main");
    memcpy(&real, &found, sizeof real);
    return real(call_all, argc, argv, init, fini, rtld_fini, stack_end);
}
