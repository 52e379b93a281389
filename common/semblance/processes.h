/* crew.h - who does a job: one process, or many that have no memory in common.
 *
 * Front ends run in every process of a crew, with the same words. What they ask of one
 * another goes through these. crew.c is a crew of one; a back-end that runs as many
 * processes has its own of all of them, which take their place. What cannot go on ends
 * in fail(), and with it the crew.
 */
#ifndef PROCESSES_H
#define PROCESSES_H

#include "semblance.h"

/* All in a file but the samples, which may still be left there: su_headers(), or
 * su_read(). */
int proc_read_headers(const char *path, su_order order, su_gather *g, char why[SU_WHY]);

/* The traces low .. high of *g as a gather of their own, with their samples, where they
 * are in g->trace, too. */
su_gather proc_read_samples(const char *path, su_gather *g, int low, int high);

/* Gives back what the two have taken. */
void proc_free_gather(su_gather *g);

/* A search that all have been asked for, as search() of semblance.h; the panel is the
 * first's alone. */
void proc_search(search_state *s, const query *q, const int *indices,
                 search_result *result, run_times *t);

/* fail() unless all have the same bytes; what is named in the message. */
void proc_require_same(const char *what, const void *bytes, size_t size);

/* All get the bytes that the first has. */
void proc_broadcast(void *bytes, size_t size);

/* Of each value, the sum over all. */
void proc_sum(double *value, int count);

/* The number of the next piece of work, 0, 1, .., each of which one of all gets. */
int proc_next_item(void);

/* Whoever works for long without a word to the others says this now and then. */
void proc_progress(void);

/* File number f, which is there, to be written by all, each at other places. sync: what
 * was written is on the disk; close does that, too. NULL, or why it is not so. */
const char *proc_open(int f, const char *path);
const char *proc_write(int f, const void *bytes, size_t size, size_t at);
const char *proc_sync(int f);
const char *proc_close(int f);

#endif
