/* profile_ocl.h - what the commands of an OpenCL queue cost, by the device's own clock.
 *
 * With profile=1 each command has an event, which is kept until the command is done and
 * then asked. Without, there are no events: the queue need not keep times, and nothing
 * is looked at.
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

/* Waits for the commands that have events, and books them. */
static inline void profile_collect(void)
{
    for (int n = 0; n < pending_count; n++) {
        OCL_CHECK(clWaitForEvents(1, &pending[n].event));
        profile_record(pending[n].name, ocl_seconds(pending[n].event));
        OCL_CHECK(clReleaseEvent(pending[n].event));
    }
    pending_count = 0;
}

/* The event of the next command, which is booked on name; none where nobody asks. */
static inline cl_event *profile_event(const char *name)
{
    if (!profiling()) return NULL;
    if (pending_count == MAX_PENDING) profile_collect();
    pending[pending_count].name = name;
    return &pending[pending_count++].event;
}

#endif
