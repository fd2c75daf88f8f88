/* SPDX-License-Identifier: MIT */
/*
 * frame.h - memory that outlives a run: a pool of host blocks, owned by a context.
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
typedef struct fc_frame fc_frame;

/* `keep` is how many bytes of unused blocks may stay. */
fc_frame_pool *fc_frame_pool_new(gsize keep);
/* Limit, in bytes, of blocks in use and unused together; at first there is none. Blocks already handed out
 * stay. */
void fc_frame_pool_set_limit(fc_frame_pool *pool, gsize limit);
/* Gives unused blocks back to the system. */
void fc_frame_pool_trim(fc_frame_pool *pool);
/* How many more bytes may be used. */
gsize fc_frame_pool_room(fc_frame_pool *pool);
/* Counts bytes that were allocated elsewhere as in use; FALSE, and nothing is counted, when that would
 * exceed the limit. They may be given back in any parts. */
gboolean fc_frame_pool_take(fc_frame_pool *pool, gsize bytes);
void fc_frame_pool_give(fc_frame_pool *pool, gsize bytes);
/* The allocator; NULL: aligned_alloc and free. To be set before the first block. */
void fc_frame_pool_set_allocator(fc_frame_pool *pool, fc_alloc_fn alloc, fc_free_fn release, void *data);
/* Frames in use keep the pool alive. */
fc_frame_pool *fc_frame_pool_ref(fc_frame_pool *pool);
void fc_frame_pool_unref(fc_frame_pool *pool);

/* A block of at least `bytes`, aligned to 256, contents undefined; NULL when there is no memory or the
 * limit is reached, even after unused blocks were freed. */
fc_frame *fc_frame_new(fc_frame_pool *pool, gsize bytes);
/* Returns a block to the unused ones; NULL is allowed. */
void fc_frame_free(fc_frame *frame);
void *fc_frame_memory(fc_frame *frame);

G_END_DECLS

#endif
