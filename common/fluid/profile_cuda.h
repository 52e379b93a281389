/* profile_cuda.h - what the commands to a CUDA device cost, by its own clock.
 *
 * With profile=1 a mark is set after each command: what lies between two marks is the
 * later one's. Without, there are no marks.
 */
#ifndef PROFILE_CUDA_H
#define PROFILE_CUDA_H

#include "cuda_device.h"
#include "fluid.h"

enum { MARKS = 64 };
static cudaEvent_t mark[MARKS + 1];
static const char *marked[MARKS];
static int marks;

static inline void marks_begin(void)
{
    if (!charging()) return;
    for (int n = 0; n <= MARKS; n++) CUDA_CHECK(cudaEventCreate(&mark[n]));
    CUDA_CHECK(cudaEventRecord(mark[0], 0));
}

static inline void marks_end(void)
{
    for (int n = 0; n <= MARKS && charging(); n++) cudaEventDestroy(mark[n]);
}

/* Waits for the device and books what lies between marks. */
static inline void collect(void)
{
    if (!charging()) return;
    CUDA_CHECK(cudaDeviceSynchronize());
    for (int n = 0; n < marks; n++)
        charge(marked[n], cuda_seconds(mark[n], mark[n + 1]));
    marks = 0;
    CUDA_CHECK(cudaEventRecord(mark[0], 0));
}

/* After each command: whether it was accepted, and on which name it is booked. */
static inline void book(const char *name)
{
    CUDA_CHECK(cudaGetLastError());
    if (!charging()) return;
    marked[marks++] = name;
    CUDA_CHECK(cudaEventRecord(mark[marks], 0));
    if (marks == MARKS) collect();
}

#endif
