/* parallel.c - implements parallel.h. */
#include "parallel.h"

#include <pthread.h>
#include <stdlib.h>

#include "run.h"

enum { MAX_THREADS = 1024 };

typedef struct {
    void (*body)(void *context, int t, int threads);
    void *context;
    int t, threads;
} part;

int parallel_threads(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    int requested = text ? atoi(text) : 0;
    int threads = requested > 0 ? requested : machine_processors();
    return threads < MAX_THREADS ? threads : MAX_THREADS;
}

static void *run_part(void *context)
{
    part *p = context;
    p->body(p->context, p->t, p->threads);
    return NULL;
}

void parallel_run(int threads, void (*body)(void *context, int t, int threads),
                  void *context)
{
    part parts[MAX_THREADS];
    pthread_t ids[MAX_THREADS];
    bool created[MAX_THREADS];
    for (int t = 1; t < threads; t++) {
        parts[t] = (part){body, context, t, threads};
        created[t] = !pthread_create(&ids[t], NULL, run_part, &parts[t]);
    }
    body(context, 0, threads);
    for (int t = 1; t < threads; t++) {
        if (created[t])
            pthread_join(ids[t], NULL);
        else
            run_part(&parts[t]);
    }
}
