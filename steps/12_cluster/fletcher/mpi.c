/* mpi.c - the drivers on several machines: the grid is cut along z into slabs, one a
 * rank, and neighbours send each other the HALO planes at their ends.
 *
 * A step makes the planes first that others wait for, sends them, makes the rest, and
 * only then asks whether what it needs itself has come. What goes where is the same at
 * every step: the requests are made once, and started anew each time. The fields go
 * from memory to memory as they are, since planes lie one after the other.
 *
 * Left out: slabs along y, which a grid of more ranks than planes would need.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fletcher.h"
#include "host.h"
#include "ranks.h"
#include "slab.h"

static grid g;           /* of this rank's slab, with HALO planes to either side */
static int below, above; /* the ranks that have what comes before, and after */

/* p and q of both neighbours, to and from: of the fields that are next now, and of
 * those that will be. */
enum { MESSAGES = 8 };
static MPI_Request halo[2][MESSAGES];
static int turn;

/* ---- who has what -------------------------------------------------------------------
 */

static int planes, users; /* of the whole grid; ranks that have some */

/* Where the planes begin that rank r updates: they end where those of r + 1 begin. */
static int cut(int r)
{
    return HALO + rank_first(planes - 2 * HALO, r < users ? r : users, users);
}

/* Where those begin that it writes: nobody updates the ends of the grid. */
static int edge(int r)
{
    return r <= 0 ? 0 : r < users ? cut(r) : planes;
}

/* A slab is no thinner than a halo, so that nobody needs more than its neighbours have:
 * where there are more ranks than that allows, the last ones get nothing. */
slab slab_of(grid *of)
{
    const int r = rank_own(), most = (of->sz - 2 * HALO) / HALO;
    planes = of->sz;
    users = rank_count() < most ? rank_count() : most > 1 ? most : 1;

    const int first = cut(r) - HALO;
    of->sz = cut(r + 1) + HALO - first;
    of->source_z -= first;
    return (slab){.whole = planes,
                  .first = first,
                  .own = edge(r) - first,
                  .end = edge(r + 1) - first};
}

/* ---- the drivers --------------------------------------------------------------------
 */

/* Requests for the HALO planes at both ends of p and q. Where there is no neighbour,
 * the rank is MPI_PROC_NULL, and nothing happens. */
static void prepare(MPI_Request *r, float *p, float *q)
{
    const int n = HALO * g.plane;
    for (int tag = 0; tag < 2; tag++) {
        float *first = tag ? q : p;
        float *last = first + (size_t)(g.sz - HALO) * (size_t)g.plane;
        MPI_Comm all = MPI_COMM_WORLD;
        MPI_TRY(MPI_Recv_init(first, n, MPI_FLOAT, below, tag, all, r++));
        MPI_TRY(MPI_Recv_init(last, n, MPI_FLOAT, above, tag, all, r++));
        MPI_TRY(MPI_Send_init(first + n, n, MPI_FLOAT, below, tag, all, r++));
        MPI_TRY(MPI_Send_init(last - n, n, MPI_FLOAT, above, tag, all, r++));
    }
}

