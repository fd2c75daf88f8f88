/* SPDX-License-Identifier: MIT */
/*
 * claims.h - what a device function says of its results (FC_FUNCTION_* flags, range, growth; see
 * device_function.h), held against what it makes. Plans rely on it: that nothing can be clipped, that a
 * kernel need not look for NaN, that integers may be made ahead of it.
 */
#ifndef FC_CHECK_CLAIMS_H
#define FC_CHECK_CLAIMS_H

#include "check/trial.h"

/* What growth may be exceeded by, relative and at all: half of what plans allow (core/compose/ranges.c). */
#define CLAIMS_ROUNDING 5e-5
#define CLAIMS_TINY     1e-30

/* A compiled device function on the samples or pixels of a signal with this many channels (1 for pixels),
 * width and height, in order; of neighbours, `from` has the window's border. */
typedef void (*function_apply)(const void *params, const void *from, void *to, long count, long channels,
                               long width, long height);

typedef struct function_call {
  const fc_device_function *f;
  function_apply apply;
  int compute;
  const void *from;   /* as `apply` takes it */
  gint64 args, calls; /* elements of `from`; samples or pixels */
  gint64 channels, width, height;
} function_call;

gboolean claims_hold(const function_call *call, const char *who, verdict *v);

#endif
