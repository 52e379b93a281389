/* sides.h - the two back-ends of the hybrid program: the operations of fluid.h on the
 * fields of the host and on those of the device.
 *
 * Functions of the host return when the operation is complete. Functions of the device
 * return at once; their commands are executed in order by one queue while the host
 * computes.
 */
#include "fluid.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    void (*put)(int field, int i, int j, int k, float value);
    void (*clear)(int field);
    void (*add)(int x, int s);
    int (*solve)(int wall, int x, int x0, float a, float c);
    void (*advect)(int wall, int d, int d0, int u, int v, int w);
    void (*divergence)(int u, int v, int w, int p, int div);
    void (*gradient)(int u, int v, int w, int p);
} side;

extern const side host, device;

/* ---- host, cpu.c ----------------------------------------------------------------- */

void host_begin(const setup *s, int threads);
void host_end(void);

/* Returns the memory of a field, field_size(g) floats, for reading or writing. */
float *host_field(int field);

/* ---- device, opencl.c or cuda.cu ------------------------------------------------- */

/* `threads`: number of OpenMP threads of the host. Returns 1 if the device uses
 * cores of the same processor, else 0. */
int device_begin(const setup *s, int threads);
void device_end(void);

/* The following operations form a task of this kind; its time is reported to
 * record_task_time(). */
void device_task(int kind);

/* Waits for the last solve of x and returns the number of sweeps. x must not be used
 * before: if it has not converged, OpenCL enqueues further sweeps now. */
int device_finish_solve(int x);

/* Transfers a field. device_send is asynchronous: `src` must not change before
 * device_await_send() returns. device_receive waits for all earlier operations. */
void device_send(int field, const float *src);
void device_await_send(int field);
void device_receive(int field, float *dst);

/* ---- hybrid.c -------------------------------------------------------------------- */

/* Reports that the device executed a task of this kind from begin to end, by the
 * clock of seconds(). TRANSFER: a transfer of a field. EXTRA_SWEEPS: sweeps
 * beyond those enqueued with the solve. */
enum { TRANSFER, EXTRA_SWEEPS };
void record_task_time(int kind, double begin, double end);

#ifdef __cplusplus
}
#endif
