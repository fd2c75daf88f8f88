/* SPDX-License-Identifier: MIT */
/*
 * host.h - a small host for plugins: it records the message of a failure and the measurements, and guards
 * what it allocates.
 */
#ifndef FC_CHECK_HOST_H
#define FC_CHECK_HOST_H

#include <glib.h>

#include "core/contract/plugin.h"
#include "check/device.h"
#include "check/verdict.h"

typedef struct measured {
  char *name, *unit, *exact; /* exact may be NULL */
  int channel;
  double value;
} measured;

typedef struct host {
  fc_host base; /* first, so that callbacks can find the rest */
  const test_device *device;
  GMutex mutex;
  char *sentence;   /* the last one given; "" initially */
  GArray *blocks;   /* of block: what alloc gave */
  GArray *measured; /* of measured */
  gboolean band_broken;
} host;

/* Memory for `device` and for the host. Not to be moved. */
void host_init(host *h, const test_device *device);
/* Reports an operator that has not freed everything, or wrote beyond its memory. */
void host_finish(host *h, const char *who, verdict *v);
/* The measurements so far, to be unreferenced by the caller; the host begins a new list. */
GArray *host_take_measured(host *h);

#endif
