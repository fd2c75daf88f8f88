/* SPDX-License-Identifier: MIT */
/*
 * verdict.h - what is wrong with an operator, if anything: the first fault found.
 */
#ifndef FC_TESTS_OPS_VERDICT_H
#define FC_TESTS_OPS_VERDICT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/contract/plugin.h"

typedef enum fault_kind {
  FAULT_NONE,
  FAULT_CONTRACT, /* terms that no host can use */
  FAULT_SENTENCE, /* a refusal that does not say why */
  FAULT_STATUS,   /* a call failed that must not */
  FAULT_VALUE,    /* other values than the reference */
  FAULT_CUT,      /* other bits when the output is cut */
  FAULT_THREADS,  /* other bits from two threads */
  FAULT_BAND,     /* a write beyond what is its own */
  FAULT_INPUT,    /* a write into the input */
  FAULT_NOTES,    /* NaN or clipping not noted, or noted without reason */
  FAULT_MEASURE,  /* other measurements */
  FAULT_LEAK,     /* memory of the host not given back */
  FAULT_DEVICE,   /* the device failed */
  FAULT_NOTHING,  /* not one case ran, or an example never did */
  FAULT_COUNT
} fault_kind;

static inline const char *fault_name(fault_kind f) {
  static const char *const names[FAULT_COUNT] = {"none",    "contract", "sentence", "status", "value",
                                                 "cut",     "threads",  "band",     "input",  "notes",
                                                 "measure", "leak",     "device",   "nothing"};
  return names[f];
}

typedef struct verdict {
  fault_kind fault;
  char text[1024];
} verdict;

/* Notes a fault unless there is one already. Always false, so: return blame(...). */
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
