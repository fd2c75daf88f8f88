/* SPDX-License-Identifier: MIT */
/*
 * lease.h - a runner taken from the context for a run, with the memory that it keeps from run to run.
 *
 * Creating streams, events and blocks of device and pinned memory takes milliseconds, and freeing them waits
 * for the whole device. So a run takes a runner that an earlier run has returned, and its unused blocks:
 * their sizes are rounded up in steps of an eighth, so that images of different sizes share them. On the CPU
 * blocks come from the context's frame pool. A lease is used by one thread at a time.
 */
#ifndef FC_CORE_LEASE_H
#define FC_CORE_LEASE_H

#include "core/context/context.h"

G_BEGIN_DECLS

typedef struct fc_lease fc_lease;

/* A runner for the device with its own lanes, or on the caller's stream. `pinned`: bytes of host memory to
 * prepare while a new device starts. NULL with FC_DEVICE. */
fc_lease *fc_lease_new(fc_context *context, gint32 device, void *stream, gsize pinned, GError **error);
/* `threads` share tiles on the CPU; the threads belong to the context and are taken at the first use. */
fc_lease *fc_lease_new_cpu(fc_context *context, int threads);
fc_runner *fc_lease_runner(fc_lease *lease);
/* cpu.c: such a runner; `threads` 0: one per core. */
fc_runner *fc_cpu_runner_new(int threads, fc_context *context);

/* Memory of the device, or `host` memory that its lanes copy from and to; 256-byte aligned. NULL when there
 * is none, even after what lay unused was given back. */
void *fc_lease_alloc(fc_lease *lease, gsize bytes, gboolean host);
/* Makes the block available to a later alloc; work on it must be done, or enqueued on the caller's stream.
 * NULL is allowed. */
void fc_lease_release(fc_lease *lease, void *memory);

/* Returns the lease to the context, after all blocks; `broken`: it is not used again. NULL is allowed. */
void fc_lease_return(fc_lease *lease, gboolean broken);

G_END_DECLS

#endif
