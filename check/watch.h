/* SPDX-License-Identifier: MIT */
/*
 * watch.h - tracks whether a thread runs the operator's code or ours, and what memory the operator allocates.
 * A thread is in one phase at a time. Allocations are recorded by interpose.c; where that is not linked, none
 * are seen.
 */
#ifndef FC_CHECK_WATCH_H
#define FC_CHECK_WATCH_H

#include <stdbool.h>
#include <stddef.h>

typedef enum watch_phase {
  WATCH_OFF,    /* our own code */
  WATCH_CALL,   /* a callback that may allocate */
  WATCH_PROCESS /* process, which may not */
} watch_phase;

/* Sets the phase of the calling thread; returns the previous one. */
watch_phase watch_enter(watch_phase phase);
/* The phase last entered by any thread, for messages; async-signal-safe. */
const char *watch_doing(void);
const char *watch_phase_name(watch_phase phase);
/* Stores the phase here from now on: memory shared with another process. */
void watch_share(int *where);

/* Whether allocations are seen: not under sanitizers, nor with other C libraries. */
bool watch_sees(void);

/* Resets the counters. */
void watch_reset(void);
/* Smaller blocks, taken in process, are not counted from now on. */
void watch_ignore_below(size_t bytes);
/* Number of allocations in process so far; of the first one its size and function. */
int watch_allocations(size_t *bytes, const char **function);
/* Memory allocated in other callbacks and not freed yet. */
size_t watch_live(int *blocks);

/* For interpose.c. */
void watch_can_see(void);
void watch_allocated(void *memory, size_t bytes, const char *function);
void watch_freed(void *memory);

#endif
