/* sides.h - what a host and a device can do with fields of their own: fluid.h's calls,
 * once for each. In C only.
 *
 * The host's return when all is done. The device's return at once: they are commands of
 * one queue, which go on while the host computes.
 */
#include "fluid.h"

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

/* ---- the host's, cpu.c --------------------------------------------------------------
 */

void host_begin(const setup *s, int threads);
void host_end(void);

/* Where a field lies, as cells_of(g) floats, to be read or written. */
float *host_field(int field);

/* ---- the device's, opencl.c ---------------------------------------------------------
 */

/* threads: of the host, which computes beside it; returns whether on the same cores. */
int device_begin(const setup *s, int threads);
void device_end(void);

/* What is asked for from now on is a task of this kind: took() will be told. */
void device_task(int kind);

/* Waits for the last solve of x, which ends here: whether its sweeps were enough the
 * device has found out, but nobody has looked. Returns them. Until then x is not to be
 * used. */
int device_finish_solve(int x);

/* Carries a field over. from may change once device_sent(): it waits. device_fetch
 * waits for all that was asked for, as there is no other way to have a result. */
void device_send(int field, const float *from);
void device_await_send(int field);
void device_receive(int field, float *to);

/* ---- hybrid.c's ---------------------------------------------------------------------
 */

/* A task of this kind has taken from begin to end on the device, by seconds(). CARRY: a
 * field was carried over. MORE: a solve needed more than was enqueued for it. */
enum { TRANSFER, EXTRA_SWEEPS };
void record_task_time(int kind, double begin, double end);
