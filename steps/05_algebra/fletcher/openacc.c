/* openacc.c - the C back-end with OpenACC: the loops of cpu.c, with directives that say
 * which loops are parallel and which arrays are in device memory. Without a device, the
 * same loops run on the host. */
#include <string.h>

#include "fletcher.h"
#include "field.h"

/* The functions of body.h are also compiled for the device. */
#pragma acc routine seq
static inline void derive_x(const grid *, const float *, const float *, float *,
                            float *, size_t);
#pragma acc routine seq
static inline void derive_z(const grid *, const float *, const float *, float *,
                            float *, size_t);
#pragma acc routine seq
static inline void update_point(const grid *, const float *, const float *,
                                const float *, float *, float *, const float *,
                                const float *, const float *, const float *, size_t);
#include "body.h"

enum { USED = STORED_FIELDS - V2PX }; /* fields of the medium that are used */

static grid g;
static size_t n; /* floats per field */
static const float *medium;
static float *pp, *pc, *qp, *qc; /* p and q: previous and current step */
static float *px, *pz, *qx, *qz; /* dp/dx, dp/dz, dq/dx, dq/dz, current step */

static float *zero_field(size_t count, const char *name)
{
    float *field = field_allocate(count, name);
    memset(field, 0, count * sizeof(float));
#pragma acc enter data copyin(field [0:count])
    return field;
}

static void free_field(float *f, size_t count)
{
#pragma acc exit data delete (f [0:count])
    field_free(f);
}

size_t Initialize(const grid *input_grid, const float *input_medium)
{
    g = *input_grid;
    n = field_size(&g);
    medium = input_medium + V2PX * n;
#pragma acc enter data copyin(medium [0:USED * n])
    pp = zero_field(n, "p of the previous step");
    pc = zero_field(n, "p of the current step");
    qp = zero_field(n, "q of the previous step");
    qc = zero_field(n, "q of the current step");
    px = zero_field(n, "dp/dx");
    pz = zero_field(n, "dp/dz");
    qx = zero_field(n, "dq/dx");
    qz = zero_field(n, "dq/dz");
    return (USED + 8) * n * sizeof(float);
}

void InsertSource(float f)
{
    size_t i = (size_t)g.source_z * (size_t)g.plane + (size_t)g.source_offset;
    float *p = pc, *q = qc;
#pragma acc parallel present(p [0:n], q [0:n]) num_gangs(1)
    {
        p[i] += f;
        q[i] += f;
    }
}

double Propagate(void)
{
    double start = seconds();
    const grid local_grid = g;
    const float *m = medium, *cp = pc, *cq = qc;
    float *np = pp, *nq = qp, *dpx = px, *dpz = pz, *dqx = qx, *dqz = qz;

#pragma acc parallel loop collapse(2) gang copyin(local_grid)                          \
    present(cp [0:n], cq [0:n], dpx [0:n], dpz [0:n], dqx [0:n], dqz [0:n])
    for (int z = HALO; z < local_grid.sz - HALO; z++)
        for (int y = HALO; y < local_grid.sy - HALO; y++) {
            size_t row = row_start(&local_grid, y, z);
#pragma acc loop vector
            for (int x = HALO; x < local_grid.sx - HALO; x++) {
                derive_x(&local_grid, cp, cq, dpx, dqx, row + (size_t)x);
                derive_z(&local_grid, cp, cq, dpz, dqz, row + (size_t)x);
            }
        }

#pragma acc parallel loop collapse(2) gang copyin(local_grid)                          \
    present(m [0:USED * n], cp [0:n], cq [0:n], np [0:n], nq [0:n], dpx [0:n],         \
            dpz [0:n], dqx [0:n], dqz [0:n])
    for (int z = HALO; z < local_grid.sz - HALO; z++)
        for (int y = HALO; y < local_grid.sy - HALO; y++) {
            size_t row = row_start(&local_grid, y, z);
#pragma acc loop vector
            for (int x = HALO; x < local_grid.sx - HALO; x++)
                update_point(&local_grid, m, cp, cq, np, nq, dpx, dpz, dqx, dqz,
                             row + (size_t)x);
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
    free_field(qz, n);
    free_field(qx, n);
    free_field(pz, n);
    free_field(px, n);
    free_field(qc, n);
    free_field(qp, n);
    free_field(pc, n);
    free_field(pp, n);
#pragma acc exit data delete (medium [0:USED * n])
}
