/* profile_ocl.h - durations of the commands of an OpenCL queue, by the device's own
 * clock.
 *
 * With profile=1 each command has an event, which is kept until the command has
 * completed and is then queried. Without profile=1 there are no events, and the queue
 * records no times.
 */
#ifndef PROFILE_OCL_H
#define PROFILE_OCL_H

#include "fluid.h"
#include "ocl.h"

enum { MAX_PENDING = 64 };
static struct {
    const char *name;
    cl_event event;
} pending[MAX_PENDING];
static int pending_count;

/* Waits for the pending events, records their durations and releases them. */
static inline void profile_collect(void)
{
    for (int n = 0; n < pending_count; n++) {
        OCL_CHECK(clWaitForEvents(1, &pending[n].event));
        profile_record(pending[n].name, ocl_seconds(pending[n].event));
        OCL_CHECK(clReleaseEvent(pending[n].event));
    }
    pending_count = 0;
}

/* Returns where to store the event of the next command, recorded under `name`; NULL
 * without profile=1. */
static inline cl_event *profile_event(const char *name)
{
    if (!profiling()) return NULL;
    if (pending_count == MAX_PENDING) profile_collect();
    pending[pending_count].name = name;
    return &pending[pending_count++].event;
}

#endif
