/* SPDX-License-Identifier: MIT */
/*
 * watch.h - whose turn it is, the operator's or ours, and what memory is taken in the operator's. A thread is
 * in one phase at a time. What interpose.c sees is told here; where that is not linked, nothing is.
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

/* Of the calling thread; returns the one before. */
watch_phase watch_enter(watch_phase phase);
/* The phase that was entered last by any thread, for messages; async-signal-safe. */
const char *watch_doing(void);
const char *watch_phase_name(watch_phase phase);
/* Where it is kept from now on: memory that another process sees. */
void watch_share(int *where);

/* Whether allocations are seen at all: false under sanitizers and where the C library is another. */
bool watch_sees(void);

/* Counts anew. */
void watch_reset(void);
/* Allocations in process so far, and the first one: its size and function. */
int watch_allocations(size_t *bytes, const char **function);
/* Memory taken in other callbacks that is not free yet. */
size_t watch_live(int *blocks);

/* For interpose.c. */
void watch_can_see(void);
void watch_allocated(void *memory, size_t bytes, const char *function);
void watch_freed(void *memory);

#endif
