/* SPDX-License-Identifier: MIT */
/*
 * fake_device.h - a CUDA device that is none: core/device/runner.h over host memory, for machines
 * without a GPU. A context
 * whose driver it is has it in place of CUDA.
 *
 * Work is done when its lane is waited for, no sooner: uploads at the compute of their slot,
 * downloads at wait or the next compute of the slot. Every piece of
 * memory lies between bands of a pattern, is filled with it at first, and is in a ledger: a copy
 * from or to anything else, a write beyond an end and a view of the wrong memory end the
 * program with a word.
 *
 * What fails is set by fake_device_set: one call, or it and all that follow as on a device
 * that is lost, or allocations beyond a limit. Counting and the ledger are under a lock.
 */
#ifndef FC_TESTS_DEVICE_FAKE_DEVICE_H
#define FC_TESTS_DEVICE_FAKE_DEVICE_H

#include "core/device/runner.h"

#define FAKE_NAME    "cuda:0 (Fake)"
#define FAKE_DEVICES 4 /* at most */

/* For fc_context.driver. */
extern const fc_driver fake_driver;

typedef enum fake_call {
  FAKE_NEW,        /* fc_driver.open */
  FAKE_ALLOC,      /* device memory of a runner: NULL */
  FAKE_ALLOC_HOST, /* pinned memory: NULL */
  FAKE_UPLOAD,
  FAKE_DOWNLOAD,
  FAKE_COMPUTE,
  FAKE_WAIT, /* of either lane */
  FAKE_FINISH,
  FAKE_COPY,
  FAKE_BORDER,
  FAKE_MALLOC,  /* fc_driver.alloc, for operators: NULL */
  FAKE_COPY_TO, /* fc_driver.upload */
  FAKE_PROCESS, /* of an operator, which asks with fake_device_fails */
  FAKE_FORK,    /* fork and join */
  FAKE_LAUNCH,  /* of a composed kernel */
  FAKE_CALLS
} fake_call;

typedef struct fake_faults {
  gboolean no_driver;
  const char *no_device; /* why there is none, or NULL: there is one */
  fake_call call;        /* its call number `at`, from 1, fails; 0: none does */
  guint at;
  gboolean lost;                               /* ... and after it every call but those that give back */
  gsize limit;                                 /* bytes of device memory, or 0: others have taken the rest */
  guint devices;                               /* that there are; 0: one */
  gboolean captures;                           /* every stream of a caller's is being captured */
  void (*launch)(const fc_composed *composed); /* what a composed kernel does; NULL: there are none */
} fake_faults;

/* For what comes now; NULL is a device that is well. Counts begin anew. */
void fake_device_set(const fake_faults *faults);
const char *fake_call_name(fake_call call);
/* How often a call was made since then, and whether one failed. */
guint fake_device_calls(fake_call call);
gboolean fake_device_failed(void);
/* How often anybody asked since then whether there is a driver or a device, or started it. */
guint fake_device_looks(void);
/* The most device, and pinned, memory there was at a time since then. */
gsize fake_device_peak(void);
gsize fake_device_host_peak(void);
/* Counts a call; TRUE when it is to fail. */
gboolean fake_device_fails(fake_call call);
/* Ends the program unless the view's elements lie in memory of the device. */
void fake_device_must_hold(const fc_view *view);
/* Pieces of memory and runners that were not given back. */
guint fake_device_live(void);

#endif
