/* SPDX-License-Identifier: MIT */
/*
 * arena.h - host memory whose pages are made ready on another thread.
 *
 * The pages of a large allocation are created when they are first touched, or pinned, at about 3 GB/s. A
 * device's start-up takes long enough to do that meanwhile on a thread, in huge pages where available, which
 * are then pinned almost at once.
 */
#ifndef FC_CORE_ARENA_H
#define FC_CORE_ARENA_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct fc_arena fc_arena;

/* Starts to prepare this many zeroed bytes; NULL where they cannot be allocated. */
fc_arena *fc_arena_new(gsize bytes);
/* Waits until they are ready: the memory, aligned to 2 MiB, and its size; NULL if there was not enough. */
void *fc_arena_wait(fc_arena *arena, gsize *bytes);
/* The next piece, aligned to 256 bytes; NULL when nothing is left. Only after waiting. */
void *fc_arena_take(fc_arena *arena, gsize bytes);
gboolean fc_arena_owns(const fc_arena *arena, const void *memory);
/* NULL is allowed. */
void fc_arena_free(fc_arena *arena);

G_END_DECLS

#endif
