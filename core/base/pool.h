/* SPDX-License-Identifier: MIT */
/*
 * pool.h - a fixed group of threads that share the indices of a loop.
 *
 * One loop at a time; the calling thread works too. A thread is started by the first loop that has an index
 * for it, so a pool that is never used costs nothing.
 */
#ifndef FC_CORE_POOL_H
#define FC_CORE_POOL_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct fc_pool fc_pool;
typedef void (*fc_pool_body)(guint index, guint worker, void *data);

/* The processors that this process may use all the time: fewer than the machine has under taskset or in a
 * container. */
int fc_processors(void);

/* The number of threads for the option `threads` (0: one per processor), limited by the address space. */
int fc_pool_size(int threads);

/* `threads` includes the caller; a result of fc_pool_size. */
fc_pool *fc_pool_new(int threads);
void fc_pool_free(fc_pool *pool);
int fc_pool_threads(const fc_pool *pool);

/* Calls body(index, worker, data) for each index in [0, count), worker < threads, in any order and
 * concurrently; returns when all are done. */
void fc_pool_run(fc_pool *pool, guint count, fc_pool_body body, void *data);

G_END_DECLS

#endif
