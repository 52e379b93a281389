/* share.h - work that is divided between threads of the host and one device.
 *
 * Binaries of a hybrid back-end know two more words: share=, how much of the work is
 * the device's, and busy=, a file that says who was busy when.
 */
#ifndef SHARE_H
#define SHARE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Percent of the work for the device that share= asks for, 0 .. 100; negative for auto,
 * the default: as is measured while it runs. 0: no device is looked for. fail() if it
 * is neither. */
double share_wanted(void);

/* How many threads compute on the host: OMP_NUM_THREADS, where it is set; else one a
 * core, or half of the cores where the device is made of the same ones (beside). */
int share_threads(int beside);

/* Cores of the machine that this process may use. */
int share_cores(void);

/* The share with which both sides end at once, in percent, if alone they take so many
 * seconds for all of the work: p* = host / (host + device). */
double share_even(double host, double device);

/* Notes for busy=FILE.csv that `who` ("device", or "host 0" ..) did `what` from begin
 * to end, by seconds(); any thread may. Does nothing where nobody asked. */
void share_note(const char *who, int thread, const char *what, double begin,
                double end);

/* Writes the file, rows in the order of their beginnings, seconds counted from the
 * first: begin,end,who,what. Once, when all is done. */
void share_trace(void);

#ifdef __cplusplus
}
#endif

#endif
