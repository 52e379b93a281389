/* little_memory.c - simulates a machine with little memory (LD_PRELOAD): sysconf()
 * reports MEMORY_PAGES pages.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

long sysconf(int name)
{
    const char *pages = getenv("MEMORY_PAGES");
    if (name == _SC_PHYS_PAGES && pages) return atol(pages);
    long (*real)(int);
    void *found = dlsym(RTLD_NEXT, "sysconf");
    memcpy(&real, &found, sizeof real);
    return real(name);
}
