/* SPDX-License-Identifier: MIT */
/*
 * frame.h - memory that outlives a run: a pool of blocks, of host memory (a context's) or of a device's (a
 * lease's).
 *
 * Filtering many small images one after another would otherwise spend its time in the page faults of fresh
 * memory. Blocks are reused best-fit by size and returned to the system when the pool holds more than a
 * limit. A second limit bounds all memory that is handed out, so that a run which needs more gets an error
 * instead of exhausting the machine. Thread-safe.
 */
#ifndef FC_CORE_FRAME_H
#define FC_CORE_FRAME_H

#include "core/contract/filterchain.h"

G_BEGIN_DECLS

typedef struct fc_frame_pool fc_frame_pool;

/* `keep` is how many bytes of unused blocks may stay. Blocks of up to `loose` bytes serve whatever fits into
 * them, larger ones what takes half of them. */
fc_frame_pool *fc_frame_pool_new(gsize keep, gsize loose);
/* Its memory is gone, with the device that it was of: blocks are not released. Only freeing may follow. */
void fc_frame_pool_forget(fc_frame_pool *pool);
/* After all blocks were given back; NULL is allowed. */
void fc_frame_pool_free(fc_frame_pool *pool);
/* The most bytes that blocks in use and unused may be together; at first there is no limit. What is
 * handed out already stays. */
void fc_frame_pool_set_limit(fc_frame_pool *pool, gsize limit);
/* Gives unused blocks back to the system; TRUE if there were any. */
gboolean fc_frame_pool_trim(fc_frame_pool *pool);
/* How many bytes more may be used. */
gsize fc_frame_pool_room(fc_frame_pool *pool);
/* Counts bytes that were allocated elsewhere as in use; FALSE, and nothing is counted, when that would
 * exceed the limit. They may be given back in any parts. */
gboolean fc_frame_pool_take(fc_frame_pool *pool, gsize bytes);
void fc_frame_pool_give(fc_frame_pool *pool, gsize bytes);
/* The allocator; NULL: aligned_alloc and free. To be set before the first block. */
void fc_frame_pool_set_allocator(fc_frame_pool *pool, fc_alloc_fn alloc, fc_free_fn release, void *data);

/* A block of at least `bytes`, aligned to 256, contents undefined; NULL when there is
 * no memory or the limit is reached, even after the unused blocks were given back. */
void *fc_frame_new(fc_frame_pool *pool, gsize bytes);
/* To the unused ones. FALSE: it is none of this pool's. */
gboolean fc_frame_free(fc_frame_pool *pool, void *memory);

G_END_DECLS

#endif
