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

enum { PENDING = 64 };
static struct {
    const char *name;
    cl_event done;
} pending[PENDING];
static int pendings;

/* Waits for the commands that have events, and books them. */
static inline void collect(void)
{
    for (int n = 0; n < pendings; n++) {
        OCL_CHECK(clWaitForEvents(1, &pending[n].done));
        charge(pending[n].name, ocl_seconds(pending[n].done));
        OCL_CHECK(clReleaseEvent(pending[n].done));
    }
    pendings = 0;
}

/* The event of the next command, which is booked on name; none where nobody asks. */
static inline cl_event *event_of(const char *name)
{
    if (!charging()) return NULL;
    if (pendings == PENDING) collect();
    pending[pendings].name = name;
    return &pending[pendings++].done;
}

#endif
