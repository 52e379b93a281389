/* profile_cuda.h - durations of the commands of a CUDA device, by the device's own
 * clock.
 *
 * With profile=1 an event is recorded after each command; a command's duration is the
 * time between its event and the previous one. Without profile=1 no events exist.
 */
#ifndef PROFILE_CUDA_H
#define PROFILE_CUDA_H

#include "cuda_device.h"
#include "fluid.h"

enum { MAX_MARKS = 64 };
static cudaEvent_t mark[MAX_MARKS + 1];
static const char *mark_name[MAX_MARKS];
static int mark_count;

static inline void profile_cuda_begin(void)
{
    if (!profiling()) return;
    for (int n = 0; n <= MAX_MARKS; n++) CUDA_CHECK(cudaEventCreate(&mark[n]));
    CUDA_CHECK(cudaEventRecord(mark[0], 0));
}

static inline void profile_cuda_end(void)
{
    for (int n = 0; n <= MAX_MARKS && profiling(); n++) cudaEventDestroy(mark[n]);
}

/* Waits for the device and records the durations between consecutive events. */
static inline void profile_collect(void)
{
    if (!profiling()) return;
    CUDA_CHECK(cudaDeviceSynchronize());
    for (int n = 0; n < mark_count; n++)
        profile_record(mark_name[n], cuda_seconds(mark[n], mark[n + 1]));
    mark_count = 0;
    CUDA_CHECK(cudaEventRecord(mark[0], 0));
}

/* Called after each command: reports a failed launch, and records the command under
 * `name`. */
static inline void profile_command(const char *name)
{
    CUDA_CHECK(cudaGetLastError());
    if (!profiling()) return;
    mark_name[mark_count++] = name;
    CUDA_CHECK(cudaEventRecord(mark[mark_count], 0));
    if (mark_count == MAX_MARKS) profile_collect();
}

#endif
