/* pingpong.c - measures latency and bandwidth of messages between two ranks.
 *
 *     mpirun -n 2 pingpong      prints latency=value us, bandwidth=value GB/s
 *
 * A message of each size is sent back and forth many times. t, the time of one message,
 * is half of the median round-trip time. latency and bandwidth are those of the line t
 * = latency + bytes / bandwidth that minimizes the sum of squares of the relative
 * deviations of t, so that short messages count as much as long ones. The content of
 * every message is checked.
 *
 * Left out: more than two ranks, messages in both directions at once, and the different
 * protocols of MPI for short and long messages, because of which no line fits exactly.
 */
#include "ranks.h"
#include "run.h"

#include <stdlib.h>

enum {
    BYTES_MIN = 8,
    BYTES_MAX = 1 << 21,
    FACTOR = 4,
    SIZES = 10,
    REPETITIONS_MAX = 2000
};
static const size_t TRAFFIC = 64
                              << 20; /* total bytes per message size, approximately */

/* Writes a number to both ends of a message, by which check() detects stale data. */
static void mark(unsigned char *message, int bytes, int number)
{
    message[0] = message[bytes - 1] = (unsigned char)number;
}

static void check(const unsigned char *message, int bytes, int number)
{
    if (message[0] != (unsigned char)number || message[bytes - 1] != message[0])
        fail("message %d of %d bytes: wrong content: expected its number at both ends",
             number, bytes);
}

/* Round-trip time of a message in seconds; rank 1 sends the received message back. */
static double round_trip(unsigned char *message, int bytes, int number)
{
    int other = 1 - rank_own();
    double begin = seconds();
    if (!rank_own()) {
        mark(message, bytes, number);
        MPI_CHECK(MPI_Send(message, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD));
        mark(message, bytes, number + 1);
    }
    MPI_CHECK(MPI_Recv(message, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
    check(message, bytes, number);
    if (rank_own())
        MPI_CHECK(MPI_Send(message, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD));
    return seconds() - begin;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of half the round-trip time, after some uncounted repetitions for warm-up.
 */
static double one_way(unsigned char *message, int bytes, double time[REPETITIONS_MAX])
{
    size_t fitting = TRAFFIC / (size_t)bytes;
    int n = fitting < REPETITIONS_MAX ? (int)fitting : REPETITIONS_MAX;
    for (int i = -n / 10; i < n; i++) {
        double t = round_trip(message, bytes, i + n);
        if (i >= 0) time[i] = t / 2;
    }
    qsort(time, (size_t)n, sizeof *time, ascending);
    return (time[(n - 1) / 2] + time[n / 2]) / 2;
}

int main(int argc, char **argv)
{
    run_name = "pingpong";
    arg table[] = {{0}};
    if (argc > 1)
        args_parse(argc, argv, table, "measures the latency and bandwidth of messages");
    if (rank_count() != 2) fail("%d ranks: expected 2", rank_count());

    unsigned char *message = allocate(BYTES_MAX, 1, "a message");
    double *time = allocate(REPETITIONS_MAX, sizeof *time, "the times");
    /* Normal equations of t = latency + slope * bytes, weighted with 1 / t^2. */
    double a = 0, b = 0, c = 0, d = 0, e = 0;
    int bytes = BYTES_MIN;
    for (int n = 0; n < SIZES; n++, bytes *= FACTOR) {
        double t = one_way(message, bytes, time), x = bytes;
        a += 1 / (t * t);
        b += x / (t * t);
        c += x * x / (t * t);
        d += 1 / t;
        e += x / t;
    }
    double latency = (d * c - b * e) / (a * c - b * b);
    double slope = (a * e - b * d) / (a * c - b * b);
    if (!(latency > 0 && slope > 0))
        fail("latency %g s, %g s per byte: expected positive numbers (was the machine "
             "busy?)",
             latency, slope);
    printf("latency=%.4g us\nbandwidth=%.4g GB/s\n", 1e6 * latency, 1e-9 / slope);
    free(time);
    free(message);
    return 0;
}
