/* pingpong.c - what a message costs: latency and bandwidth between two ranks.
 *
 *     mpirun -n 2 pingpong      prints latency=value us, bandwidth=value GB/s
 *
 * Of each size, a message goes there and back many times; half of the median is what
 * one takes, t. Through these goes the line t = latency + bytes / bandwidth, laid so
 * that the squares of what t differs from it, as a part of t, add up to the least: a
 * short message counts as much as a long one. What arrives is looked at.
 *
 * Left out: more than two ranks, messages both ways at once, and that MPI sends short
 * messages another way than long ones, so that no line is quite right.
 */
#include "ranks.h"
#include "run.h"

#include <stdlib.h>

enum { LEAST = 8, MOST = 1 << 21, FACTOR = 4, SIZES = 10, TIMES_MOST = 2000 };
static const size_t TRAFFIC = 64 << 20; /* bytes of all messages of a size, or so */

/* Both ends of a message have a number that no other has: an old one would be seen. */
static void mark(unsigned char *message, int bytes, int number)
{
    message[0] = message[bytes - 1] = (unsigned char)number;
}

static void look(const unsigned char *message, int bytes, int number)
{
    if (message[0] != (unsigned char)number || message[bytes - 1] != message[0])
        fail("message %d of %d bytes: expected its own number at both ends", number,
             bytes);
}

/* Seconds of one way there and back; rank 1 sends back what has come. */
static double there_and_back(unsigned char *message, int bytes, int number)
{
    int other = 1 - rank_own();
    double begin = seconds();
    if (!rank_own()) {
        mark(message, bytes, number);
        MPI_TRY(MPI_Send(message, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD));
        mark(message, bytes, number + 1);
    }
    MPI_TRY(MPI_Recv(message, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
    look(message, bytes, number);
    if (rank_own())
        MPI_TRY(MPI_Send(message, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD));
    return seconds() - begin;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of half the time of so many messages; the first tenth is not counted. */
static double one_way(unsigned char *message, int bytes, double took[TIMES_MOST])
{
    size_t times = TRAFFIC / (size_t)bytes;
    int n = times < TIMES_MOST ? (int)times : TIMES_MOST;
    for (int i = -n / 10; i < n; i++) {
        double t = there_and_back(message, bytes, i + n);
        if (i >= 0) took[i] = t / 2;
    }
    qsort(took, (size_t)n, sizeof *took, ascending);
    return (took[(n - 1) / 2] + took[n / 2]) / 2;
}

int main(int argc, char **argv)
{
    run_name = "pingpong";
    arg table[] = {{0}};
    if (argc > 1) args_parse(argc, argv, table, "measures what a message costs");
    if (rank_count() != 2) fail("%d ranks: expected 2", rank_count());

    unsigned char *message = allocate(MOST, 1, "a message");
    double *took = allocate(TIMES_MOST, sizeof *took, "the times");
    /* The normal equations of t = latency + slope bytes, each row over t. */
    double a = 0, b = 0, c = 0, d = 0, e = 0;
    int bytes = LEAST;
    for (int n = 0; n < SIZES; n++, bytes *= FACTOR) {
        double t = one_way(message, bytes, took), x = bytes;
        a += 1 / (t * t);
        b += x / (t * t);
        c += x * x / (t * t);
        d += 1 / t;
        e += x / t;
    }
    double latency = (d * c - b * e) / (a * c - b * b);
    double slope = (a * e - b * d) / (a * c - b * b);
    if (!(latency > 0 && slope > 0))
        fail("latency %g s, %g s a byte: expected more than nothing: was the machine "
             "busy?",
             latency, slope);
    printf("latency=%.4g us\nbandwidth=%.4g GB/s\n", 1e6 * latency, 1e-9 / slope);
    free(took);
    free(message);
    return 0;
}
