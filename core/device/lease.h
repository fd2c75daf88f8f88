/* SPDX-License-Identifier: MIT */
/*
 * lease.h - a runner on loan from the context, with the memory that it keeps from run to run.
 *
 * Streams, events and blocks of device and pinned memory take milliseconds to make and wait for the whole
 * device to give back. So a run takes a runner that an earlier one has left, and its blocks come from those
 * that lie unused there: of sizes in steps of an eighth, so that images of all sizes share them. On the CPU
 * blocks are those of the context's frame pool. One thread at a time uses a lease.
 */
#ifndef FC_CORE_LEASE_H
#define FC_CORE_LEASE_H

#include "core/context/context.h"

G_BEGIN_DECLS

typedef struct fc_lease fc_lease;

/* A runner for the device with lanes of its own, or on the caller's stream. `pinned`: bytes of host memory
 * that are made ready while a new device starts. NULL with FC_DEVICE. */
fc_lease *fc_lease_new(fc_context *context, gint32 device, void *stream, gsize pinned, GError **error);
/* `threads` share out tiles on the CPU; those are the context's, taken at the first use. */
fc_lease *fc_lease_new_cpu(fc_context *context, int threads);
fc_runner *fc_lease_runner(fc_lease *lease);

/* Memory of the device, or `host` memory that its lanes copy from and to; 256-byte aligned. NULL when there
 * is none, even after what lay unused was given back. */
void *fc_lease_alloc(fc_lease *lease, gsize bytes, gboolean host);
/* For a later alloc; work on it must be done, or enqueued on the caller's stream. NULL is allowed. */
void fc_lease_release(fc_lease *lease, void *memory);

/* Gives it back to the context, after all blocks; `broken`: it is not used again. NULL is allowed. */
void fc_lease_return(fc_lease *lease, gboolean broken);

G_END_DECLS

#endif
