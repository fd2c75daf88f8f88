/* SPDX-License-Identifier: MIT */
/*
 * verdict.h - the first fault found in an operator, if any.
 */
#ifndef FC_TESTS_OPS_VERDICT_H
#define FC_TESTS_OPS_VERDICT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/contract/plugin.h"

typedef enum fault_kind {
  FAULT_NONE,
  FAULT_CONTRACT,  /* terms that violate the contract */
  FAULT_SENTENCE,  /* a refusal without a reason */
  FAULT_STATUS,    /* a call failed that must not fail */
  FAULT_VALUE,     /* values differ from the reference */
  FAULT_CUT,       /* different bits when the output is cut */
  FAULT_THREADS,   /* different bits from two threads */
  FAULT_BAND,      /* a write beyond its memory */
  FAULT_INPUT,     /* a write into the input */
  FAULT_NOTES,     /* NaN or clipping not noted, or noted without reason */
  FAULT_MEASURE,   /* wrong measurements */
  FAULT_LEAK,      /* host memory was not freed */
  FAULT_DEVICE,    /* the device failed */
  FAULT_NOTHING,   /* no case ran, or an example never did */
  FAULT_LOAD,      /* the file does not load, or loading it changes the process */
  FAULT_TEXT,      /* a descriptor without documentation, or with an example that does not parse */
  FAULT_UNWRITTEN, /* an element of the output was not written */
  FAULT_STATE,     /* something is kept from one stream to the next */
  FAULT_HALO,      /* a read or write beyond what was requested */
  FAULT_ALLOCATES, /* process allocates memory */
  FAULT_PRINTS,    /* process prints */
  FAULT_INSTANCES, /* an instance depends on another one */
  FAULT_SYNC,      /* process waits for its stream */
  FAULT_STREAM,    /* work is enqueued on another stream */
  FAULT_FUNCTION,  /* the device function's text differs from process, or does not compile */
  FAULT_LINEAR,    /* the numbers of linear/1 differ from process, or break its rules */
  FAULT_ENGINE,    /* results of the library differ: in chunks, with threads, in sessions, or fused */
  FAULT_CRASH,     /* a signal ended the process */
  FAULT_EXIT,      /* the operator ended the process */
  FAULT_TIME,      /* it did not return in time */
  FAULT_COUNT
} fault_kind;

static inline const char *fault_name(fault_kind f) {
  static const char *const names[FAULT_COUNT] = {"none",
                                                 "contract",
                                                 "sentence",
                                                 "status",
                                                 "value",
                                                 "cut",
                                                 "threads",
                                                 "band",
                                                 "input",
                                                 "notes",
                                                 "measure",
                                                 "leak",
                                                 "device",
                                                 "nothing",
                                                 "load",
                                                 "descriptor",
                                                 "unwritten",
                                                 "state",
                                                 "halo",
                                                 "allocation",
                                                 "printing",
                                                 "instances",
                                                 "synchronisation",
                                                 "stream",
                                                 "function",
                                                 "linear",
                                                 "engine",
                                                 "crash",
                                                 "exit",
                                                 "time"};
  return names[f];
}

typedef struct verdict {
  fault_kind fault;
  char text[1024];
} verdict;

/* Records a fault unless there is one already. Always false, so: return blame(...). */
static inline bool blame(verdict *v, fault_kind f, const char *format, ...) FC_PRINTF(3, 4);
static inline bool blame(verdict *v, fault_kind f, const char *format, ...) {
  va_list arguments;
  if (v->fault != FAULT_NONE) return false;
  v->fault = f;
  va_start(arguments, format);
  vsnprintf(v->text, sizeof v->text, format, arguments);
  va_end(arguments);
  return false;
}

#endif
