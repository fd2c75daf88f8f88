/* SPDX-License-Identifier: MIT */
/*
 * blocks.h - memory of outputs that are kept in memory (fc_options.out_bytes): of a batch they are written
 * and freed by other threads than those that make them, so that malloc would have the system map their pages
 * anew for each, which takes as long as filling them. Thread-safe.
 */
#ifndef FC_MEDIA_BLOCKS_H
#define FC_MEDIA_BLOCKS_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct fc_blocks fc_blocks;

/* Keeps up to so many bytes that are not in use. */
fc_blocks *fc_blocks_new(gsize keep);
void fc_blocks_keep(fc_blocks *blocks, gsize keep);
/* What is in use stays valid, and is freed when it comes back. NULL is allowed. */
void fc_blocks_free(fc_blocks *blocks);
/* Frees those that are not in use. */
void fc_blocks_trim(fc_blocks *blocks);

/* A block of `bytes` at least, undefined contents; NULL where there is no memory, even after those that are
 * not in use have been freed. `bytes` becomes its size. */
void *fc_blocks_take(fc_blocks *blocks, gsize *bytes);
void fc_blocks_give(fc_blocks *blocks, void *memory, gsize bytes);
/* The first `filled` bytes; the block comes back when they are freed. */
GBytes *fc_blocks_wrap(fc_blocks *blocks, void *memory, gsize bytes, gsize filled);

G_END_DECLS

#endif
