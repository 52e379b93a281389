/* opencl_late.c - a library that is preloaded to find reads of results for which the
 * host does not wait. PoCL often copies faster than the host looks, so such a program
 * seldom fails by itself.
 *
 * A read of a buffer that does not block fills its destination with 0xff bytes, and the
 * values arrive there only in a call that tells the host that they are there: clFinish,
 * clWaitForEvents, clGetEventInfo, or a read that blocks.
 *
 * Left out: clEnqueueReadBufferRect and mapped buffers.
 */
#define _GNU_SOURCE              /* RTLD_NEXT */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A read that does not block: the device writes into `from`. */
typedef struct {
    void *from, *to;
    size_t bytes;
    cl_event done;
} late_read;

#define MAX_LATE 4096
static late_read late[MAX_LATE];
static int late_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the function `name` of the OpenCL library, which this library replaces. */
static void *original(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* Changes the count of an event, unseen by other libraries that are preloaded. */
static void count_event(const char *name, cl_event event)
{
    cl_int (*change)(cl_event);
    *(void **)&change = original(name);
    change(event);
}

typedef cl_int event_info(cl_event, cl_event_info, size_t, void *, size_t *);

/* Delivers the values of all reads that have ended. */
static void deliver(void)
{
    event_info *get;
    *(void **)&get = original("clGetEventInfo");
    pthread_mutex_lock(&lock);
    int left = 0;
    for (int i = 0; i < late_count; i++) {
        cl_int status;
        if (get(late[i].done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                NULL))
            abort();
        if (status == CL_COMPLETE) {
            memcpy(late[i].to, late[i].from, late[i].bytes);
            free(late[i].from);
            count_event("clReleaseEvent", late[i].done);
        } else {
            late[left++] = late[i];
        }
    }
    late_count = left;
    pthread_mutex_unlock(&lock);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                           size_t offset, size_t bytes, void *to, cl_uint waits,
                           const cl_event *wait, cl_event *event)
{
    cl_int (*enqueue)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *,
                      cl_uint, const cl_event *, cl_event *);
    *(void **)&enqueue = original("clEnqueueReadBuffer");
    if (blocking) {
        cl_int err =
            enqueue(queue, buffer, CL_TRUE, offset, bytes, to, waits, wait, event);
        deliver();
        return err;
    }
    late_read r = {malloc(bytes), to, bytes, NULL};
    memset(to, 0xff, bytes);
    cl_int err =
        enqueue(queue, buffer, CL_FALSE, offset, bytes, r.from, waits, wait, &r.done);
    if (err || !r.from || late_count == MAX_LATE) abort();
    if (event) {
        count_event("clRetainEvent", r.done);
        *event = r.done;
    }
    pthread_mutex_lock(&lock);
    late[late_count++] = r;
    pthread_mutex_unlock(&lock);
    return err;
}

cl_int clFinish(cl_command_queue queue)
{
    cl_int (*finish)(cl_command_queue);
    *(void **)&finish = original("clFinish");
    cl_int err = finish(queue);
    deliver();
    return err;
}

cl_int clWaitForEvents(cl_uint count, const cl_event *events)
{
    cl_int (*wait)(cl_uint, const cl_event *);
    *(void **)&wait = original("clWaitForEvents");
    cl_int err = wait(count, events);
    deliver();
    return err;
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                      size_t *needed)
{
    event_info *get;
    *(void **)&get = original("clGetEventInfo");
    cl_int err = get(event, what, size, value, needed);
    deliver();
    return err;
}
