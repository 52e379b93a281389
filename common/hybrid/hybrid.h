/* hybrid.h - divides work between threads of the host and one device.
 *
 * Programs with a hybrid back-end have two more keys: share=, the percentage of the
 * work that the device does, and busy=, a file for the timeline of host and device.
 */
#ifndef HYBRID_H
#define HYBRID_H

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the value of share=: percent of the work for the device, 0 .. 100, or a
 * negative number for auto (the default), which means that the program balances the
 * load while it runs. With 0 no device is opened. fail() for any other value. */
double hybrid_device_percent(void);

/* Returns the number of host threads: OMP_NUM_THREADS if it is set, else one per core,
 * or one per two cores if the device consists of the same cores (shares_cores). */
int hybrid_host_threads(int shares_cores);

/* Returns the percentage for the device with which host and device finish at the same
 * time, given the seconds that each takes for all of the work:
 * p = 100 host / (host + device). */
double hybrid_balance(double host, double device);

/* Records for busy=FILE.csv that `actor` ("device", or "host" with a thread number >=
 * 0) did `what` from begin to end, in seconds(). Any thread may call it. Does nothing
 * without busy=. */
void hybrid_log(const char *actor, int thread, const char *what, double begin,
                double end);

/* Writes the file: one line per interval, sorted by begin, with times in seconds since
 * the first begin. A further call writes all intervals again, with the later ones. */
void hybrid_log_write(void);

#ifdef __cplusplus
}
#endif

#endif
