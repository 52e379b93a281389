/* sides.h - the two sides of the hybrid back-end, which have the code of step 10. cpu.c
 * defines the functions of fluid.h as host_begin() .., opencl.c and cuda.cu define them
 * as device_begin() ..: a side defines SIDE(name) and includes this file first.
 */
#ifndef SIDES_H
#define SIDES_H

#ifdef SIDE
#define fluid_begin      SIDE(begin)
#define fluid_end        SIDE(end)
#define fluid_put        SIDE(put)
#define fluid_get        SIDE(get)
#define fluid_clear      SIDE(clear)
#define fluid_add        SIDE(add)
#define fluid_solve      SIDE(solve)
#define fluid_pressure   SIDE(pressure)
#define fluid_advect     SIDE(advect)
#define fluid_divergence SIDE(divergence)
#define fluid_gradient   SIDE(gradient)
#endif

#include "fluid.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of one side. */
typedef struct {
    void (*put)(int field, int i, int j, int k, float value);
    void (*get)(int field, float *dst);
    void (*clear)(int field);
    void (*add)(int x, int s);
    int (*solve)(int wall, int x, int x0, float a, float c);
    int (*pressure)(int p, int div);
    void (*advect)(int wall, int d, int d0, int u, int v, int w);
    void (*divergence)(int u, int v, int w, int p, int div);
    void (*gradient)(int u, int v, int w, int p);
} side_functions;

/* Chooses the device for the calling thread: CUDA has a current device per thread. */
void device_select(void);

/* Waits until the device has executed all calls. */
void device_finish(void);

/* A field of the host, and its contents on the device, in the layout of both. */
float *host_field(int f);
void device_read(int f, float *dst);

/* 1 if the device consists of cores of the host; valid after device_begin(). */
extern int device_shares_cores;

#ifdef __cplusplus
}
#endif

#endif