size_t Initialize(const grid *the_grid, const float *medium)
{
    g = *the_grid;
    const int r = rank_own();
    below = r > 0 && r < users ? r - 1 : MPI_PROC_NULL;
    above = r + 1 < users ? r + 1 : MPI_PROC_NULL;

    unsigned long long own = host_begin(the_grid, medium), all;
    prepare(halo[0], pp, qp);
    prepare(halo[1], pc, qc);
    MPI_TRY(
        MPI_Allreduce(&own, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    return all;
}

/* A halo has it too, so that neighbours agree on what was never sent. */
void InsertSource(float f)
{
    if (g.source_z >= 0 && g.source_z < g.sz) host_source(f);
}

/* MPI moves long messages only while somebody is in one of its functions. */
static void look(void)
{
    int done;
    MPI_TRY(MPI_Testall(MESSAGES, halo[turn], &done, MPI_STATUSES_IGNORE));
}

double Propagate(void)
{
    double start = seconds();
    const int first = HALO, end = g.sz - HALO;
    const int low = below == MPI_PROC_NULL ? first : first + HALO;
    int high = above == MPI_PROC_NULL ? end : end - HALO;
    if (high < low) high = low; /* a slab so thin that all of it is sent */

    host_planes(first, low, NULL);
    host_planes(high, end, NULL);
    MPI_TRY(MPI_Startall(MESSAGES, halo[turn]));
    host_planes(low, high, look);
    MPI_TRY(MPI_Waitall(MESSAGES, halo[turn], MPI_STATUSES_IGNORE));
    return seconds() - start;
}

void UpdatePointers(float *p, float *q)
{
    host_turn();
    turn = !turn;
    if (p) memcpy(p, pc, field_size(&g) * sizeof *p);
    if (q) memcpy(q, qc, field_size(&g) * sizeof *q);
    if (q) MPI_TRY(MPI_Barrier(MPI_COMM_WORLD)); /* the last to end ends the run */
}

void Finalize(void)
{
    for (int i = 0; i < 2 * MESSAGES; i++)
        MPI_TRY(MPI_Request_free(&halo[i / MESSAGES][i % MESSAGES]));
    host_end();
    printf("Ranks=%d\n", rank_count());
}

/* ---- files --------------------------------------------------------------------------
 */

void slab_same(const char *what, const void *bytes, size_t size)
{
    ranks_same(what, bytes, size);
}

static MPI_Datatype plane_of(size_t size)
{
    MPI_Datatype plane;
    MPI_TRY(MPI_Type_contiguous((int)size, MPI_BYTE, &plane));
    MPI_TRY(MPI_Type_commit(&plane));
    return plane;
}

void slab_join(const slab *s, void *array, size_t size)
{
    const int ranks = rank_count(), own = s->end - s->own;
    int *count = allocate(2 * (size_t)ranks, sizeof *count, "planes of ranks");
    int *place = count + ranks;
    for (int r = 0; r < ranks; r++) {
        place[r] = edge(r);
        count[r] = edge(r + 1) - edge(r);
    }
    MPI_Datatype plane = plane_of(size);
    char *here = (char *)array + (size_t)(s->first + s->own) * size;
    MPI_TRY(MPI_Gatherv(rank_own() ? here : MPI_IN_PLACE, own, plane, array, count,
                        place, plane, 0, MPI_COMM_WORLD));
    MPI_TRY(MPI_Type_free(&plane));
    free(count);
}

/* Every rank writes its planes at their place in one file. Only rank 0 has it open from
 * beginning to end, and writes what comes before them; of the others `result` is
 * nothing. What is no file has no places: its planes go through rank 0. */
void slab_write(const slab *s, const char *path, const npy *a)
{
    char head[NPY_HEADER], name[4096] = "";
    const size_t length = npy_header(a, head), size = npy_count(a) * npy_size(a->type);
    const size_t bytes = size / (size_t)s->whole,
                 at = (size_t)(s->first + s->own) * bytes;
    const int own = s->end - s->own;

    FILE *result = result_open(path);
    const char *place = result && !rank_own() ? result_temporary(result) : NULL;
    if (!result || (place && strlen(place) >= sizeof name))
        fail("%s: cannot be written: %s", path,
             strerror(result ? ENAMETOOLONG : errno));
    if (place) strcpy(name, place);
    MPI_TRY(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD));

    bool good = fwrite(head, 1, length, result) == length;
    if (*name) {
        MPI_File file;
        MPI_Status status;
        MPI_Datatype plane = plane_of(bytes);
        int written = 0;
        MPI_TRY(
            MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
        MPI_TRY(MPI_File_write_at(file, (MPI_Offset)(length + at), a->data, own, plane,
                                  &status));
        MPI_TRY(MPI_Get_count(&status, plane, &written));
        good &= written == own;
        MPI_TRY(MPI_File_close(&file));
        MPI_TRY(MPI_Type_free(&plane));
    } else {
        char *all = allocate(size, 1, path);
        memcpy(all + at, a->data, (size_t)own * bytes);
        slab_join(s, all, bytes);
        good &= fwrite(all, 1, size, result) == size;
        free(all);
    }
    if (!good || result_close(result))
        fail("%s: cannot be written: %s", path, good ? strerror(errno) : "no room");
}
