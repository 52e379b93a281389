/* openacc.c - the drivers in C with OpenACC: loops as the CPU has them, and directives
 * that say which are parallel and what lies on the device. A compiler without a device
 * runs the same loops on the host.
 */
#include <string.h>

#include "fletcher.h"
#include "field.h"

/* What the device's code calls is compiled for it. */
#pragma acc routine seq
static inline void first_x(const grid *, const float *, const float *, float *, float *,
                           size_t, int, size_t, size_t);
#pragma acc routine seq
static inline void first_y(const grid *, const float *, const float *, float *, float *,
                           size_t, int, size_t, size_t);
#pragma acc routine seq
static inline void sample(const grid *, const float *, const float *, const float *,
                          float *, float *, const float *, const float *, const float *,
                          const float *, size_t, int, size_t, size_t);
#include "body.h"

static grid g;
static size_t n, nine; /* floats of a field, and of the ring's nine planes */
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q, of before and of now */
static float *px, *py, *qx, *qy; /* first derivatives of now, along x and y: a ring */

static float *floats(size_t count, const char *name)
{
    float *made = field_make(count, name);
    memset(made, 0, count * sizeof(float));
#pragma acc enter data copyin(made [0:count])
    return made;
}

static void drop(float *f, size_t count)
{
#pragma acc exit data delete (f [0:count])
    field_free(f);
}

size_t Initialize(const grid *the_grid, const float *the_medium)
{
    g = *the_grid;
    medium = the_medium;
    n = field_size(&g);
    nine = RING * (size_t)g.plane;
#pragma acc enter data copyin(the_medium [0:MEDIUM * n])
    pp = floats(n, "p of before");
    pc = floats(n, "p of now");
    qp = floats(n, "q of before");
    qc = floats(n, "q of now");
    px = floats(nine, "p along x");
    py = floats(nine, "p along y");
    qx = floats(nine, "q along x");
    qy = floats(nine, "q along y");
    return ((MEDIUM + 4) * n + 4 * nine) * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g.source_z * (size_t)g.plane + (size_t)g.source;
    float *p = pc, *q = qc;
#pragma acc parallel present(p [0:n], q [0:n]) num_gangs(1)
    {
        p[i] += f;
        q[i] += f;
    }
}

/* First derivatives of plane z. */
static void derive(int z)
{
    const grid d = g;
    const float *cp = pc, *cq = qc;
    float *dpx = px, *dpy = py, *dqx = qx, *dqy = qy;

#pragma acc parallel loop gang copyin(d) present(                                      \
    cp [0:n], cq [0:n], dpx [0:nine], dpy [0:nine], dqx [0:nine], dqy [0:nine])
    for (int y = HALO; y < d.sy - HALO; y++) {
        size_t row = row_of(&d, y, 0), ring = (size_t)d.plane;
#pragma acc loop vector
        for (int x = HALO; x < d.sx - HALO; x++) {
            size_t j = row + (size_t)x;
            first_x(&d, cp, cq, dpx, dqx, ring, z, j, j);
            first_y(&d, cp, cq, dpy, dqy, ring, z, j, j);
        }
    }
}

/* One step of plane z. */
static void update(int z)
{
    const grid d = g;
    const float *cp = pc, *cq = qc;
    const float *m = medium, *dpx = px, *dpy = py, *dqx = qx, *dqy = qy;
    float *np = pp, *nq = qp;

#pragma acc parallel loop gang copyin(d)                                               \
    present(m [0:MEDIUM * n], cp [0:n], cq [0:n], np [0:n], nq [0:n], dpx [0:nine],    \
            dpy [0:nine], dqx [0:nine], dqy [0:nine])
    for (int y = HALO; y < d.sy - HALO; y++) {
        size_t row = row_of(&d, y, 0), ring = (size_t)d.plane;
#pragma acc loop vector
        for (int x = HALO; x < d.sx - HALO; x++) {
            size_t j = row + (size_t)x;
            sample(&d, m, cp, cq, np, nq, dpx, dpy, dqx, dqy, ring, z, j, j);
        }
    }
}

double Propagate(void)
{
    double start = seconds();

    /* A plane is updated when the derivatives of the HALO planes after it are there. */
    for (int z = 0; z < 2 * HALO; z++) derive(z);

    for (int z = HALO; z < g.sz - HALO; z++) {
        derive(z + HALO);
        update(z);
    }

    return seconds() - start;
}

void UpdatePointers(float *p, float *q)
{
    float *swap = pp;
    pp = pc;
    pc = swap;
    swap = qp;
    qp = qc;
    qc = swap;
    float *from_p = pc, *from_q = qc;
    if (p) {
#pragma acc update self(from_p [0:n])
        memcpy(p, from_p, n * sizeof *p);
    }
    if (q) {
#pragma acc update self(from_q [0:n])
        memcpy(q, from_q, n * sizeof *q);
    }
}

void Finalize(void)
{
    drop(qy, nine);
    drop(qx, nine);
    drop(py, nine);
    drop(px, nine);
    drop(qc, n);
    drop(qp, n);
    drop(pc, n);
    drop(pp, n);
#pragma acc exit data delete (medium [0:MEDIUM * n])
}
